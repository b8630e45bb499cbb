package recipes

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"quadrille/cellstore"
)

// Hits counts the requests of each address by hour and by day:
//
//	hits   row: address
//	       │
//	       ├─ hour : hour since 1970 (4, big-endian) → counter   gone after 2 h
//	       └─ day  : day  since 1970 (4, big-endian) → counter   gone after 2 d
//
// One increment covers the row and with it both buckets: no reader finds a hit
// in one of them only. Nothing is ever deleted: every increment renews its
// counter's timestamp, and when the last of a bucket is older than the TTL of
// its family, that bucket is gone, each family on its own. A row whose last
// bucket is gone does not exist any more.
//
// Hits may be used by any number of goroutines.
type Hits struct{ table cellstore.Table }

const (
	hourMillis = int64(time.Hour / time.Millisecond)
	dayMillis  = 24 * hourMillis
)

func hitsSchema() cellstore.Schema {
	return cellstore.Schema{Table: "hits", Families: []cellstore.Family{
		{Name: "hour", TTL: 2 * time.Hour},
		{Name: "day", TTL: 48 * time.Hour},
	}}
}

// OpenHits opens the table hits.
func OpenHits(ctx context.Context, s cellstore.Store) (*Hits, error) {
	t, err := s.Table(ctx, "hits")
	return &Hits{t}, err
}

func bucket(t, width int64) []byte {
	return binary.BigEndian.AppendUint32(nil, uint32(t/width))
}

// Hit counts a request at time t, in ms since 1970 and 0 or later, and returns
// how many the address has made in that hour and that day. What a crash takes is the last
// second of counting; it may not be repeated after a failure.
func (h *Hits) Hit(ctx context.Context, address string, t int64) (hour, day int64, err error) {
	var room [2]int64
	n, err := h.table.Increment(ctx, cellstore.Increment{
		Row: []byte(address),
		Deltas: []cellstore.Delta{
			{Family: "hour", Qualifier: bucket(t, hourMillis), By: 1},
			{Family: "day", Qualifier: bucket(t, dayMillis), By: 1},
		},
		Durability: cellstore.Async,
	}, room[:0])
	if err != nil {
		return 0, 0, err
	}
	return n[0], n[1], nil
}

// Count returns the hits of the hour and of the day that t is in, as far as
// they are kept.
func (h *Hits) Count(ctx context.Context, address string, t int64) (hour, day int64, err error) {
	var row cellstore.Row
	hourQ, dayQ := bucket(t, hourMillis), bucket(t, dayMillis)
	sel := &cellstore.Selection{Columns: []cellstore.Column{
		{Family: "hour", Qualifier: hourQ}, {Family: "day", Qualifier: dayQ}}}
	if _, err := h.table.Get(ctx, []byte(address), sel, &row); err != nil {
		return 0, 0, err
	}
	for _, c := range row.Cells {
		n, err := counter(c.Value)
		if err != nil {
			return 0, 0, err
		}
		if c.Family == "hour" {
			hour = n
		} else {
			day = n
		}
	}
	return hour, day, nil
}

func hitRecipes() []Recipe {
	return []Recipe{
		{Name: "hits", Schemas: []cellstore.Schema{hitsSchema()}, Check: checkHits},
		{Name: "favourites", Schemas: []cellstore.Schema{favouritesSchema()}, Check: checkFavourites},
		{Name: "rolling mean", Schemas: []cellstore.Schema{samplesSchema()}, Check: checkRollingMean},
	}
}

func checkHits(ctx context.Context, s cellstore.Store, clock *Clock) error {
	h, err := OpenHits(ctx, s)
	if err != nil {
		return err
	}
	midnight := (clock.Now()/dayMillis + 1) * dayMillis
	clock.Set(midnight)
	for _, step := range []struct {
		pass time.Duration
		hit  bool
		at   time.Duration // the moment counted or asked about, since midnight
		want string
	}{
		{0, true, 0, "1 1"},
		{30 * time.Minute, true, 30 * time.Minute, "2 2"},
		{45 * time.Minute, true, 75 * time.Minute, "1 3"},
		{0, false, 0, "2 3"},
		{75 * time.Minute, false, 0, "2 3"},           // 2 h after the last of hour 0
		{time.Millisecond, false, 0, "0 3"},           // its hour is over, its day is not
		{0, false, 75 * time.Minute, "1 3"},           // nor hour 1
		{23 * time.Hour, true, 25 * time.Hour, "1 1"}, // the next day
		{0, false, 0, "0 3"},
		{24 * time.Hour, false, 0, "0 0"}, // 2 d are over for the first day
		{0, false, 25 * time.Hour, "0 1"}, // but not for the second
		{48 * time.Hour, false, 25 * time.Hour, "0 0"},
	} {
		clock.Advance(step.pass)
		ask := h.Count
		if step.hit {
			ask = h.Hit
		}
		hour, day, err := ask(ctx, "192.0.2.7", midnight+step.at.Milliseconds())
		if err != nil {
			return err
		}
		what := fmt.Sprintf("hits of %v at %v", step.at, time.Duration(clock.Now()-midnight)*time.Millisecond)
		if err := expect(what, fmt.Sprint(hour, day), step.want); err != nil {
			return err
		}
	}
	var row cellstore.Row
	found, err := h.table.Next(ctx, nil, nil, nil, &row)
	if err != nil {
		return err
	}
	return expect("a row is left", found, false)
}
