package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// localRemote is a repository on disk, served in-process: go-git would run the
// git binary, which a small image does not have. Hooks are not run.
type localRemote struct {
	place
	path string
}

func newLocalRemote(path string) (*localRemote, error) {
	path, err := absolute(path)
	if err != nil {
		return nil, err
	}
	return &localRemote{place{display: path}, path}, nil
}

func (r *localRemote) read(ctx context.Context) (transport.UploadPackSession, error) {
	return r.open(ctx)
}

func (r *localRemote) write(ctx context.Context) (transport.ReceivePackSession, error) {
	return r.open(ctx)
}

// open reads the repository anew each time, because others repack it.
func (r *localRemote) open(context.Context) (*localSession, error) {
	_, disk, err := openDisk(r.path, &git.PlainOpenOptions{})
	if errors.Is(err, git.ErrRepositoryNotExists) {
		return nil, fmt.Errorf("%w: %s", transport.ErrRepositoryNotFound, r.path)
	}
	if err != nil {
		return nil, err
	}
	return &localSession{disk}, nil
}

// openDisk opens a repository of any shape: bare, a work tree, a linked one,
// or one that borrows objects from another.
func openDisk(path string, opts *git.PlainOpenOptions) (*git.Repository, *filesystem.Storage, error) {
	opts.EnableDotGitCommonDir = true
	repo, err := git.PlainOpenWithOptions(path, opts)
	if err != nil {
		return nil, nil, err
	}
	plain, ok := repo.Storer.(*filesystem.Storage)
	if !ok {
		return nil, nil, errors.New("not a repository on disk")
	}
	disk := filesystem.NewStorageWithOptions(plain.Filesystem(), cache.NewObjectLRU(objectCache), filesystem.Options{AlternatesFS: osfs.New("/")})
	repo, err = git.Open(disk, nil)
	return repo, disk, err
}

// localSession serves both directions of one repository on disk.
type localSession struct{ disk *filesystem.Storage }

func (s *localSession) Close() error { return s.disk.Close() }

func (s *localSession) AdvertisedReferences() (*packp.AdvRefs, error) {
	return s.advertise()
}

func (s *localSession) AdvertisedReferencesContext(context.Context) (*packp.AdvRefs, error) {
	return s.advertise()
}

// advertise reads a disk, which waits for nobody.
func (s *localSession) advertise() (*packp.AdvRefs, error) {
	refs := packp.NewAdvRefs()
	for _, c := range []capability.Capability{capability.OFSDelta, capability.Shallow, capability.ReportStatus, capability.AllowReachableSHA1InWant} {
		if err := refs.Capabilities.Set(c); err != nil {
			return nil, err
		}
	}
	all, err := diskRefs(s.disk.Filesystem())
	if err != nil {
		return nil, err
	}
	refs.References = all
	for name, h := range all {
		s.peel(refs, name, h)
	}
	return refs, s.addHead(refs)
}

// peel finds the commit behind an annotated tag.
func (s *localSession) peel(refs *packp.AdvRefs, name string, h plumbing.Hash) {
	if !strings.HasPrefix(name, "refs/tags/") {
		return
	}
	target := h
	for range 10 {
		tag, err := object.GetTag(s.disk, target)
		if err != nil {
			break
		}
		target = tag.Target
	}
	if target != h {
		refs.Peeled[name] = target
	}
}

func (s *localSession) addHead(refs *packp.AdvRefs) error {
	head, err := s.disk.Reference(plumbing.HEAD)
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	h := head.Hash()
	if head.Type() == plumbing.SymbolicReference {
		h = refs.References[head.Target().String()]
		if err := refs.AddReference(head); err != nil {
			return err
		}
	}
	if !h.IsZero() {
		refs.Head = &h
	}
	return nil
}

func (s *localSession) UploadPack(ctx context.Context, req *packp.UploadPackRequest) (*packp.UploadPackResponse, error) {
	depth, ok := req.Depth.(packp.DepthCommits)
	if !ok || depth < 1 {
		return nil, errors.New("want a depth")
	}
	var wants []plumbing.Hash
	for _, h := range req.Wants {
		if tag, err := object.GetTag(s.disk, h); err == nil {
			h = tag.Target
		}
		wants = append(wants, h)
	}
	pack := packOf(ctx, s.disk, wants, req.Haves, int(depth))
	return packp.NewUploadPackResponseWithPackfile(req, pack), nil
}

// ReceivePack stores the objects one by one, as Git does with few, and then
// moves the refs.
func (s *localSession) ReceivePack(_ context.Context, req *packp.ReferenceUpdateRequest) (*packp.ReportStatus, error) {
	parser, err := packfile.NewParserWithStorage(packfile.NewScanner(req.Packfile), s.disk)
	if err != nil {
		return nil, err
	}
	if _, err := parser.Parse(); err != nil {
		return nil, readOnlyDisk(err)
	}
	report := &packp.ReportStatus{UnpackStatus: "ok"}
	for _, cmd := range req.Commands {
		if err := s.move(cmd); err != nil {
			return report, readOnlyDisk(err)
		}
	}
	return report, nil
}

func readOnlyDisk(err error) error {
	if errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "read-only file system") {
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
	return err
}

// staleLock is when a ref's lock file is taken for left behind by a crash;
// moving a ref takes milliseconds.
const staleLock = time.Minute

// move changes a ref the way git does, with a lock file beside it, so that
// git itself may work on the same repository.
func (s *localSession) move(cmd *packp.Command) error {
	disk := s.disk.Filesystem()
	name := cmd.Name.String()
	lock, err := lockRef(disk, name+".lock")
	if err != nil {
		return err
	}
	defer func() { _ = disk.Remove(name + ".lock") }() // gone already if renamed
	_, err = io.WriteString(lock, cmd.New.String()+"\n")
	if err := errors.Join(err, lock.Close()); err != nil {
		return err
	}
	now := plumbing.ZeroHash
	ref, err := s.disk.Reference(cmd.Name)
	if err == nil {
		now = ref.Hash()
	} else if !errors.Is(err, plumbing.ErrReferenceNotFound) {
		return err
	}
	if now != cmd.Old {
		return errMoved
	}
	return disk.Rename(name+".lock", name)
}

func lockRef(disk billy.Filesystem, name string) (billy.File, error) {
	lock, err := disk.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if !errors.Is(err, fs.ErrExist) {
		return lock, err
	}
	if st, err := disk.Stat(name); err == nil && time.Since(st.ModTime()) > staleLock {
		_ = disk.Remove(name)
	}
	return nil, errMoved // somebody else is writing: read again and retry
}
