package dataset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"quadrille/cellstore"
)

// Build is a generation being built. It belongs to one goroutine, but many may
// use its Store.
type Build struct {
	// Progress, if set before Publish, is called with the number of durable bytes and the total of
	// all files. It must be quick.
	Progress func(done, total int64)

	c          *Catalog
	dataset    string
	generation uint64
	dir        string
	store      cellstore.Store
	lock       *os.File
	closed     bool   // the store
	done       bool   // published or aborted
	rehearsal  string // the directory that Rehearse made first; empty for other builds
}

// Begin starts a build. It takes the build lock of the data set, and returns ErrBuilding if another
// process or goroutine has the lock. It removes the remains of killed builds, and opens an empty
// store in a fresh directory with a name that marks it as unfinished. Readers do not see the build
// before Publish. The caller ends the build with Publish or Abort; defer Abort, since it does
// nothing after Publish.
func (c *Catalog) Begin(ctx context.Context, dataset string) (_ *Build, err error) {
	if err := checkName(dataset); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b := &Build{c: c, dataset: dataset}
	for b.lock == nil {
		if err := os.MkdirAll(filepath.Join(c.dir, dataset), 0o755); err != nil {
			return nil, err
		}
		if err := c.step("directory made"); err != nil {
			return nil, err
		}
		// A prune may have removed the directory of a dropped data set meanwhile.
		if b.lock, err = c.lockBuild(dataset, "built"); err != nil && !os.IsNotExist(err) {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			b.lock.Close()
		}
	}()
	p, err := c.pointer(ctx, dataset)
	if err != nil {
		return nil, err // without CURRENT, leftovers and data look alike
	}
	stored, err := c.stored(ctx, dataset)
	if err != nil {
		return nil, err
	}
	if _, err := c.removeWaste(ctx, dataset, p, stored, 0); err != nil {
		return nil, err
	}
	if p != nil {
		b.generation = p.Last
	}
	if stored, err = c.stored(ctx, dataset); err != nil {
		return nil, err
	}
	if n := len(stored); n > 0 {
		b.generation = max(b.generation, stored[n-1].number)
	}
	if b.generation++; b.generation > maxGeneration {
		return nil, fmt.Errorf("data set %s has no number left after %d: move it away and start anew", dataset, uint64(maxGeneration))
	}
	b.dir = c.generationDir(dataset, b.generation) + unfinishedSuffix
	if err := os.MkdirAll(filepath.Join(b.dir, storeDir), 0o755); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(b.dir)
		}
	}()
	if err := c.step("begun"); err != nil {
		return nil, err
	}
	if b.store, err = c.open(dataset, filepath.Join(b.dir, storeDir), false); err != nil {
		return nil, err
	}
	return b, nil
}

// rehearsalDir holds the builds of Rehearse. No data set can have this name.
const rehearsalDir = ".dry-run"

// Rehearse starts a build that cannot be published, and that Abort removes completely. It has a
// directory of its own, so it can run at the same time as a build of the data set. A second
// rehearsal of the data set gives ErrBuilding. The next rehearsal removes the remains of a killed
// one.
func (c *Catalog) Rehearse(ctx context.Context, dataset string) (*Build, error) {
	r, err := Open(filepath.Join(c.dir, rehearsalDir), c.open)
	if err != nil {
		return nil, err
	}
	made := r.dir
	if _, err := os.Stat(c.dir); os.IsNotExist(err) {
		made = c.dir
	}
	b, err := r.Begin(ctx, dataset)
	if err != nil {
		if !errors.Is(err, ErrBuilding) { // the directory belongs to the other rehearsal
			err = errors.Join(err, removeRehearsal(filepath.Join(r.dir, dataset), made))
		}
		return nil, err
	}
	b.rehearsal = made
	return b, nil
}

// removeRehearsal removes the lock of a rehearsal, and the empty directories above it up to last. A
// directory with other content, such as another rehearsal, stays.
func removeRehearsal(dir, last string) error {
	err := os.Remove(filepath.Join(dir, buildLockName))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for os.Remove(dir) == nil && dir != last {
		dir = filepath.Dir(dir)
	}
	return err
}

// Store returns the store that is being filled. It is closed by Publish and Abort.
func (b *Build) Store() cellstore.Store { return b.store }

// Dir returns the directory of the generation, for files that a domain package stores next to the
// store. Readers find them in Generation.Dir. Publish renames it.
func (b *Build) Dir() string { return b.dir }

// Publish closes the store, checks that it opens again, makes all files
// durable and records their checksums, writes the manifest, and makes this the
// published generation. It returns the manifest as written.
//
// After an error nothing has been published, and only Abort is left to call. The one exception is
// the last step, making the replaced CURRENT durable: if it fails, the generation is published, and
// the error says so.
func (b *Build) Publish(ctx context.Context, m Manifest) (Manifest, error) {
	if b.done || b.closed {
		return Manifest{}, fmt.Errorf("build of %s: %w: begin another", b.dataset, cellstore.ErrClosed)
	}
	if b.rehearsal != "" {
		return Manifest{}, fmt.Errorf("build of %s: a rehearsal cannot be published: begin a build", b.dataset)
	}
	m.Version, m.Dataset, m.Generation, m.Files = manifestVersion, b.dataset, b.generation, nil
	if m.Built.IsZero() {
		m.Built = time.Now()
	}
	m.Built = m.Built.UTC().Truncate(time.Second)
	if err := m.check(); err != nil { // before the minutes of work below
		return Manifest{}, err
	}
	if err := ctx.Err(); err != nil {
		return Manifest{}, err
	}
	b.closed = true
	if err := b.store.Close(); err != nil {
		return Manifest{}, fmt.Errorf("close the store of %s: %w", b.dataset, err)
	}
	if err := b.c.step("store closed"); err != nil {
		return Manifest{}, err
	}
	if err := b.tryOpen(); err != nil {
		return Manifest{}, fmt.Errorf("the store built for %s does not open again, it is not published: %w", b.dataset, err)
	}
	var err error
	if m.Files, err = seal(ctx, b.dir, b.Progress); err != nil {
		return Manifest{}, err
	}
	if err := b.c.step("files sealed"); err != nil {
		return Manifest{}, err
	}
	data, err := encodeManifest(&m)
	if err != nil {
		return Manifest{}, err
	}
	if err := b.complete(data); err != nil {
		return Manifest{}, err
	}
	visible, err := b.c.publish(ctx, b.dataset, entry{b.generation, digestBytes(data)})
	if visible {
		b.done = true
		b.lock.Close()
	}
	if err != nil && visible {
		err = fmt.Errorf("generation %d of %s is published, but may not survive a power failure: check the disk and publish again: %w", b.generation, b.dataset, err)
	}
	if err != nil {
		return Manifest{}, err
	}
	written, err := decodeManifest(data)
	if err != nil {
		return Manifest{}, err
	}
	written.Disk = diskBytes(b.dir)
	return *written, nil
}

// complete writes the manifest and gives the directory the name of a generation. From then on the
// directory is not waste. Until CURRENT lists the generation, it is found by its name.
func (b *Build) complete(manifest []byte) error {
	if _, err := replaceFile(filepath.Join(b.dir, manifestName), manifest,
		func(at string) error { return b.c.step("manifest " + at) }); err != nil {
		return err
	}
	final := b.c.generationDir(b.dataset, b.generation)
	if err := os.Rename(b.dir, final); err != nil {
		return err
	}
	b.dir = final
	if err := b.c.step("named"); err != nil {
		return err
	}
	for _, dir := range []string{filepath.Join(b.c.dir, b.dataset), b.c.dir} {
		if err := syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

func (b *Build) tryOpen() error {
	s, err := b.c.open(b.dataset, filepath.Join(b.dir, storeDir), true)
	if err != nil {
		return err
	}
	return s.Close()
}

// Abort closes the store and removes everything built. After Publish, or a second time, it does
// nothing. A complete generation that Publish could not list stays if the pointer is missing or
// cannot be read, because another program may be writing a pointer that lists the generation. If no
// program does so, the next publish lists it.
func (b *Build) Abort() error {
	if b.done {
		return nil
	}
	b.done = true
	var err error
	if !b.closed {
		err = b.store.Close()
	}
	defer b.lock.Close() // last: until then the directory is ours
	unfinished := strings.HasSuffix(b.dir, unfinishedSuffix)
	if !unfinished {
		p, perr := b.c.pointer(context.Background(), b.dataset)
		if p == nil || perr != nil {
			return err
		}
		// Only the holder of the build lock adds to an existing pointer.
		if _, listed := p.find(b.generation); listed {
			return err
		}
	}
	err = errors.Join(err, b.c.remove(context.Background(), b.dataset, storedGeneration{number: b.generation, removing: unfinished}))
	if b.rehearsal != "" {
		err = errors.Join(err, removeRehearsal(filepath.Join(b.c.dir, b.dataset), b.rehearsal))
	}
	return err
}

// seal makes every file below dir durable and lists them. It frees the space that a store allocated
// beyond the end of a file, as Pebble does for its log: these files are not written any more.
func seal(ctx context.Context, dir string, progress func(done, total int64)) ([]File, error) {
	var files []File
	var dirs []string
	count := counter{progress: progress}
	err := walk(dir, func(rel string, isDir bool) error {
		if isDir {
			return nil
		}
		st, err := os.Lstat(filepath.Join(dir, rel))
		if err == nil {
			count.total += st.Size()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	err = walk(dir, func(rel string, isDir bool) error {
		if isDir {
			dirs = append(dirs, filepath.Join(dir, rel))
			return nil
		}
		f, err := os.OpenFile(filepath.Join(dir, rel), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		sum, n, err := digest(ctx, count.of(f))
		if err != nil {
			return err
		}
		if err := f.Truncate(n); err != nil {
			return err
		}
		files = append(files, File{Path: filepath.ToSlash(rel), Bytes: n, SHA256: sum})
		return f.Sync()
	})
	if err != nil {
		return nil, err
	}
	for _, d := range slices.Backward(dirs) {
		if err := syncDir(d); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}
