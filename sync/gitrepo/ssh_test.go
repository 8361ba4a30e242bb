package gitrepo

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	kh "golang.org/x/crypto/ssh/knownhosts"
)

func sshOptions(server *sshServer, path string, key []byte, known ...string) Options {
	return Options{
		URL:  "ssh://git@" + server.addr + path,
		Auth: Auth{SSHKey: key, KnownHosts: []byte(strings.Join(known, ""))},
	}
}

func TestHostKeysOfSeveralTypesAndHosts(t *testing.T) {
	o := newOrigin(t)
	o.commit("a", map[string]string{"web.yaml": "1"})
	user, key := newSigner(t, "ed25519")
	ed, _ := newSigner(t, "ed25519")
	ec, _ := newSigner(t, "ecdsa")
	rs, _ := newSigner(t, "rsa")
	other, _ := newSigner(t, "ed25519")
	server := func(keys ...ssh.Signer) *sshServer { return serveSSH(t, user.PublicKey(), keys...) }
	foreign := knownLineOf("git.b.test:22", other.PublicKey())

	for _, tt := range []struct {
		name   string
		server *sshServer
		known  []ssh.Signer
	}{
		{"server has one of two known", server(ec), []ssh.Signer{ed, ec}},
		{"other order of lines", server(ec), []ssh.Signer{ec, ed}},
		{"server prefers a type that is not known", server(ed, rs), []ssh.Signer{rs}},
		{"rsa", server(rs), []ssh.Signer{rs}},
		{"all", server(ed, ec, rs), []ssh.Signer{rs, ec, ed}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines := []string{"# comment\n", foreign}
			for _, k := range tt.known {
				lines = append(lines, knownLineOf(tt.server.addr, k.PublicKey()))
			}
			r := open(t, sshOptions(tt.server, o.bare, key, lines...))
			for range 10 {
				if _, err := r.Poll(t.Context()); err != nil {
					t.Fatalf("Poll: %v", err)
				}
			}
		})
	}

	t.Run("changed key", func(t *testing.T) {
		s := server(other)
		r := open(t, sshOptions(s, o.bare, key, knownLineOf(s.addr, ed.PublicKey()), foreign))
		_, err := r.Poll(t.Context())
		if !errors.Is(err, ErrHostKey) {
			t.Fatalf("Poll: got %v, want ErrHostKey", err)
		}
		wantText(t, err, kh.Normalize(s.addr), "offered ssh-ed25519 "+ssh.FingerprintSHA256(other.PublicKey()),
			"known ssh-ed25519 "+ssh.FingerprintSHA256(ed.PublicKey()), "known_hosts")
	})
	t.Run("known by another type only", func(t *testing.T) {
		s := server(other)
		_, err := open(t, sshOptions(s, o.bare, key, knownLineOf(s.addr, rs.PublicKey()))).Poll(t.Context())
		if !errors.Is(err, ErrHostKey) {
			t.Fatalf("Poll: got %v, want ErrHostKey", err)
		}
		wantText(t, err, ssh.FingerprintSHA256(other.PublicKey()), ssh.FingerprintSHA256(rs.PublicKey()))
	})
	t.Run("unknown host", func(t *testing.T) {
		s := server(ed)
		_, err := open(t, sshOptions(s, o.bare, key, foreign)).Poll(t.Context())
		if !errors.Is(err, ErrHostKey) {
			t.Fatalf("Poll: got %v, want ErrHostKey", err)
		}
		wantText(t, err, "not in known_hosts", ssh.FingerprintSHA256(ed.PublicKey()))
	})
	t.Run("revoked key", func(t *testing.T) {
		s := server(ed)
		line := knownLineOf(s.addr, ed.PublicKey())
		_, err := open(t, sshOptions(s, o.bare, key, line, "@revoked "+line)).Poll(t.Context())
		wantText(t, err, "revoked")
	})
	t.Run("hashed name", func(t *testing.T) {
		s := server(ed)
		line := kh.HashHostname(kh.Normalize(s.addr)) + " " + string(ssh.MarshalAuthorizedKey(ed.PublicKey()))
		if _, err := open(t, sshOptions(s, o.bare, key, line)).Poll(t.Context()); err != nil {
			t.Errorf("Poll: %v", err)
		}
	})
}

func TestKnownHostsPatternsMatchAsSSHDoes(t *testing.T) {
	for _, tt := range []struct {
		hosts string
		addr  string
		want  bool
	}{
		{"git.a.test", "git.a.test:22", true},
		{"GIT.a.test", "git.A.test:22", true},
		{"git.a.test", "git.a.test:2222", false},
		{"[git.a.test]:2222", "git.a.test:2222", true},
		{"*.a.test", "git.a.test:22", true},
		{"*.a.test,!git.a.test", "git.a.test:22", false},
		{"git.?.test", "git.b.test:22", true},
		{"[*.a.test]:2222", "git.a.test:2222", true},
		{"git.a.test.evil", "git.a.test:22", false},
		{"|1|bad|hash", "git.a.test:22", false},
	} {
		line := knownLine{hosts: strings.Split(tt.hosts, ",")}
		if got := line.matches(kh.Normalize(tt.addr)); got != tt.want {
			t.Errorf("%q matches %q: got %v, want %v", tt.hosts, tt.addr, got, tt.want)
		}
	}
}

func TestSSHKeysThatDoNotWorkSayWhy(t *testing.T) {
	o := newOrigin(t)
	o.commit("a", map[string]string{"web.yaml": "1"})
	host, _ := newSigner(t, "ed25519")
	user, key := newSigner(t, "ed25519")
	_, stranger := newSigner(t, "ecdsa")
	server := serveSSH(t, user.PublicKey(), host)
	known := knownLineOf(server.addr, host.PublicKey())

	r := open(t, sshOptions(server, o.bare, stranger, known))
	_, err := r.Poll(t.Context())
	if !errors.Is(err, ErrAuth) {
		t.Errorf("Poll with a stranger's key: got %v, want ErrAuth", err)
	}
	wantText(t, err, server.addr, "deploy keys")

	r = open(t, sshOptions(server, o.bare+"-not", key, known))
	_, err = r.Poll(t.Context())
	wantText(t, err, "repository not found")

	_, err = Open(t.Context(), sshOptions(server, o.bare, []byte("not a key"), known))
	wantText(t, err, "read SSH key")
	_, err = Open(t.Context(), sshOptions(server, o.bare, nil, known))
	wantText(t, err, "no SSH key")
	if _, err = Open(t.Context(), sshOptions(server, o.bare, key)); !errors.Is(err, ErrHostKey) {
		t.Errorf("Open without known_hosts: got %v, want ErrHostKey", err)
	}
}

func TestEncryptedKeyNeedsItsPassphrase(t *testing.T) {
	o := newOrigin(t)
	o.commit("a", map[string]string{"web.yaml": "1"})
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	// The old form, because the new one is slow on purpose.
	//lint:ignore SA1019 it is only a test key
	block, err := x509.EncryptPEMBlock(rand.Reader, "EC PRIVATE KEY", der, []byte("open sesame"), x509.PEMCipherAES256)
	if err != nil {
		t.Fatal(err)
	}
	user, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	host, _ := newSigner(t, "ed25519")
	server := serveSSH(t, user.PublicKey(), host)
	opts := sshOptions(server, o.bare, pem.EncodeToMemory(block), knownLineOf(server.addr, host.PublicKey()))
	for passphrase, want := range map[string]string{"": "no passphrase", "wrong one": "passphrase does not open it"} {
		opts.Auth.SSHPassphrase = passphrase
		_, err := Open(t.Context(), opts)
		wantText(t, err, want)
	}
	opts.Auth.SSHPassphrase = "open sesame"
	pull(t, open(t, opts))
}

func TestPathsAreQuotedForTheServersShell(t *testing.T) {
	o := newOrigin(t)
	c := o.commit("a", map[string]string{"web.yaml": "1"})
	odd := filepath.Join(filepath.Dir(o.bare), "it's $(touch x) odd!.git")
	o.gitIn(filepath.Dir(o.bare), "clone", "-q", "--bare", o.bare, odd)
	host, _ := newSigner(t, "ed25519")
	user, key := newSigner(t, "ed25519")
	server := serveSSH(t, user.PublicKey(), host)
	opts := sshOptions(server, "", key, knownLineOf(server.addr, host.PublicKey()))
	opts.URL += strings.NewReplacer(" ", "%20", "$", "%24").Replace(odd)
	if got := pull(t, open(t, opts)); got.Hash != c {
		t.Errorf("got %s, want %s", got.Hash, c)
	}
}

func TestScpLikeURLsMeanSSH(t *testing.T) {
	host, _ := newSigner(t, "ed25519")
	_, key := newSigner(t, "ed25519")
	auth := Auth{SSHKey: key, KnownHosts: []byte(knownLineOf("git.a.test:22", host.PublicKey()))}
	for url, want := range map[string]string{
		"git@git.a.test:team/app.git": "git git.a.test:22 team/app.git git.a.test:team/app.git",
		"git.a.test:/srv/app.git":     "git git.a.test:22 /srv/app.git git.a.test:/srv/app.git",
		"ssh://me@git.a.test:2222/x":  "me git.a.test:2222 /x ssh://git.a.test:2222/x",
	} {
		rem, err := newRemote(Options{URL: url}, auth)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		r, ok := rem.(*sshRemote)
		if !ok {
			t.Errorf("%s: got a %T, want SSH", url, rem)
			continue
		}
		if got := fmt.Sprint(r.user, " ", r.addr, " ", r.path, " ", r.name()); got != want {
			t.Errorf("%s: got %q, want %q", url, got, want)
		}
	}
}

func TestSSHServerThatHangsIsLeftAtTheDeadline(t *testing.T) {
	host, _ := newSigner(t, "ed25519")
	user, key := newSigner(t, "ed25519")
	logsIn := serveSSH(t, user.PublicKey(), host)
	for name, handle := range map[string]func(net.Conn){
		"before its version": func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
		"in the handshake":   func(c net.Conn) { _, _ = c.Write([]byte("SSH-2.0-slow\r\n")); _, _ = io.Copy(io.Discard, c) },
		"after the login": func(c net.Conn) {
			conn, channels, requests, err := ssh.NewServerConn(c, logsIn.config)
			if err != nil {
				return
			}
			defer conn.Close()
			go ssh.DiscardRequests(requests)
			for nc := range channels {
				_, reqs, err := nc.Accept()
				if err != nil {
					return
				}
				for req := range reqs {
					_ = req.Reply(true, nil) // and never a byte of output
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			addr := listen(t, handle)
			opts := sshOptions(&sshServer{addr: addr}, "/x.git", key, knownLineOf(addr, host.PublicKey()))
			opts.Timeout = 300 * time.Millisecond
			opts.Notes.Cluster = "east"
			r := open(t, opts)
			start := time.Now()
			_, err := r.Poll(t.Context())
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Poll: got %v, want the deadline", err)
			}
			wantText(t, err, addr, "no answer in time")
			_, err = r.Fetch(t.Context(), Head{Hash: strings.Repeat("1", 40)})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Fetch: got %v, want the deadline", err)
			}
			err = r.WriteNote(t.Context(), strings.Repeat("1", 40), func([]byte) []byte { return []byte("x") })
			if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrReadOnly) {
				t.Errorf("WriteNote: got %v, want the deadline", err)
			}
			if d := time.Since(start); d > 2*time.Second {
				t.Errorf("three attempts took %v, want about 0.9s", d)
			}
		})
	}
}
