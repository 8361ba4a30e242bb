package stories

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// unserved puts a front before the API server that lacks a subresource of the
// core group, such as pods/resize: it is not in what the server says it has, and
// is not found. So the story goes on with a server of before there was one.
func unserved(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, !neg && len(args) == 1 && strings.Count(args[0], "/") == 1, "unserved RESOURCE/SUBRESOURCE")
	file := ts.Getenv("KUBECONFIG")
	config, err := clientcmd.BuildConfigFromFlags("", file)
	ts.Check(err)
	front, err := newFront(config, args[0])
	ts.Check(err)
	server := httptest.NewServer(front)
	ts.Defer(func() {
		server.CloseClientConnections() // watches never end by themselves
		server.Close()
	})
	ts.Check(point(file, server.URL))
}

// point makes a kubeconfig's contexts lead to a server that asks for no credential.
func point(file, address string) error {
	config, err := clientcmd.LoadFromFile(file)
	if err != nil {
		return err
	}
	for name := range config.Clusters {
		config.Clusters[name] = &clientcmdapi.Cluster{Server: address}
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{}
	}
	text, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// front passes everything on with its own credential, but for one subresource.
type front struct {
	lacks string // "pods/resize"
	proxy *httputil.ReverseProxy
}

func newFront(config *rest.Config, lacks string) (*front, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	address, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	f := &front{lacks: lacks}
	f.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(address)
			if isDiscovery(r.In) { // in its oldest form, and readable
				r.Out.Header.Set("Accept", "application/json")
				r.Out.Header.Del("Accept-Encoding")
			}
		},
		Transport:      transport,
		FlushInterval:  -1,
		ModifyResponse: f.hide,
	}
	return f, nil
}

func isDiscovery(r *http.Request) bool {
	return slices.Contains([]string{"/api", "/apis", "/api/v1"}, strings.TrimSuffix(r.URL.Path, "/"))
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource, subresource, _ := strings.Cut(f.lacks, "/")
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if n := len(parts); n == 7 && parts[0] == "api" && parts[4] == resource && parts[6] == subresource {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	f.proxy.ServeHTTP(w, r)
}

// hide takes the subresource out of what the server says it has.
func (f *front) hide(response *http.Response) error {
	if !strings.HasSuffix(response.Request.URL.Path, "/api/v1") || response.StatusCode != http.StatusOK {
		return nil
	}
	var list metav1.APIResourceList
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		return err
	}
	list.APIResources = slices.DeleteFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == f.lacks })
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	response.Header.Set("Content-Length", strconv.Itoa(len(text)))
	return nil
}
