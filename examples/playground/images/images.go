// Package images makes the playground's container images out of Go programs.
//
// It owns the programs' source, their compilation into static binaries (once per
// source and toolchain, kept in the user's cache) and the images' layers. It
// leaves serving them to package registry.
package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Program is a compiled program out of which images of any version are made.
type Program struct {
	name string
	// binary is the layer all versions share; it is compressed once.
	binary v1.Layer
}

// Image is the program with its version in the file /version. Equal versions
// give equal digests: nothing in the image depends on when it was made.
func (p *Program) Image(version string) (v1.Image, error) {
	config := &v1.ConfigFile{
		Architecture: runtime.GOARCH,
		OS:           "linux",
		Config:       v1.Config{Entrypoint: []string{"/" + p.name}, User: "65532:65532"},
		RootFS:       v1.RootFS{Type: "layers"},
	}
	image, err := mutate.ConfigFile(empty.Image, config)
	if err != nil {
		return nil, fmt.Errorf("image %s:%s: %w", p.name, version, err)
	}
	label, err := layer("version", 0o644, []byte(version+"\n"))
	if err != nil {
		return nil, fmt.Errorf("image %s:%s: %w", p.name, version, err)
	}
	image, err = mutate.AppendLayers(image, p.binary, label)
	if err != nil {
		return nil, fmt.Errorf("image %s:%s: %w", p.name, version, err)
	}
	return image, nil
}

// Load compiles the named program, unless the cache has it already.
func Load(ctx context.Context, name string) (*Program, error) {
	binary, err := compiled(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("program %s: %w", name, err)
	}
	shared, err := layer(name, 0o755, binary)
	if err != nil {
		return nil, fmt.Errorf("program %s: %w", name, err)
	}
	return &Program{name: name, binary: shared}, nil
}

// layer holds a single file.
func layer(name string, mode int64, content []byte) (v1.Layer, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	header := &tar.Header{Name: name, Mode: mode, Size: int64(len(content)), ModTime: time.Unix(0, 0)}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(archive.Bytes())), nil
	}, tarball.WithCompressedCaching, tarball.WithCompressionLevel(gzip.BestSpeed))
}
