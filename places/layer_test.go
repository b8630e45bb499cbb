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
	testrace.SkipUnderRace(t, "many questions")
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			layertest.Test(t, build(t, scatter(5, 300, shape)), layertest.Options{Seed: 3})
		})
	}
	t.Run("none", func(t *testing.T) { layertest.Test(t, build(t, nil), layertest.Options{}) })
}

// The layer's own order is that of cells and ids. Each feature agrees with Hit.
func TestOwnOrder(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	for name, shape := range shapes {
		list := scatter(12, 400, shape)
		f := build(t, list)
		all := layertest.Pages(t, f, feature.Query{}, 150)
		if len(all) != len(list) || !slices.IsSortedFunc(all, func(a, b feature.Feature) int {
			return cmp.Or(cmp.Compare(cellOf(t, &a), cellOf(t, &b)), cmp.Compare(a.Number, b.Number))
		}) {
			t.Errorf("%s: %d features of %d, or in another order", name, len(all), len(list))
		}
		for i := range all {
			var h Hit
			must.Do(t, f.Hit(t.Context(), uint32(all[i].Number), &h))
			if g := &all[i]; g.ID != strconv.Itoa(int(h.ID)) || g.Lat != h.Lat || g.Lon != h.Lon ||
				!bytes.Equal(g.Properties.AppendMembers(nil), h.JSON) {
				t.Errorf("%s: %+v, want %+v", name, g, h)
			}
		}
	}
}

func cellOf(t *testing.T, f *feature.Feature) quadkey.Cell {
	return must.Get(quadkey.CellOf(f.Lon, f.Lat)).In(t)
}

// TestTermsCompareExactly tests that a term gives the same result as a filter: case counts, and a
// value that no place can have finds none.
func TestTermsCompareExactly(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	f := build(t, scatter(13, 400, clustered))
	rng := rand.New(rand.NewPCG(1, 8))
	values := map[string][]string{
		"class":      {"P", "p", "PP", "", "T", "é"},
		"code":       {"PPL", "ppl", "", "no such code, and long"},
		"country":    {"CH", "ch", "", "C", "CHE", "NA"},
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
		for _, q := range []feature.Query{{}, {Near: &feature.Near{}}, {Order: feature.Order{Importance: true}}} {
			layertest.SameWithoutIndex(t, f, q, MaxLimit, terms...)
		}
	}
}

// Classes, codes, countries and populated places are counted without a read. Other properties are
// counted by listing.
func TestCountOfFilters(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
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
		filter := must.Get(c.Filter.FeatureFilter()).In(t)
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
		if _, err = f.Count(t.Context(), &feature.Query{Filter: layertest.Unindexed{Filter: filter}}); filter != nil &&
			!feature.IsUnsupported(err) {
			t.Errorf("%s, unknown to the index: %v", name, err)
		}
	}
}

// ended returns a context that has ended, for calls that must not read.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestFeaturesErrors(t *testing.T) {
	f := build(t, scatter(1, 500, clustered))
	near, important := &feature.Near{}, feature.Order{Importance: true}
	stop := errors.New("stop")
	none := layertest.Unindexed{Filter: must.Get(feature.ParseFilter(f.Info().Schema,
		[]feature.Term{{Name: "name", Values: []string{"Nowhere"}}})).In(t)}
	for name, tc := range map[string]struct {
		q    feature.Query
		want error
	}{
		"no limit":           {feature.Query{Near: near}, ErrQuery},
		"too many":           {feature.Query{Order: important, Limit: MaxLimit + 2}, ErrQuery},
		"two orders":         {feature.Query{Near: near, Order: important, Limit: 1}, ErrQuery},
		"latitude":           {feature.Query{Near: &feature.Near{Position: quadkey.Position{Lat: 91}}, Limit: 1}, ErrQuery},
		"ring":               {feature.Query{Near: &feature.Near{MinM: 2, MaxM: 1}, Limit: 1}, ErrQuery},
		"box":                {feature.Query{In: feature.Box{South: 2, North: 1}, Order: important, Limit: 1}, ErrQuery},
		"nearest of an area": {feature.Query{Near: near, In: feature.Box{}, Limit: 1}, errors.ErrUnsupported},
		"by name": {
			feature.Query{Order: feature.Order{Sort: feature.Sort{Field: f.Info().Schema[0]}}, Limit: 1},
			errors.ErrUnsupported,
		},
		"mark":                  {feature.Query{Near: near, Limit: 1, After: feature.Mark("12345678")}, ErrCursor},
		"mark of no distance":   {feature.Query{Near: near, Limit: 1, After: bytes.Repeat([]byte{0xff}, markSize)}, ErrCursor},
		"mark of another order": {feature.Query{After: make(feature.Mark, markSize)}, ErrCursor},
		"much work":             {feature.Query{Near: near, Filter: none, Limit: 1, MaxExamined: 100}, ErrTooMuchWork},
		"much work in a list":   {feature.Query{Filter: none, MaxExamined: 100}, ErrTooMuchWork},
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

// TestTileFeatures tests that Tile yields the features that are stored for a tile or, at deeper
// zooms, those that are picked for it.
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
	for _, err := range f.Tile(t.Context(), quadkey.Tile{Z: 1, X: 5}, nil) {
		if !errors.Is(err, ErrQuery) {
			t.Error(err)
		}
	}
	for range f.Tile(t.Context(), quadkey.Tile{}, nil) {
		break
	}
}
