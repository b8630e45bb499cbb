package points

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/feature"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/quadkey"
)

// liveAt returns a live collection whose clock the test sets, in milliseconds.
func liveAt(t *testing.T, meta Meta) (*LiveCollection, *atomic.Int64) {
	t.Helper()
	now := new(atomic.Int64)
	now.Store(1_000_000_000_000)
	return liveBy(t, meta, cellstore.ClockOf(now.Load)), now
}

// liveBy returns a live collection with a clock.
func liveBy(t *testing.T, meta Meta, clock *cellstore.Clock) *LiveCollection {
	t.Helper()
	store := buildtest.Open(t, "live", &pebblestore.Options{FS: vfs.NewMem(), Clock: clock})
	l := must.Get(OpenLive(t.Context(), store)).In(t)
	must.Close(t, l)
	meta.Name = "test"
	return must.Get(l.Create(t.Context(), meta)).In(t)
}

// then is the state of the collection from an instant on.
type then struct {
	at     int64
	points map[string][2]float64 // latitude, longitude
}

// Queries as of an instant give the answers of that time, also after older versions have been
// removed.
func TestHistory(t *testing.T) {
	c, now := liveAt(t, Meta{HistoryRetention: Duration(time.Hour)})
	r := rand.New(rand.NewPCG(1, 1))
	var past []then
	current := map[string][2]float64{}
	steps := 300
	if testing.Short() {
		steps = 80
	}
	for range steps {
		now.Add(int64(1 + r.IntN(30_000)))
		id := fmt.Sprint("p", r.IntN(20))
		w := Write{Kind: Put, ID: id, Lat: float64(r.IntN(10)), Lon: float64(r.IntN(10)), Properties: []byte(`{"a":1}`)}
		if _, there := current[id]; there && r.IntN(4) == 0 {
			w.Kind = Delete
			delete(current, id)
		} else {
			current[id] = [2]float64{w.Lat, w.Lon}
		}
		past = append(past, then{mustWrite(t, c, w)[0].Version, maps.Clone(current)})
	}
	check := func() {
		t.Helper()
		for range 100 {
			at := now.Load() - r.Int64N(time.Hour.Milliseconds())
			i, _ := slices.BinarySearchFunc(past, at+1, func(p then, at int64) int { return int(p.at - at) })
			want := map[string][2]float64{}
			if i > 0 {
				want = past[i-1].points
			}
			instant := time.UnixMilli(at)
			n, err := c.CountIn(t.Context(), feature.Tile{}, nil, instant)
			if err != nil || n != int64(len(want)) {
				t.Fatalf("%d points %d ms ago, want %d: %v", n, now.Load()-at, len(want), err)
			}
			hits, _, err := c.Nearby(t.Context(), NearbyQuery{Lat: 5, Lon: 5, Limit: 100, At: instant}, nil)
			if err != nil || len(hits) != len(want) {
				t.Fatalf("%d points, want %d: %v", len(hits), len(want), err)
			}
			for i := range hits {
				h := &hits[i]
				if p := want[h.ID]; p != [2]float64{h.Lat, h.Lon} || i > 0 && h.DistanceM < hits[i-1].DistanceM {
					t.Fatalf("%+v, want it at %v", h, p)
				}
				var one Hit
				if err := c.GetAt(t.Context(), h.ID, instant, &one); err != nil || one.Lat != h.Lat || one.Lon != h.Lon || one.Version != h.Version {
					t.Fatalf("%+v, want %+v: %v", one, h, err)
				}
			}
		}
	}
	check()
	for _, family := range prunedFamilies {
		if before := versions(t, c, family); before < len(past) {
			t.Fatalf("%d versions of %s", before, family)
		}
	}
	pruneBoth := func() {
		t.Helper()
		for range 2 {
			must.Get(prune(c)).In(t)
		}
	}
	pruneBoth()
	check()
	now.Add(2 * time.Hour.Milliseconds())
	pruneBoth()
	check()
	for _, family := range prunedFamilies {
		if after := versions(t, c, family); after != len(current) {
			t.Errorf("%d versions of %s are left of %d points", after, family, len(current))
		}
	}
	if _, _, err := c.Nearby(t.Context(), NearbyQuery{At: time.UnixMilli(now.Load()).Add(-2 * time.Hour)}, nil); !errors.Is(err, ErrQuery) {
		t.Error(err)
	}
}

func versions(t *testing.T, c *LiveCollection, family string) (n int) {
	t.Helper()
	for row := range must.All(t,
		c.index().table.Scan(t.Context(),
			cellstore.Scan{Selection: cellstore.Selection{Families: []string{family}, Versions: cellstore.Unlimited}})) {
		n += len(row.Cells)
	}
	return n
}

func TestTrack(t *testing.T) {
	c, now := liveAt(t, Meta{HistoryRetention: Duration(time.Hour)})
	do := func(w Write) int64 {
		t.Helper()
		w.ID = "van"
		defer now.Add(1000)
		return mustWrite(t, c, w)[0].Version
	}
	a := do(Write{Kind: Put, Lat: 1, Lon: 2})
	b := do(Write{Kind: Patch, Lat: 3, Lon: 4, Move: true})
	d := do(Write{Kind: Delete})
	e := do(Write{Kind: Put, Lat: 5, Lon: 6})
	want := []feature.Stop{
		{Position: quadkey.Position{Lat: 1, Lon: 2}, Version: a, Gone: false},
		{Position: quadkey.Position{Lat: 3, Lon: 4}, Version: b, Gone: false},
		{Position: quadkey.Position{Lat: 0, Lon: 0}, Version: d, Gone: true},
		{Position: quadkey.Position{Lat: 5, Lon: 6}, Version: e, Gone: false},
	}
	got, next, err := c.Track(t.Context(), "van", time.Time{}, time.Time{}, 10)
	if err != nil || !slices.Equal(got, want) || !next.IsZero() {
		t.Fatalf("%+v, want %+v: %v", got, want, err)
	}
	got, next, err = c.Track(t.Context(), "van", time.UnixMilli(b), time.UnixMilli(d), 1)
	if err != nil || !slices.Equal(got, want[1:2]) || next.UnixMilli() != d {
		t.Fatalf("%+v, %v: %v", got, next, err)
	}
	if _, _, err := c.Track(t.Context(), "nobody", time.Time{}, time.Time{}, 1); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	plain, _ := liveAt(t, Meta{})
	if _, _, err := plain.Track(t.Context(), "van", time.Time{}, time.Time{}, 1); !errors.Is(err, ErrQuery) {
		t.Error(err)
	}
}

// A point that has expired disappears at once, and its rows soon after.
func TestExpiry(t *testing.T) {
	c, now := liveAt(t, Meta{})
	var writes []Write
	for i := range 100 {
		w := Write{Kind: Put, ID: fmt.Sprint(i), Lat: 1, Lon: 1}
		if i%2 == 0 {
			w.Expires = time.UnixMilli(now.Load() + 5000)
		}
		writes = append(writes, w)
	}
	// One point no longer expires, and another one expires sooner.
	writes = append(writes, Write{Kind: Patch, ID: "0", SetExpires: true}, Write{
		Kind:       Patch,
		ID:         "1",
		SetExpires: true,
		Expires:    time.UnixMilli(now.Load() + 1),
	})
	mustWrite(t, c, writes...)
	count := func(ids ...string) (n int) {
		for i := range 100 {
			var h Hit
			if err := c.GetAt(t.Context(), fmt.Sprint(i), time.Time{}, &h); err == nil {
				n++
			} else if !errors.Is(err, ErrNotFound) {
				t.Fatal(err)
			}
		}
		return n
	}
	if n := count(); n != 100 {
		t.Fatal(n)
	}
	now.Add(5000)
	if n := count(); n != 50 {
		t.Fatal(n)
	}
	if err := writeOne(t, c, Write{Kind: Patch, ID: "2"}); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	eventually(t, "50 points are counted", func() bool { return c.index().tree.root().count == 50 })
	for family, want := range map[string]int{famID: 50, famPoint: 50, famEnd: 0} {
		if n := versions(t, c, family); n != want {
			t.Errorf("%d rows of %s, want %d", n, family, want)
		}
	}
}

// The tree agrees with the rows after any writes, and drops empty tiles.
func TestTreeAgreesWithRows(t *testing.T) {
	c, _ := liveAt(t, Meta{})
	r := rand.New(rand.NewPCG(7, 7))
	points := 3000
	if testing.Short() {
		points = 500
	}
	for round := range 8 {
		var writes []Write
		for range points {
			w := Write{Kind: Put, ID: fmt.Sprint(r.IntN(points)), Lat: r.NormFloat64() + float64(10*round), Lon: r.NormFloat64()}
			writes = append(writes, w)
		}
		if round == 7 {
			for i := range writes {
				writes[i] = Write{Kind: Delete, ID: fmt.Sprint(i)}
			}
		}
		outcomes := make([]Outcome, len(writes))
		must.Do(t, c.Write(t.Context(), writes, outcomes))
		want := map[quadkey.Tile]uint32{}
		for row, err := range c.index().table.Scan(t.Context(), cellstore.Scan{Selection: *selectPoint}) {
			var rec record
			if err == nil {
				_, err = rec.parse(row)
			}
			if err != nil {
				t.Fatal(err)
			}
			for z := range uint8(quadkey.MaxZoom + 1) {
				want[rec.key.Tile(z)]++
			}
		}
		leaves := 0
		var check func(b branch)
		check = func(b branch) {
			if b.count != want[b.tile] || b.count == 0 && b.held != 0 {
				t.Fatalf("round %d: %v has %d points, want %d", round, b.tile, b.count, want[b.tile])
			}
			four, divided := c.index().tree.children(&b)
			if !divided {
				leaves++
				return
			}
			for _, f := range four {
				check(f)
			}
		}
		check(c.index().tree.root())
		if most := int(want[quadkey.Tile{}])/2 + 200; leaves > most {
			t.Errorf("round %d: %d leaves of %d points", round, leaves, want[quadkey.Tile{}])
		}
	}
	if n := len(c.index().tree.nodes) - 4*len(c.index().tree.free); n > 5 {
		t.Errorf("%d nodes of no points", n)
	}
}

// A track of more versions than are read at once has them all, page by page.
func TestLongTrack(t *testing.T) {
	testrace.SkipUnderRace(t, "one question or write after the other, which others do at once")
	c, now := liveAt(t, Meta{HistoryRetention: Duration(time.Hour)})
	var want []feature.Stop
	for range 10 {
		writes := make([]Write, 1000)
		for i := range writes {
			writes[i] = Write{Kind: Put, ID: "van", Lat: float64(len(want) + i), Lon: 1}
			writes[i].Lat /= 1000
		}
		for i, o := range mustWrite(t, c, writes...) {
			want = append(want, feature.Stop{Position: quadkey.Position{Lat: writes[i].Lat, Lon: 1}, Version: o.Version})
		}
		now.Add(100_000)
	}
	for _, most := range []int{1 << 30, 777, 5000} {
		var got []feature.Stop
		from := time.Time{}
		for pages := 0; ; pages++ {
			page, next, err := c.Track(t.Context(), "van", from, time.Time{}, most)
			if err != nil || len(page) > most || pages > len(want) {
				t.Fatal(len(page), pages, err)
			}
			got = append(got, page...)
			if from = next; next.IsZero() {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d stops by %d, want %d", len(got), most, len(want))
		}
	}
	one, _, err := c.Track(t.Context(), "van", time.UnixMilli(want[5000].Version), time.UnixMilli(want[5002].Version), 10)
	if err != nil || !slices.Equal(one, want[5000:5003]) {
		t.Errorf("%v: %v", one, err)
	}
}

// A point that is created again has a greater version than any earlier one with its id.
func TestVersionsRise(t *testing.T) {
	for _, history := range []Duration{0, Duration(time.Hour)} {
		c, now := liveAt(t, Meta{HistoryRetention: history})
		last := int64(0)
		for i := range 20 {
			kind := Put
			if i%2 == 1 {
				kind = Delete
			}
			if i == 10 {
				now.Add(-5000) // the clock is set back
			}
			version := mustWrite(t, c, Write{Kind: kind, ID: "a"})[0].Version
			if version <= last {
				t.Fatalf("version %d after %d", version, last)
			}
			last = version
		}
	}
}

// A slow reader keeps its own state in memory, but not the states of readers that begin and end
// meanwhile.
func TestSlowReaderKeepsOneState(t *testing.T) {
	c, now := liveAt(t, Meta{})
	put := func(i int) {
		t.Helper()
		mustWrite(t, c, Write{Kind: Put, ID: "a", Lat: float64(i % 80), Lon: float64(i % 170)})
		now.Add(10)
	}
	put(1)
	seen := 0
	err := c.Each(t.Context(), WithinQuery{Area: feature.Box(quadkey.World)}, func(h *Hit) error {
		seen++
		for i := range 500 {
			put(i + 2)
			var now Hit
			if err := c.GetAt(t.Context(), "a", time.Time{}, &now); err != nil || now.Lat == h.Lat && i%80 != 79 {
				t.Fatalf("%+v: %v", now, err)
			}
		}
		if n := len(c.index().views.alive); n > 3 {
			t.Errorf("%d states are kept", n)
		}
		return nil
	})
	if err != nil || seen != 1 {
		t.Fatal(seen, err)
	}
	put(1000)
	c.index().tree.mu.RLock()
	defer c.index().tree.mu.RUnlock()
	if root := c.index().tree.nodes[0]; root.count != 1 || root.held > 2 {
		t.Errorf("%d points and %d held", root.count, root.held)
	}
}

// Many points are at one position. Queries as of an instant yield each once, although the tree has
// no counts of that time.
func TestNearbyAtOnePosition(t *testing.T) {
	c, now := liveAt(t, Meta{HistoryRetention: Duration(time.Hour)})
	writes := make([]Write, 600)
	for i := range writes {
		writes[i] = Write{Kind: Put, ID: fmt.Sprint(i), Lat: 47, Lon: 8}
	}
	mustWrite(t, c, writes...)
	at := time.UnixMilli(now.Add(1000))
	ids := map[string]bool{}
	q := NearbyQuery{Lat: 47, Lon: 8, Limit: 400, At: at}
	for {
		hits, next := must.Two(c.Nearby(t.Context(), q, nil)).In(t)
		for _, h := range hits {
			if ids[h.ID] {
				t.Fatalf("%s is there twice", h.ID)
			}
			ids[h.ID] = true
		}
		if q.Cursor = next; next == "" {
			break
		}
	}
	if len(ids) != len(writes) {
		t.Errorf("%d points of %d", len(ids), len(writes))
	}
}

// TestSortedCursor tests that a page sorted by a property begins after the cursor, even if points
// with the least value come before it in the layer's own order.
func TestSortedCursor(t *testing.T) {
	c, _ := liveAt(t, Meta{})
	writes := make([]Write, 40)
	for i := range writes {
		writes[i] = Write{Kind: Put, ID: fmt.Sprintf("p%02d", i), Lat: 1, Lon: 1, Properties: fmt.Appendf(nil, `{"open":%t}`, i%2 == 1)}
	}
	mustWrite(t, c, writes...)
	q := WithinQuery{Area: feature.Box(quadkey.World), Limit: 3, Sort: feature.Sort{Field: feature.Field{Name: "open", Kind: feature.Boolean}}}
	var ids []string
	for {
		hits, next := must.Two(c.Within(t.Context(), q, nil)).In(t)
		for _, h := range hits {
			ids = append(ids, h.ID)
		}
		if q.Cursor = next; next == "" {
			break
		}
	}
	var want []string
	for _, odd := range []int{0, 1} {
		for i := odd; i < len(writes); i += 2 {
			want = append(want, writes[i].ID)
		}
	}
	if !slices.Equal(ids, want) {
		t.Errorf("%v, want %v", ids, want)
	}
}
