package places

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"sync/atomic"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/internal/extsort"
	"quadrille/places/internal/bulkload"
	"quadrille/places/search"
)

// BuildOptions are options of [Build]; the zero value is valid.
type BuildOptions struct {
	// TempDir is the directory for sorting places that do not fit in memory. It needs about 400
	// bytes per place and 50 per alternate name. Empty means the system's.
	TempDir string
	// Memory bounds the memory of the sorts, in bytes. 0 means 512 MiB, and the least is 16 MiB.
	// The store's own memory is not counted.
	Memory int64
	// Progress, if set, is called at intervals, and at the end of each stage, one call at a time.
	// The first stage, reading the places, is not reported: the sequence can report it better.
	Progress func(stage string, done, total int64)
	// Prefix, if set, is the prefix of the names of the tables, so that places of another kind have
	// separate tables: with "airport_" they are airport_tiles, airport_info, airport_rollup,
	// airport_index and airport_codes. Open gets it from Meta.
	Prefix string
	// NoNames leaves out the tables of name search.
	NoNames bool
	// Nearest selects the places, by class and kind alone, of which the nearest one to a point is
	// listed beforehand, so that Features finds it by two reads. nil means OnlyPopulated. Give a filter of
	// Kinds.PrepareFilter if the data set has Kinds.
	Nearest feature.Filter
}

const (
	defaultMemory = 512 << 20
	minMemory     = 16 << 20
	// progressEvery is the number of places between two calls of Progress, and between two checks
	// of the context.
	progressEvery = 8192
)

// Stats has the counts of a Build.
type Stats struct {
	Read       int64 // places given
	Stored     int64 // places kept
	Duplicates int64 // places dropped for another one of the same id
	Spilled    int64 // bytes of temporary files written

	// These are counts for the other sequences: the kept and the dropped entries. An entry is
	// dropped if its place is not among the places, or has too many entries: 5,000 names or 256 KiB
	// of them, 1,000 parents.
	Names, NamesDropped     int64
	Parents, ParentsDropped int64
	Admin5, Admin5Dropped   int64
}

// Meta describes a built data set. It belongs into the data set's manifest as JSON, and [Open]
// needs it.
type Meta struct {
	// SchemaVersion is the version of the rows' layout.
	SchemaVersion int `json:"schema_version"`
	// Places is the number of places. Tiers is the number in each tier.
	Places int64            `json:"places"`
	Tiers  map[string]int64 `json:"tiers,omitempty"`
	// Bounds is the extent of the places: west, south, east, north in degrees, without regard to
	// ±180°. It is absent without places.
	Bounds []float64 `json:"bounds,omitempty"`
	// Modified is the newest modification date. It is absent if no place has one.
	Modified time.Time `json:"modified,omitzero"`
	// Fingerprint identifies the content: equal places give equal fingerprints. It is a part of
	// page cursors.
	Fingerprint string `json:"fingerprint"`
	// Prefix is the prefix of the names of the tables.
	Prefix string `json:"prefix,omitempty"`
	// Unweighted: no place has a weight of its own (Place.Weight).
	Unweighted bool `json:"unweighted,omitempty"`
	// Search describes the tables of name search; nil if they were left out.
	Search *search.Meta `json:"search,omitempty"`
	// Nearest describes the table that lists the nearest places. It is nil for older data sets, and
	// if there are more than 16 million such places.
	Nearest *NearestMeta `json:"nearest,omitempty"`
}

// Build writes the tables of the package documentation into a store that has none of them. Places
// may come in any order. Of several places with the same id, Build keeps the one with the latest
// modification date. If the dates are equal, it keeps the last one. An error of a sequence or an
// invalid entry ends the build. Discard the store of a failed build.
//
// Memory stays within the sum of opts.Memory, the Gazetteer's size and the future Finder's
// memory: about a byte per place, and 20 bytes for each of the places of opts.Nearest.
func Build(ctx context.Context, store cellstore.Store, src Source, opts BuildOptions) (Meta, Stats, error) {
	b := &builder{opts: opts}
	b.ctx, b.cancel = context.WithCancel(ctx)
	defer b.cancel()
	meta, err := b.build(store, &src)
	if err != nil {
		return Meta{}, b.stats, fmt.Errorf("places: %w", err)
	}
	return meta, b.stats, nil
}

// builder sorts the places twice.
//
// The first sort, by id, brings together the records of one place: its rows (one is kept), its
// alternate names and its parents. The result goes to place_info and to name search. The place's
// row of tile_places goes to the second sort, by cell and id. That is the order of tile_places and
// of the pass that makes place_rollup and place_index. All JSON is written once, between the two
// sorts.
type builder struct {
	ctx    context.Context
	cancel context.CancelFunc
	opts   BuildOptions
	stats  Stats

	byID, byCell *extsort.Sorter
	names        *nameTables
	sink         nameSink // nil without name search
	search       search.Meta
	sum          hash.Hash
	newest       int64 // ms
	bounds       [4]float64
	tier         [tiers]int64
	weighted     bool // a place has a weight
	nearest      nearestBuilder
	nearestMeta  *NearestMeta
	tilesDone    atomic.Bool
}

func (b *builder) build(store cellstore.Store, src *Source) (_ Meta, err error) {
	// The first sort still holds memory while it is read into the second, so the two share the
	// limit.
	memory := b.opts.Memory
	if memory == 0 {
		memory = defaultMemory
	}
	memory = max(memory, minMemory)
	if err := b.nearest.use(b.opts.Nearest); err != nil {
		return Meta{}, err
	}
	b.byID = extsort.New(b.opts.TempDir, memory/2)
	defer func() { err = errors.Join(err, b.byID.Close()) }()
	if b.names, err = newNameTables(&src.Gazetteer); err != nil {
		return Meta{}, err
	}
	for i := range src.Gazetteer.Features {
		if err := src.Gazetteer.Features[i].Validate(); err != nil {
			return Meta{}, err
		}
	}
	for _, s := range schemas(b.opts.Prefix) {
		if err := store.CreateTable(b.ctx, s); err != nil {
			return Meta{}, err
		}
	}
	if err := b.collect(src); err != nil {
		return Meta{}, err
	}
	b.names.complete()

	memory /= 2
	if !b.opts.NoNames {
		memory /= 2
		var info cellstore.Table
		if info, err = store.Table(b.ctx, tableName(b.opts.Prefix, tableInfo)); err != nil {
			return Meta{}, err
		}
		var sink nameSink
		if sink, err = newNameSink(b, store, info, memory); err != nil {
			return Meta{}, err
		}
		b.sink = newNameFeed(sink)
		defer func() { err = errors.Join(err, b.sink.Close()) }()
	}
	b.byCell = extsort.New(b.opts.TempDir, memory)
	defer func() { err = errors.Join(err, b.byCell.Close()) }()
	if err := b.writeInfo(store); err != nil {
		return Meta{}, err
	}
	b.stats.Spilled = b.byID.Spilled()
	if err := b.byID.Close(); err != nil {
		return Meta{}, err
	}
	if err := b.writeGazetteer(store, src.Gazetteer.Features); err != nil {
		return Meta{}, err
	}
	if err := b.finish(store); err != nil {
		return Meta{}, err
	}
	return b.meta(), nil
}

// finish makes the tables in the order of cells and, at the same time, the
// tables of name search: the two sorts are independent.
func (b *builder) finish(store cellstore.Store) error {
	done := make(chan error, 1)
	if b.sink == nil {
		done <- nil
	} else {
		go func() {
			var err error
			if b.search, err = b.sink.Finish(); err != nil {
				b.cancel()
			}
			done <- err
		}()
	}
	err := b.writeTiles(store)
	if err != nil {
		b.cancel()
	}
	b.tilesDone.Store(true)
	// If both fail, the second error only says that the second part was cancelled.
	if also := <-done; also != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = also
	}
	if err != nil {
		return err
	}
	b.stats.Spilled += b.byCell.Spilled()
	return nil
}

// searchProgress calls Options.Progress for the name search. It reports nothing while the other
// tables report, so that only one stage is reported at a time, and never by two concurrent calls.
func (b *builder) searchProgress(stage string, done, total int64) {
	if b.opts.Progress != nil && b.tilesDone.Load() {
		b.opts.Progress(stage, done, total)
	}
}

func (b *builder) meta() Meta {
	meta := Meta{
		SchemaVersion: SchemaVersion,
		Places:        b.stats.Stored,
		Fingerprint:   hex.EncodeToString(b.sum.Sum(nil)[:16]),
		Prefix:        b.opts.Prefix,
		Unweighted:    !b.weighted,
		Nearest:       b.nearestMeta,
	}
	if b.sink != nil {
		meta.Search = &b.search
	}
	if b.stats.Stored > 0 {
		meta.Bounds = b.bounds[:]
		meta.Tiers = map[string]int64{}
		for i, n := range b.tier {
			meta.Tiers[tierNames[i]] = n
		}
	}
	if b.newest > 0 {
		meta.Modified = time.UnixMilli(b.newest).UTC()
	}
	return meta
}

// step reports progress and checks the context. It is called after each place with the number of
// places done in a stage.
func (b *builder) step(stage string, done, total int64) error {
	if done%progressEvery != 0 {
		return nil
	}
	if b.opts.Progress != nil {
		b.opts.Progress(stage, done, total)
	}
	return b.ctx.Err()
}

func (b *builder) end(stage string, done int64) error {
	if b.opts.Progress != nil {
		b.opts.Progress(stage, done, done)
	}
	return b.ctx.Err()
}

func (b *builder) newLoad(store cellstore.Store, table string) (*bulkload.Load, error) {
	return bulkload.New(b.ctx, store, tableName(b.opts.Prefix, table))
}
