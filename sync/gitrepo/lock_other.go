//go:build !unix

package gitrepo

import "os"

// lockDir only creates the folder: here its one user is not enforced.
func lockDir(dir string) (func(), error) {
	return func() {}, os.MkdirAll(dir, 0o700)
}
