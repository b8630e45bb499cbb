package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// publish makes a complete generation the current one.
func (c *Catalog) publish(ctx context.Context, dataset string, e entry) (visible bool, err error) {
	lock, err := c.lockPointer(ctx, dataset)
	if err != nil {
		return false, err
	}
	defer lock.Close()
	p, err := c.readPointer(dataset)
	if err != nil {
		return false, err
	}
	if p == nil {
		p = new(pointer)
	}
	p.Current, p.Last = e.Generation, max(p.Last, e.Generation)
	p.Generations = append(p.Generations, e) // numbers only grow
	return c.writePointer(dataset, p)
}

// Activate publishes an existing generation again, by its number, after
// checking that it opens. It does not wait for a running build. When CURRENT is
// lost or damaged, it is written anew from the manifests found on the disk.
func (c *Catalog) Activate(ctx context.Context, dataset string, generation uint64) (Manifest, error) {
	return c.activate(ctx, dataset, func(p *pointer, err error) (*pointer, uint64, error) {
		if errors.Is(err, ErrNoGeneration) || errors.Is(err, ErrBadPointer) {
			p, err = c.rebuildPointer(dataset)
		}
		return p, generation, err
	})
}

// Rollback publishes the generation before the current one. ErrNoGeneration
// when there is none.
func (c *Catalog) Rollback(ctx context.Context, dataset string) (Manifest, error) {
	return c.activate(ctx, dataset, func(p *pointer, err error) (*pointer, uint64, error) {
		if err != nil {
			return nil, 0, err
		}
		for _, e := range slices.Backward(p.Generations) {
			if e.Generation < p.Current {
				return p, e.Generation, nil
			}
		}
		return nil, 0, fmt.Errorf("%w: data set %s has none before generation %d: ingest again instead", ErrNoGeneration, dataset, p.Current)
	})
}

// activate publishes the generation that choose picks, given CURRENT or the
// reason why it cannot be read.
func (c *Catalog) activate(ctx context.Context, dataset string, choose func(*pointer, error) (*pointer, uint64, error)) (Manifest, error) {
	if err := checkName(dataset); err != nil {
		return Manifest{}, err
	}
	lock, err := c.lockPointer(ctx, dataset)
	if os.IsNotExist(err) {
		_, err = c.requirePointer(dataset) // to say so
	}
	if err != nil {
		return Manifest{}, err
	}
	defer lock.Close()
	p, n, err := choose(c.requirePointer(dataset))
	if err != nil {
		return Manifest{}, err
	}
	e, ok := p.find(n)
	if !ok {
		return Manifest{}, fmt.Errorf("%w: data set %s has no generation %d: list them and choose another", ErrNoGeneration, dataset, n)
	}
	g, err := c.openEntry(dataset, e)
	if err != nil {
		return Manifest{}, err
	}
	defer func() { _ = g.Close() }() // it was opened to see that it can be
	p.Current = n
	if _, err := c.writePointer(dataset, p); err != nil {
		return Manifest{}, err
	}
	return g.Manifest, nil
}

// rebuildPointer lists the generations that have a manifest. It cannot tell
// which were published, but each is complete: the manifest is written last.
func (c *Catalog) rebuildPointer(dataset string) (*pointer, error) {
	list, err := c.generationsOnDisk(dataset)
	if err != nil {
		return nil, err
	}
	p := new(pointer)
	for _, n := range list {
		b, err := readFile(filepath.Join(c.generationDir(dataset, n), manifestName))
		if err != nil {
			continue
		}
		e := entry{n, digestBytes(b)}
		if _, err := decodePinned(dataset, e, b); err == nil {
			p.Generations, p.Last = append(p.Generations, e), n
		}
	}
	return p, nil
}

// Pruned is what Prune did, by data set and number.
type Pruned struct {
	Removed []Info
	InUse   []Info // would have been removed, but a process has them open
}

// Prune deletes all but the keep newest generations of the named data sets, or
// of every one when none is named. It never deletes the published generation,
// whichever number it has, nor one that a process on this machine has open;
// those stay listed. What killed builds left behind goes too, unless a build
// is running.
func (c *Catalog) Prune(ctx context.Context, keep int, datasets ...string) (Pruned, error) {
	var done Pruned
	if keep < 0 {
		return done, fmt.Errorf("cannot keep %d generations: keep 0 or more", keep)
	}
	for _, name := range datasets {
		if err := checkName(name); err != nil {
			return done, err
		}
	}
	if len(datasets) == 0 {
		all, err := c.Datasets()
		if err != nil {
			return done, err
		}
		datasets = all
	}
	for _, name := range datasets {
		if err := c.prune(ctx, name, keep, &done); err != nil {
			return done, err
		}
	}
	return done, nil
}

func (c *Catalog) prune(ctx context.Context, dataset string, keep int, done *Pruned) error {
	if _, err := c.requirePointer(dataset); err != nil {
		return err
	}
	lock, err := c.lockPointer(ctx, dataset)
	if err != nil {
		return err
	}
	defer lock.Close()
	p, err := c.requirePointer(dataset)
	if err != nil {
		return err
	}
	old := p.Generations[:max(0, len(p.Generations)-keep)]
	kept := slices.Clone(p.Generations[len(old):])
	var gone []Info
	for _, e := range old {
		in := Info{Dataset: dataset, Generation: e.Generation, Current: e.Generation == p.Current}
		if in.Current {
			kept = append(kept, e)
			continue
		}
		in.Manifest, in.Err = c.manifest(dataset, e)
		held, err := c.lockGeneration(dataset, e.Generation)
		if errors.Is(err, ErrInUse) {
			kept = append(kept, e)
			done.InUse = append(done.InUse, in)
			continue
		}
		if err != nil {
			return err
		}
		defer held.Close() // a reader that comes now is turned away
		gone = append(gone, in)
	}
	if len(gone) > 0 {
		slices.SortFunc(kept, func(a, b entry) int { return cmp.Compare(a.Generation, b.Generation) })
		p.Generations = kept
		// First the list, then the files: a crash between leaves waste, not
		// a listed generation without files.
		if _, err := c.writePointer(dataset, p); err != nil {
			return err
		}
	}
	for _, in := range gone {
		if err := os.RemoveAll(c.generationDir(dataset, in.Generation)); err != nil {
			return err
		}
		done.Removed = append(done.Removed, in)
		if err := c.step("generation removed"); err != nil {
			return err
		}
	}
	build, err := c.lockBuild(dataset, "pruned")
	if errors.Is(err, ErrBuilding) {
		return nil
	}
	if err != nil {
		return err
	}
	defer build.Close()
	return c.removeLeftovers(ctx, dataset, p)
}

// lockPointer takes the lock under which CURRENT is read and replaced. It is
// held for moments only, so it is waited for.
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
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// lockGeneration takes a generation away from readers, for its removal.
// ErrInUse when one has it open. A generation without a manifest has none.
func (c *Catalog) lockGeneration(dataset string, generation uint64) (*os.File, error) {
	f, err := os.Open(filepath.Join(c.generationDir(dataset, generation), manifestName))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := lockFile(f, true); err != nil {
		f.Close()
		if errors.Is(err, errLocked) {
			return nil, fmt.Errorf("%w: generation %d of %s", ErrInUse, generation, dataset)
		}
		return nil, err
	}
	return f, nil
}
