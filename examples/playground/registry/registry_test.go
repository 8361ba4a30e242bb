package registry_test

import (
	"archive/tar"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"situ.gitops/examples/playground/registry"
)

func TestEveryImageCarriesItsVersionAndIsServedUnderItsDigest(t *testing.T) {
	r := start(t)
	for _, tt := range []struct{ image, tag, version string }{
		{"app", "v1", "v1\n"},
		{"app", "v1-alias", "v1\n"},
		{"app", "v2", "v2\n"},
		{"app", "v3", "v3\n"},
		{"sidecar", "v1", "v1\n"},
		{"sidecar", "v2", "v2\n"},
	} {
		t.Run(tt.image+":"+tt.tag, func(t *testing.T) {
			byTag := pull(t, r, tt.image+":"+tt.tag)
			digest, err := byTag.Digest()
			if err != nil {
				t.Fatal(err)
			}
			if digest.String() != r.Digest(tt.image, tt.tag) {
				t.Errorf("Digest(%q, %q) = %q, served %q", tt.image, tt.tag, r.Digest(tt.image, tt.tag), digest)
			}
			if got := file(t, pull(t, r, tt.image+"@"+digest.String()), "version"); got != tt.version {
				t.Errorf("/version in %s:%s = %q, want %q", tt.image, tt.tag, got, tt.version)
			}
		})
	}
}

func TestOnlyTheAliasSharesADigest(t *testing.T) {
	r := start(t)
	if v1, alias := r.Digest("app", "v1"), r.Digest("app", "v1-alias"); v1 != alias || v1 == "" {
		t.Errorf("digests of app:v1 and its alias = %q, %q; want the same", v1, alias)
	}
	seen := map[string]string{}
	for _, image := range [][2]string{{"app", "v1"}, {"app", "v2"}, {"app", "v3"}, {"sidecar", "v1"}, {"sidecar", "v2"}} {
		digest := r.Digest(image[0], image[1])
		if other := seen[digest]; other != "" {
			t.Errorf("%s and %s have the same digest %s", image, other, digest)
		}
		seen[digest] = image[0] + ":" + image[1]
	}
}

func TestTheMissingTagIsNotFound(t *testing.T) {
	r := start(t)
	_, err := remote.Image(reference(t, r, "app:"+registry.Missing), remote.WithContext(t.Context()))
	var answer *transport.Error
	if !errors.As(err, &answer) || answer.StatusCode != http.StatusNotFound {
		t.Errorf("pull of app:%s: error = %v, want 404", registry.Missing, err)
	}
	if got := r.Digest("app", registry.Missing); got != "" {
		t.Errorf("Digest(app, %s) = %q, want none", registry.Missing, got)
	}
}

func TestAPrivateImageWantsCredentials(t *testing.T) {
	r := start(t)
	image := reference(t, r, "private/app:v2")
	for _, tt := range []struct {
		name, password string
		want           int // status of the answer; 0: the image
	}{
		{"none", "", http.StatusUnauthorized},
		{"wrong", "guess", http.StatusUnauthorized},
		{"right", registry.Password, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			auth := authn.Anonymous
			if tt.password != "" {
				auth = &authn.Basic{Username: registry.User, Password: tt.password}
			}
			got, err := remote.Image(image, remote.WithContext(t.Context()), remote.WithAuth(auth))
			var answer *transport.Error
			if tt.want != 0 && (!errors.As(err, &answer) || answer.StatusCode != tt.want) {
				t.Fatalf("pull: %v, want %d", err, tt.want)
			}
			if tt.want == 0 && (err != nil || got == nil) {
				t.Errorf("pull: %v, want the image", err)
			}
		})
	}
}

func TestASecondRegistryHasTheSameDigestsAndCloseFreesItsPort(t *testing.T) {
	first := start(t)
	second, err := registry.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if a, b := first.Digest("app", "v2"), second.Digest("app", "v2"); a != b {
		t.Errorf("digests of app:v2 = %q and %q, want the same", a, b)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if response, err := http.Get("http://" + second.Host() + "/v2/"); err == nil {
		response.Body.Close()
		t.Errorf("GET after Close = %s, want a refused connection", response.Status)
	}
}

func start(t *testing.T) *registry.Registry {
	t.Helper()
	r, err := registry.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func reference(t *testing.T, r *registry.Registry, image string) name.Reference {
	t.Helper()
	reference, err := name.ParseReference(r.Host()+"/"+image, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	return reference
}

func pull(t *testing.T, r *registry.Registry, image string) v1.Image {
	t.Helper()
	pulled, err := remote.Image(reference(t, r, image), remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return pulled
}

func file(t *testing.T, image v1.Image, name string) string {
	t.Helper()
	flat := mutate.Extract(image)
	defer flat.Close()
	for r := tar.NewReader(flat); ; {
		header, err := r.Next()
		if err != nil {
			t.Fatalf("find %s: %v", name, err)
		}
		if header.Name != name {
			continue
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
}
