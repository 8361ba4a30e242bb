package cluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"regexp"
	"time"
)

// A playground lives for hours; its keys need not live longer than a few days.
const validity = 30 * 24 * time.Hour

var unfitForFileName = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// keyPair is a certificate with its key, both in PEM.
type keyPair struct{ certificate, key []byte }

// authority signs the certificates of one cluster. Its key is never written
// down: when the process ends, nobody can make another user.
type authority struct {
	certificate []byte // PEM
	parsed      *x509.Certificate
	key         crypto.Signer
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "playground"},
		NotBefore:             time.Now().Add(-time.Minute),
		NotAfter:              time.Now().Add(validity),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{certificate: encode("CERTIFICATE", der), parsed: parsed, key: key}, nil
}

// clientCertificate is what the API server knows a user by.
func clientCertificate(name string, groups []string) x509.Certificate {
	return x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

// serverCertificate is the API server's, for every name it is called by here.
func serverCertificate() x509.Certificate {
	return x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(serviceAddress)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

func (a *authority) sign(template x509.Certificate) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return keyPair{}, err
	}
	template.SerialNumber = serial
	template.NotBefore = a.parsed.NotBefore
	template.NotAfter = a.parsed.NotAfter
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, &template, a.parsed, key.Public(), a.key)
	if err != nil {
		return keyPair{}, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{certificate: encode("CERTIFICATE", der), key: encode("EC PRIVATE KEY", keyDER)}, nil
}

// writeKeys makes the authority and every key file the processes are given.
func (c *Cluster) writeKeys() error {
	authority, err := newAuthority()
	if err != nil {
		return fmt.Errorf("make a certificate authority: %w", err)
	}
	c.authority = authority
	if err := os.WriteFile(c.AuthorityFile(), authority.certificate, 0o600); err != nil {
		return err
	}
	for name, template := range map[string]x509.Certificate{
		"apiserver": serverCertificate(),
		"kubelet":   clientCertificate("kube-apiserver", []string{administrators}),
	} {
		pair, err := authority.sign(template)
		if err != nil {
			return fmt.Errorf("sign the certificate of %s: %w", name, err)
		}
		if err := c.writePair(name, pair); err != nil {
			return err
		}
	}
	return c.writeTokenKey()
}

func (c *Cluster) writePair(name string, pair keyPair) error {
	if err := os.WriteFile(c.path("pki/"+name+".crt"), pair.certificate, 0o600); err != nil {
		return err
	}
	return os.WriteFile(c.path("pki/"+name+".key"), pair.key, 0o600)
}

// writeTokenKey makes the key that service account tokens are signed with.
func (c *Cluster) writeTokenKey() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("make the token key: %w", err)
	}
	return os.WriteFile(c.path("pki/token.key"), encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)), 0o600)
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// fileName makes a user's name, which may hold colons and slashes, a file's.
func fileName(user string) string {
	return unfitForFileName.ReplaceAllString(user, "-") + ".kubeconfig"
}
