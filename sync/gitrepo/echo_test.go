package gitrepo

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A server, or a proxy before it, may repeat in its error page what it was sent.
func TestAServerThatRepeatsTheCredentialDoesNotSpreadIt(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		http.Error(w, "refused: "+r.Header.Get("Authorization")+" = "+user+":"+password+" at "+r.URL.String(), http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	for name, opts := range map[string]Options{
		"token":    {URL: server.URL + "/shop.git", Auth: Auth{Token: "hunter23"}},
		"password": {URL: server.URL + "/shop.git", Auth: Auth{Username: "ann", Password: "hunter23"}},
		"query":    {URL: server.URL + "/shop.git?key=hunter23"},
	} {
		_, err := open(t, opts).Poll(t.Context())
		if err == nil {
			t.Fatalf("%s: Poll of a server that refuses succeeds", name)
		}
		for _, secret := range []string{"hunter23", "aHVudGVyMjM", "h1bnRlcjIz", "odW50ZXIyM"} { // base64 has three alignments
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error shows %q: %v", name, secret, err)
			}
		}
	}
}
