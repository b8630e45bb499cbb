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
)

const (
	manifestName    = "manifest.json"
	storeDir        = "store"
	buildLockName   = "BUILD.lock"
	pointerLockName = "CURRENT.lock"
)

// Opener opens the cell store of a data set's generation in a directory: an
// empty one for a build, or, with readOnly, one that has been built. Read-only
// opening must change nothing in the directory and take no exclusive lock, since
// several programs read one generation at a time.
type Opener func(dataset, dir string, readOnly bool) (cellstore.Store, error)

// Catalog is the directory that holds the data sets. It keeps nothing open and
// nothing in memory: every call reads the files, so that programs see each
// other's changes. It may be used by any number of goroutines.
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

// Dir is the absolute path of the catalogue.
func (c *Catalog) Dir() string { return c.dir }

func (c *Catalog) datasets(context.Context) ([]string, error) {
	dirs, err := os.ReadDir(c.dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range dirs { // sorted by ReadDir
		if checkName(d.Name()) != nil {
			continue
		}
		if _, err := os.Stat(c.pointerPath(d.Name())); err == nil {
			names = append(names, d.Name())
		} else if !os.IsNotExist(err) && d.IsDir() {
			return nil, err
		}
	}
	return names, nil
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
	lock, err := c.lockPointer(ctx, dataset)
	if err != nil {
		return false, err
	}
	defer lock.Close()
	now, err := c.readPointer(ctx, dataset)
	if err != nil || !bytes.Equal(now, before) || (now == nil) != (before == nil) {
		return false, err
	}
	path := c.pointerPath(dataset)
	if bytes.Equal(now, after) {
		return true, syncDir(filepath.Dir(path)) // the rename that wrote it may not be durable yet
	}
	return replaceFile(path, append(bytes.Clone(after), '\n'), func(at string) error { return c.step("pointer " + at) })
}

// lockPointer takes the lock under which CURRENT is replaced. It is held for
// moments only, so it is waited for.
func (c *Catalog) lockPointer(ctx context.Context, dataset string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(c.dir, dataset, pointerLockName), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = ctx.Err()
		if err == nil {
			err = lockFile(f, true)
		}
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, errLocked) {
			f.Close()
			return nil, err
		}
		_ = pause(ctx, 5*time.Millisecond) // ctx is looked at above
	}
}

func (c *Catalog) watched(dataset string) []string {
	return []string{filepath.Join(c.dir, dataset), c.dir}
}

// stored lists the directories that are named as generations, complete or not.
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
		n, ok := parseGeneration(d.Name())
		if !ok || !d.IsDir() {
			continue
		}
		s := storedGeneration{number: n}
		s.manifest, err = readFile(filepath.Join(c.generationDir(dataset, n), manifestName))
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

// missing explains the absence of a generation that CURRENT lists.
func missing(dataset string, generation uint64, err error) error {
	if os.IsNotExist(err) {
		return fmt.Errorf("%w: generation %d of %s is listed but its files are gone: restore them, or roll back or ingest again (%w)",
			ErrNoGeneration, generation, dataset, err)
	}
	return err
}

func (c *Catalog) servable(ctx context.Context, dataset string, e entry) (Manifest, error) {
	g, err := c.openListed(ctx, dataset, e)
	if err != nil {
		return Manifest{}, err
	}
	_ = g.Close() // it was opened to see that it can be
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

// lockBuild takes the build lock of a data set, whose directory exists, to have
// it built or pruned.
func (c *Catalog) lockBuild(dataset, purpose string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(c.dir, dataset, buildLockName), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	err = lockFile(f, true)
	if errors.Is(err, errLocked) {
		holder, _ := readAll(f)
		err = fmt.Errorf("%w: %s in %s is being %s: wait for that to end, or stop it and start again",
			ErrBuilding, dataset, c.dir, strings.TrimSpace(string(holder)))
	}
	if err == nil {
		// For the message above; the lock is the flock, not the content.
		if err = f.Truncate(0); err == nil {
			_, err = fmt.Fprintf(f, "%s by process %d since %s\n", purpose, os.Getpid(), time.Now().UTC().Format(time.RFC3339))
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// withhold locks the manifest, which readers keep locked. A generation without
// a manifest has no readers.
func (c *Catalog) withhold(dataset string, generation uint64) (release func(), err error) {
	f, err := os.Open(filepath.Join(c.generationDir(dataset, generation), manifestName))
	if os.IsNotExist(err) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := lockFile(f, true); err != nil {
		f.Close()
		if errors.Is(err, errLocked) {
			return nil, fmt.Errorf("%w: generation %d of %s", errInUse, generation, dataset)
		}
		return nil, err
	}
	return func() { f.Close() }, nil
}

func (c *Catalog) remove(_ context.Context, dataset string, s storedGeneration) error {
	return os.RemoveAll(c.generationDir(dataset, s.number))
}
