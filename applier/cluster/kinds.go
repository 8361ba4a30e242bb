package cluster

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"situ.gitops/planner"
)

// kind is how the API server serves one kind.
type kind struct {
	resource     schema.GroupVersionResource
	namespaced   bool
	subresources []string
}

// Kinds that are not served send no event when they come, so they are asked for
// again, less and less often.
const (
	firstAskAgain = 500 * time.Millisecond
	lastAskAgain  = 30 * time.Second
)

// kinds answers which kinds the server has. It asks for those groups and
// versions only that somebody wants to know about, and once.
type kinds struct {
	server rest.Interface
	mu     sync.Mutex
	groups map[schema.GroupVersion]*group
}

type group struct {
	kinds    map[string]kind
	askAgain time.Time // not before
	delay    time.Duration
	askedFor string // commit
}

func newKinds(server rest.Interface) *kinds {
	return &kinds{server: server, groups: map[schema.GroupVersion]*group{}}
}

// lookup says how a kind is served, and false if it is not, or not yet.
func (k *kinds) lookup(ctx context.Context, ref planner.Ref) (kind, bool, error) {
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return kind{}, false, nil // nothing is served under a name that cannot be one
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	known := k.groups[version]
	if known == nil {
		known = &group{delay: firstAskAgain}
		k.groups[version] = known
	}
	if found, ok := known.kinds[ref.Kind]; ok {
		return found, true, nil
	}
	if time.Now().Before(known.askAgain) {
		return kind{}, false, nil
	}
	if known.kinds, err = k.ask(ctx, version); err != nil {
		return kind{}, false, err
	}
	known.askAgain = time.Now().Add(known.delay)
	known.delay = min(2*known.delay, lastAskAgain)
	found, ok := known.kinds[ref.Kind]
	return found, ok, nil
}

// serves is lookup for kinds that mostly are not there: it asks once per commit, so
// that nothing is asked while nothing changes.
func (k *kinds) serves(ctx context.Context, commit string, ref planner.Ref) (bool, error) {
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return false, nil
	}
	k.mu.Lock()
	known := k.groups[version]
	if known == nil {
		known = &group{delay: firstAskAgain}
		k.groups[version] = known
	}
	if known.askedFor != commit {
		known.askAgain, known.askedFor = time.Time{}, commit
	}
	if !known.askAgain.IsZero() {
		_, ok := known.kinds[ref.Kind]
		k.mu.Unlock()
		return ok, nil
	}
	k.mu.Unlock()
	_, ok, err := k.lookup(ctx, ref)
	return ok, err
}

// forget makes the next lookups ask again: kinds came or went.
func (k *kinds) forget(version schema.GroupVersion) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.groups, version)
}

// impatient makes the next lookups of kinds that were not served ask at once.
func (k *kinds) impatient() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, group := range k.groups {
		group.askAgain, group.delay = time.Time{}, firstAskAgain
	}
}

func (k *kinds) ask(ctx context.Context, version schema.GroupVersion) (map[string]kind, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	path := "/apis/" + version.String()
	if version.Group == "" {
		path = "/api/" + version.Version
	}
	var list metav1.APIResourceList
	err := k.server.Get().AbsPath(path).Do(ctx).Into(&list)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if apierrors.IsUnauthorized(err) {
		return nil, fmt.Errorf("ask which kinds %s has: %w: the server takes the credential for none or for expired; renew that of the kubeconfig", version, err)
	}
	if err != nil {
		return nil, fmt.Errorf("ask which kinds %s has: %w", version, withoutURL(err))
	}
	found := make(map[string]kind, len(list.APIResources))
	subresources := map[string][]string{}
	for _, resource := range list.APIResources {
		if parent, subresource, ok := strings.Cut(resource.Name, "/"); ok {
			subresources[parent] = append(subresources[parent], subresource)
			continue
		}
		found[resource.Kind] = kind{resource: version.WithResource(resource.Name), namespaced: resource.Namespaced}
	}
	for name, served := range found {
		served.subresources = subresources[served.resource.Resource]
		found[name] = served
	}
	return found, nil
}
