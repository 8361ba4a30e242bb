package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"situ.gitops/sync/gitrepo"
)

// sourceOptions say which commits, and how to get at them.
type sourceOptions struct {
	repo, branch, tag, commit, path string
	cacheDir                        string
	auth                            authOptions
	timeout                         time.Duration
}

func (o *sourceOptions) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.repo, "repo", "", "Git repository: https://, ssh://, git@host:path, file:// or a path")
	flags.StringVar(&o.branch, "branch", "", "branch to follow (default: the one that the repository's HEAD names)")
	flags.StringVar(&o.tag, "tag", "", "tag to follow instead of a branch")
	flags.StringVar(&o.commit, "commit", "", "one commit, all 40 digits, instead of the head of a branch")
	flags.StringVar(&o.path, "path", "", "folder of the manifests in the repository (default: its root)")
	flags.StringVar(&o.cacheDir, "cache-dir", "", "folder that keeps fetched objects between runs (default: memory)")
	flags.DurationVar(&o.timeout, "git-timeout", time.Minute, "longest wait for an answer of the repository")
	o.auth.register(flags)
}

// open checks the flags and opens the repository. It does not ask it yet.
func (o *sourceOptions) open(cmd *cobra.Command, cluster string) (*gitrepo.Repo, error) {
	if o.repo == "" {
		return nil, errors.New("no repository: give --repo URL, or set SITU_REPO")
	}
	auth, err := o.auth.read()
	if err != nil {
		return nil, err
	}
	return gitrepo.Open(cmd.Context(), gitrepo.Options{
		URL: o.repo, Branch: o.branch, Tag: o.tag, Commit: o.commit, Path: o.path, Dir: o.cacheDir, Timeout: o.timeout,
		Auth:  auth,
		Notes: gitrepo.Notes{Cluster: cluster, Instance: instance()},
	})
}

// instance names this process in the notes' commits.
func instance() string {
	host, err := os.Hostname()
	if err != nil {
		return "unknown host"
	}
	return host
}

// authOptions are the files that credentials are in.
type authOptions struct {
	user                                                               string
	tokenFile, passwordFile, caFile, keyFile, passFile, knownHostsFile string
}

func (o *authOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.user, "git-user", "", "user name for the repository")
	flags.StringVar(&o.tokenFile, "git-token-file", "", "file with a token for the repository (or SITU_GIT_TOKEN)")
	flags.StringVar(&o.passwordFile, "git-password-file", "", "file with the password (or SITU_GIT_PASSWORD)")
	flags.StringVar(&o.caFile, "git-ca-file", "", "file with CA certificates to trust beside the system's")
	flags.StringVar(&o.keyFile, "ssh-key-file", "", "file with the private SSH key")
	flags.StringVar(&o.passFile, "ssh-key-passphrase-file", "", "file with that key's passphrase (or SITU_SSH_KEY_PASSPHRASE)")
	flags.StringVar(&o.knownHostsFile, "known-hosts-file", "", "known_hosts file; required for SSH")
}

// read reads the files. What a secret is never gets into an error.
func (o *authOptions) read() (gitrepo.Auth, error) {
	auth := gitrepo.Auth{Username: o.user, Token: os.Getenv("SITU_GIT_TOKEN"), Password: os.Getenv("SITU_GIT_PASSWORD"),
		SSHPassphrase: os.Getenv("SITU_SSH_KEY_PASSPHRASE")}
	var errs []error
	content := func(flag, file string) []byte {
		if file == "" {
			return nil
		}
		data, err := os.ReadFile(file)
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", flag, err))
		}
		return data
	}
	line := func(flag, file string, into *string) {
		if data := content(flag, file); data != nil {
			*into = strings.TrimSpace(string(data))
		}
	}
	line("git-token-file", o.tokenFile, &auth.Token)
	line("git-password-file", o.passwordFile, &auth.Password)
	line("ssh-key-passphrase-file", o.passFile, &auth.SSHPassphrase)
	auth.CA = content("git-ca-file", o.caFile)
	auth.SSHKey = content("ssh-key-file", o.keyFile)
	auth.KnownHosts = content("known-hosts-file", o.knownHostsFile)
	return auth, errors.Join(errs...)
}

// refuseSecrets refuses a password inside --repo: command lines are seen by
// everybody on the machine and kept in histories.
func refuseSecrets(flags *pflag.FlagSet) error {
	flag := flags.Lookup("repo")
	if flag == nil || !flag.Changed {
		return nil
	}
	address, err := url.Parse(flag.Value.String())
	if err != nil || address.User == nil {
		return nil
	}
	if _, given := address.User.Password(); given {
		return errors.New("--repo holds a password, which everybody on this machine can see; give it with --git-password-file, --git-token-file or SITU_GIT_TOKEN")
	}
	return nil
}
