package dataset

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"quadrille/cellstore"
)

// Datasets lists the data sets that have a published generation, by name.
func (d *Depot) Datasets(ctx context.Context) ([]string, error) {
	t, err := d.table(ctx)
	if t == nil || err != nil {
		return nil, err
	}
	var names []string
	scan := cellstore.Scan{Selection: cellstore.Selection{Columns: []cellstore.Column{{Family: familyPointer, Qualifier: columnCurrent}}}}
	for row, err := range t.Scan(ctx, scan) {
		if err != nil {
			return nil, err
		}
		if name := string(row.Key); checkName(name) == nil {
			names = append(names, name)
		}
	}
	return names, nil
}

// Current returns the manifest of the published generation. ErrNoGeneration
// when there is none.
func (d *Depot) Current(ctx context.Context, dataset string) (Manifest, error) {
	p, err := d.requirePointer(ctx, dataset)
	if err != nil {
		return Manifest{}, err
	}
	e, _ := p.find(p.Current)
	return d.manifest(ctx, dataset, e)
}

// List lists the generations of every data set, by name and number. Damage to
// one is reported in its Info and does not hide the others.
func (d *Depot) List(ctx context.Context) ([]Info, error) {
	names, err := d.Datasets(ctx)
	if err != nil {
		return nil, err
	}
	var list []Info
	for _, name := range names {
		p, err := d.requirePointer(ctx, name)
		switch {
		case errors.Is(err, ErrNoGeneration):
			continue
		case errors.Is(err, ErrBadPointer), errors.Is(err, ErrNewer):
			list = append(list, Info{Dataset: name, Err: err})
			continue
		case err != nil:
			return nil, err
		}
		for _, e := range p.Generations {
			in := Info{Dataset: name, Generation: e.Generation, Current: e.Generation == p.Current}
			in.Manifest, in.Err = d.manifest(ctx, name, e)
			list = append(list, in)
		}
	}
	return list, nil
}

// manifest reads that of a generation that is listed.
func (d *Depot) manifest(ctx context.Context, dataset string, e entry) (Manifest, error) {
	m, _, err := d.manifestBytes(ctx, dataset, e)
	if err != nil {
		return Manifest{}, err
	}
	return *m, nil
}

func (d *Depot) manifestBytes(ctx context.Context, dataset string, e entry) (*Manifest, []byte, error) {
	b, err := d.get(ctx, generationRow(dataset, e.Generation), familyManifest, columnManifest)
	if err != nil {
		return nil, nil, err
	}
	if b == nil {
		return nil, nil, fmt.Errorf("%w: generation %d of %s is listed but gone from %s: roll back, or push again", ErrNoGeneration, e.Generation, dataset, d.opts.Name)
	}
	m, err := decodePinned(dataset, e, b)
	return m, b, err
}

// Activate publishes a generation that is listed, by its number. When the
// pointer is lost or damaged, it is written anew from the manifests found.
func (d *Depot) Activate(ctx context.Context, dataset string, generation uint64) (Manifest, error) {
	return d.activate(ctx, dataset, func(p *pointer, err error) (*pointer, uint64, error) {
		if err == nil && p == nil || errors.Is(err, ErrBadPointer) {
			p, err = d.rebuildPointer(ctx, dataset)
		}
		return p, generation, err
	})
}

// Rollback publishes the generation before the current one. ErrNoGeneration
// when there is none.
func (d *Depot) Rollback(ctx context.Context, dataset string) (Manifest, error) {
	var chosen uint64
	return d.activate(ctx, dataset, func(p *pointer, err error) (*pointer, uint64, error) {
		if err == nil && p == nil {
			err = d.unpublished(dataset)
		}
		if err != nil {
			return nil, 0, err
		}
		if p.Current == chosen {
			// An earlier try was done after all, or another program did the same:
			// one step back is what was asked for.
			return p, chosen, nil
		}
		for _, e := range slices.Backward(p.Generations) {
			if e.Generation < p.Current {
				chosen = e.Generation
				return p, chosen, nil
			}
		}
		return nil, 0, fmt.Errorf("%w: data set %s has none before generation %d: push another instead", ErrNoGeneration, dataset, p.Current)
	})
}

func (d *Depot) activate(ctx context.Context, dataset string, choose func(*pointer, error) (*pointer, uint64, error)) (m Manifest, err error) {
	if err := checkName(dataset); err != nil {
		return Manifest{}, err
	}
	_, err = d.replace(ctx, dataset, func(p *pointer, err error) (*pointer, error) {
		p, n, err := choose(p, err)
		if err != nil {
			return nil, err
		}
		e, ok := p.find(n)
		if !ok {
			return nil, fmt.Errorf("%w: data set %s has no generation %d in %s: list them and choose another", ErrNoGeneration, dataset, n, d.opts.Name)
		}
		if m, err = d.manifest(ctx, dataset, e); err != nil {
			return nil, err
		}
		if err := d.complete(ctx, &m); err != nil {
			return nil, err
		}
		p.Current = n
		return p, nil
	})
	return m, err
}

// complete checks that a generation has its tables.
func (d *Depot) complete(ctx context.Context, m *Manifest) error {
	s, err := d.opts.Open(ctx, tablePrefix(m.Dataset, m.Generation))
	if err != nil {
		return err
	}
	defer closeRead(s)
	for _, t := range m.Tables {
		if _, err := s.Table(ctx, t.Name); err != nil {
			return fmt.Errorf("generation %d of %s: %w", m.Generation, m.Dataset, err)
		}
	}
	return nil
}

// generationRecord is the row of a generation.
type generationRecord struct {
	generation     uint64
	manifest, load []byte // nil where there is none
	removing       bool
}

// generationRows lists the generations of a data set, listed or not, ascending.
func (d *Depot) generationRows(ctx context.Context, dataset string) ([]generationRecord, error) {
	t, err := d.table(ctx)
	if t == nil || err != nil {
		return nil, err
	}
	var list []generationRecord
	scan := cellstore.Scan{Ranges: []cellstore.Range{cellstore.Prefix([]byte(dataset + "/"))}, Batch: 16,
		Selection: cellstore.Selection{Columns: []cellstore.Column{
			{Family: familyManifest, Qualifier: columnManifest}, {Family: familyManifest, Qualifier: columnLoad}, {Family: familyManifest, Qualifier: columnRemoving},
		}}}
	for row, err := range t.Scan(ctx, scan) {
		if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(string(row.Key), dataset+"/")
		if !generationRE.MatchString(name) {
			continue
		}
		n, err := strconv.ParseUint(name[1:], 10, 64)
		if err != nil || n == 0 {
			continue
		}
		r := generationRecord{generation: n}
		for i := range row.Cells {
			switch c := &row.Cells[i]; {
			case bytes.Equal(c.Qualifier, columnManifest):
				r.manifest = bytes.Clone(c.Value)
			case bytes.Equal(c.Qualifier, columnLoad):
				r.load = bytes.Clone(c.Value)
			default:
				r.removing = true
			}
		}
		list = append(list, r)
	}
	return list, nil
}

// rebuildPointer lists the generations that have a manifest. It cannot tell
// which were published, but each is complete: the manifest is written last.
func (d *Depot) rebuildPointer(ctx context.Context, dataset string) (*pointer, error) {
	rows, err := d.generationRows(ctx, dataset)
	if err != nil {
		return nil, err
	}
	p := new(pointer)
	for _, r := range rows {
		e := entry{r.generation, digestBytes(r.manifest)}
		if r.removing || r.manifest == nil {
			continue
		}
		if _, err := decodePinned(dataset, e, r.manifest); err == nil {
			p.Generations, p.Last = append(p.Generations, e), r.generation
		}
	}
	return p, nil
}

// PruneGrace is for how long a generation should stay that another has
// replaced: servers look at the pointer every two seconds, but may be cut off
// from the store, or at work on an answer, for longer.
const PruneGrace = 10 * time.Minute

// Prune deletes all but the keep newest generations of the named data sets, or
// of every one when none is named, with the exception of the published one and
// of those that were replaced less than grace ago, which Pruned.InUse lists:
// servers anywhere may still read them, and one that did not notice for so long
// would find its tables gone. What pushes and prunes that were killed left goes
// too, unless a push is running.
func (d *Depot) Prune(ctx context.Context, keep int, grace time.Duration, datasets ...string) (Pruned, error) {
	var done Pruned
	if keep < 0 || grace < 0 {
		return done, fmt.Errorf("cannot keep %d generations, and replaced ones for %v: give no negative numbers", keep, grace)
	}
	for _, name := range datasets {
		if err := checkName(name); err != nil {
			return done, err
		}
	}
	if len(datasets) == 0 {
		all, err := d.Datasets(ctx)
		if err != nil {
			return done, err
		}
		datasets = all
	}
	for _, name := range datasets {
		if err := d.prune(ctx, name, keep, grace, &done); err != nil {
			return done, err
		}
	}
	return done, nil
}

func (d *Depot) prune(ctx context.Context, dataset string, keep int, grace time.Duration, done *Pruned) error {
	if _, err := d.requirePointer(ctx, dataset); err != nil {
		return err
	}
	var gone, held []Info
	// First the list, then the data: a crash between leaves waste, not a
	// generation that is listed and not there.
	_, err := d.replace(ctx, dataset, func(p *pointer, err error) (*pointer, error) {
		gone, held = nil, nil
		if err == nil && p == nil {
			err = d.unpublished(dataset)
		}
		if err != nil {
			return nil, err
		}
		old := p.Generations[:max(0, len(p.Generations)-keep)]
		kept := slices.Clone(p.Generations[len(old):])
		for _, e := range old {
			in := Info{Dataset: dataset, Generation: e.Generation, Current: e.Generation == p.Current}
			if in.Current {
				kept = append(kept, e)
				continue
			}
			in.Manifest, in.Err = d.manifest(ctx, dataset, e)
			since, ok := p.Superseded[e.Generation]
			if !ok || d.now().Before(since.Add(grace)) {
				kept = append(kept, e)
				held = append(held, in)
				continue
			}
			gone = append(gone, in)
		}
		slices.SortFunc(kept, func(a, b entry) int { return cmp.Compare(a.Generation, b.Generation) })
		p.Generations = kept
		return p, nil
	})
	if err != nil {
		return err
	}
	done.InUse = append(done.InUse, held...)
	if err := d.step("unlisted"); err != nil {
		return err
	}
	t, err := d.create(ctx)
	if err != nil {
		return err
	}
	for _, in := range gone {
		if err := d.remove(ctx, t, dataset, in.Generation); err != nil {
			return err
		}
		done.Removed = append(done.Removed, in)
	}
	leased, l, err := d.lease(ctx, t, dataset, PushOptions{}.withDefaults().Owner)
	if errors.Is(err, ErrBuilding) {
		return nil
	}
	if err != nil {
		return err
	}
	defer l.release(ctx)
	// Anew: others may have published since the list above was written.
	p, err := d.requirePointer(leased, dataset)
	if err != nil {
		return err
	}
	rows, err := d.generationRows(leased, dataset)
	if err != nil {
		return err
	}
	return d.removeLeftovers(leased, dataset, p, rows, 0)
}

// Verify reads the tables of a generation, 0 being the published one, and
// compares them with the counts and checksums in its manifest. What differs
// matches cellstore.ErrCorrupt. It changes nothing and disturbs readers no more
// than others do.
func (d *Depot) Verify(ctx context.Context, dataset string, generation uint64, progress func(PushProgress)) error {
	p, err := d.requirePointer(ctx, dataset)
	if err != nil {
		return err
	}
	if generation == 0 {
		generation = p.Current
	}
	e, ok := p.find(generation)
	if !ok {
		return fmt.Errorf("%w: data set %s has no generation %d in %s: list them and choose another", ErrNoGeneration, dataset, generation, d.opts.Name)
	}
	m, err := d.manifest(ctx, dataset, e)
	if err != nil {
		return err
	}
	s, err := d.opts.Open(ctx, tablePrefix(dataset, generation))
	if err != nil {
		return err
	}
	defer closeRead(s)
	var met meter
	met.stage("checking", progress)
	var errs []error
	for _, want := range m.Tables {
		got, err := d.sumRemote(ctx, s, want.Name, PushOptions{}.withDefaults().Workers, func(rows, bytes int64) { met.add(want.Name, rows, bytes) })
		switch {
		case errors.Is(err, cellstore.ErrTableNotFound):
			errs = append(errs, fmt.Errorf("%w: table %s is gone: push it again", cellstore.ErrCorrupt, want.Name))
		case err != nil:
			return err
		case got != want:
			errs = append(errs, differ(want, got))
		}
	}
	return errors.Join(errs...)
}
