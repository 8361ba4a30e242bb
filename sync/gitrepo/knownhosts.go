package gitrepo

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	kh "golang.org/x/crypto/ssh/knownhosts"
)

// knownHosts are the lines of a known_hosts file.
type knownHosts struct{ lines []knownLine }

type knownLine struct {
	marker string // "", "revoked" or "cert-authority"
	hosts  []string
	key    ssh.PublicKey
}

func parseKnownHosts(content []byte) (*knownHosts, error) {
	known := &knownHosts{}
	for rest := content; ; {
		marker, hosts, key, _, next, err := ssh.ParseKnownHosts(rest)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			line := 1 + bytes.Count(content[:len(content)-len(rest)], []byte("\n"))
			return nil, failf(ErrHostKey, "known_hosts, at or after line %d: %s; want lines such as \"host ssh-ed25519 AAAA...\"", line, err)
		}
		known.lines = append(known.lines, knownLine{marker, hosts, key})
		rest = next
	}
	if len(known.lines) == 0 {
		return nil, failf(ErrHostKey, "known_hosts holds no keys; want lines such as \"host ssh-ed25519 AAAA...\"")
	}
	return known, nil
}

// hostCheck judges the key of one server in one handshake.
type hostCheck struct {
	addr    string // as known_hosts spells it: host or [host]:port
	trusted []ssh.PublicKey
	revoked []ssh.PublicKey
	refused error // why the key was refused, for people
}

// check picks the lines of one server: all of them, and no one else's.
func (k *knownHosts) check(addr string) *hostCheck {
	c := &hostCheck{addr: kh.Normalize(addr)}
	for _, line := range k.lines {
		switch {
		case !line.matches(c.addr):
		case line.marker == "revoked":
			c.revoked = append(c.revoked, line.key)
		case line.marker == "":
			c.trusted = append(c.trusted, line.key)
		}
	}
	return c
}

// keyAlgorithms is the fixed order in which key types are asked for, whatever
// the order of the lines. SHA-1 signatures are not among them.
var keyAlgorithms = []struct{ keyType, algorithm string }{
	{ssh.KeyAlgoED25519, ssh.KeyAlgoED25519},
	{ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA256},
	{ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA384},
	{ssh.KeyAlgoECDSA521, ssh.KeyAlgoECDSA521},
	{ssh.KeyAlgoRSA, ssh.KeyAlgoRSASHA512},
	{ssh.KeyAlgoRSA, ssh.KeyAlgoRSASHA256},
	{ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKED25519},
	{ssh.KeyAlgoSKECDSA256, ssh.KeyAlgoSKECDSA256},
}

// algorithms lists first the types that are known of this host. The others
// follow only so that a changed key can be shown with its fingerprint; accept
// refuses them.
func (c *hostCheck) algorithms() []string {
	var first, rest []string
	for _, row := range keyAlgorithms {
		if slices.ContainsFunc(c.trusted, func(k ssh.PublicKey) bool { return k.Type() == row.keyType }) {
			first = append(first, row.algorithm)
		} else {
			rest = append(rest, row.algorithm)
		}
	}
	return append(first, rest...)
}

func (c *hostCheck) accept(_ string, _ net.Addr, offered ssh.PublicKey) error {
	same := func(k ssh.PublicKey) bool { return bytes.Equal(k.Marshal(), offered.Marshal()) }
	print := offered.Type() + " " + ssh.FingerprintSHA256(offered)
	switch {
	case slices.ContainsFunc(c.revoked, same):
		c.refused = fmt.Errorf("%w: %s offered %s, which known_hosts marks as revoked", ErrHostKey, c.addr, print)
	case slices.ContainsFunc(c.trusted, same):
		return nil
	case len(c.trusted) == 0:
		c.refused = fmt.Errorf("%w: %s is not in known_hosts; offered %s; if its owner confirms that fingerprint, add the line: %s",
			ErrHostKey, c.addr, print, kh.Line([]string{c.addr}, offered))
	default:
		c.refused = fmt.Errorf("%w: %s offered %s, known %s; either the server's key was changed, then replace its lines in known_hosts after its owner confirms the fingerprint, or something answers in its place",
			ErrHostKey, c.addr, print, fingerprints(c.trusted))
	}
	return c.refused
}

func fingerprints(keys []ssh.PublicKey) string {
	var out []string
	for _, k := range keys {
		out = append(out, k.Type()+" "+ssh.FingerprintSHA256(k))
	}
	return strings.Join(out, ", ")
}

// matches follows sshd(8): patterns with * and ?, ! to exclude, or one hash.
func (l knownLine) matches(addr string) bool {
	found := false
	for _, pattern := range l.hosts {
		pattern, not := strings.CutPrefix(pattern, "!")
		if !matchHost(pattern, addr) {
			continue
		}
		if not {
			return false
		}
		found = true
	}
	return found
}

func matchHost(pattern, addr string) bool {
	if strings.HasPrefix(pattern, "|") {
		return matchHashed(pattern, addr)
	}
	pattern, addr = strings.ToLower(pattern), strings.ToLower(addr)
	if pattern == addr {
		return true
	}
	// Brackets are part of the spelling here, not a character class.
	ok, err := path.Match(strings.NewReplacer("[", `\[`, "]", `\]`).Replace(pattern), addr)
	return err == nil && ok
}

// matchHashed: |1|salt|HMAC-SHA1(salt, host), so that the file names no hosts.
func matchHashed(pattern, addr string) bool {
	parts := strings.Split(pattern, "|")
	if len(parts) != 4 || parts[1] != "1" {
		return false
	}
	salt, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil {
		return false
	}
	want, err := base64.StdEncoding.DecodeString(parts[3])
	if err != nil {
		return false
	}
	mac := hmac.New(sha1.New, salt)
	mac.Write([]byte(addr))
	return hmac.Equal(mac.Sum(nil), want)
}
