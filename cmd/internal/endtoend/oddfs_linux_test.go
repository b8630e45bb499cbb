package endtoend

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"quadrille/cmd/internal/programs"
	"quadrille/internal/testrace"
)

// oddFS sets the errors of a file system. 0 is no error.
type oddFS struct {
	readLock  syscall.Errno // an exclusive lock of a file that is open for reading
	noLocks   atomic.Bool   // every lock is ENOLCK
	link      syscall.Errno
	fallocate syscall.Errno
}

// oddNode is a file or directory that passes calls to the file system below, except where its oddFS
// demands an error.
type oddNode struct {
	fs.LoopbackNode
	odd *oddFS
}

type oddFile struct {
	*fs.LoopbackFile
	odd      *oddFS
	writable bool
}

// WrapChild makes the children of a node odd nodes, too.
func (n *oddNode) WrapChild(_ context.Context, child fs.InodeEmbedder) fs.InodeEmbedder {
	if l, ok := child.(*fs.LoopbackNode); ok {
		return &oddNode{fs.LoopbackNode{RootData: l.RootData}, n.odd}
	}
	return child
}

func (n *oddNode) wrap(f fs.FileHandle, flags uint32) fs.FileHandle {
	if l, ok := f.(*fs.LoopbackFile); ok {
		return &oddFile{l, n.odd, flags&syscall.O_ACCMODE != syscall.O_RDONLY}
	}
	return f
}

func (n *oddNode) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	f, fuseFlags, errno := n.LoopbackNode.Open(ctx, flags)
	return n.wrap(f, flags), fuseFlags, errno
}

func (n *oddNode) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle,
	uint32, syscall.Errno) {
	i, f, fuseFlags, errno := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	return i, n.wrap(f, flags), fuseFlags, errno
}

func (n *oddNode) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if n.odd.link != 0 {
		return nil, n.odd.link
	}
	return n.LoopbackNode.Link(ctx, target, name, out)
}

func (f *oddFile) refused(lk *fuse.FileLock) syscall.Errno {
	if f.odd.noLocks.Load() {
		return syscall.ENOLCK
	}
	if lk.Typ == syscall.F_WRLCK && !f.writable {
		return f.odd.readLock
	}
	return 0
}

func (f *oddFile) Setlk(ctx context.Context, owner uint64, lk *fuse.FileLock, flags uint32) syscall.Errno {
	if errno := f.refused(lk); errno != 0 {
		return errno
	}
	return f.LoopbackFile.Setlk(ctx, owner, lk, flags)
}

func (f *oddFile) Setlkw(ctx context.Context, owner uint64, lk *fuse.FileLock, flags uint32) syscall.Errno {
	if errno := f.refused(lk); errno != 0 {
		return errno
	}
	return f.LoopbackFile.Setlkw(ctx, owner, lk, flags)
}

func (f *oddFile) Allocate(ctx context.Context, off, size uint64, mode uint32) syscall.Errno {
	if f.odd.fallocate != 0 {
		return f.odd.fallocate
	}
	return f.LoopbackFile.Allocate(ctx, off, size, mode)
}

// mount puts an odd file system over an empty directory, which it returns.
func (o *oddFS) mount(t *testing.T) string {
	t.Helper()
	behind, at := t.TempDir(), t.TempDir()
	var st syscall.Stat_t
	if err := syscall.Stat(behind, &st); err != nil {
		t.Fatal(err)
	}
	root := &fs.LoopbackRoot{Path: behind, Dev: st.Dev}
	node := &oddNode{fs.LoopbackNode{RootData: root}, o}
	root.RootNode = node
	server, err := fs.Mount(at, node, &fs.Options{MountOptions: fuse.MountOptions{EnableLocks: true, DirectMount: true, FsName: "oddfs"}})
	if err != nil {
		t.Skipf("no file system can be mounted here, so odd ones are not tried: %v", err)
	}
	t.Cleanup(func() {
		if err := server.Unmount(); err != nil {
			t.Error(err, syscall.Unmount(at, syscall.MNT_DETACH)) // otherwise its directory could not be removed
		}
	})
	return at
}

// TestOddFileSystems tests that publishing, pruning, serving and live collections work on file
// systems that lack features of local ones, such as network mounts and memory cards. Only a file
// system without any locks is refused, with advice.
func TestOddFileSystems(t *testing.T) {
	testrace.SkipUnderRace(t, "one client asks, which TestSwapsUnderLoad does at once")
	for name, odd := range map[string]*oddFS{
		"whole":         {},
		"locks as NFS":  {readLock: syscall.EBADF},
		"no links":      {link: syscall.EPERM},
		"no fallocate":  {fallocate: syscall.EOPNOTSUPP},
		"none of these": {readLock: syscall.EBADF, link: syscall.EPERM, fallocate: syscall.EOPNOTSUPP},
	} {
		t.Run(name, func(t *testing.T) {
			dir := odd.mount(t)
			data, live, keys := filepath.Join(dir, "data"), filepath.Join(dir, "live"), filepath.Join(dir, "keys.txt")
			csv := writeFile(t, filepath.Join(dir, "p.csv"), "id,lat,lon,name\n1,48.2,16.4,Wien\n2,47.4,8.5,Zürich\n")
			killed := filepath.Join(data, "points-shops", "g0000000008.unfinished")
			for range 3 {
				mustIngest(t, data, "points", "shops", csv)
				writeFile(t, filepath.Join(killed, "manifest.json"), "{") // like a killed build
			}
			if out := mustIngest(t, data, "prune", "--keep", "1"); strings.Count(out, "removed points-shops generation") != 2 {
				t.Errorf("prune says %s", out)
			}
			if _, err := os.Stat(killed); !os.IsNotExist(err) {
				t.Errorf("what a killed build left is still there: %v", err)
			}
			mustIngest(t, data, "verify")
			cmd, _ := ingest(t, data)
			cmd.Path, cmd.Args = programs.Path(t, programs.TileServer), []string{"tileserver", "keys", "new", "fleet", "--keys", keys,
				"--scope", "write:taxis"}
			cmd.Stdout = nil
			key, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			for run := range 2 {
				s := serve(t, data, "--live", live, "--keys", keys)
				ask := func(method, path, body string) (int, string) {
					t.Helper()
					req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
					if err != nil {
						t.Fatal(err)
					}
					req.Header.Set("X-Api-Key", strings.TrimSpace(string(key)))
					req.Header.Set("Content-Type", "application/json")
					res, err := http.DefaultClient.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					defer res.Body.Close()
					b, err := io.ReadAll(res.Body)
					if err != nil {
						t.Fatal(err)
					}
					return res.StatusCode, string(b)
				}
				if code, got := ask(http.MethodGet, "/points/shops/count", ""); code != 200 || !strings.Contains(got, `"count":2`) {
					t.Errorf("%d %s", code, got)
				}
				if run == 0 {
					if code, got := ask(http.MethodPut, "/points/taxis", "{}"); code >= 300 {
						t.Fatalf("%d %s: %s", code, got, s.Log())
					}
					if code, got := ask(http.MethodPut, "/points/taxis/a",
						`{"type":"Feature","geometry":{"type":"Point","coordinates":[16.4,48.2]},"properties":{}}`); code >= 300 {
						t.Fatalf("%d %s: %s", code, got, s.Log())
					}
				}
				if code, got := ask(http.MethodGet, "/points/taxis/a", ""); code != 200 || !strings.Contains(got, `[16.4,48.2]`) {
					t.Errorf("run %d: %d %s", run, code, got)
				}
				s.Stop(t)
			}
		})
	}
	t.Run("no locks", func(t *testing.T) {
		odd := oddFS{}
		dir := odd.mount(t)
		data := filepath.Join(dir, "data")
		csv := writeFile(t, filepath.Join(dir, "p.csv"), "id,lat,lon\n1,48.2,16.4\n")
		mustIngest(t, data, "points", "shops", csv)
		odd.noLocks.Store(true)
		for _, args := range [][]string{{"points", "shops", csv}, {"drop", "points-shops"}, {"prune"}} {
			cmd, out := ingest(t, data, args...)
			var exit *exec.ExitError
			if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 ||
				!strings.Contains(out.String(), "keep the directory on a local disk, or run the lock service") {
				t.Errorf("ingest %q: %v: %s", args, err, out)
			}
		}
		mustIngest(t, data, "verify") // reading needs no lock
		s := serve(t, data)
		if code, got, _ := get(t, s.URL+"/points/shops/count"); code != 200 {
			t.Errorf("%d %s", code, got)
		}
		s.Stop(t)
		cmd, out := ingest(t, data)
		cmd.Path, cmd.Args = programs.Path(t, programs.TileServer), []string{
			"tileserver",
			"--data",
			data,
			"--listen",
			"127.0.0.1:0",
			"--live",
			filepath.Join(dir, "live"),
		}
		if err := cmd.Run(); err == nil || !strings.Contains(out.String(), "local disk") {
			t.Errorf("--live: %v: %s", err, out)
		}
	})
}
