package gitrepo

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Auth is what a remote may ask for. Nothing is looked up elsewhere: no SSH
// agent, no files in a home folder, no credential helper.
type Auth struct {
	Username, Password string
	Token              string // sent as the password over HTTP

	CA []byte // PEM, trusted beside the system's roots

	SSHKey        []byte // private key, PEM
	SSHPassphrase string
	KnownHosts    []byte // content of a known_hosts file; required for SSH
}

// String keeps credentials out of logs, also with %v and %+v.
func (a Auth) String() string { return "credentials hidden" }

// GoString does the same for %#v.
func (a Auth) GoString() string { return a.String() }

// secrets are the strings no message may contain.
func (a Auth) secrets() []string {
	var out []string
	for _, s := range []string{a.Password, a.Token, a.SSHPassphrase} {
		if len(s) > 3 {
			out = append(out, s, url.QueryEscape(s), url.PathEscape(s))
		}
	}
	return out
}

// basic is the user and password for HTTP. Forges take any user beside a
// token; the exception wants its own.
func (a Auth) basic(host string) (user, password string) {
	if a.Token == "" {
		return a.Username, a.Password
	}
	if a.Username != "" {
		return a.Username, a.Token
	}
	if strings.EqualFold(host, "bitbucket.org") {
		return "x-token-auth", a.Token
	}
	return "oauth2", a.Token
}

// withUserinfo takes credentials out of the URL where none are given apart.
func (a Auth) withUserinfo(info *url.Userinfo) Auth {
	if info == nil {
		return a
	}
	if a.Username == "" {
		a.Username = info.Username()
	}
	if password, ok := info.Password(); ok && a.Password == "" && a.Token == "" {
		a.Password = password
	}
	return a
}

func (a Auth) tlsConfig() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(a.CA) == 0 {
		return config, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // an image without roots still has the CA given
	}
	if !roots.AppendCertsFromPEM(a.CA) {
		return nil, errors.New("the CA bundle holds no certificate; want PEM blocks of type CERTIFICATE")
	}
	config.RootCAs = roots
	return config, nil
}

func (a Auth) sshMethods() ([]ssh.AuthMethod, error) {
	if len(a.SSHKey) == 0 {
		if a.Password == "" {
			return nil, errors.New("no SSH key given; SSH needs a private key")
		}
		return []ssh.AuthMethod{ssh.Password(a.Password)}, nil
	}
	signer, err := a.signer()
	if err != nil {
		return nil, err
	}
	return []ssh.AuthMethod{ssh.PublicKeys(signer)}, nil
}

func (a Auth) signer() (ssh.Signer, error) {
	if a.SSHPassphrase != "" {
		signer, err := ssh.ParsePrivateKeyWithPassphrase(a.SSHKey, []byte(a.SSHPassphrase))
		if errors.Is(err, x509.IncorrectPasswordError) {
			return nil, errors.New("read SSH key: the passphrase does not open it")
		}
		if err == nil {
			return signer, nil
		}
	}
	signer, err := ssh.ParsePrivateKey(a.SSHKey)
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) {
		return nil, errors.New("read SSH key: it is encrypted and no passphrase, or an unusable one, is given")
	}
	if err != nil {
		return nil, fmt.Errorf("read SSH key: not a private key in PEM form: %w", err)
	}
	return signer, nil
}
