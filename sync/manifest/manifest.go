// Package manifest turns the files of a commit into manifests. It owns what may
// stand in a file; whether the cluster takes an object is the API server's word,
// and what an object costs the pods is the planner's.
//
// It is pure: bytes in, manifests and problems out. It reads no files, asks no
// cluster and logs nothing. Every mistake of every file is reported in one go,
// with its place, its cause and the way out, and never with a value that could
// be a secret.
//
//	choose  the YAML and JSON files that .situignore leaves in
//	split   each file into documents
//	decode  each document into a tree that knows its lines, then into plain maps;
//	        a List becomes its items
//	check   names, then fields against the Kubernetes API types, then promises
//	        that no type can express
//	unique  two definitions of one object: neither is believed
//
// What the server owns is dropped: explicit nulls, status, uid, resourceVersion
// and the like, so that the output of "kubectl get -o yaml" can be committed.
package manifest

import (
	"cmp"
	"slices"

	"situ.gitops/planner"
)

// File is one file of a commit.
type File struct {
	Path    string // with slashes, from the root of the repository
	Hash    string // names the content, so that it is parsed once; "" is parsed each time
	Content []byte // may be left out for what the parser knows
}

// Parser parses commits one after the other and remembers what the files of the
// last one meant. The zero value works. It is not for concurrent use.
type Parser struct {
	// Root is the folder that the files were taken from: hidden folders above it
	// are none of our business, and its .situignore counts. "" is the repository's root.
	Root string

	known blobs
	types types
}

// blob is a content under a name. The name counts too: JSON is not read as YAML.
type blob struct {
	hash string
	json bool
}

type blobs map[blob][]document

// Parse returns the manifests in the order of their origins, and what is wrong
// with the rest. Objects are shared with later calls: nobody edits them.
func (p *Parser) Parse(files []File) ([]planner.Manifest, []planner.Problem) {
	chosen, problems := choose(p.Root, files)
	var manifests []planner.Manifest
	now := make(blobs, len(chosen))
	for _, f := range chosen {
		for _, doc := range p.documents(f, now) {
			origin := planner.Origin{File: f.Path, Document: doc.number}
			for _, m := range doc.manifests {
				m.Origin = origin
				manifests = append(manifests, m)
			}
			for _, text := range doc.texts() {
				problems = append(problems, planner.Problem{Origin: origin, Text: text})
			}
		}
	}
	p.known = now // what the last commit does not have is forgotten
	slices.SortStableFunc(problems, func(a, b planner.Problem) int {
		return cmp.Or(cmp.Compare(a.Origin.File, b.Origin.File), cmp.Compare(a.Origin.Document, b.Origin.Document))
	})
	manifests, clashes := Unique(manifests)
	return manifests, append(problems, clashes...)
}

// Knows says whether the content of a file was parsed already. Such a file may be
// handed in without its content, so that nobody reads it again.
func (p *Parser) Knows(file, hash string) bool {
	_, ok := p.known[blob{hash: hash, json: isJSON(file)}]
	return ok
}

// documents are those of one file, parsed unless its content was seen before.
func (p *Parser) documents(f File, now blobs) []document {
	if f.Hash == "" {
		return p.types.parse(f)
	}
	key := blob{hash: f.Hash, json: isJSON(f.Path)}
	docs, ok := now[key]
	if !ok {
		docs, ok = p.known[key]
	}
	if !ok {
		docs = p.types.parse(f)
	}
	now[key] = docs
	return docs
}
