// Package registry serves the playground's images from a real OCI registry on a
// loopback port, so that pulls, digests and pull errors on a node are real.
//
// It owns which images there are. It leaves making them to package images, and
// the rule that turns Name into the loopback address to the node's runtime.
package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"situ.gitops/examples/playground/images"
)

// Name is the registry's name in image references. It stays the same whatever
// port is free, so that manifests can be written down.
const Name = "registry.playground"

// Registry is a running registry; Close ends it.
type Registry struct {
	server   *http.Server
	listener net.Listener
	done     chan error
	digests  map[string]string
}

// Start serves every image of the catalogue on a free loopback port.
func Start(ctx context.Context) (*Registry, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the image registry: %w", err)
	}
	guarded := &keeper{next: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	r := &Registry{
		server: &http.Server{
			Handler:           guarded,
			ReadHeaderTimeout: 10 * time.Second,
		},
		listener: listener,
		done:     make(chan error, 1),
		digests:  map[string]string{},
	}
	go func() { r.done <- r.server.Serve(listener) }()
	if err := r.fill(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("fill the image registry: %w", err), r.Close())
	}
	guarded.shut.Store(true)
	return r, nil
}

// Host is the address the registry listens on. It speaks plain HTTP.
func (r *Registry) Host() string { return r.listener.Addr().String() }

// Image is the reference of an image, whether the registry has it or not.
func (r *Registry) Image(image, tag string) string { return Name + "/" + image + ":" + tag }

// Digest is the image's digest (sha256:...), empty if there is no such image.
func (r *Registry) Digest(image, tag string) string { return r.digests[image+":"+tag] }

// Close ends the registry and waits until its port is free.
func (r *Registry) Close() error {
	err := r.server.Close()
	if served := <-r.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return fmt.Errorf("stop the image registry: %w", err)
	}
	return nil
}

func (r *Registry) fill(ctx context.Context) error {
	programs := map[string]*images.Program{}
	for _, entry := range catalogue {
		source := strings.TrimPrefix(entry.image, private)
		program := programs[source]
		if program == nil {
			var err error
			if program, err = images.Load(ctx, source); err != nil {
				return err
			}
			programs[source] = program
		}
		image, err := program.Image(entry.version)
		if err != nil {
			return err
		}
		if err := r.push(ctx, entry.image+":"+entry.tag, image); err != nil {
			return err
		}
	}
	return nil
}

func (r *Registry) push(ctx context.Context, reference string, image v1.Image) error {
	tag, err := name.NewTag(r.Host()+"/"+reference, name.Insecure)
	if err != nil {
		return err
	}
	if err := remote.Write(tag, image, remote.WithContext(ctx)); err != nil {
		return fmt.Errorf("push %s: %w", reference, err)
	}
	digest, err := image.Digest()
	if err != nil {
		return fmt.Errorf("digest of %s: %w", reference, err)
	}
	r.digests[reference] = digest.String()
	return nil
}
