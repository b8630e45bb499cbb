package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"quadrille/cellstore"
)

// hits counts the requests of each address by hour and by day:
//
//	hits   row: address
//	       │
//	       ├─ hour : hour since 1970 (4, big-endian) → counter   gone after 2 h
//	       └─ day  : day  since 1970 (4, big-endian) → counter   gone after 2 d
//
// One increment covers the row and with it both buckets: no reader finds a hit
// in one of them only. Nothing is ever deleted. Every increment renews its
// counter's timestamp, and a bucket is gone when its last increment is older
// than the TTL of its family. A row whose last bucket is gone does not exist
// any more.
type hits struct{ table cellstore.Table }

// buckets are the columns of the hour and the day of a time.
func (h hits) buckets(at int64) (hour, day cellstore.Delta) {
	bucket := func(family string, width time.Duration) cellstore.Delta {
		n := uint32(at / width.Milliseconds())
		return cellstore.Delta{Family: family, Qualifier: binary.BigEndian.AppendUint32(nil, n), By: 1}
	}
	return bucket("hour", time.Hour), bucket("day", 24*time.Hour)
}

// hit counts a request and returns how many the address has made in that hour
// and that day. A crash may take the last second of counting. A hit may not be
// repeated after a failure: it could count twice.
func (h hits) hit(ctx context.Context, address string, at int64) ([]int64, error) {
	hour, day := h.buckets(at)
	return h.table.Increment(ctx, cellstore.Increment{
		Row:        []byte(address),
		Deltas:     []cellstore.Delta{hour, day},
		Durability: cellstore.Async,
	}, nil)
}

// count returns the hits of the hour and of the day that a time is in.
func (h hits) count(ctx context.Context, address string, at int64) ([]int64, error) {
	hour, day := h.buckets(at)
	var row cellstore.Row
	_, err := h.table.Get(ctx, []byte(address), &cellstore.Selection{Columns: []cellstore.Column{
		{Family: hour.Family, Qualifier: hour.Qualifier}, {Family: day.Family, Qualifier: day.Qualifier}}}, &row)
	counts := make([]int64, 2)
	for i, bucket := range []cellstore.Delta{hour, day} {
		if v, ok := row.Value(bucket.Family, bucket.Qualifier); ok {
			counts[i] = count(v)
		}
	}
	return counts, err
}

func playHits(d *demo) {
	h := hits{d.table("hits", cellstore.Family{Name: "hour", TTL: 2 * time.Hour}, cellstore.Family{Name: "day", TTL: 48 * time.Hour})}
	const address = "192.0.2.7"
	const day = int64(24 * time.Hour / time.Millisecond)
	midnight := (d.now()/day + 1) * day
	d.clock.Store(midnight)
	for _, step := range []struct {
		pass time.Duration
		hit  bool
		at   time.Duration // the moment that is counted or asked about, since midnight
		note string
	}{
		{0, true, 0, ""},
		{30 * time.Minute, true, 30 * time.Minute, ""},
		{45 * time.Minute, true, 75 * time.Minute, ""},
		{0, false, 0, ""},
		{75 * time.Minute, false, 0, "the last hit of hour 0 is 2 h old"},
		{time.Millisecond, false, 0, "hour 0 is gone, its day is not"},
		{0, false, 75 * time.Minute, "nor is hour 1"},
		{23 * time.Hour, true, 25 * time.Hour, "the next day"},
		{0, false, 0, ""},
		{24 * time.Hour, false, 0, "the first day is gone"},
		{0, false, 25 * time.Hour, "the second is not"},
		{48 * time.Hour, false, 25 * time.Hour, ""},
	} {
		d.pass(step.pass)
		what, ask := "hour and day", h.count
		if step.hit {
			what, ask = "a hit makes", h.hit
		}
		d.print(fmt.Sprintf("%v, %s of %v", time.Duration(d.now()-midnight)*time.Millisecond, what, step.at),
			must(ask(d.ctx, address, midnight+step.at.Milliseconds())), step.note)
	}
	d.print("rows left", must(suffixes(d.ctx, h.table, "")))
}

// favourites keeps, for every visitor, the URL seen most often and the one
// seen last:
//
//	favourites   row: visitor
//	             │
//	             ├─ n    : URL → counter
//	             ├─ top  : ""  → URL   at timestamp n
//	             └─ last : ""  → URL   at the time of the visit
//
// The store keeps the version with the largest timestamp, and a timestamp need
// not be a time. In top it is the count: a URL that was counted less often
// than the present one is put below it and is hidden at once. So the maximum
// is kept without reading it. In last it is the time, so visits may arrive in
// any order. A family dated by counts has no TTL: a count read as a time is
// in 1970.
type favourites struct{ table cellstore.Table }

// visit counts a visit. A crash between its writes leaves top behind n by one
// visit, until the URL is visited again.
func (f favourites) visit(ctx context.Context, visitor, url string, at int64) error {
	n, err := f.table.Increment(ctx, cellstore.Increment{
		Row:    []byte(visitor),
		Deltas: []cellstore.Delta{{Family: "n", Qualifier: []byte(url), By: 1}},
	}, nil)
	if err != nil {
		return err
	}
	// Two mutations: not every backend takes two timestamps in one.
	return f.table.Apply(ctx,
		cellstore.Mutation{Row: []byte(visitor), Ops: []cellstore.Op{cellstore.PutAt("top", nil, n[0], []byte(url))}},
		cellstore.Mutation{Row: []byte(visitor), Ops: []cellstore.Op{cellstore.PutAt("last", nil, at, []byte(url))}})
}

// get returns the URL seen most often, how often that was, and the URL seen
// last. Of URLs seen equally often it returns the one that got there last.
func (f favourites) get(ctx context.Context, visitor string) (answer string, err error) {
	var row cellstore.Row
	if _, err := f.table.Get(ctx, []byte(visitor), &cellstore.Selection{Families: []string{"top", "last"}}, &row); err != nil {
		return "", err
	}
	for _, c := range row.Cells { // last comes before top
		if c.Family == "last" {
			answer = fmt.Sprintf("%s last", c.Value)
		} else {
			answer += fmt.Sprintf(", %s most often, %d×", c.Value, c.Timestamp)
		}
	}
	return answer, nil
}

func playFavourites(d *demo) {
	f := favourites{d.table("favourites", cellstore.Family{Name: "n"}, cellstore.Family{Name: "top"}, cellstore.Family{Name: "last"})}
	for _, visit := range []struct {
		url string
		at  int64
	}{{"/a", 1}, {"/b", 2}, {"/a", 3}, {"/a", 5}, {"/b", 4}, {"/c", 6}, {"/b", 7}, {"/b", 8}} {
		ok(f.visit(d.ctx, "ann", visit.url, d.now()+visit.at))
		d.print(fmt.Sprintf("%s at %d", visit.url, visit.at), must(f.get(d.ctx, "ann")))
	}
	d.print("a stranger", must(f.get(d.ctx, "bob")))
}

// rollingMean is the mean of what was measured in the last ten minutes:
//
//	samples   row: name ── s : "" → measurement (8, big-endian) at its time
//	                            → the one before
//	                            → …                      gone after 10 min
//
// The column is the window: all versions are kept, and the TTL moves the
// window along without any write. A measurement exactly as old as the TTL
// still counts, and one of the same millisecond as another replaces it.
func rollingMean(ctx context.Context, t cellstore.Table, name string) (mean float64, n int, err error) {
	var row cellstore.Row
	found, err := t.Get(ctx, []byte(name), &cellstore.Selection{Versions: cellstore.Unlimited}, &row)
	if !found || err != nil {
		return 0, 0, err
	}
	for _, c := range row.Cells {
		mean += float64(count(c.Value))
	}
	return mean / float64(len(row.Cells)), len(row.Cells), nil
}

func playRollingMean(d *demo) {
	t := d.table("samples", cellstore.Family{Name: "s", TTL: 10 * time.Minute, MaxVersions: cellstore.Unlimited})
	start := d.now()
	for _, step := range []struct {
		pass    time.Duration
		measure int64 // 0 for none
	}{
		{0, 0}, {0, 10}, {4 * time.Minute, 20}, {4 * time.Minute, -60},
		{2 * time.Minute, 0}, {time.Millisecond, 0}, {4 * time.Minute, 0}, {time.Hour, 0}, {0, 7},
	} {
		d.pass(step.pass)
		if step.measure != 0 {
			ok(put(d.ctx, t, "load", cellstore.PutAt("s", nil, d.now(), number(step.measure))))
		}
		mean, n, err := rollingMean(d.ctx, t, "load")
		ok(err)
		d.print(fmt.Sprintf("mean at %v", time.Duration(d.now()-start)*time.Millisecond), mean, "of", n)
	}
}
