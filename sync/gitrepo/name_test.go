package gitrepo

import (
	"os"
	"path/filepath"
	"testing"
)

func TestARepositoryIsCalledTheSameWhateverTheWayToIt(t *testing.T) {
	o := newOrigin(t)
	bare := filepath.Join(filepath.Dir(o.bare), "shop.git")
	if err := os.Rename(o.bare, bare); err != nil {
		t.Fatal(err)
	}
	o.git("remote", "set-url", "origin", "ssh://git@git.example:2222/team/shop.git")
	for _, address := range []string{
		"https://git.example/team/shop.git", "https://ada@git.example/team/shop", "https://git.example/team/shop/",
		"ssh://git@git.example:2222/team/shop.git", "git@git.example:team/shop.git", "git.example:shop.git",
		"file://" + bare, bare, bare + "/", o.work, "file://" + o.work, filepath.Join(o.work, ".git"),
	} {
		if got := Name(address); got != "shop" {
			t.Errorf("Name(%q) = %q, want shop", address, got)
		}
	}
	o.git("remote", "remove", "origin")
	if got := Name(o.work); got != "work" {
		t.Errorf("Name of a repository without an origin = %q, want that of its folder, work", got)
	}
}
