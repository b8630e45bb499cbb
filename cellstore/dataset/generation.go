package dataset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"quadrille/cellstore"
)

// Generation is an open generation of a data set, read-only. While it is open
// its files are not pruned.
type Generation struct {
	Manifest Manifest
	Store    cellstore.Store
	// Dir holds store/ and the files the domain package wrote in Build.Dir.
	Dir string

	lock    *os.File
	entry   entry
	files   []File // those of the manifest that are in Dir
	close   func() error
	suspect func(error) // nil where nobody wants to know
}

// Suspect reports that something of the generation could not be read, or was
// not as it was written. Stores that implement FailureReporter do so by
// themselves; it is for those who read the files in Dir. A Live that serves the
// generation then looks for the damage; see [Live]. It does not wait, and any
// number of goroutines may call it.
func (g *Generation) Suspect(err error) {
	if g.suspect != nil && err != nil {
		g.suspect(err)
	}
}

// FailureReporter is a store that tells of reads which failed for the sake of
// its files.
type FailureReporter interface {
	// OnReadFailure has f called for each; f does not wait.
	OnReadFailure(f func(error))
}

// OpenCurrent opens the published generation. ErrNoGeneration when there is
// none. The caller closes it.
func (c *Catalog) OpenCurrent(dataset string) (*Generation, error) {
	return c.openPublished(dataset, 0)
}

// OpenGeneration opens a generation that List shows, published or not. The
// caller closes it.
func (c *Catalog) OpenGeneration(dataset string, generation uint64) (*Generation, error) {
	if generation == 0 {
		return nil, fmt.Errorf("%w: generations are numbered from 1", ErrNoGeneration)
	}
	return c.openPublished(dataset, generation)
}

// openPublished opens a listed generation; 0 means the current one.
func (c *Catalog) openPublished(dataset string, generation uint64) (*Generation, error) {
	if err := checkName(dataset); err != nil {
		return nil, err
	}
	p, err := c.requirePointer(dataset)
	if err != nil {
		return nil, err
	}
	if generation == 0 {
		generation = p.Current
	}
	e, ok := p.find(generation)
	if !ok {
		return nil, fmt.Errorf("%w: data set %s has no generation %d: list them and choose another", ErrNoGeneration, dataset, generation)
	}
	return c.openEntry(dataset, e)
}

// openEntry opens a generation after checking that its manifest is the one
// published and that every file has its size. Checksums of files are left to
// Verify: reading all of a large data set would delay a start by minutes.
func (c *Catalog) openEntry(dataset string, e entry) (_ *Generation, err error) {
	dir := c.generationDir(dataset, e.Generation)
	lock, err := os.Open(filepath.Join(dir, manifestName))
	if err != nil {
		return nil, missing(dataset, e.Generation, err)
	}
	defer func() {
		if err != nil {
			lock.Close()
		}
	}()
	// The lock only keeps prune away, so a file system that has none serves.
	if err := lockFile(lock, false); errors.Is(err, errLocked) {
		return nil, fmt.Errorf("%w: generation %d of %s is being pruned", ErrNoGeneration, e.Generation, dataset)
	}
	b, err := readAll(lock)
	if err != nil {
		return nil, err
	}
	m, err := decodePinned(dataset, e, b)
	if err != nil {
		return nil, err
	}
	m.Disk = diskBytes(dir)
	g := &Generation{Manifest: *m, Dir: dir, lock: lock, entry: e, files: m.Files}
	if err := g.checkSizes(); err != nil {
		return nil, err
	}
	g.Store, err = c.open(dataset, filepath.Join(dir, storeDir), true)
	if err != nil {
		return nil, fmt.Errorf("generation %d of %s: %w", e.Generation, dataset, err)
	}
	g.close = sync.OnceValue(func() error {
		err := g.Store.Close()
		g.lock.Close()
		return err
	})
	return g, nil
}

// Close closes the store. A second Close does nothing.
func (g *Generation) Close() error { return g.close() }

func (g *Generation) corrupt(format string, args ...any) error {
	return fmt.Errorf("generation %d of %s: %w: %s: restore it, roll back or ingest again",
		g.Manifest.Generation, g.Manifest.Dataset, cellstore.ErrCorrupt, fmt.Sprintf(format, args...))
}

func (g *Generation) checkSizes() error {
	for _, f := range g.files {
		st, err := os.Lstat(filepath.Join(g.Dir, filepath.FromSlash(f.Path)))
		switch {
		case os.IsNotExist(err):
			return g.corrupt("file %s is missing", f.Path)
		case err != nil:
			return err
		case !st.Mode().IsRegular():
			return g.corrupt("%s is not a file", f.Path)
		case st.Size() != f.Bytes:
			return g.corrupt("file %s has %d bytes instead of %d", f.Path, st.Size(), f.Bytes)
		}
	}
	return nil
}

// Verify reads every file and compares it with the checksum recorded when the
// generation was published. It returns all differences, each matching
// cellstore.ErrCorrupt; a file the manifest does not list is one. Of a generation
// from a Depot these are the files beside the store; [Depot.Verify] reads the
// tables.
func (g *Generation) Verify(ctx context.Context) error {
	listed := make(map[string]bool, len(g.Manifest.Files))
	var errs []error
	for _, f := range g.Manifest.Files {
		listed[f.Path] = true
	}
	for _, want := range g.files {
		f, err := os.Open(filepath.Join(g.Dir, filepath.FromSlash(want.Path)))
		if os.IsNotExist(err) {
			errs = append(errs, g.corrupt("file %s is missing", want.Path))
			continue
		}
		if err != nil {
			return err
		}
		sum, n, err := digest(ctx, f)
		f.Close()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil: // a disk that cannot read a file is one way to lose it
			errs = append(errs, g.corrupt("file %s cannot be read (%v)", want.Path, err))
		case n != want.Bytes:
			errs = append(errs, g.corrupt("file %s has %d bytes instead of %d", want.Path, n, want.Bytes))
		case sum != want.SHA256:
			errs = append(errs, g.corrupt("file %s has changed", want.Path))
		}
	}
	err := walk(g.Dir, func(rel string, isDir bool) error {
		if rel = filepath.ToSlash(rel); !isDir && rel != manifestName && !listed[rel] {
			errs = append(errs, g.corrupt("file %s does not belong to it", rel))
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	return errors.Join(errs...)
}

// Verify opens one generation and checks every byte of it; see
// [Generation.Verify]. Generation 0 means the published one.
func (c *Catalog) Verify(ctx context.Context, dataset string, generation uint64) error {
	g, err := c.openPublished(dataset, generation)
	if err != nil {
		return err
	}
	err = g.Verify(ctx)
	if cerr := g.Close(); err == nil {
		err = cerr
	}
	return err
}
