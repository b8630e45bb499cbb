package airports

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"quadrille/cellstore"
	"quadrille/places"
)

// MaxAirports bounds the airports that Build takes. The world has about 90,000.
const MaxAirports = 500_000

// BuildOptions are options of [Build]; the zero value is valid.
type BuildOptions struct {
	// TempDir is the directory for sorting data that does not fit in memory. Empty means the
	// system's.
	TempDir string
	// Modified is the date of the source, and the timestamp of all cells.
	Modified time.Time
	// Progress, if set, is called at intervals from the goroutine that runs Build.
	Progress func(stage string, done, total int64)
}

// Stats has the counts of a Build.
type Stats struct {
	Airports int64
	// Codes is the number of rows of codes written. Conflicts is the number of codes that several
	// airports have; such a code leads to the most important of them.
	Codes, Conflicts int64
}

// Meta describes a built data set. It belongs into the data set's manifest as JSON, and [Open]
// needs it.
type Meta struct {
	SchemaVersion int   `json:"schema_version"`
	Airports      int64 `json:"airports"`
	Codes         int64 `json:"codes"`
	// Places describes the tables of package places.
	Places places.Meta `json:"places"`
}

// Build writes the tables of the package documentation into a store that has none of them. Airports
// may come in any order. Every id and every ident must occur once. An error of the sequence or an
// invalid airport ends the build. Discard the store of a failed build.
//
// All airports are held in memory, about 1 KB each.
func Build(ctx context.Context, store cellstore.Store, seq iter.Seq2[Airport, error], opts BuildOptions) (Meta, Stats, error) {
	meta, stats, err := build(ctx, store, seq, opts)
	if err != nil {
		return Meta{}, stats, fmt.Errorf("airports: %w", err)
	}
	return meta, stats, nil
}

func build(ctx context.Context, store cellstore.Store, seq iter.Seq2[Airport, error], opts BuildOptions) (meta Meta,
	stats Stats, err error) {
	list, err := collect(ctx, seq)
	if err != nil {
		return meta, stats, err
	}
	stats.Airports = int64(len(list))
	owners, conflicts := claim(list)
	stats.Codes, stats.Conflicts = int64(len(owners)), conflicts
	if err := writeCodes(ctx, store, owners, timestamp(opts.Modified)); err != nil {
		return meta, stats, err
	}
	geo, _, err := places.Build(ctx, store, places.Source{Places: placesOf(list, opts.Modified)}, places.BuildOptions{
		TempDir: opts.TempDir, Memory: 64 << 20, Progress: opts.Progress, Prefix: prefix, NoNames: true, Nearest: ForTravellers,
	})
	if err != nil {
		return meta, stats, err
	}
	return Meta{SchemaVersion: SchemaVersion, Airports: stats.Airports, Codes: stats.Codes, Places: geo}, stats, nil
}

func collect(ctx context.Context, seq iter.Seq2[Airport, error]) (list []Airport, err error) {
	ids, idents := map[uint32]struct{}{}, map[string]struct{}{}
	for a, err := range seq {
		if err != nil {
			return nil, err
		}
		if err := a.Validate(); err != nil {
			return nil, err
		}
		ids[a.ID], idents[a.Ident] = struct{}{}, struct{}{}
		list = append(list, a)
		if len(ids) != len(list) || len(idents) != len(list) {
			return nil, fmt.Errorf("%w: airport %q: its id %d or its ident is used twice", ErrInvalidAirport, a.Ident, a.ID)
		}
		if len(list) > MaxAirports {
			return nil, fmt.Errorf("more than %d airports: this cannot be a list of airports", MaxAirports)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("there are no airports")
	}
	return list, ctx.Err()
}

// claim finds the airport to which each code leads.
func claim(list []Airport) (owners map[string]*Airport, conflicts int64) {
	type claimant struct {
		a        *Airport
		rank     int // of the column the code is from
		disputed bool
	}
	claims := make(map[string]claimant, 3*len(list))
	for i := range list {
		a := &list[i]
		for rank, c := range []struct {
			kind CodeKind
			code string
		}{{IATA, a.IATA}, {ICAO, a.ICAO}, {Local, a.Ident}, {Local, a.GPS}, {Local, a.Local}} {
			if c.code == "" {
				continue
			}
			row := string(c.kind) + c.code
			had, ok := claims[row]
			if ok && had.a == a {
				continue
			}
			if !ok || outranks(a, rank, had.a, had.rank) {
				claims[row] = claimant{a, rank, ok}
			} else if !had.disputed {
				had.disputed = true
				claims[row] = had
			}
		}
	}
	owners = make(map[string]*Airport, len(claims))
	for row, c := range claims {
		owners[row] = c.a
		if c.disputed {
			conflicts++
		}
	}
	return owners, conflicts
}

// outranks decides between two airports with the same code: it reports whether the code leads to
// airport a rather than to b. The code is in column aRank of a and in column bRank of b.
func outranks(a *Airport, aRank int, b *Airport, bRank int) bool {
	if aw, bw := a.weight(), b.weight(); aw != bw {
		return aw > bw // closed ones weigh least
	}
	if aRank != bRank {
		return aRank < bRank
	}
	return a.ID < b.ID
}

func writeCodes(ctx context.Context, store cellstore.Store, owners map[string]*Airport, ts int64) error {
	err := store.CreateTable(ctx, cellstore.Schema{Table: table, Families: []cellstore.Family{
		{Name: family, Compression: cellstore.CompressionZstd},
	}})
	if err != nil {
		return err
	}
	t, err := store.Table(ctx, table)
	if err != nil {
		return err
	}
	loader, err := t.Bulk(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = loader.Abort() }() // waste stays in a store that is thrown away, at worst
	for i, row := range slices.Sorted(maps.Keys(owners)) {
		if i%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		value, err := owners[row].value()
		if err != nil {
			return err
		}
		if err := loader.Add([]byte(row), cellstore.Cell{Family: family, Timestamp: ts, Value: value}); err != nil {
			return err
		}
	}
	return loader.Commit(ctx)
}

func placesOf(list []Airport, modified time.Time) iter.Seq2[places.Place, error] {
	return func(yield func(places.Place, error) bool) {
		for i := range list {
			p, err := list[i].place()
			p.Modified = modified
			if !yield(p, err) {
				return
			}
		}
	}
}

// timestamp returns the timestamp of cells: milliseconds since 1970, never negative.
func timestamp(t time.Time) int64 {
	if t.Unix() <= 0 {
		return 0
	}
	return min(t.Unix(), math.MaxInt64/1000-1) * 1000
}
