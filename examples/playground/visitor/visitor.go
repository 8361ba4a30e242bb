// Package visitor sends requests to a Service all the time and remembers how they
// went, so that what an update costs a client can be told.
//
// It goes where a node's proxy would send it, which the playground does not have.
// It leaves the pods' addresses to be reachable: only a real node's are.
package visitor

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

// pause is between two visits: short against any restart of a container.
const pause = 5 * time.Millisecond

// patience bounds the wait for a Service's first address.
const patience = 90 * time.Second

// Visitor watches a Service's EndpointSlices and takes the ready addresses in turn.
type Visitor struct {
	slices discoverylisters.EndpointSliceNamespaceLister
	http   http.Client
	stop   context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex
	visits []visit
}

// visit is one request, and why it failed.
type visit struct {
	at      time.Time
	address string // empty if there was nobody to ask
	err     error
}

// Start begins once the Service has a ready address; Close ends it.
func Start(ctx context.Context, client kubernetes.Interface, namespace, service string) (*Visitor, error) {
	own, stop := context.WithCancel(ctx)
	v := &Visitor{stop: stop, http: http.Client{
		Timeout: 2 * time.Second,
		Transport: &http.Transport{
			DisableKeepAlives: true, // every visit is a client of its own
			DialContext:       (&net.Dialer{Timeout: time.Second}).DialContext,
		},
	}}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	v.slices = factory.Discovery().V1().EndpointSlices().Lister().EndpointSlices(namespace)
	informer := factory.Discovery().V1().EndpointSlices().Informer()
	factory.StartWithContext(own)
	v.done.Go(func() { <-own.Done(); factory.Shutdown() })
	if !cache.WaitForCacheSync(own.Done(), informer.HasSynced) {
		return nil, v.closed(fmt.Errorf("watch the endpoints of %s: %w", service, context.Cause(own)))
	}
	if err := v.await(own, service); err != nil {
		return nil, v.closed(err)
	}
	v.done.Go(func() { v.visitAll(own, service) })
	return v, nil
}

// await waits until there is somebody to visit.
func (v *Visitor) await(ctx context.Context, service string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("service %s has no ready address within %s", service, patience))
	defer cancel()
	for {
		addresses, err := v.addresses(service)
		if err != nil || len(addresses) > 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

func (v *Visitor) closed(err error) error {
	v.Close()
	return err
}

// Close ends the visits and waits for the last one.
func (v *Visitor) Close() {
	v.stop()
	v.done.Wait()
}

func (v *Visitor) visitAll(ctx context.Context, service string) {
	for turn := 0; ctx.Err() == nil; turn++ {
		one := visit{at: time.Now()}
		addresses, err := v.addresses(service)
		switch {
		case err != nil:
			one.err = err
		case len(addresses) == 0:
			one.err = fmt.Errorf("service %s has no ready address", service)
		default:
			one.address = addresses[turn%len(addresses)]
			one.err = v.get(ctx, "http://"+one.address+"/")
		}
		if ctx.Err() != nil {
			return // cut off by us
		}
		v.mu.Lock()
		v.visits = append(v.visits, one)
		v.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// addresses are those that a proxy would send new connections to.
func (v *Visitor) addresses(service string) ([]string, error) {
	all, err := v.slices.List(labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service}))
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, slice := range all {
		for _, endpoint := range slice.Endpoints {
			if endpoint.Conditions.Ready != nil && !*endpoint.Conditions.Ready || len(slice.Ports) == 0 || slice.Ports[0].Port == nil {
				continue
			}
			addresses = append(addresses, net.JoinHostPort(endpoint.Addresses[0], strconv.Itoa(int(*slice.Ports[0].Port))))
		}
	}
	slices.Sort(addresses)
	return addresses, nil
}

// get wants a whole answer.
func (v *Visitor) get(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := v.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// Account is what a visitor has to tell of a time.
type Account struct {
	Visits, Failed int
	Longest        time.Duration // without a single answer
	First          error         // that went wrong
}

func (a Account) String() string {
	text := fmt.Sprintf("%d requests, %d failed, longest time without an answer %s", a.Visits, a.Failed, a.Longest.Round(time.Millisecond))
	if a.First != nil {
		text += "; the first failure: " + a.First.Error()
	}
	return text
}

// Answered waits until a request that was sent after a moment has been answered.
func (v *Visitor) Answered(ctx context.Context, moment time.Time) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer within %s", patience))
	defer cancel()
	for {
		v.mu.Lock()
		n := len(v.visits)
		answered := n > 0 && v.visits[n-1].err == nil && v.visits[n-1].at.After(moment)
		v.mu.Unlock()
		if answered {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// Since tells of all visits from a moment on. The time without an answer begins
// there, and goes on until the last visit.
func (v *Visitor) Since(moment time.Time) Account {
	v.mu.Lock()
	defer v.mu.Unlock()
	var a Account
	answered := moment
	for _, one := range v.visits {
		if one.at.Before(moment) {
			continue
		}
		a.Visits++
		if !answered.IsZero() {
			a.Longest = max(a.Longest, one.at.Sub(answered))
		}
		if one.err != nil {
			a.Failed++
			if a.First == nil {
				a.First = one.err
			}
			continue
		}
		answered = one.at
	}
	return a
}
