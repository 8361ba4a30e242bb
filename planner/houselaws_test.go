package planner_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// climbs finds imports that do not point down.
func climbs(s source) []string {
	var broken []string
	from := floorOf(s.pkg())
	for _, name := range s.names() {
		to, ours := strings.CutPrefix(name, module+"/")
		if !ours || within(to, s.pkg()) {
			continue
		}
		if s.isTest() && to == s.pkg() {
			continue // the package under test
		}
		if floorOf(to) <= from {
			broken = append(broken, fmt.Sprintf("imports %s, which is not below it", to))
		}
	}
	if from < 0 {
		broken = append(broken, "is on no floor of the house")
	}
	return broken
}

// floorOf counts from the top, -1 for what is not in the house.
func floorOf(pkg string) int {
	return slices.IndexFunc(floors, func(floor []string) bool {
		return slices.ContainsFunc(floor, func(room string) bool { return within(pkg, room) })
	})
}

func within(pkg, dir string) bool { return pkg == dir || strings.HasPrefix(pkg, dir+"/") }

// sneaksIn finds imports that only the package at the door may have.
func sneaksIn(s source) []string {
	var broken []string
	for _, name := range s.names() {
		for world, door := range doors {
			if within(name, world) && s.pkg() != door {
				broken = append(broken, fmt.Sprintf("imports %s; only %s may", name, door))
			}
		}
	}
	return broken
}

func leaks(s source) []string {
	if !s.isPure() {
		return nil
	}
	var broken []string
	for _, name := range s.names() {
		if slices.ContainsFunc(impure, func(world string) bool { return within(name, world) }) {
			broken = append(broken, fmt.Sprintf("imports %s and is no longer pure", name))
		}
	}
	return broken
}

// clock is what package time has beside plain values.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Local", "LoadLocation"}

func readsClock(s source) []string {
	if !s.isPure() {
		return nil
	}
	var broken []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok || !slices.Contains(clock, selector.Sel.Name) {
			return true
		}
		if x, ok := selector.X.(*ast.Ident); ok && (x.Name == "time" || x.Name == "metav1") {
			broken = append(broken, fmt.Sprintf("uses %s.%s; take the time from the snapshot", x.Name, selector.Sel.Name))
		}
		return true
	})
	return broken
}

// keepsState finds package variables that are no tables: those without a value
// written down, and those that a function changes. init could do anything.
func keepsState(s source) []string {
	if !s.isPure() {
		return nil
	}
	var broken []string
	for _, decl := range s.file.Decls {
		switch decl := decl.(type) {
		case *ast.GenDecl:
			broken = append(broken, noTables(decl)...)
		case *ast.FuncDecl:
			if decl.Name.Name == "init" && decl.Recv == nil {
				broken = append(broken, "has an init function")
			}
			broken = append(broken, changes(decl)...)
		}
	}
	return broken
}

func noTables(decl *ast.GenDecl) []string {
	var broken []string
	for _, spec := range decl.Specs {
		value, ok := spec.(*ast.ValueSpec)
		if !ok || decl.Tok != token.VAR {
			continue
		}
		for i, name := range value.Names {
			if name.Name != "_" && (i >= len(value.Values) || !isTable(value.Values[i])) {
				broken = append(broken, fmt.Sprintf("has the package variable %s, which is no table", name.Name))
			}
		}
	}
	return broken
}

// isTable: a value that is written down, put together from such, or compiled from text.
func isTable(value ast.Expr) bool {
	switch value := value.(type) {
	case *ast.CompositeLit, *ast.BasicLit:
		return true
	case *ast.CallExpr:
		switch f := value.Fun.(type) {
		case *ast.Ident:
			return f.Name == "append"
		case *ast.SelectorExpr:
			return slices.Contains([]string{"MustCompile", "MustParse", "New"}, f.Sel.Name)
		}
	}
	return false
}

// changes finds assignments to names that the function did not declare itself:
// those are package variables.
func changes(f *ast.FuncDecl) []string {
	var broken []string
	own := declared(f)
	change := func(target ast.Expr) {
		name := root(target)
		if name != "" && name != "_" && !own[name] {
			broken = append(broken, fmt.Sprintf("changes the package variable %s in %s", name, f.Name.Name))
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, target := range n.Lhs {
					change(target)
				}
			}
		case *ast.IncDecStmt:
			change(n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				change(n.Key)
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "delete" || f.Name == "clear") && len(n.Args) > 0 {
				change(n.Args[0])
			}
		}
		return true
	})
	return broken
}

// root is the variable that an expression reaches into, "" if it is none by name.
func root(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x.Name
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return ""
		}
	}
}

// declared are the names of a function's own: receiver, parameters, results and variables.
func declared(f *ast.FuncDecl) map[string]bool {
	own := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				own[name.Name] = true
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				own[name.Name] = true
			}
		case *ast.AssignStmt:
			for _, target := range n.Lhs {
				if name, ok := target.(*ast.Ident); ok && n.Tok == token.DEFINE {
					own[name.Name] = true
				}
			}
		case *ast.RangeStmt:
			for _, target := range []ast.Expr{n.Key, n.Value} {
				if name, ok := target.(*ast.Ident); ok && n.Tok == token.DEFINE {
					own[name.Name] = true
				}
			}
		}
		return true
	})
	return own
}

func blocksTheStairs(s source) []string {
	if s.pkg() != "sync" {
		return nil
	}
	return []string{"is in sync itself; it belongs into a package below"}
}
