package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/filelock"
)

// openListed opens a generation after checking that its manifest is the published one. It checks
// every byte of the files beside the store, both of fetched files and of those that were already on
// this machine. Tables are opened when they are used.
func (d *Depot) openListed(ctx context.Context, dataset string, e entry) (_ *Generation, err error) {
	m, b, err := d.manifestBytes(ctx, dataset, e)
	if err != nil {
		return nil, err
	}
	g := &Generation{Manifest: *m, Dir: d.cacheDir(dataset, e), entry: e}
	for _, f := range m.Files {
		if !slices.Contains(d.opts.Skip, f.Path) {
			g.files = append(g.files, f)
		}
	}
	if g.lock, err = d.lockCache(g.Dir, b); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			g.lock.Close()
		}
	}()
	for _, f := range g.files {
		if err := d.fetch(ctx, g, f); err != nil {
			return nil, fmt.Errorf("generation %d of %s: file %s: %w", e.Generation, dataset, f.Path, err)
		}
	}
	if err := g.take(d.opts.Open(ctx, tablePrefix(dataset, e.Generation))); err != nil {
		return nil, err
	}
	d.sweepCache(ctx, dataset)
	return g, nil
}

// cacheDir returns the directory of a generation's files on this machine. Its name has the
// manifest's checksum, because another depot may use the same number for other data.
func (d *Depot) cacheDir(dataset string, e entry) string {
	return filepath.Join(d.opts.Dir, dataset, generationName(e.Generation)+"-"+e.Manifest[:16])
}

// lockCache creates the directory of a generation's files. Nobody removes it
// while the returned file is open.
func (d *Depot) lockCache(dir string, manifest []byte) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	name := filepath.Join(dir, manifestName)
	if b, err := readFile(name); err != nil || string(b) != string(manifest) {
		// The name is unique because another program may do the same at this moment.
		f, err := os.CreateTemp(filepath.Dir(dir), partial)
		if err != nil {
			return nil, err
		}
		_, err = f.Write(manifest)
		if err = errors.Join(err, f.Close()); err == nil {
			err = os.Rename(f.Name(), name)
		}
		if err != nil {
			os.Remove(f.Name())
			return nil, err
		}
	}
	lock, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if err := filelock.LockShared(lock); errors.Is(err, filelock.ErrLocked) {
		lock.Close()
		return nil, fmt.Errorf("%s is being removed by another program: open the generation again", dir)
	}
	return lock, nil
}

const (
	// partial begins the names of incomplete files. They lie next to the directories of
	// generations, which hold complete files only.
	partial = ".partial-"
	// partialAge is the age from which an incomplete file counts as left by a killed program.
	partialAge = time.Hour
)

// fetch downloads a file, unless this machine already has its published content.
func (d *Depot) fetch(ctx context.Context, g *Generation, f File) error {
	path := filepath.Join(g.Dir, filepath.FromSlash(f.Path))
	if in, err := os.Open(path); err == nil {
		sum, n, err := digest(ctx, in)
		in.Close()
		if err == nil && n == f.Bytes && sum == f.SHA256 {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(g.Dir), partial)
	if err != nil {
		return err
	}
	err = d.download(ctx, g, f, out)
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Chmod(out.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(out.Name(), path)
	}
	if err != nil {
		os.Remove(out.Name())
	}
	return err
}

func (d *Depot) download(ctx context.Context, g *Generation, f File, out *os.File) error {
	h := sha256.New()
	for i, left := int64(0), f.Bytes; left > 0; i++ {
		row := string(chunkRow(g.Manifest.Dataset, g.Manifest.Generation, f.Path, i))
		b, err := d.get(ctx, row, familyFile, columnChunk)
		if err != nil {
			return err
		}
		if int64(len(b)) != min(left, chunkBytes) {
			return fmt.Errorf("%w: piece %d has %d bytes instead of %d: push it again", cellstore.ErrCorrupt, i, len(b), min(left, chunkBytes))
		}
		h.Write(b)
		if _, err := out.Write(b); err != nil {
			return err
		}
		left -= int64(len(b))
	}
	if hex.EncodeToString(h.Sum(nil)) != f.SHA256 {
		return fmt.Errorf("%w: what was fetched is not what was pushed: push it again", cellstore.ErrCorrupt)
	}
	return nil
}

// sweepCache removes the files of generations that are no longer listed and that
// no program on this machine has open. It ignores errors: opening the next
// generation sweeps again.
func (d *Depot) sweepCache(ctx context.Context, dataset string) {
	dirs, err := os.ReadDir(filepath.Join(d.opts.Dir, dataset))
	if err != nil {
		return
	}
	p, err := d.pointer(ctx, dataset)
	if p == nil || err != nil {
		return
	}
	keep := map[string]bool{}
	for _, e := range p.Generations {
		keep[filepath.Base(d.cacheDir(dataset, e))] = true
	}
	for _, dir := range dirs {
		if strings.HasPrefix(dir.Name(), partial) {
			if st, err := dir.Info(); err == nil && time.Since(st.ModTime()) > partialAge {
				os.Remove(filepath.Join(d.opts.Dir, dataset, dir.Name()))
			}
			continue
		}
		name, _, ok := strings.Cut(dir.Name(), "-")
		if !ok || !generationRE.MatchString(name) || keep[dir.Name()] {
			continue
		}
		path := filepath.Join(d.opts.Dir, dataset, dir.Name())
		lock, err := withholdDir(path)
		if err == nil || os.IsNotExist(err) {
			os.RemoveAll(path)
		}
		if err == nil {
			lock.Close()
		}
	}
}
