package gitrepo

import (
	"bufio"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-git/v5/plumbing"
)

// diskRefs reads all refs of a repository on disk. go-git's own listing takes
// lock files for refs and stops at an empty one, so a writer at work, or one
// that crashed, would make the repository unreadable.
func diskRefs(disk billy.Filesystem) (map[string]plumbing.Hash, error) {
	refs := map[string]plumbing.Hash{}
	if err := packedRefs(disk, refs); err != nil {
		return nil, err
	}
	return refs, looseRefs(disk, "refs", refs)
}

func packedRefs(disk billy.Filesystem, refs map[string]plumbing.Hash) error {
	f, err := disk.Open("packed-refs")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		hash, name, ok := strings.Cut(lines.Text(), " ")
		if ok && plumbing.IsHash(hash) {
			refs[name] = plumbing.NewHash(hash)
		}
	}
	return lines.Err()
}

// looseRefs overwrites what is packed. Files that are no ref, and files that
// vanish meanwhile, are passed over.
func looseRefs(disk billy.Filesystem, dir string, refs map[string]plumbing.Hash) error {
	list, err := disk.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range list {
		name := path.Join(dir, entry.Name())
		if entry.IsDir() {
			if err := looseRefs(disk, name, refs); err != nil {
				return err
			}
			continue
		}
		if strings.HasSuffix(name, ".lock") {
			continue
		}
		hash, err := looseRef(disk, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if plumbing.IsHash(hash) {
			refs[name] = plumbing.NewHash(hash)
		}
	}
	return nil
}

func looseRef(disk billy.Filesystem, name string) (string, error) {
	f, err := disk.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	line := bufio.NewScanner(f)
	line.Scan()
	return strings.TrimSpace(line.Text()), line.Err()
}
