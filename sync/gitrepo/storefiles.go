package gitrepo

import (
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// writeList replaces a file in one step, so that a crash leaves the old or
// the new list.
func writeList(path string, hashes []plumbing.Hash) error {
	var b bytes.Buffer
	for _, h := range hashes {
		fmt.Fprintln(&b, h)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "shallow-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// checkPacks reads every pack and index and compares their checksums. It
// removes halves that a crash left, and counts the whole ones.
func checkPacks(ctx context.Context, dir string) (int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, e := range entries {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		path := filepath.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "tmp_pack_"):
			err = os.Remove(path)
		case strings.HasSuffix(path, ".pack") && !exists(strings.TrimSuffix(path, ".pack")+".idx"),
			strings.HasSuffix(path, ".idx") && !exists(strings.TrimSuffix(path, ".idx")+".pack"):
			err = os.Remove(path)
		case strings.HasSuffix(path, ".pack"):
			n++
			err = checkSum(path)
		case strings.HasSuffix(path, ".idx"):
			err = checkSum(path)
		}
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}

// checkSum: packs and indexes end with the SHA-1 of all that stands before.
func checkSum(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.Size() < sha1.Size {
		return fmt.Errorf("%s: too short", path)
	}
	sum := sha1.New()
	if _, err := io.CopyN(sum, f, st.Size()-sha1.Size); err != nil {
		return err
	}
	want, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), want) {
		return fmt.Errorf("%s: checksum differs", path)
	}
	return nil
}
