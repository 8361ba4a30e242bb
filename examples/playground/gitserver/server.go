// Package gitserver serves Git repositories over smart HTTP on loopback: real
// git behind it, so that what a client meets is what it meets elsewhere.
//
// Every folder NAME.git below the server's is a repository at URL()/NAME.git.
// Everybody may fetch and push, or, once the server has users, only they may.
package gitserver

import (
	"crypto/subtle"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
)

// User may use the server by basic authentication.
type User struct {
	Name     string
	Password string
	ReadOnly bool
}

// Options say how the server is reached. The zero value is plain HTTP for
// everybody.
type Options struct {
	// Users are those who may use the server; none: everybody may.
	Users []User
	// TLS serves HTTPS with a certificate that nobody trusts yet; see
	// Server.AuthorityPEM.
	TLS bool
}

// Server is a running one.
type Server struct {
	dir  string
	http *httptest.Server
}

// Start serves the repositories in dir to everybody, over plain HTTP.
func Start(dir string) (*Server, error) { return StartWith(dir, Options{}) }

// StartWith serves the repositories in dir as the options say.
func StartWith(dir string, options Options) (*Server, error) {
	backend, err := findBackend()
	if err != nil {
		return nil, err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	git := &cgi.Handler{Path: backend, Env: []string{
		"GIT_PROJECT_ROOT=" + dir,
		"GIT_HTTP_EXPORT_ALL=1",
		"GIT_CONFIG_NOSYSTEM=1",
		// The server decides who may push, not each repository.
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.receivepack", "GIT_CONFIG_VALUE_0=true",
	}, InheritEnv: []string{"GIT_PROTOCOL", "PATH"}}
	server := httptest.NewUnstartedServer(door{users: options.Users, git: git})
	if options.TLS {
		server.StartTLS()
	} else {
		server.Start()
	}
	return &Server{dir: dir, http: server}, nil
}

func findBackend() (string, error) {
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return "", fmt.Errorf("ask git for its programs: %w", err)
	}
	backend := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, err := exec.LookPath(backend); err != nil {
		return "", fmt.Errorf("find git-http-backend, which comes with git: %w", err)
	}
	return backend, nil
}

// URL is where the server is, such as http://127.0.0.1:40000.
func (s *Server) URL() string { return s.http.URL }

// RepositoryURL is where the repository dir/NAME.git is.
func (s *Server) RepositoryURL(name string) string { return s.http.URL + "/" + name + ".git" }

// AuthorityPEM is the certificate that a client of an HTTPS server has to
// trust; empty for plain HTTP.
func (s *Server) AuthorityPEM() []byte {
	certificate := s.http.Certificate()
	if certificate == nil {
		return nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
}

// Close ends the server and waits for the requests it is serving.
func (s *Server) Close() { s.http.Close() }

// door lets in those who may, and git do the rest.
type door struct {
	users []User
	git   http.Handler
}

func (d door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(d.users) == 0 {
		d.git.ServeHTTP(w, r)
		return
	}
	user, known := d.user(r)
	switch {
	case !known:
		w.Header().Set("WWW-Authenticate", `Basic realm="playground"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
	case user.ReadOnly && isPush(r):
		http.Error(w, "you may only read", http.StatusForbidden)
	default:
		d.git.ServeHTTP(w, r)
	}
}

func (d door) user(r *http.Request) (User, bool) {
	name, password, _ := r.BasicAuth()
	for _, user := range d.users {
		sameName := subtle.ConstantTimeCompare([]byte(user.Name), []byte(name)) == 1
		samePassword := subtle.ConstantTimeCompare([]byte(user.Password), []byte(password)) == 1
		if sameName && samePassword {
			return user, true
		}
	}
	return User{}, false
}

func isPush(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, "/git-receive-pack") || r.URL.Query().Get("service") == "git-receive-pack"
}
