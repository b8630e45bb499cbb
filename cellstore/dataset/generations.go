package dataset

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"quadrille/cellstore"
)

// Generations lists, publishes and removes the generations of all data sets in one place. A Catalog
// and a Depot each have one; they differ only in the place. Its methods may be called by any number
// of goroutines and programs at once.
type Generations struct {
	back  backing
	place string // the directory or the depot, for messages
	fill  string // what adds a generation, for messages: "ingest" or "push"

	// now is nil if open files show which generations are being read. Otherwise it is the clock for
	// the times in the pointer at which generations were superseded.
	now func() time.Time
	// onStep is set by tests. It sees every step after which a crash may come,
	// and may make the step fail.
	onStep func(step string) error
}

// backing stores the pointers and the data of generations. For it the pointer is just bytes, which
// it replaces by compare-and-set. Only Generations knows the meaning of these bytes.
type backing interface {
	// datasets lists, by name, the data sets that may have a pointer. It may also
	// list data sets without a pointer if finding them costs nothing.
	datasets(ctx context.Context) ([]storedPointer, error)
	// present returns an error if the whole place is gone, or is not the place of serving. The lack
	// of a pointer then means nothing.
	present(ctx context.Context, serving *Generation) error
	// readPointer returns the stored pointer, or nil if there is none.
	readPointer(ctx context.Context, dataset string) ([]byte, error)
	// swapPointer stores the pointer after if the stored one still equals before; nil means no
	// pointer. If swapped is true and there is an error, readers see the new pointer, but a
	// crash may undo the change. After cellstore.ErrUnknownOutcome the caller has to read the
	// pointer.
	swapPointer(ctx context.Context, dataset string, before, after []byte) (swapped bool, err error)
	// removePointer removes the pointer of a data set without generations, and all that remains of
	// the data set. It does nothing if the stored pointer does not equal before. The caller has
	// claimed the data set.
	removePointer(ctx context.Context, dataset string, before []byte) error
	// watched names directories in which a change of the pointer causes an event. The first of them
	// that exists is the best one to watch.
	watched(dataset string) []string

	// stored returns the generations that exist, in or out of the pointer's list, ascending.
	stored(ctx context.Context, dataset string) ([]storedGeneration, error)
	// manifest reads the manifest of a listed generation.
	manifest(ctx context.Context, dataset string, e entry) (Manifest, error)
	// openListed opens a listed generation.
	openListed(ctx context.Context, dataset string, e entry) (*Generation, error)
	// servable does the same as manifest, but returns an error if the generation cannot be served.
	servable(ctx context.Context, dataset string, e entry) (Manifest, error)
	// verify reads all of a listed generation and compares its checksums.
	verify(ctx context.Context, dataset string, e entry, progress func(PushProgress)) error
	// claim takes the right to add and remove generations that are not listed. Errors match
	// ErrBuilding if another program has the right. The returned context ends when the right is
	// lost.
	claim(ctx context.Context, dataset string) (_ context.Context, release func(), err error)
	// withhold keeps readers from opening a generation until release is called. It
	// returns errInUse if a reader has the generation open.
	withhold(dataset string, generation uint64) (release func(), err error)
	// remove deletes a generation that is not listed.
	remove(ctx context.Context, dataset string, s storedGeneration) error
}

var (
	_ backing = (*Catalog)(nil)
	_ backing = (*Depot)(nil)
)

// storedPointer is the stored pointer of a data set: its bytes, nil if there is no pointer, and
// empty if it cannot be read.
type storedPointer struct {
	dataset string
	pointer []byte
}

// storedGeneration describes what is stored of a generation, whether it is listed or not.
type storedGeneration struct {
	number         uint64
	manifest, load []byte // nil where there is none
	removing       bool   // its removal has begun, or in a Catalog its build not ended
}

// waste reports whether an unlisted generation is marked as unfinished or as being removed. Without
// a pointer, a generation with a manifest is never waste: it may have been listed, and the record
// of its load may have been left behind.
func (s *storedGeneration) waste(p *pointer) bool {
	return s.removing || s.load != nil && (p != nil || s.manifest == nil)
}

// entry returns the generation's entry for the pointer, or an error if it cannot be listed.
func (s *storedGeneration) entry(dataset string) (entry, error) {
	if s.manifest == nil {
		return entry{}, corrupt(dataset, s.number, "its manifest is missing")
	}
	e := entry{s.number, digestBytes(s.manifest)}
	_, err := decodePinned(dataset, e, s.manifest)
	return e, err
}

func (g *Generations) all() *Generations { return g }

func (g *Generations) step(name string) error {
	if g.onStep == nil {
		return nil
	}
	return g.onStep(name)
}

// Datasets lists the data sets that have a published generation, by name, and those
// whose pointer cannot be read or, in a Catalog, is lost. It does not open them.
func (g *Generations) Datasets(ctx context.Context) ([]string, error) {
	return g.datasets(ctx, func(dataset string, p *pointer, err error) bool {
		if err == nil && p == nil {
			err = g.unpublished(ctx, dataset, nil)
			return !errors.Is(err, ErrNoGeneration)
		}
		return err != nil || p.Current != 0
	})
}

// datasets lists the data sets for which want returns true. want receives the pointer, or nil if
// there is none, or the error of decoding it.
func (g *Generations) datasets(ctx context.Context, want func(dataset string, p *pointer, err error) bool) ([]string, error) {
	all, err := g.back.datasets(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range all {
		var p *pointer
		var err error
		if s.pointer != nil {
			p, err = decodePointer(s.pointer)
		}
		if want(s.dataset, p, err) {
			names = append(names, s.dataset)
		}
	}
	return names, nil
}

// Current returns the manifest of the published generation. Errors match ErrNoGeneration if there
// is none.
func (g *Generations) Current(ctx context.Context, dataset string) (Manifest, error) {
	e, err := g.listed(ctx, dataset, 0)
	if err != nil {
		return Manifest{}, err
	}
	return g.back.manifest(ctx, dataset, e)
}

// GenerationInfo is one generation in a listing.
type GenerationInfo struct {
	Dataset    string
	Generation uint64
	Current    bool // published
	// Dropped: nothing of the data set is published since Unpublish, and Rollback would
	// publish this one again.
	Dropped  bool
	Manifest Manifest
	// Err says why there is no Manifest. Generation is 0 if the pointer is lost or cannot be read.
	Err error
}

// List lists the generations of every data set, by name and number. Damage to
// one is reported in its Info and does not hide the others.
func (g *Generations) List(ctx context.Context) ([]GenerationInfo, error) {
	names, err := g.datasets(ctx, func(string, *pointer, error) bool { return true })
	if err != nil {
		return nil, err
	}
	var list []GenerationInfo
	for _, name := range names {
		p, err := g.pointer(ctx, name)
		if err == nil && p == nil {
			if err = g.unpublished(ctx, name, nil); errors.Is(err, ErrNoGeneration) {
				continue // removed since, or never published
			}
		}
		switch {
		case errors.Is(err, cellstore.ErrUnavailable), errors.Is(err, cellstore.ErrClosed), err != nil && ctx.Err() != nil:
			return nil, err
		case err != nil:
			list = append(list, GenerationInfo{Dataset: name, Err: err})
			continue
		}
		for _, e := range p.Generations {
			list = append(list, g.info(ctx, name, p, e))
		}
	}
	return list, nil
}

func (g *Generations) info(ctx context.Context, dataset string, p *pointer, e entry) GenerationInfo {
	in := GenerationInfo{Dataset: dataset, Generation: e.Generation, Current: e.Generation == p.Current, Dropped: e.Generation == p.dropped()}
	in.Manifest, in.Err = g.back.manifest(ctx, dataset, e)
	return in
}

// OpenCurrent opens the published generation. The caller closes it. Errors match ErrNoGeneration if
// there is none.
func (g *Generations) OpenCurrent(ctx context.Context, dataset string) (*Generation, error) {
	return g.open(ctx, dataset, 0)
}

// OpenGeneration opens a generation that List shows, published or not. The
// caller closes it.
func (g *Generations) OpenGeneration(ctx context.Context, dataset string, generation uint64) (*Generation, error) {
	if generation == 0 {
		return nil, fmt.Errorf("%w: generations are numbered from 1", ErrNoGeneration)
	}
	return g.open(ctx, dataset, generation)
}

func (g *Generations) open(ctx context.Context, dataset string, generation uint64) (*Generation, error) {
	for {
		e, err := g.listed(ctx, dataset, generation)
		if err != nil {
			return nil, err
		}
		opened, err := g.back.openListed(ctx, dataset, e)
		if err == nil {
			return opened, nil
		}
		// It may have been replaced and pruned while it was being opened.
		if now, nerr := g.listed(ctx, dataset, generation); nerr == nil && now == e || ctx.Err() != nil {
			return nil, err
		}
	}
}

// Verify reads every byte of a generation, 0 meaning the published one, and compares it with the
// checksums in its manifest: all files in a Catalog, the rows of all tables in a Depot. It returns
// all differences; each matches cellstore.ErrCorrupt. It changes nothing, and does not disturb
// readers. progress, unless nil, is called with the amount read so far.
func (g *Generations) Verify(ctx context.Context, dataset string, generation uint64, progress func(PushProgress)) error {
	e, err := g.listed(ctx, dataset, generation)
	if err != nil {
		return err
	}
	return g.back.verify(ctx, dataset, e, progress)
}

// listed finds a generation in the pointer; 0 means the published one.
func (g *Generations) listed(ctx context.Context, dataset string, generation uint64) (entry, error) {
	p, err := g.requirePointer(ctx, dataset)
	if err != nil {
		return entry{}, err
	}
	if generation == 0 {
		if generation = p.Current; generation == 0 {
			return entry{}, g.unpublished(ctx, dataset, p)
		}
	}
	return g.entryOf(p, dataset, generation)
}

func (g *Generations) entryOf(p *pointer, dataset string, generation uint64) (entry, error) {
	e, ok := p.find(generation)
	if !ok {
		return entry{}, fmt.Errorf("%w: data set %s has no generation %d in %s: list them and choose another", ErrNoGeneration,
			dataset, generation, g.place)
	}
	return e, nil
}

// pointer reads the pointer of a data set. It is nil if there is none.
func (g *Generations) pointer(ctx context.Context, dataset string) (*pointer, error) {
	p, _, err := g.pointerBytes(ctx, dataset)
	return p, err
}

// pointerBytes returns the pointer and its stored bytes. It returns the bytes even if they cannot
// be decoded.
func (g *Generations) pointerBytes(ctx context.Context, dataset string) (*pointer, []byte, error) {
	b, err := g.back.readPointer(ctx, dataset)
	if b == nil || err != nil {
		return nil, nil, err
	}
	p, err := decodePointer(b)
	if err != nil {
		return nil, b, fmt.Errorf("data set %s in %s: %w: publish a generation again by ingest rollback %s --to N", dataset, g.place,
			err, dataset)
	}
	return p, b, nil
}

// requirePointer does the same as pointer, but returns an error if there is no pointer.
func (g *Generations) requirePointer(ctx context.Context, dataset string) (*pointer, error) {
	if err := checkName(dataset); err != nil {
		return nil, err
	}
	p, err := g.pointer(ctx, dataset)
	if err == nil && p == nil {
		err = g.unpublished(ctx, dataset, nil)
	}
	return p, err
}

// unpublished returns the error for a data set without a published generation. p is its pointer, or
// nil for none. The error is ErrBadPointer if the pointer must have been lost: a program that
// builds on the published generation must not continue as if none had ever existed.
func (g *Generations) unpublished(ctx context.Context, dataset string, p *pointer) error {
	if p != nil && len(p.Generations) > 0 {
		return fmt.Errorf("%w: data set %s in %s has been dropped: roll it back to publish generation %d again", ErrNoGeneration,
			dataset, g.place, p.dropped())
	}
	if p == nil {
		stored, err := g.back.stored(ctx, dataset)
		if err != nil {
			return err
		}
		// A generation whose load is still recorded is left over from a push that was killed before
		// it published anything.
		found, _ := adopt(dataset, nil, slices.DeleteFunc(stored, func(s storedGeneration) bool { return s.load != nil }))
		if n := len(found.Generations); n > 0 {
			return fmt.Errorf("%w: the pointer to what is published of data set %s in %s is lost, but %d generations are "+
				"there: publish one of them again by ingest rollback %s --to %d",
				ErrBadPointer, dataset, g.place, n, dataset, found.Generations[n-1].Generation)
		}
		if n := len(found.Unread); n > 0 {
			return fmt.Errorf("%w: the pointer to what is published of data set %s in %s is lost, and no manifest of the %d "+
				"generations there can be read: restore them, or %s again",
				ErrBadPointer, dataset, g.place, n, g.fill)
		}
	}
	return fmt.Errorf("%w: nothing is published of data set %s in %s: %s it first", ErrNoGeneration, dataset, g.place, g.fill)
}

// decodePinned decodes the manifest of a listed generation.
func decodePinned(dataset string, e entry, b []byte) (*Manifest, error) {
	m, err := decodeManifest(b)
	switch {
	case err != nil:
		return nil, fmt.Errorf("generation %d of %s: %w", e.Generation, dataset, err)
	case m.Digest != e.Manifest:
		return nil, corrupt(dataset, e.Generation, "its manifest is not the one published: restore it or ingest again")
	case m.Dataset != dataset || m.Generation != e.Generation:
		return nil, corrupt(dataset, e.Generation, "its manifest describes generation %d of %s", m.Generation, m.Dataset)
	}
	return m, nil
}

// maxGeneration is the last number that fits the name of a generation; with one generation a
// minute, the numbers suffice for 19,000 years.
const maxGeneration = 9_999_999_999

var generationRE = regexp.MustCompile(`^g[0-9]{10}$`)

func generationName(generation uint64) string { return fmt.Sprintf("g%010d", generation) }

// parseGeneration is the inverse of generationName.
func parseGeneration(name string) (uint64, bool) {
	if !generationRE.MatchString(name) {
		return 0, false
	}
	n, err := strconv.ParseUint(name[1:], 10, 64)
	return n, err == nil && n > 0
}
