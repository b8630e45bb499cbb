package places

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/feature/layertest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/quadkey"
)

func TestLayer(t *testing.T) {
	testrace.Plain(t, "many questions")
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			layertest.Test(t, build(t, scatter(5, 300, shape)), layertest.Options{Seed: 3})
		})
	}
	t.Run("none", func(t *testing.T) { layertest.Test(t, build(t, nil), layertest.Options{}) })
}

// termsOf are the filters of a query as terms, in the case that places have.
func termsOf(classes, codes, countries []string, minPopulation int64) (terms []feature.Term) {
	for name, values := range map[string][]string{"class": classes, "code": codes, "country": countries} {
		if len(values) > 0 {
			upper := make([]string, len(values))
			for i, v := range values {
				upper[i] = string(bytes.ToUpper([]byte(v)))
			}
			terms = append(terms, feature.Term{Name: name, Values: upper})
		}
	}
	if minPopulation > 0 {
		terms = append(terms, feature.Term{Name: "population", Op: feature.OpGreaterOrEqual, Values: []string{strconv.FormatInt(minPopulation, 10)}})
	}
	return terms
}

// unindexed is a filter of which the index knows nothing.
type unindexed struct{ feature.Filter }

func (unindexed) Terms() ([]feature.Term, bool) { return nil, false }

// pagesOf collects an answer page by page.
func pagesOf(t *testing.T, l feature.Layer, q feature.Query, limit int) (all []feature.Feature) {
	t.Helper()
	for cursor := ""; ; {
		must.Do(t, q.Continue(l.Info(), cursor))
		var err error
		cursor, err = feature.Page(t.Context(), l, q, limit, func(f *feature.Feature) error {
			all = append(all, f.Clone())
			return nil
		})
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		if cursor == "" {
			return all
		}
	}
}

// sameAsHits compares features with what the methods of before find.
func sameAsHits(t *testing.T, got []feature.Feature, want []Hit) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d features, want %d", len(got), len(want))
	}
	for i := range got {
		g, w := &got[i], &want[i]
		if g.Number != uint64(w.ID) || g.ID != strconv.Itoa(int(w.ID)) || g.Lat != w.Lat || g.Lon != w.Lon || g.Distance != w.DistanceM ||
			!bytes.Equal(g.Properties.AppendMembers(nil), w.JSON) {
			t.Fatalf("feature %d is %+v, want %d at %v,%v in %v m", i, g, w.ID, w.Lat, w.Lon, w.DistanceM)
		}
	}
}

// With terms that the index knows, and with a filter that it does not know, features come as
// from Nearby and Within, and in the layer's own order by cell and id.
func TestFeaturesAgainstQueries(t *testing.T) {
	testrace.Plain(t, "many questions")
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := scatter(12, 400, shape)
			f := build(t, list)
			rng := rand.New(rand.NewPCG(6, 1))
			for i := range 60 {
				near := queryNear(rng, list, shape)
				filter := must.Get(feature.ParseFilter(f.Info().Schema, termsOf(near.Classes, near.Codes, near.Countries, near.MinPopulation))).In(t)
				if i%2 == 1 && filter != nil {
					filter = unindexed{filter}
				}
				near.Limit = MaxLimit
				want, _ := must.Two(f.Nearby(t.Context(), near, nil)).In(t)
				ring := feature.Near{Position: quadkey.Position{Lat: near.Lat, Lon: near.Lon}, MaxM: near.RadiusM}
				if i%3 == 0 && len(want) > 2 {
					ring.MinM = want[len(want)/3].DistanceM
					want = slices.DeleteFunc(want, func(h Hit) bool { return h.DistanceM < ring.MinM })
				}
				sameAsHits(t, pagesOf(t, f, feature.Query{Near: &ring, Filter: filter}, 1+rng.IntN(200)), want)

				box := WithinQuery{Box: boxNear(rng, list), Limit: MaxLimit, Classes: near.Classes, Codes: near.Codes, Countries: near.Countries, MinPopulation: near.MinPopulation}
				q := feature.Query{In: feature.Box(box.Box), Filter: filter, Order: feature.Order{Importance: true}}
				if i%4 == 0 {
					p := list[rng.IntN(len(list))]
					tile := must.Get(quadkey.TileAt(p.Lon, p.Lat, uint8(rng.IntN(quadkey.MaxZoom+1)))).In(t)
					box.Tile, q.In = &tile, feature.Tile(tile)
				}
				want, _ = must.Two(f.Within(t.Context(), box, want)).In(t)
				sameAsHits(t, pagesOf(t, f, q, 1+rng.IntN(200)), want)

				if box.Tile != nil || filter != nil {
					continue
				}
				want = want[:0]
				for _, p := range list {
					if p = settled(p); box.Box.Contains(p.Lon, p.Lat) {
						var h Hit
						must.Do(t, f.Hit(t.Context(), p.ID, &h))
						want = append(want, h)
					}
				}
				slices.SortFunc(want, func(a, b Hit) int {
					return cmp.Or(cmp.Compare(must.Get(quadkey.CellOf(a.Lon, a.Lat)).In(t), must.Get(quadkey.CellOf(b.Lon, b.Lat)).In(t)), cmp.Compare(a.ID, b.ID))
				})
				q.Order = feature.Order{}
				sameAsHits(t, pagesOf(t, f, q, 1+rng.IntN(200)), want)
			}
		})
	}
}

// A term compares as a filter does: case counts, and what no place can have finds none.
func TestTermsCompareExactly(t *testing.T) {
	testrace.Plain(t, "many questions")
	f := build(t, scatter(13, 400, clustered))
	rng := rand.New(rand.NewPCG(1, 8))
	values := map[string][]string{
		"class": {"P", "p", "PP", "", "T", "é"}, "code": {"PPL", "ppl", "", "no such code, and long"}, "country": {"CH", "ch", "", "C", "CHE", "NA"},
		"population": {"0", "-5", "1", "1000", "1e3", "50000.5", "99999999999999999999"},
	}
	for range 300 {
		var terms []feature.Term
		for range 1 + rng.IntN(3) {
			name := []string{"class", "code", "country", "population"}[rng.IntN(4)]
			term := feature.Term{Name: name}
			pick := func() { term.Values = append(term.Values, values[name][rng.IntN(len(values[name]))]) }
			if pick(); name == "population" {
				term.Op = []string{feature.OpGreaterOrEqual, feature.OpGreaterOrEqual, feature.OpLess, feature.OpEquals}[rng.IntN(4)]
			} else if pick(); rng.IntN(5) == 0 {
				term.Op = feature.OpDiffers
			}
			terms = append(terms, term)
		}
		filter := must.Get(feature.ParseFilter(f.Info().Schema, terms)).In(t)
		for _, q := range []feature.Query{{}, {Near: &feature.Near{}}, {Order: feature.Order{Importance: true}}} {
			q.Filter = filter
			got := pagesOf(t, f, q, MaxLimit)
			q.Filter = unindexed{filter}
			want := pagesOf(t, f, q, MaxLimit)
			if !slices.EqualFunc(got, want, func(a, b feature.Feature) bool { return a.ID == b.ID }) {
				t.Fatalf("%+v: %d features with the index and %d without", terms, len(got), len(want))
			}
			if q.Near != nil {
				continue
			}
			q.Filter = filter
			if n, err := feature.Count(t.Context(), f, &q); err != nil || n != int64(len(want)) {
				t.Fatalf("%+v: %d features are counted, want %d, %v", terms, n, len(want), err)
			}
		}
	}
}

// Classes, codes, countries and having people are counted without a read, and a list counts
// what no index knows.
func TestCountOfFilters(t *testing.T) {
	testrace.Plain(t, "many questions")
	list := scatter(13, 400, clustered)
	f, cancelled := build(t, list), ended(t)
	for name, c := range map[string]struct {
		Filter
		known bool
	}{
		"all":          {Filter{}, true},
		"a class":      {Filter{Classes: []string{"P"}}, true},
		"codes":        {Filter{Classes: []string{"P", "S"}, Codes: []string{"PPL", "PPLC"}}, true},
		"a country":    {Filter{Countries: []string{"CH"}}, true},
		"people":       {Filter{Classes: []string{"P"}, MinPopulation: 1}, true},
		"many people":  {Filter{MinPopulation: 1000}, false},
		"too many":     {Filter{MinPopulation: 1 << 40}, true},
		"nothing such": {Filter{Countries: []string{"ch"}}, true},
	} {
		filter := must.Get(c.Filter.Feature()).In(t)
		want := int64(0)
		for _, p := range list {
			if p = settled(p); (c.Countries == nil || c.Countries[0] == p.Country) && bruteFilter(&p, c.Classes, c.Codes, nil, c.MinPopulation) {
				want++
			}
		}
		got, err := f.Count(cancelled, &feature.Query{Filter: filter})
		if c.known && (err != nil || got != want) || !c.known && !feature.IsUnsupported(err) {
			t.Errorf("%s: %d, want %d, %v", name, got, want, err)
		}
		if got, err = feature.Count(t.Context(), f, &feature.Query{Filter: filter}); err != nil || got != want {
			t.Errorf("%s: %d with a list, want %d, %v", name, got, want, err)
		}
		if _, err = f.Count(t.Context(), &feature.Query{Filter: unindexed{filter}}); filter != nil && !feature.IsUnsupported(err) {
			t.Errorf("%s, unknown to the index: %v", name, err)
		}
	}
}

// ended is a context that has ended, for what must not read.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestFeaturesErrors(t *testing.T) {
	f := build(t, scatter(1, 500, clustered))
	near, important := &feature.Near{}, feature.Order{Importance: true}
	stop := errors.New("stop")
	none := unindexed{must.Get(feature.ParseFilter(f.Info().Schema, []feature.Term{{Name: "name", Values: []string{"Nowhere"}}})).In(t)}
	for name, tc := range map[string]struct {
		q    feature.Query
		want error
	}{
		"no limit":              {feature.Query{Near: near}, ErrQuery},
		"too many":              {feature.Query{Order: important, Limit: MaxLimit + 2}, ErrQuery},
		"two orders":            {feature.Query{Near: near, Order: important, Limit: 1}, ErrQuery},
		"latitude":              {feature.Query{Near: &feature.Near{Position: quadkey.Position{Lat: 91}}, Limit: 1}, ErrQuery},
		"ring":                  {feature.Query{Near: &feature.Near{MinM: 2, MaxM: 1}, Limit: 1}, ErrQuery},
		"box":                   {feature.Query{In: feature.Box{South: 2, North: 1}, Order: important, Limit: 1}, ErrQuery},
		"nearest of an area":    {feature.Query{Near: near, In: feature.Box{}, Limit: 1}, errors.ErrUnsupported},
		"by name":               {feature.Query{Order: feature.Order{Sort: feature.Sort{Field: f.Info().Schema[0]}}, Limit: 1}, errors.ErrUnsupported},
		"mark":                  {feature.Query{Near: near, Limit: 1, After: feature.Mark("12345678")}, ErrCursor},
		"mark of no distance":   {feature.Query{Near: near, Limit: 1, After: bytes.Repeat([]byte{0xff}, markSize)}, ErrCursor},
		"mark of another order": {feature.Query{After: make(feature.Mark, markSize)}, ErrCursor},
		"much work":             {feature.Query{Near: near, Filter: none, Limit: 1, Examine: 100}, ErrTooMuchWork},
		"much work in a list":   {feature.Query{Filter: none, Examine: 100}, ErrTooMuchWork},
		"step":                  {feature.Query{Near: near, Filter: none, Limit: 1, Step: func(context.Context) error { return stop }}, stop},
	} {
		var got error
		for _, err := range f.Features(t.Context(), &tc.q) {
			got = err
		}
		if !errors.Is(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// A tile shows as features what is stored of it.
func TestTileFeatures(t *testing.T) {
	list := scatter(14, 600, clustered)
	f := build(t, list)
	for i := range 300 {
		p := list[i]
		tile := must.Get(quadkey.TileAt(p.Lon, p.Lat, uint8(i%(quadkey.MaxZoom+1)))).In(t)
		got := tileGeoJSON(t, f, tile)
		var want []byte
		if tile.Z <= rollupZoom {
			var row cellstore.Row
			if found, err := f.getRollup(t.Context(), tile, selectShown, &row); !found || err != nil {
				t.Fatal(tile, err)
			}
			want = row.Cells[0].Value
		} else {
			var p picker
			must.Do(t, p.pick(t.Context(), f, tile))
			for i := range p.picked {
				if want = appendFeature(want, &p.picked[i].place); i < len(p.picked)-1 {
					want = append(want, ',')
				}
			}
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("tile %v: %s, want %s", tile, got, want)
		}
	}
	for _, err := range f.Tile(t.Context(), quadkey.Tile{Z: 1, X: 5}) {
		if !errors.Is(err, ErrQuery) {
			t.Error(err)
		}
	}
	for range f.Tile(t.Context(), quadkey.Tile{}) {
		break
	}
}
