package gitrepo

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"io"
	"net"
	"os/exec"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	kh "golang.org/x/crypto/ssh/knownhosts"
)

// sshServer runs git's own services for one user key.
type sshServer struct {
	addr   string
	config *ssh.ServerConfig
}

// serveSSH starts a server with the given host keys. Commands run in a shell,
// as sshd does it, so quoting matters.
func serveSSH(t testing.TB, user ssh.PublicKey, hostKeys ...ssh.Signer) *sshServer {
	t.Helper()
	s := &sshServer{config: &ssh.ServerConfig{
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if string(key.Marshal()) != string(user.Marshal()) {
				return nil, io.EOF
			}
			return nil, nil
		},
	}}
	for _, k := range hostKeys {
		s.config.AddHostKey(k)
	}
	s.addr = listen(t, s.serve)
	return s
}

// listen accepts on loopback until the test ends and waits for all handlers.
func listen(t testing.TB, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			wg.Go(func() { defer conn.Close(); handle(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l.Addr().String()
}

func (s *sshServer) serve(conn net.Conn) {
	c, channels, requests, err := ssh.NewServerConn(conn, s.config)
	if err != nil {
		return
	}
	defer c.Close()
	go ssh.DiscardRequests(requests)
	for nc := range channels {
		ch, reqs, err := nc.Accept()
		if err != nil {
			return
		}
		for req := range reqs {
			if req.Type != "exec" {
				_ = req.Reply(false, nil)
				continue
			}
			_ = req.Reply(true, nil)
			var payload struct{ Command string }
			_ = ssh.Unmarshal(req.Payload, &payload)
			status := run(ch, payload.Command)
			_, _ = ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
			break
		}
		_ = ch.Close()
	}
}

func run(ch ssh.Channel, command string) uint32 {
	cmd := exec.Command("sh", "-c", command)
	cmd.Env = gitEnv()
	cmd.Stdout, cmd.Stderr = ch, ch.Stderr()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 1
	}
	go func() { _, _ = io.Copy(stdin, ch); _ = stdin.Close() }()
	if err := cmd.Run(); err != nil {
		return 128
	}
	return 0
}

func newSigner(t testing.TB, kind string) (ssh.Signer, []byte) {
	t.Helper()
	var key any
	var err error
	switch kind {
	case "ed25519":
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case "ecdsa":
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "rsa":
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	return signer, pem.EncodeToMemory(block)
}

func knownLineOf(addr string, key ssh.PublicKey) string {
	return kh.Line([]string{kh.Normalize(addr)}, key) + "\n"
}
