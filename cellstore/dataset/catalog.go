package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/filelock"
)

const (
	manifestName    = "manifest.json"
	storeDir        = "store"
	buildLockName   = "BUILD.lock"
	pointerLockName = "CURRENT.lock"
	// unfinishedSuffix ends the name of a generation's directory while it is built
	// or removed. A directory that still has the suffix afterwards is waste.
	unfinishedSuffix = ".unfinished"
)

// Opener opens the cell store of a data set's generation in a directory: an
// empty one for a build, or, with readOnly, one that has been built. Read-only
// opening must change nothing in the directory and take no exclusive lock, since
// several programs read one generation at a time.
type Opener func(dataset, dir string, readOnly bool) (cellstore.Store, error)

// Catalog is the directory that holds the data sets. It keeps nothing open and
// nothing in memory. Every call reads the files, so programs see each other's
// changes. Any number of goroutines may use it.
type Catalog struct {
	*Generations

	dir  string
	open Opener
}

// Open returns the catalogue of a directory, which need not exist yet: it is
// created by the first build, and data sets may appear in it at any time.
func Open(dir string, open Opener) (*Catalog, error) {
	if dir == "" || open == nil {
		return nil, errors.New("a catalogue needs a directory and an opener of stores: name both")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if st, err := os.Stat(dir); err == nil && !st.IsDir() {
		return nil, fmt.Errorf("%s is not a directory: name the directory of the data sets", dir)
	} else if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	c := &Catalog{dir: dir, open: open}
	c.Generations = &Generations{back: c, place: dir, fill: "ingest"}
	return c, nil
}

// Dir returns the absolute path of the catalogue.
func (c *Catalog) Dir() string { return c.dir }

func (c *Catalog) datasets(ctx context.Context) ([]storedPointer, error) {
	dirs, err := os.ReadDir(c.dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []storedPointer
	for _, d := range dirs { // sorted by ReadDir
		if checkName(d.Name()) != nil {
			continue
		}
		if st, err := os.Stat(filepath.Join(c.dir, d.Name())); err == nil && !st.IsDir() || os.IsNotExist(err) {
			continue
		}
		b, err := c.readPointer(ctx, d.Name())
		if err != nil {
			b = []byte{} // it is there, and cannot be used
		}
		list = append(list, storedPointer{d.Name(), b})
	}
	return list, nil
}

// present distinguishes a lost directory from a directory without a file. An unmounted file system
// leaves an empty directory.
func (c *Catalog) present(_ context.Context, serving *Generation) error {
	root, err := os.Stat(c.dir)
	if err != nil {
		return fmt.Errorf("the directory of all data sets is gone, put it back: %w", err)
	}
	if !os.SameFile(root, serving.root) {
		return fmt.Errorf("%s is another directory now, without the data set: mount or put back the one before, or restart "+
			"to serve this one", c.dir)
	}
	return nil
}

func (c *Catalog) pointerPath(dataset string) string {
	return filepath.Join(c.dir, dataset, pointerName)
}

func (c *Catalog) generationDir(dataset string, generation uint64) string {
	return filepath.Join(c.dir, dataset, generationName(generation))
}

func (c *Catalog) readPointer(_ context.Context, dataset string) ([]byte, error) {
	b, err := readFile(c.pointerPath(dataset))
	if os.IsNotExist(err) {
		return nil, nil
	}
	return bytes.TrimSuffix(b, []byte("\n")), err
}

// swapPointer replaces CURRENT under its lock, by a rename.
func (c *Catalog) swapPointer(ctx context.Context, dataset string, before, after []byte) (swapped bool, err error) {
	lock, same, err := c.lockPointer(ctx, dataset, before)
	if !same || err != nil {
		return false, err
	}
	defer lock.Close()
	path := c.pointerPath(dataset)
	if bytes.Equal(before, after) {
		return true, syncDir(filepath.Dir(path)) // the rename that wrote it may not be durable yet
	}
	return replaceFile(path, append(bytes.Clone(after), '\n'), func(at string) error { return c.step("pointer " + at) })
}

// removePointer removes CURRENT, and the directory unless something else lies in it. The build lock
// is held, so no other program is adding to the data set.
func (c *Catalog) removePointer(ctx context.Context, dataset string, before []byte) error {
	lock, same, err := c.lockPointer(ctx, dataset, before)
	if !same || err != nil {
		return err
	}
	defer lock.Close()
	dir := filepath.Join(c.dir, dataset)
	if err := os.Remove(c.pointerPath(dataset)); err != nil {
		return err
	}
	if err := syncDir(dir); err != nil {
		return err
	}
	for _, name := range []string{pointerLockName, buildLockName} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	_ = os.Remove(dir) // fails if the directory holds files of others, and these stay
	return syncDir(c.dir)
}

// lockPointer takes the lock for replacing CURRENT, and reports whether CURRENT still has the
// content before. If not, it returns without the lock. It waits for the lock, which others hold
// only for moments.
func (c *Catalog) lockPointer(ctx context.Context, dataset string, before []byte) (lock *os.File, same bool, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		lock, err = filelock.Open(filepath.Join(c.dir, dataset, pointerLockName))
		if err == nil {
			break
		}
		if os.IsNotExist(err) && before != nil {
			return nil, false, nil // a prune has removed the rest of the data set
		}
		if !errors.Is(err, filelock.ErrLocked) {
			return nil, false, err
		}
		_ = pause(ctx, 5*time.Millisecond) // ctx is looked at above
	}
	now, err := c.readPointer(ctx, dataset)
	if err != nil || !bytes.Equal(now, before) || (now == nil) != (before == nil) {
		lock.Close()
		return nil, false, err
	}
	return lock, true, nil
}

func (c *Catalog) watched(dataset string) []string {
	return []string{filepath.Join(c.dir, dataset), c.dir}
}

// stored lists the directories of generations, including those that are being
// built or removed.
func (c *Catalog) stored(_ context.Context, dataset string) ([]storedGeneration, error) {
	dirs, err := os.ReadDir(filepath.Join(c.dir, dataset))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []storedGeneration
	for _, d := range dirs {
		name, unfinished := strings.CutSuffix(d.Name(), unfinishedSuffix)
		n, ok := parseGeneration(name)
		if !ok || !d.IsDir() {
			continue
		}
		s := storedGeneration{number: n, removing: unfinished}
		s.manifest, err = readFile(filepath.Join(c.dir, dataset, d.Name(), manifestName))
		if err != nil && !os.IsNotExist(err) {
			s.manifest = []byte{} // it is there, and cannot be used
		}
		list = append(list, s)
	}
	return list, nil
}

func (c *Catalog) manifest(_ context.Context, dataset string, e entry) (Manifest, error) {
	b, err := readFile(filepath.Join(c.generationDir(dataset, e.Generation), manifestName))
	if err != nil {
		return Manifest{}, missing(dataset, e.Generation, err)
	}
	m, err := decodePinned(dataset, e, b)
	if err != nil {
		return Manifest{}, err
	}
	m.Disk = diskBytes(c.generationDir(dataset, e.Generation))
	return *m, nil
}

// missing returns the error that explains the absence of a generation that CURRENT lists.
func missing(dataset string, generation uint64, err error) error {
	if os.IsNotExist(err) {
		return corrupt(dataset, generation, "it is listed but its files are gone: restore them, roll back or ingest again (%w)", err)
	}
	return err
}

func (c *Catalog) servable(ctx context.Context, dataset string, e entry) (Manifest, error) {
	g, err := c.openListed(ctx, dataset, e)
	if err != nil {
		return Manifest{}, err
	}
	_ = g.Close() // it was opened only as a check
	return g.Manifest, nil
}

func (c *Catalog) verify(ctx context.Context, dataset string, e entry, progress func(PushProgress)) error {
	g, err := c.openListed(ctx, dataset, e)
	if err != nil {
		return err
	}
	err = g.verify(ctx, func(done, total int64) {
		if progress != nil {
			progress(PushProgress{Stage: "checking", Bytes: done, Total: total})
		}
	})
	if cerr := g.Close(); err == nil {
		err = cerr
	}
	return err
}

func (c *Catalog) claim(ctx context.Context, dataset string) (context.Context, func(), error) {
	lock, err := c.lockBuild(dataset, "pruned")
	if err != nil {
		return nil, nil, err
	}
	return ctx, func() { lock.Close() }, nil
}

// lockBuild takes the build lock of a data set, whose directory must exist. purpose is the verb in
// the message to others: built or pruned.
func (c *Catalog) lockBuild(dataset, purpose string) (*os.File, error) {
	path := filepath.Join(c.dir, dataset, buildLockName)
	f, err := filelock.Open(path)
	if errors.Is(err, filelock.ErrLocked) {
		holder, _ := readFile(path)
		err = fmt.Errorf("%w: %s in %s is being %s: wait for that to end, or stop it and start again",
			ErrBuilding, dataset, c.dir, strings.TrimSpace(string(holder)))
	}
	if err != nil {
		return nil, err
	}
	// The content is only for the message above. The lock is the flock, not the content.
	if err = f.Truncate(0); err == nil {
		_, err = fmt.Fprintf(f, "%s by process %d since %s\n", purpose, os.Getpid(), time.Now().UTC().Format(time.RFC3339))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// withhold keeps readers from a generation. Their locks of the manifest are shared, and this one is
// exclusive, so that it fails while there is a reader. A generation without a manifest has no readers.
func (c *Catalog) withhold(dataset string, generation uint64) (release func(), err error) {
	f, err := withholdDir(c.generationDir(dataset, generation))
	switch {
	case os.IsNotExist(err):
		return func() {}, nil
	case errors.Is(err, filelock.ErrLocked):
		return nil, fmt.Errorf("%w: generation %d of %s", errInUse, generation, dataset)
	case err != nil:
		return nil, err
	}
	return func() { f.Close() }, nil
}

// withholdDir locks the manifest in a directory against readers. It opens the
// manifest for writing. A lock should not need that, but on NFS it does.
func withholdDir(dir string) (*os.File, error) {
	path := filepath.Join(dir, manifestName)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if os.IsPermission(err) {
		f, err = os.Open(path)
	}
	if err != nil {
		return nil, err
	}
	if err := filelock.LockExclusive(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// remove first renames the directory as unfinished, so that the remains of a killed removal never
// count as a generation.
func (c *Catalog) remove(_ context.Context, dataset string, s storedGeneration) error {
	dir := c.generationDir(dataset, s.number)
	if err := os.RemoveAll(dir + unfinishedSuffix); err != nil || s.removing {
		return err
	}
	if err := os.Rename(dir, dir+unfinishedSuffix); os.IsNotExist(err) {
		return nil
	} else if err != nil {
		return err
	}
	return os.RemoveAll(dir + unfinishedSuffix)
}
