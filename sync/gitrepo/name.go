package gitrepo

import (
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5"
)

// Name is what people call a repository: the last part of its address. It is the
// same over HTTPS, SSH and from a disk, and for a clone that of its origin, so
// that it stays when only the way to the repository changes.
func Name(address string) string {
	if dir, ok := onDisk(address); ok {
		if origin := originOf(dir); origin != "" {
			return lastPart(origin)
		}
		if whole, err := filepath.Abs(dir); err == nil {
			address = filepath.ToSlash(whole)
		}
	}
	return lastPart(address)
}

func lastPart(address string) string {
	address = strings.TrimRight(address, "/")
	address = strings.TrimSuffix(strings.TrimSuffix(address, ".git"), "/")
	return address[strings.LastIndexAny(address, "/:")+1:]
}

// onDisk is the folder of an address that needs no network.
func onDisk(address string) (dir string, ok bool) {
	scheme, rest, given := strings.Cut(address, "://")
	if given {
		return strings.TrimPrefix(rest, "localhost"), strings.EqualFold(scheme, "file")
	}
	return address, !scp.MatchString(address) || exists(address)
}

// originOf is where a clone comes from, "" if it is none or says nothing.
func originOf(dir string) string {
	repo, err := git.PlainOpenWithOptions(dir, &git.PlainOpenOptions{DetectDotGit: true})
	if err != nil {
		return "" // opening it in earnest tells more
	}
	origin, err := repo.Remote(git.DefaultRemoteName)
	if err != nil || len(origin.Config().URLs) == 0 {
		return ""
	}
	return origin.Config().URLs[0]
}
