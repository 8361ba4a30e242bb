package stories

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

// visitPause is between two visits: short against any restart of a container.
const visitPause = 5 * time.Millisecond

// visitor sends requests to a Service all the time, as a node's proxy would: it
// watches the Service's EndpointSlices and takes the ready addresses in turn.
type visitor struct {
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

// newVisitor begins once the Service has a ready address.
func newVisitor(ctx context.Context, client kubernetes.Interface, namespace, service string) (*visitor, error) {
	own, stop := context.WithCancel(ctx)
	v := &visitor{stop: stop, http: http.Client{
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
	err := eventually(ctx, "a ready address of service "+service, func() (bool, error) {
		addresses, err := v.addresses(service)
		return len(addresses) > 0, err
	})
	if err != nil {
		return nil, v.closed(err)
	}
	v.done.Go(func() { v.visitAll(own, service) })
	return v, nil
}

func (v *visitor) closed(err error) error {
	v.close()
	return err
}

func (v *visitor) close() {
	v.stop()
	v.done.Wait()
}

func (v *visitor) visitAll(ctx context.Context, service string) {
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
			_, one.err = v.get(ctx, "http://"+one.address+"/")
		}
		if ctx.Err() != nil {
			return // cut off by us
		}
		v.mu.Lock()
		v.visits = append(v.visits, one)
		v.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(visitPause):
		}
	}
}

// addresses are those that a proxy would send new connections to.
func (v *visitor) addresses(service string) ([]string, error) {
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

// get wants an answer, and the right one.
func (v *visitor) get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := v.http.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", url, response.Status)
	}
	return string(body), err
}

// account is what a visitor has to tell of a time.
type account struct {
	visits, failed int
	longest        time.Duration // without a single answer
	first          error         // that went wrong
}

func (a account) String() string {
	text := fmt.Sprintf("%d requests, %d failed, longest time without an answer %s", a.visits, a.failed, a.longest.Round(time.Millisecond))
	if a.first != nil {
		text += "; the first failure: " + a.first.Error()
	}
	return text
}

// since tells of all visits from a moment on.
func (v *visitor) since(moment time.Time) account {
	v.mu.Lock()
	defer v.mu.Unlock()
	var a account
	answered := moment
	for _, one := range v.visits {
		if one.at.Before(moment) {
			continue
		}
		a.visits++
		if one.err != nil {
			a.failed++
			if a.first == nil {
				a.first = one.err
			}
			continue
		}
		if !answered.IsZero() {
			a.longest = max(a.longest, one.at.Sub(answered))
		}
		answered = one.at
	}
	return a
}
