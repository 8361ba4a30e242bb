package images

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// sources travel inside the playground, so that making images depends neither
// on the working directory nor on where the module lies.
//
//go:embed app/main.go sidecar/main.go pause/main.go
var sources embed.FS

// compiled returns the program's static binary. Two processes may compile at
// the same time: each renames a whole file into place.
func compiled(ctx context.Context, name string) ([]byte, error) {
	source, err := sources.ReadFile(name + "/main.go")
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("cache folder: %w", err)
	}
	path := filepath.Join(cache, "situ-playground", "images", key(name, source))
	binary, err := os.ReadFile(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return binary, err
	}
	if err := compile(ctx, source, path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// key names a binary by everything it was made from.
func key(name string, source []byte) string {
	sum := sha256.Sum256(append([]byte(runtime.Version()+" "+runtime.GOARCH+"\n"), source...))
	return name + "-" + hex.EncodeToString(sum[:8])
}

func compile(ctx context.Context, source []byte, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for name, content := range map[string][]byte{"main.go": source, "go.mod": []byte("module playground.image\n\ngo 1.26\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w -buildid=", "-o", "program", ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH, "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return os.Rename(filepath.Join(dir, "program"), path)
}
