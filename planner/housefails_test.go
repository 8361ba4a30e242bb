package planner_test

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// Each law finds the file that breaks it, and leaves its neighbour alone.
func TestEveryLawOfTheHouseCanBeBroken(t *testing.T) {
	for _, tt := range []struct {
		law, path, text string
		want            string // part of what is said; "": the file is fine
	}{
		{"imports point down only", "planner/a.go", `import "situ.gitops/applier"`, "imports applier"},
		{"imports point down only", "applier/cluster/a.go", `import "situ.gitops/applier"`, "imports applier"},
		{"imports point down only", "sync/manifest/a.go", `import "situ.gitops/sync/gitrepo"`, "imports sync/gitrepo"},
		{"imports point down only", "sync/gitrepo/a_test.go", `import "situ.gitops/cmd/situ"`, "imports cmd/situ"},
		{"imports point down only", "tools/a.go", ``, "on no floor"},
		{"imports point down only", "planner/a.go", `import "situ.gitops/elsewhere"`, "imports elsewhere"},
		{"imports point down only", "applier/a.go", `import ("situ.gitops/applier/cluster"; "situ.gitops/planner")`, ""},
		{"imports point down only", "sync/poller/a.go", `import "situ.gitops/sync/gitrepo"`, ""},
		{"imports point down only", "planner/a_test.go", `import "situ.gitops/planner"`, ""},

		{"each outside world has one door", "cmd/situ/a.go", `import "k8s.io/client-go/rest"`, "only applier/cluster"},
		{"each outside world has one door", "sync/manifest/a_test.go", `import "github.com/go-git/go-git/v5"`, "only sync/gitrepo"},
		{"each outside world has one door", "applier/a.go", `import "github.com/robfig/cron/v3"`, "only sync/poller"},
		{"each outside world has one door", "sync/gitrepo/a_test.go", `import "github.com/go-git/go-git/v5"`, ""},
		{"each outside world has one door", "planner/a.go", `import "k8s.io/api/core/v1"`, ""},

		{"pure packages do no I/O", "planner/a.go", `import "os"`, "imports os"},
		{"pure packages do no I/O", "planner/a.go", `import "net/http"`, "imports net/http"},
		{"pure packages do no I/O", "planner/a.go", `import "math/rand/v2"`, "imports math/rand/v2"},
		{"pure packages do no I/O", "sync/manifest/a.go", `import "github.com/sirupsen/logrus"`, "imports github.com/sirupsen/logrus"},
		{"pure packages do no I/O", "planner/a.go", `import ("context"; "log/slog")`, "imports log/slog"},
		{"pure packages do no I/O", "planner/a_test.go", `import "os"`, ""},
		{"pure packages do no I/O", "applier/a.go", `import "os"`, ""},

		{"pure packages read no clock", "planner/a.go", "import \"time\"\nvar _ = time.Now()", "time.Now"},
		{"pure packages read no clock", "planner/a.go", "import \"time\"\nfunc f(t time.Time) bool { return time.Since(t) > time.Second }", "time.Since"},
		{"pure packages read no clock", "planner/a.go", "import \"time\"\nfunc f() { time.Sleep(1) }", "time.Sleep"},
		{"pure packages read no clock", "planner/a.go", "import \"time\"\nfunc f(s Snapshot) time.Time { return s.Now.Add(time.Second) }", ""},

		{"pure packages keep no state", "planner/a.go", "var seen int", "seen"},
		{"pure packages keep no state", "planner/a.go", "var seen = make(map[string]bool)", "seen"},
		{"pure packages keep no state", "planner/a.go", "var seen = func() int { return 1 }()", "seen"},
		{"pure packages keep no state", "planner/a.go", "var seen = map[string]int{}\nfunc f() { seen[\"a\"]++ }", "changes the package variable seen in f"},
		{"pure packages keep no state", "planner/a.go", "var seen = []int{}\nfunc f() { if true { seen = append(seen, 1) } }", "changes the package variable seen in f"},
		{"pure packages keep no state", "planner/a.go", "var seen = map[string]int{}\nfunc f() { delete(seen, \"a\") }", "changes the package variable seen in f"},
		{"pure packages keep no state", "planner/a.go", "func init() {}", "init"},
		{"pure packages keep no state", "planner/a.go", "var table = []string{\"a\"}\nfunc f(p *int) (n int) { var m = map[int]int{}; m[1] = 2; *p = 3; for i := range m { i++ }; n = 4; return }", ""},

		{"sync is a floor and no package", "sync/a.go", ``, "sync itself"},
		{"sync is a floor and no package", "sync/poller/a.go", ``, ""},
	} {
		t.Run(tt.law+"/"+tt.path+" "+tt.text, func(t *testing.T) {
			file, err := parser.ParseFile(token.NewFileSet(), tt.path, "package a\n"+tt.text, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(brokenBy(t, tt.law, source{tt.path, file}), "\n")
			if !strings.Contains(got, tt.want) || (tt.want == "" && got != "") {
				t.Errorf("law %q says %q, want %q", tt.law, got, tt.want)
			}
		})
	}
}

func brokenBy(t *testing.T, name string, s source) []string {
	t.Helper()
	for _, law := range laws {
		if law.name == name {
			return law.broken(s)
		}
	}
	t.Fatalf("there is no law %q", name)
	return nil
}

func TestAStrayEntryAtTheTopIsFound(t *testing.T) {
	if strays("pkg") == "" || strays("planner") != "" || strays(".ci") != "" {
		t.Error("strays: want pkg found, planner and .ci accepted")
	}
}
