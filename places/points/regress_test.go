package points_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"quadrille/feature"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/places/points"
)

// While points move, their count stays the same: none counts twice, and none is missed.
func TestCountWhilePointsMove(t *testing.T) {
	_, c := openLive(t)
	const n = 500
	stop := make(chan struct{})
	var wg sync.WaitGroup
	move := func(r *rand.Rand) []points.Write {
		writes := make([]points.Write, n)
		for i := range writes {
			writes[i] = putOf(randomPoint(r, i, distributions["cities"]))
		}
		return writes
	}
	write(t, c, move(rand.New(rand.NewPCG(1, 1)))...)
	wg.Go(func() {
		r := rand.New(rand.NewPCG(2, 2))
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := c.Write(t.Context(), move(r), make([]points.Outcome, n)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	defer wg.Wait()
	defer close(stop)
	questions := 20_000
	if testing.Short() {
		questions = 2000
	}
	for i := range questions {
		if got, err := c.CountIn(t.Context(), feature.Tile{}, nil, time.Time{}); err != nil || got != n {
			t.Fatalf("question %d: %d points of %d: %v", i, got, n, err)
		}
	}
}

// A query does not see the cursor of the previous query, although it reuses the memory of that
// query.
func TestNoCursorOfTheQuestionBefore(t *testing.T) {
	_, c := openLive(t)
	const n = 100
	var writes []points.Write
	for i := range n { // at the lowest key, where the read range begins
		writes = append(writes, points.Write{
			Kind:       points.Put,
			ID:         fmt.Sprintf("p%03d", i),
			Lat:        90,
			Lon:        -180,
			Properties: []byte(`{"category":"zoo"}`),
		})
	}
	write(t, c, writes...)
	zoo := filters[1].parse(t, c.Meta().Schema)
	for _, f := range []feature.Filter{nil, zoo} {
		for range 20 { // a query sometimes gets other memory
			within := points.WithinQuery{Area: feature.Tile{}, Filter: f, Limit: n - 10}
			nearby := points.NearbyQuery{Lat: 90, Filter: f, Limit: n - 10}
			second := func() {
				t.Helper()
				for range 2 {
					hits, next, err := c.Within(t.Context(), within, nil)
					if err != nil || len(hits) == 0 {
						t.Fatal(len(hits), err)
					}
					within.Cursor = next
				}
				within.Cursor = ""
			}
			second()
			if got, err := c.CountIn(t.Context(), feature.Tile{}, zoo, time.Time{}); err != nil || got != n {
				t.Fatalf("counted %d: %v", got, err)
			}
			second()
			got := 0
			if err := c.Each(t.Context(), within, func(*points.Hit) error { got++; return nil }); err != nil || got != n {
				t.Fatalf("%d of each: %v", got, err)
			}
			second()
			if hits, _, err := c.Nearby(t.Context(), nearby, nil); err != nil || len(hits) != n-10 || hits[0].ID != "p000" {
				t.Fatalf("%d nearby: %v", len(hits), err)
			}
			second()
			if hits, _, err := c.Within(t.Context(), within, nil); err != nil || len(hits) != n-10 || hits[0].ID != "p000" {
				t.Fatalf("%d within: %v", len(hits), err)
			}
		}
	}
}

// Nearby finds no points at positions that they have left, although the history has them at these
// positions.
func TestNearbyWherePointsWere(t *testing.T) {
	testrace.SkipUnderRace(t, "it asks one question after the other of a collection that other tests use at once")
	l, _ := openLive(t)
	c := must.Get(l.Create(t.Context(), points.Meta{Name: "moved", HistoryRetention: points.Duration(time.Hour)})).In(t)
	r := rand.New(rand.NewPCG(3, 3))
	model := map[string]points.Point{}
	for round := range 6 {
		var writes []points.Write
		for id := range 200 {
			p := randomPoint(r, id, distributions["city"])
			if id%5 == round { // these leave, which their rows of the history record
				delete(model, p.ID)
				writes = append(writes, points.Write{Kind: points.Delete, ID: p.ID})
				continue
			}
			model[p.ID] = p
			writes = append(writes, putOf(p))
		}
		write(t, c, writes...)
		ref := inOrder(model)
		for range 60 {
			compare(t, c.Collection(), ref, r, distributions["city"])
		}
		// This query returns all points. There are fewer points than rows.
		q := points.NearbyQuery{Lat: 47.37, Lon: 8.54, Limit: points.MaxLimit}
		hits, next, err := c.Nearby(t.Context(), q, nil)
		if err != nil || next != "" || !same(hits, ref.nearby(&q, &filters[0])) {
			t.Fatalf("round %d: %d points, want %d: %v", round, len(hits), len(ref), err)
		}
	}
	// This removes all points.
	var writes []points.Write
	for id := range model {
		writes = append(writes, points.Write{Kind: points.Delete, ID: id})
	}
	write(t, c, writes...)
	for lat, lon := range map[float64]float64{47.37: 8.54, 0: 0} {
		if hits, _, err := c.Nearby(t.Context(), points.NearbyQuery{Lat: lat, Lon: lon, Limit: 1}, nil); err != nil || len(hits) != 0 {
			t.Fatalf("%+v: %v", hits, err)
		}
	}
}

// TestNearbyPastThoseWhoWereThere tests searches that read the row of a removed point, which has no
// position. From such a row they must draw no conclusion, for example that all points at its key
// are too far.
func TestNearbyPastThoseWhoWereThere(t *testing.T) {
	l, _ := openLive(t)
	c := must.Get(l.Create(t.Context(), points.Meta{Name: "moved", HistoryRetention: points.Duration(time.Hour)})).In(t)
	for _, id := range []string{"a", "b", "c", "far 1", "far 2"} {
		w := points.Write{Kind: points.Put, ID: id, Lat: 1, Lon: 20}
		if len(id) > 1 {
			w.Lat, w.Lon = 40, 10 // lower in the order of keys
		}
		write(t, c, w)
	}
	write(t, c, points.Write{Kind: points.Delete, ID: "a"}, points.Write{Kind: points.Patch, ID: "b", Move: true, Lat: -50})
	for _, smallest := range []float64{0, 1} {
		want := []string{"c", "far 1", "far 2", "b"}[int(smallest):]
		q := points.NearbyQuery{Lat: 1, Lon: 20, MinRadiusM: smallest}
		for q.Limit = 1; q.Limit <= len(want); q.Limit++ {
			hits, _, err := c.Nearby(t.Context(), q, nil)
			if err != nil || !slices.Equal(ids(hits), want[:q.Limit]) {
				t.Errorf("%+v: %v, want %v: %v", q, ids(hits), want[:q.Limit], err)
			}
		}
	}
}

// Filters find points by properties that were added when a collection already had more properties
// than it lists.
func TestFilterByPropertyAfterManyNames(t *testing.T) {
	testrace.SkipUnderRace(t, "one question or write after the other, which others do at once")
	const n, names = 400, 4
	declared := feature.Schema{{Name: "kind", Kind: feature.Text}, {Name: "tags", Kind: feature.Texts}, {Name: "open", Kind: feature.Boolean}}
	var list []points.Point
	for i := range n {
		p := points.Point{ID: fmt.Sprintf("p%03d", i), Lat: float64(i%20) / 1000, Lon: float64(i) / 1000, Properties: []byte("{")}
		for j := range names {
			p.Properties = fmt.Appendf(p.Properties, `"name%d":"x",`, i*names+j)
		}
		if i%10 == 9 && i > feature.MaxFields/names {
			p.Properties = append(p.Properties, `"kind":"zoo","tags":["a","b"],"open":true,`...)
		}
		p.Properties = append(p.Properties, `"n":1}`...)
		list = append(list, p)
	}
	check := func(c *points.Collection) {
		t.Helper()
		for _, term := range []feature.Term{
			{Name: "kind", Values: []string{"zoo"}}, {Name: "tags", Values: []string{"b"}}, {Name: "open",
				Values: []string{"true"}}, {Op: feature.OpHas, Values: []string{"kind"}},
		} {
			f := (&filter{terms: []feature.Term{term}}).parse(t, c.Meta().Schema)
			counted, err := c.CountIn(t.Context(), feature.Tile{}, f, time.Time{})
			hits, _, nearbyErr := c.Nearby(t.Context(), points.NearbyQuery{Filter: f, Limit: n}, nil)
			if want := 15; err != nil || nearbyErr != nil || counted != int64(want) || len(hits) != want {
				t.Errorf("%+v: counted %d, %d nearby, want %d: %v, %v", term, counted, len(hits), want, err, nearbyErr)
			}
		}
	}
	check(build(t, list, points.BuildOptions{Schema: declared}))

	store := buildtest.NewStore(t)
	for again := range 2 {
		l := must.Get(points.OpenLive(t.Context(), store)).In(t)
		c := l.Collection("many")
		if again == 0 {
			c = must.Get(l.Create(t.Context(), points.Meta{Name: "many", Schema: declared})).In(t)
			for _, p := range list { // one by one, to fix the order of names
				write(t, c, putOf(p))
			}
		}
		check(c.Collection())
		must.Do(t, l.Close())
	}
}
