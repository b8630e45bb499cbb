package recipes

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"quadrille/cellstore"
)

// Favourites keeps, for every visitor, the URL seen most often and the one
// seen last:
//
//	favourites   row: visitor
//	             │
//	             ├─ n    : URL → counter
//	             ├─ top  : ""  → URL   at timestamp n
//	             └─ last : ""  → URL   at the time of the visit
//
// The store keeps the version with the largest timestamp, and a timestamp need
// not be a time. In top it is the count: a URL counted less often than the
// present one is put below it and is hidden at once, so the maximum is kept
// without reading it. In last it is the time, and visits may arrive in any
// order. A family dated by counts has no TTL: it would be 1970 in it.
type Favourites struct{ table cellstore.Table }

func favouritesSchema() cellstore.Schema {
	return cellstore.Schema{Table: "favourites", Families: []cellstore.Family{
		{Name: "n"}, {Name: "top"}, {Name: "last"}}}
}

// OpenFavourites opens the table favourites.
func OpenFavourites(ctx context.Context, s cellstore.Store) (*Favourites, error) {
	t, err := s.Table(ctx, "favourites")
	return &Favourites{t}, err
}

// Visit counts a visit at time t, in ms since 1970. A crash between its writes
// leaves top behind n by one visit, until the URL is visited again.
func (f *Favourites) Visit(ctx context.Context, visitor, url string, t int64) error {
	row := []byte(visitor)
	n, err := f.table.Increment(ctx, cellstore.Increment{
		Row:    row,
		Deltas: []cellstore.Delta{{Family: "n", Qualifier: []byte(url), By: 1}},
	}, nil)
	if err != nil {
		return err
	}
	// Two mutations, since not every backend takes two timestamps in one.
	return f.table.Apply(ctx,
		cellstore.Mutation{Row: row, Ops: []cellstore.Op{cellstore.PutAt("top", nil, n[0], []byte(url))}},
		cellstore.Mutation{Row: row, Ops: []cellstore.Op{cellstore.PutAt("last", nil, t, []byte(url))}})
}

// Get returns the URL seen most often, how often that was, and the URL seen
// last. Of URLs seen equally often it is the one that came to it last. A
// visitor not seen yet has "" and 0.
func (f *Favourites) Get(ctx context.Context, visitor string) (top string, n int64, last string, err error) {
	var row cellstore.Row
	sel := &cellstore.Selection{Families: []string{"top", "last"}}
	if _, err := f.table.Get(ctx, []byte(visitor), sel, &row); err != nil {
		return "", 0, "", err
	}
	for _, c := range row.Cells {
		if c.Family == "top" {
			top, n = string(c.Value), c.Timestamp
		} else {
			last = string(c.Value)
		}
	}
	return top, n, last, nil
}

// RollingMean is the mean of what was measured in the last ten minutes:
//
//	samples   row: name ── s : "" → measurement (8, big-endian) at its time
//	                            → the one before
//	                            → …                      gone after 10 min
//
// The column is the window: all versions are kept, and the TTL moves the
// window along without anybody writing. A measurement exactly as old as the
// TTL still counts, and one of the same millisecond as another replaces it.
type RollingMean struct{ table cellstore.Table }

func samplesSchema() cellstore.Schema {
	return cellstore.Schema{Table: "samples", Families: []cellstore.Family{
		{Name: "s", TTL: 10 * time.Minute, MaxVersions: cellstore.Unlimited}}}
}

// OpenRollingMean opens the table samples.
func OpenRollingMean(ctx context.Context, s cellstore.Store) (*RollingMean, error) {
	t, err := s.Table(ctx, "samples")
	return &RollingMean{t}, err
}

// Add writes what was measured at time t, in ms since 1970. It may be repeated
// after a failure.
func (r *RollingMean) Add(ctx context.Context, name string, t, value int64) error {
	return r.table.Apply(ctx, cellstore.Mutation{
		Row:        []byte(name),
		Ops:        []cellstore.Op{cellstore.PutAt("s", nil, t, binary.BigEndian.AppendUint64(nil, uint64(value)))},
		Durability: cellstore.Async,
	})
}

// Mean returns the mean of the window and how many measurements are in it; of
// none it is 0.
func (r *RollingMean) Mean(ctx context.Context, name string) (mean float64, n int, err error) {
	var row cellstore.Row
	sel := &cellstore.Selection{Versions: cellstore.Unlimited}
	if found, err := r.table.Get(ctx, []byte(name), sel, &row); !found || err != nil {
		return 0, 0, err
	}
	var sum float64
	for _, c := range row.Cells {
		v, err := counter(c.Value)
		if err != nil {
			return 0, 0, err
		}
		sum += float64(v)
	}
	return sum / float64(len(row.Cells)), len(row.Cells), nil
}

func checkFavourites(ctx context.Context, s cellstore.Store, clock *Clock) error {
	f, err := OpenFavourites(ctx, s)
	if err != nil {
		return err
	}
	now := clock.Now()
	for i, step := range []struct {
		url  string
		at   int64
		want string // top, n, last
	}{
		{"/a", 1, "/a 1 /a"},
		{"/b", 2, "/b 1 /b"}, // as often, and later
		{"/a", 3, "/a 2 /a"},
		{"/a", 5, "/a 3 /a"},
		{"/b", 4, "/a 3 /a"}, // late: seen before the last
		{"/c", 6, "/a 3 /c"},
		{"/b", 7, "/b 3 /b"},
		{"/b", 8, "/b 4 /b"},
	} {
		if err := f.Visit(ctx, "ann", step.url, now+step.at); err != nil {
			return err
		}
		top, n, last, err := f.Get(ctx, "ann")
		if err != nil {
			return err
		}
		if err := expect(fmt.Sprintf("favourites after visit %d", i+1), fmt.Sprint(top, " ", n, " ", last), step.want); err != nil {
			return err
		}
	}
	top, n, last, err := f.Get(ctx, "bob")
	if err != nil {
		return err
	}
	return expect("favourites of a stranger", fmt.Sprintf("%q %d %q", top, n, last), `"" 0 ""`)
}

func checkRollingMean(ctx context.Context, s cellstore.Store, clock *Clock) error {
	r, err := OpenRollingMean(ctx, s)
	if err != nil {
		return err
	}
	for _, step := range []struct {
		pass time.Duration
		add  int64 // 0 adds nothing
		want string
	}{
		{0, 0, "0 0"},
		{0, 10, "10 1"},
		{4 * time.Minute, 20, "15 2"},
		{4 * time.Minute, -60, "-10 3"},
		{2 * time.Minute, 0, "-10 3"}, // the first is exactly as old as the TTL
		{time.Millisecond, 0, "-20 2"},
		{4 * time.Minute, 0, "-60 1"},
		{time.Hour, 0, "0 0"},
		{0, 7, "7 1"},
	} {
		now := clock.Advance(step.pass)
		if step.add != 0 {
			if err := r.Add(ctx, "load", now, step.add); err != nil {
				return err
			}
		}
		mean, n, err := r.Mean(ctx, "load")
		if err != nil {
			return err
		}
		if err := expect("rolling mean", fmt.Sprint(mean, " ", n), step.want); err != nil {
			return err
		}
	}
	return nil
}
