package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"quadrille/cellstore"
)

// maxAttempts bounds the retries of update while other writers change the
// pointer.
const maxAttempts = 50

// update changes the pointer of a data set. change receives the stored pointer, or nil if there is
// none, or the error of decoding it. It returns the new pointer, or nil to leave the old one.
// update calls change again if another writer was faster. visible reports whether readers may see
// the new pointer. It may be true even after an error.
func (g *Generations) update(ctx context.Context, dataset string,
	change func(*pointer, error) (*pointer, error)) (visible bool, err error) {
	for range maxAttempts {
		p, before, err := g.pointerBytes(ctx, dataset)
		if err != nil && !errors.Is(err, ErrBadPointer) {
			return false, err
		}
		published := uint64(0)
		if p != nil {
			published = p.Current
		}
		p, err = change(p, err)
		if p == nil || err != nil {
			return false, err
		}
		if g.now != nil {
			p.supersede(published, g.now())
		}
		after, err := encodePointer(p)
		if err != nil {
			return false, err
		}
		swapped, err := g.back.swapPointer(ctx, dataset, before, after)
		if errors.Is(err, cellstore.ErrUnknownOutcome) {
			stored, rerr := g.back.readPointer(ctx, dataset)
			if rerr != nil {
				return false, fmt.Errorf("%w: see by list whether it was done: %w", err, rerr)
			}
			swapped, err = bytes.Equal(stored, after), nil
		}
		if swapped || err != nil {
			return swapped, err
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return false, err
		}
	}
	return false, fmt.Errorf("data set %s in %s: other programs change what is published all the time: try again later", dataset, g.place)
}

// publish lists a complete generation and makes it the published one. The caller
// has claimed the data set. It also lists complete generations that the pointer lacks because it
// was lost or restored from an older backup.
func (g *Generations) publish(ctx context.Context, dataset string, e entry) (visible bool, err error) {
	return g.update(ctx, dataset, func(p *pointer, err error) (*pointer, error) {
		if err != nil {
			return nil, err
		}
		stored, err := g.back.stored(ctx, dataset)
		if err != nil {
			return nil, err
		}
		stored = slices.DeleteFunc(stored, func(s storedGeneration) bool { return s.number == e.Generation })
		last := uint64(0)
		if p != nil {
			last = p.Last
		}
		p, _ = adopt(dataset, p, stored)
		for _, other := range p.Generations {
			if p.Current != 0 && other.Generation > last && other.Generation != e.Generation {
				p.serve(other.Generation) // it was published after this pointer was written
			}
		}
		switch old, ok := p.find(e.Generation); {
		case ok && old != e:
			return nil, fmt.Errorf("%w: generation %d has been published by another program: %s again", ErrBuilding, e.Generation, g.fill)
		case !ok && e.Generation <= last:
			return nil, fmt.Errorf("%w: generation %d has been removed by another program: %s again", ErrBuilding, e.Generation, g.fill)
		case !ok:
			p.add(e)
		}
		p.serve(e.Generation)
		p.Last = max(p.Last, e.Generation)
		return p, nil
	})
}

// Activate publishes a listed generation by its number, after checking that it can be served. It
// does not wait for a running build. A pointer that is lost or damaged is written again from the
// manifests that are found.
func (g *Generations) Activate(ctx context.Context, dataset string, generation uint64) (Manifest, error) {
	return g.activate(ctx, dataset, func(p *pointer, err error) (*pointer, uint64, error) {
		if err == nil && p == nil || errors.Is(err, ErrBadPointer) {
			p, err = g.rebuildPointer(ctx, dataset)
			if err == nil && len(p.Generations) == 0 {
				err = g.unpublished(ctx, dataset, nil)
			}
		}
		return p, generation, err
	})
}

// Unpublish unpublishes a data set: readers answer as if it had never existed. It returns the
// number of the published generation. All generations stay until Prune, which then removes every
// one; until then Rollback undoes Unpublish. Errors match ErrNoGeneration if nothing is published.
func (g *Generations) Unpublish(ctx context.Context, dataset string) (generation uint64, err error) {
	if err := checkName(dataset); err != nil {
		return 0, err
	}
	_, err = g.update(ctx, dataset, func(p *pointer, err error) (*pointer, error) {
		if err == nil && (p == nil || p.Current == 0) {
			err = g.unpublished(ctx, dataset, p)
		}
		if err != nil {
			return nil, err
		}
		generation = p.Current
		p.Current, p.Dropped = 0, generation
		return p, nil
	})
	if err != nil {
		return 0, err
	}
	return generation, nil
}

// Rollback publishes the previously published generation. It skips those that earlier rollbacks
// have withdrawn. After Unpublish it publishes the dropped generation again. The error matches
// ErrNoGeneration if there is no such generation.
func (g *Generations) Rollback(ctx context.Context, dataset string) (Manifest, error) {
	var chosen uint64
	return g.activate(ctx, dataset, func(p *pointer, err error) (*pointer, uint64, error) {
		if err == nil && (p == nil || p.Current == 0 && p.dropped() == 0) {
			err = g.unpublished(ctx, dataset, p)
		}
		if err != nil {
			return nil, 0, err
		}
		if p.Current == 0 {
			chosen = p.dropped()
			return p, chosen, nil
		}
		// If a retry finds that its choice is already published, it does not go further back.
		// Either the first attempt succeeded, or another program has rolled back too.
		if p.Current == chosen {
			return p, chosen, nil
		}
		if before := p.before(); len(before) > 0 {
			chosen = before[len(before)-1]
			return p, chosen, nil
		}
		return nil, 0, fmt.Errorf("%w: data set %s has none that was published before generation %d: %s another instead, or "+
			"choose a generation by its number",
			ErrNoGeneration, dataset, p.Current, g.fill)
	})
}

// activate publishes the generation that choose returns. choose receives the pointer, or the error
// of decoding it.
func (g *Generations) activate(ctx context.Context, dataset string,
	choose func(*pointer, error) (*pointer, uint64, error)) (m Manifest, err error) {
	if err := checkName(dataset); err != nil {
		return Manifest{}, err
	}
	_, err = g.update(ctx, dataset, func(p *pointer, err error) (*pointer, error) {
		p, generation, err := choose(p, err)
		if err != nil {
			return nil, err
		}
		e, err := g.entryOf(p, dataset, generation)
		if err != nil {
			return nil, err
		}
		p.serve(generation)
		m, err = g.back.servable(ctx, dataset, e)
		return p, err
	})
	if err != nil {
		return Manifest{}, err
	}
	return m, nil
}

// rebuildPointer lists the generations that have a manifest, and publishes none. It does not know
// which of them were published, but each is complete, because the manifest is written last.
func (g *Generations) rebuildPointer(ctx context.Context, dataset string) (*pointer, error) {
	stored, err := g.back.stored(ctx, dataset)
	if err != nil {
		return nil, err
	}
	p, _ := adopt(dataset, nil, stored)
	return p, nil
}

// adopt lists complete generations that the pointer (nil for none) has never listed. It reports
// whether it has changed the pointer. It skips generations with lower numbers than listed ones:
// such generations were pruned. Generations that it cannot decode may be complete, so it records
// them in Unread.
func adopt(dataset string, p *pointer, stored []storedGeneration) (_ *pointer, changed bool) {
	all := new(pointer)
	if p != nil {
		*all = *p
		all.Generations = slices.Clone(p.Generations)
	}
	last, unread := all.Last, all.Unread
	all.Unread = nil
	for _, s := range stored {
		if _, listed := all.find(s.number); listed || s.waste(p) || s.number <= last && !slices.Contains(unread, s.number) {
			continue
		}
		all.Last = max(all.Last, s.number)
		if e, err := s.entry(dataset); err == nil {
			all.add(e)
			changed = true
		} else {
			all.Unread = append(all.Unread, s.number)
		}
	}
	return all, changed || !slices.Equal(unread, all.Unread)
}

// PruneResult is the result of Prune, by data set and number.
type PruneResult struct {
	Removed []GenerationInfo
	// EmptiedDatasets lists the data sets of which no generation remains.
	EmptiedDatasets []string
	// InUse are generations that would have been removed, but a process on this machine has them
	// open, or in a Depot the time of grace is not over.
	InUse []GenerationInfo
	// Leftovers of killed builds, pushes and prunes have been removed.
	Leftovers []GenerationInfo
	// Unreadable are generations that are not listed but stay, because they may hold a data set. Err
	// says why they cannot be read, and what to do.
	Unreadable []GenerationInfo
}

// Prune deletes all but the keep newest generations of the named data sets, or of all data sets if
// none is named. It never deletes the published generation or a generation that may still be read;
// these stay listed. If keep is 2 or more, the generation that Rollback would publish stays as
// well.
//
// In a Catalog a generation may be read while a process on this machine has it open. A Depot does
// not know its readers, so there a generation stays until grace has passed since another replaced
// it. Servers read the pointer every two seconds, but may be cut off from the store, or at work on
// an answer, for longer: ten minutes is a good time of grace. A server that does not notice the
// change within grace finds its tables gone.
//
// Prune deletes every generation of a dropped data set that is not being read. With the last one it
// deletes the pointer and, in a Catalog, the directory.
//
// Prune also removes the remains of killed builds, pushes and prunes, unless a build or a push is
// running. It lists a complete generation that the pointer has never listed, and leaves one whose
// manifest is missing or damaged. A data set whose pointer cannot be used gives an error, and the
// others are pruned.
func (g *Generations) Prune(ctx context.Context, keep int, grace time.Duration, datasets ...string) (PruneResult, error) {
	var pruned PruneResult
	if keep < 0 || grace < 0 {
		return pruned, fmt.Errorf("cannot keep %d generations, and replaced ones for %v: give no negative numbers", keep, grace)
	}
	for _, name := range datasets {
		if err := checkName(name); err != nil {
			return pruned, err
		}
	}
	all := len(datasets) == 0
	if all {
		var err error
		var without []string
		if datasets, err = g.datasets(ctx, func(name string, p *pointer, err error) bool {
			if p == nil && err == nil {
				without = append(without, name)
				return false
			}
			return true
		}); err != nil {
			return pruned, err
		}
		// A data set without a pointer belongs to a build that was killed and never published, or
		// has lost its pointer. In both cases its files stay.
		for _, name := range without {
			switch err := g.unpublished(ctx, name, nil); {
			case errors.Is(err, ErrBadPointer):
				pruned.Unreadable = append(pruned.Unreadable, GenerationInfo{Dataset: name, Err: err})
			case !errors.Is(err, ErrNoGeneration):
				return pruned, err
			}
		}
	}
	var errs []error
	for _, name := range datasets {
		switch err := g.prune(ctx, name, keep, grace, &pruned); {
		case err == nil, all && errors.Is(err, ErrNoGeneration): // another prune has removed the last of it
		case errors.Is(err, ErrBadPointer), errors.Is(err, cellstore.ErrLayout):
			errs = append(errs, err)
		default:
			return pruned, errors.Join(append(errs, err)...)
		}
	}
	return pruned, errors.Join(errs...)
}

func (g *Generations) prune(ctx context.Context, dataset string, keep int, grace time.Duration, pruned *PruneResult) error {
	if _, err := g.requirePointer(ctx, dataset); err != nil {
		return err
	}
	c := &lateClaim{g: g, dataset: dataset, ctx: ctx}
	// The list is replaced before data goes: a crash in between leaves waste,
	// not a listed generation without data.
	unlisted, inUse, release, err := g.unlist(c, keep, grace)
	defer release()
	defer c.release()
	if err != nil {
		return err
	}
	pruned.InUse = append(pruned.InUse, inUse...)
	if err := g.step("unlisted"); err != nil {
		return err
	}
	for _, in := range unlisted {
		if err := g.back.remove(c.ctx, dataset, storedGeneration{number: in.Generation}); err != nil {
			return err
		}
		pruned.Removed = append(pruned.Removed, in)
		if err := g.step("generation removed"); err != nil {
			return err
		}
	}
	if claimed, err := c.take(); !claimed {
		return err
	}
	return g.sweep(c.ctx, dataset, pruned)
}

// lateClaim is a claim to a data set, taken on first use.
type lateClaim struct {
	g       *Generations
	dataset string
	ctx     context.Context // once the claim is taken, it ends if the claim is lost
	end     func()          // nil until the claim is taken
}

// take claims the data set, if it is not claimed already, and reports whether it is claimed. The
// claim lasts until release.
func (c *lateClaim) take() (bool, error) {
	if c.end != nil {
		return true, nil
	}
	claimed, end, err := c.g.back.claim(c.ctx, c.dataset)
	if errors.Is(err, ErrBuilding) || errors.Is(err, fs.ErrNotExist) { // or it was removed meanwhile
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c.ctx, c.end = claimed, end
	return true, nil
}

func (c *lateClaim) release() {
	if c.end != nil {
		c.end()
	}
}

// unlist removes all but the keep newest generations from the pointer. Those in unlisted
// may be deleted until release is called; those in inUse stay listed. A dropped data set
// is claimed first.
func (g *Generations) unlist(c *lateClaim, keep int, grace time.Duration) (unlisted, inUse []GenerationInfo, release func(), err error) {
	var releases []func()
	release = func() {
		for _, f := range releases {
			f()
		}
		releases = nil
	}
	_, err = g.update(c.ctx, c.dataset, func(p *pointer, err error) (*pointer, error) {
		release()
		unlisted, inUse = nil, nil
		if err == nil && p == nil {
			// Another prune may have removed the rest of the data set meanwhile.
			if err = g.unpublished(c.ctx, c.dataset, nil); errors.Is(err, ErrNoGeneration) {
				return nil, nil
			}
		}
		if err != nil {
			return nil, err
		}
		old, back := len(p.Generations)-keep, p.before()
		if keep < 2 || p.Current == 0 {
			back = nil
		}
		if p.Current == 0 {
			// After another prune has removed the other generations, a new generation may have the
			// same number.
			if _, err := c.take(); err != nil {
				return nil, err
			}
			old = len(p.Generations)
		}
		var kept []entry
		for i, e := range p.Generations {
			if i >= old || e.Generation == p.Current || len(back) > 0 && e.Generation == back[len(back)-1] {
				kept = append(kept, e)
				continue
			}
			in := g.info(c.ctx, c.dataset, p, e)
			free, err := g.withhold(c.dataset, p, e, grace)
			switch {
			case errors.Is(err, errInUse):
				kept, inUse = append(kept, e), append(inUse, in)
			case err != nil:
				return nil, err
			default:
				releases, unlisted = append(releases, free), append(unlisted, in)
			}
		}
		p.Generations = kept
		return p, nil
	})
	return unlisted, inUse, release, err
}

// sweep removes the remains of generations that are not listed. If a data set has no generations
// left, it removes the pointer too. The caller has claimed the data set.
func (g *Generations) sweep(ctx context.Context, dataset string, pruned *PruneResult) error {
	stored, err := g.back.stored(ctx, dataset)
	if err != nil {
		return err
	}
	var p *pointer
	_, err = g.update(ctx, dataset, func(now *pointer, err error) (changed *pointer, _ error) {
		if p = now; err != nil || p == nil {
			return nil, err
		}
		all, adopted := adopt(dataset, p, stored)
		if !adopted {
			return nil, nil
		}
		p = all
		return all, nil
	})
	if err != nil || p == nil { // another prune has removed the last of it
		return err
	}
	waste, err := g.removeWaste(ctx, dataset, p, stored, 0)
	for _, n := range waste {
		pruned.Leftovers = append(pruned.Leftovers, GenerationInfo{Dataset: dataset, Generation: n})
	}
	if err != nil {
		return err
	}
	for _, s := range stored {
		if _, listed := p.find(s.number); listed || s.waste(p) {
			continue
		}
		in := GenerationInfo{Dataset: dataset, Generation: s.number}
		e, err := s.entry(dataset)
		if err != nil {
			in.Err = fmt.Errorf("%w: restore its manifest and prune again, or remove %s from %s if nobody needs it", err,
				generationRow(dataset, s.number), g.place)
			pruned.Unreadable = append(pruned.Unreadable, in)
			continue
		}
		removed, err := g.removeUnlisted(ctx, dataset, s)
		if err != nil {
			return err
		}
		if m, err := decodePinned(dataset, e, s.manifest); err == nil {
			in.Manifest = *m
		}
		if removed {
			pruned.Removed = append(pruned.Removed, in)
		} else {
			pruned.InUse = append(pruned.InUse, in)
		}
	}
	p, before, err := g.pointerBytes(ctx, dataset)
	if err != nil || p == nil || len(p.Generations) > 0 {
		return err
	}
	if stored, err = g.back.stored(ctx, dataset); err != nil || len(stored) > 0 {
		return err
	}
	if err := g.back.removePointer(ctx, dataset, before); err != nil {
		return err
	}
	pruned.EmptiedDatasets = append(pruned.EmptiedDatasets, dataset)
	return nil
}

// withhold keeps readers from a listed generation, so that it can be removed. It returns errInUse
// if the generation may be read.
func (g *Generations) withhold(dataset string, p *pointer, e entry, grace time.Duration) (release func(), err error) {
	if g.now != nil {
		if since, ok := p.Superseded[e.Generation]; !ok || g.now().Before(since.Add(grace)) {
			return nil, errInUse
		}
	}
	return g.back.withhold(dataset, e.Generation)
}

// removeWaste removes stored generations that p does not list and that are marked as unfinished,
// except one. The caller has claimed the data set, so no other program is adding to them.
// Generations that look complete stay even if p lacks them: the pointer may have been lost, or
// restored from a backup.
func (g *Generations) removeWaste(ctx context.Context, dataset string, p *pointer, stored []storedGeneration,
	except uint64) (removed []uint64, _ error) {
	for _, s := range stored {
		if ctx.Err() != nil {
			return removed, context.Cause(ctx)
		}
		if p != nil {
			if _, listed := p.find(s.number); listed {
				continue
			}
		}
		if s.number == except || !s.waste(p) {
			continue
		}
		done, err := g.removeUnlisted(ctx, dataset, s)
		if err != nil {
			return removed, err
		}
		if done {
			removed = append(removed, s.number)
		}
	}
	return removed, nil
}

// removeUnlisted removes an unlisted generation, unless it is being read.
func (g *Generations) removeUnlisted(ctx context.Context, dataset string, s storedGeneration) (removed bool, err error) {
	if !s.removing { // otherwise it has no readers
		release, err := g.back.withhold(dataset, s.number)
		if errors.Is(err, errInUse) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		defer release()
	}
	if err := g.back.remove(ctx, dataset, s); err != nil {
		return false, fmt.Errorf("remove what a killed %s or prune of %s left behind: %w", g.fill, dataset, err)
	}
	return true, nil
}

// pause waits, or returns the error of ctx.
func pause(ctx context.Context, wait time.Duration) error {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
