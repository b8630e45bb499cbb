package dataset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"sync"

	"quadrille/cellstore"
	"quadrille/cellstore/filelock"
)

// Generation is an open generation of a data set, read-only. While it is open
// its files are not pruned.
type Generation struct {
	Manifest Manifest
	Store    cellstore.Store
	// Dir holds store/ and the files the domain package wrote in Build.Dir.
	Dir string

	root    os.FileInfo // the directory of the Catalog; nil in a Depot
	lock    *os.File
	entry   entry
	files   []File // the manifest's files that are in Dir
	close   func() error
	suspect func(error) // nil if no Live serves it
}

// ReportReadFailure reports that a part of the generation could not be read, or has wrong content. A Live
// that serves the generation then looks for damage; see [Live]. A store with a method
// OnReadFailure(func(error)) reports its own failures through that method. ReportReadFailure is for readers
// of the files in Dir. It does not wait, and any number of goroutines may call it.
func (g *Generation) ReportReadFailure(err error) {
	if g.suspect != nil && err != nil {
		g.suspect(err)
	}
}

// failureReporter is a store that reports reads which fail because of its
// files.
type failureReporter interface {
	// OnReadFailure makes the store call f for each such read. f does not wait.
	OnReadFailure(f func(error))
}

// openListed opens a generation after checking that its manifest is the one
// published and that every file has its size. It leaves the checksums of files to
// Verify: reading all of a large data set would delay a start by minutes.
func (c *Catalog) openListed(_ context.Context, dataset string, e entry) (_ *Generation, err error) {
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
	// Only a prune needs the lock, so the lack of locks in a file system is not an error.
	if err := filelock.LockShared(lock); errors.Is(err, filelock.ErrLocked) {
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
	root, err := os.Stat(c.dir)
	if err != nil {
		return nil, err
	}
	m.Disk = diskBytes(dir)
	g := &Generation{Manifest: *m, Dir: dir, root: root, lock: lock, entry: e, files: m.Files}
	if err := g.checkSizes(); err != nil {
		return nil, err
	}
	if err := g.take(c.open(dataset, filepath.Join(dir, storeDir), true)); err != nil {
		return nil, err
	}
	return g, nil
}

// Close closes the store. A second Close does nothing.
func (g *Generation) Close() error { return g.close() }

// corrupt returns an error that says what part of a generation is damaged, and what to do.
func corrupt(dataset string, generation uint64, format string, args ...any) error {
	return fmt.Errorf("generation %d of %s: %w: %w", generation, dataset, cellstore.ErrCorrupt, fmt.Errorf(format, args...))
}

func (g *Generation) corrupt(format string, args ...any) error {
	return corrupt(g.Manifest.Dataset, g.Manifest.Generation, format+": restore it, roll back or ingest again", args...)
}

// take makes an opened store the store of the generation, which closes it together with the lock.
func (g *Generation) take(store cellstore.Store, err error) error {
	if err != nil {
		return fmt.Errorf("generation %d of %s: %w", g.entry.Generation, g.Manifest.Dataset, err)
	}
	g.Store = store
	g.close = sync.OnceValue(func() error {
		err := g.Store.Close()
		g.lock.Close()
		return err
	})
	return nil
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
// cellstore.ErrCorrupt. A file that the manifest does not list is a difference only if it is named
// like a file of the generation, so that a store may read it; for other files see ForeignFiles. For
// a generation from a Depot it compares only the files beside the store; [Generations.Verify] reads
// the tables.
func (g *Generation) Verify(ctx context.Context) error { return g.verify(ctx, nil) }

func (g *Generation) verify(ctx context.Context, progress func(done, total int64)) error {
	var errs []error
	count := counter{progress: progress}
	for _, f := range g.files {
		count.total += f.Bytes
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
		sum, n, err := digest(ctx, count.of(f))
		f.Close()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case cellstore.IsShortage(err):
			return err
		case err != nil: // a disk that cannot read a file is one way to lose it
			errs = append(errs, g.corrupt("file %s cannot be read (%v)", want.Path, err))
		case n != want.Bytes:
			errs = append(errs, g.corrupt("file %s has %d bytes instead of %d", want.Path, n, want.Bytes))
		case sum != want.SHA256:
			errs = append(errs, g.corrupt("file %s has changed", want.Path))
		}
	}
	_, posing, err := g.foreign(ctx)
	if err != nil {
		return err
	}
	for _, path := range posing {
		errs = append(errs, corrupt(g.Manifest.Dataset, g.Manifest.Generation,
			"%s is not of it and may be read as one of its files: remove it", path))
	}
	return errors.Join(errs...)
}

// ForeignFiles lists the paths of files that other programs have put into Dir, such as .DS_Store.
// They do no harm, and can be removed.
func (g *Generation) ForeignFiles(ctx context.Context) ([]string, error) {
	harmless, _, err := g.foreign(ctx)
	return harmless, err
}

// foreign lists the files in Dir that are not in the manifest. A file poses as a file of the
// generation if its name differs only in numbers from the name of one of the generation's files: a
// store finds its files by such names.
func (g *Generation) foreign(ctx context.Context) (harmless, posing []string, err error) {
	listed := map[string]bool{manifestName: true}
	names := map[string]bool{}
	for _, f := range g.Manifest.Files {
		listed[f.Path] = true
		names[numbersRE.ReplaceAllString(path.Base(f.Path), "#")] = true
	}
	err = filepath.WalkDir(g.Dir, func(at string, d fs.DirEntry, err error) error {
		switch rel, rerr := filepath.Rel(g.Dir, at); {
		case ctx.Err() != nil:
			return ctx.Err()
		case rerr != nil:
			return rerr
		case err != nil && (rel == "." || os.IsNotExist(err)):
			return err
		case err == nil && d.IsDir() || listed[filepath.ToSlash(rel)]:
		case err == nil && names[numbersRE.ReplaceAllString(d.Name(), "#")]:
			posing = append(posing, at)
		default: // also an unreadable directory, since the generation's are readable
			harmless = append(harmless, at)
		}
		return nil
	})
	return harmless, posing, err
}

var numbersRE = regexp.MustCompile(`[0-9]+`)
