package places

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// drawFilter returns a list that is mostly empty, and sometimes has one or several elements.
func drawFilter(rng *rand.Rand, from []string) []string {
	n := max(0, rng.IntN(6)-2)
	if n == 3 || n == 0 {
		n = max(0, n-2)
	}
	var list []string
	for range n {
		list = append(list, from[rng.IntN(len(from))])
	}
	return list
}

// queryNear makes a query near the data, at the world's edges, or anywhere.
func queryNear(rng *rand.Rand, list []Place, shape func(*rand.Rand) (float64, float64)) NearbyQuery {
	q := NearbyQuery{Limit: []int{1, 10, 100, MaxLimit}[rng.IntN(4)]}
	switch rng.IntN(6) {
	case 0:
		q.Lon, q.Lat = shapes["uniform"](rng)
	case 1:
		q.Lon = []float64{-180, 180, 0, 179.9999, -179.9999}[rng.IntN(5)]
		q.Lat = []float64{-90, 90, 0, 85.0511287798066, -85.06, 89.99}[rng.IntN(6)]
	case 2:
		p := list[rng.IntN(len(list))]
		q.Lon, q.Lat = p.Lon, p.Lat
	default:
		q.Lon, q.Lat = shape(rng)
	}
	if rng.IntN(3) == 0 {
		q.RadiusM = math.Exp(rng.Float64() * 17)
	}
	if rng.IntN(2) == 0 {
		q.Classes = drawFilter(rng, []string{"P", "A", "x", "t"})
		q.Codes = drawFilter(rng, []string{"PPL", "pplc", "LK", "ADM1", "RD"})
		q.Countries = drawFilter(rng, []string{"CH", "na", "XX", "FJ"})
		q.MinPopulation = []int64{0, 0, 1000, 50_000, 2_000_000}[rng.IntN(5)]
	}
	return q
}

// Every answer, and the concatenation of its pages, equals the answer by measuring every place:
// across ±180°, at the poles and where points coincide.
func TestNearbyAgainstBruteForce(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			places, queries, paged := 400, 25, 1
			if os.Getenv("QUADRILLE_FULL") != "" {
				places, queries, paged = 400, 100_000, 50
			}
			list := scatter(11, places, shape)
			f := build(t, list)
			rng := rand.New(rand.NewPCG(3, 9))
			var dst, page []Hit
			for i := range queries {
				q := queryNear(rng, list, shape)
				want := bruteNearby(list, q)
				var next string
				var err error
				dst, next, err = f.Nearby(t.Context(), q, dst)
				if err != nil {
					t.Fatalf("%+v: %v", q, err)
				}
				sameHits(t, dst, want[:min(q.Limit, len(want))])
				if more := len(want) > q.Limit; more != (next != "") {
					t.Fatalf("%+v: next is %q, %d match", q, next, len(want))
				}
				if i%paged > 0 {
					continue
				}

				var all []Hit
				for q.Limit = 1 + rng.IntN(60); ; {
					if page, q.Cursor, err = f.Nearby(t.Context(), q, page); err != nil {
						t.Fatalf("%+v: %v", q, err)
					}
					for _, h := range page {
						h.JSON = append([]byte(nil), h.JSON...)
						all = append(all, h)
					}
					if q.Cursor == "" || len(all) > 120 {
						break
					}
				}
				sameHits(t, all, want[:min(len(all), len(want))])
				if q.Cursor == "" && len(all) != len(want) {
					t.Fatalf("%+v: pages end after %d of %d", q, len(all), len(want))
				}
			}
		})
	}
}

// TestPagesToTheEnd tests that pages with one place each reach all places.
func TestPagesToTheEnd(t *testing.T) {
	list := scatter(5, 150, shapes["duplicate points"])
	f := build(t, list)
	q := NearbyQuery{Lat: 90, Lon: 12, Limit: 1}
	var all []Hit
	for {
		page, next := must.Two(f.Nearby(t.Context(), q, nil)).In(t)
		all = append(all, page...)
		if q.Cursor = next; next == "" {
			break
		}
	}
	sameHits(t, all, bruteNearby(list, NearbyQuery{Lat: 90, Lon: 12}))
}

// The two places nearest to a point on the antimeridian lie on either side of
// it, at equal distances.
func TestNearbyAcrossTheAntimeridian(t *testing.T) {
	f := build(t, []Place{
		{ID: 1, Name: "west of it", Lon: 179.75, Lat: -17},
		{ID: 2, Name: "east of it", Lon: -179.75, Lat: -17},
		{ID: 3, Name: "far", Lon: 178, Lat: -17},
		{ID: 4, Name: "on it", Lon: 180, Lat: -17.5},
		{ID: 5, Name: "on it too", Lon: -180, Lat: -17.5},
	})
	for _, lon := range []float64{180, -180} {
		hits, _ := must.Two(f.Nearby(t.Context(), NearbyQuery{Lat: -17, Lon: lon}, nil)).In(t)
		if got := fmt.Sprint(hitIDs(hits)); got != "[1 2 4 5 3]" || hits[0].DistanceM != hits[1].DistanceM {
			t.Errorf("from %v: %s, %v m and %v m", lon, got, hits[0].DistanceM, hits[1].DistanceM)
		}
	}
}

func TestNearbyRefuses(t *testing.T) {
	f := build(t, []Place{{ID: 1, Name: "one"}})
	for _, q := range []NearbyQuery{
		{Lat: 90.1}, {Lat: math.NaN()}, {Lon: -180.5}, {Lon: math.Inf(1)}, {RadiusM: -1}, {RadiusM: math.NaN()},
		{RadiusM: math.Inf(1)}, {Limit: -1}, {Limit: MaxLimit + 1},
	} {
		hits, next, err := f.Nearby(t.Context(), q, nil)
		if !errors.Is(err, ErrQuery) || len(hits) != 0 || next != "" {
			t.Errorf("%+v: %v, %q, %v", q, hits, next, err)
		}
	}
	// Filter values that no place can have are not an error.
	for _, q := range []NearbyQuery{
		{Classes: []string{"PP"}}, {Classes: []string{"P", "é"}}, {Classes: []string{""}}, {Codes: []string{""}}, {Countries: []string{"CH", ""}},
		{Classes: make([]string, MaxFilterValues+1)}, {Codes: make([]string,
			MaxFilterValues+1)}, {Countries: make([]string, MaxFilterValues+1)},
		{Codes: []string{"P.PPL"}}, {Codes: []string{strings.Repeat("A", 11)}}, {Countries: []string{"CHE"}},
		{Countries: []string{"1"}}, {Countries: []string{"\x00\x00"}},
	} {
		if hits, next, err := f.Nearby(t.Context(), q, nil); err != nil || len(hits) != 0 || next != "" {
			t.Errorf("%+v: %v, %q, %v", q, hits, next, err)
		}
	}
	if hits, _, err := f.Nearby(t.Context(), NearbyQuery{MinPopulation: -1}, nil); err != nil || len(hits) != 1 {
		t.Errorf("fewer than no people: %v, %v", hits, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := f.Nearby(cancelled, NearbyQuery{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestCursorIsBound(t *testing.T) {
	list := scatter(1, 60, shapes["uniform"])
	f := build(t, list)
	q := NearbyQuery{Lat: 10, Lon: 20, Limit: 5, Classes: []string{"P"}}
	first, next, err := f.Nearby(t.Context(), q, nil)
	if err != nil || next == "" {
		t.Fatal(next, err)
	}
	q.Cursor, q.Limit, q.Classes = next, 7, []string{"p", "P"} // the limit and the case may change
	second, _ := must.Two(f.Nearby(t.Context(), q, nil)).In(t)
	want := bruteNearby(list, NearbyQuery{Lat: 10, Lon: 20, Classes: []string{"P"}})
	sameHits(t, append(first, second...), want[:12])

	for name, change := range map[string]func(*NearbyQuery){
		"latitude":   func(q *NearbyQuery) { q.Lat = 11 },
		"longitude":  func(q *NearbyQuery) { q.Lon = 21 },
		"radius":     func(q *NearbyQuery) { q.RadiusM = 1e6 },
		"class":      func(q *NearbyQuery) { q.Classes = nil },
		"code":       func(q *NearbyQuery) { q.Codes = []string{"PPL"} },
		"country":    func(q *NearbyQuery) { q.Countries = []string{"CH"} },
		"population": func(q *NearbyQuery) { q.MinPopulation = 1 },
	} {
		changed := q
		change(&changed)
		if _, _, err := f.Nearby(t.Context(), changed, nil); !errors.Is(err, ErrCursor) || errors.Is(err, ErrCursorExpired) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	list[0].Name = "another name"
	if _, _, err := build(t, list).Nearby(t.Context(), q, nil); !errors.Is(err, ErrCursorExpired) {
		t.Errorf("other data: %v", err)
	}
	for i := range next {
		b := []byte(next)
		b[i] ^= 1
		q.Cursor = string(b)
		if _, _, err := f.Nearby(t.Context(), q, nil); !errors.Is(err, ErrCursor) && !errors.Is(err, ErrCursorExpired) {
			t.Fatalf("cursor damaged at %d: %v", i, err)
		}
	}
}

// A search reads little: in clustered data, the number of places read for the ten nearest grows
// neither with the number of places nor with the density of clusters.
func TestNearbyReadsLittle(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	list := scatter(2, 6000, clustered)
	f := build(t, list)
	rng := rand.New(rand.NewPCG(1, 1))
	s := newNearby()
	run := func(flt filter) {
		s.begin(f, flt, 11, near.DistanceRank(math.Inf(1)), near.Cursor{})
		must.Do(t, s.Run(t.Context(), s, f.cells...))
	}
	total := 0
	const queries = 200
	for range queries {
		lon, lat := clustered(rng)
		s.lon, s.lat = lon, lat
		run(filter{})
		total += s.examined
	}
	if mean := total / queries; mean > 400 {
		t.Errorf("%d places read per query", mean)
	}
	// A search with a filter that no place passes reads nothing.
	if run(filter{countries: near.Countries{{'X', 'Y'}}}); s.examined != 0 {
		t.Errorf("%d places read", s.examined)
	}
}

func TestEmpty(t *testing.T) {
	f := build(t, nil)
	hits, next, err := f.Nearby(t.Context(), NearbyQuery{}, nil)
	if len(hits) != 0 || next != "" || err != nil {
		t.Error(hits, next, err)
	}
}

// A failing store gives errors, not empty answers.
func TestFailuresAreReported(t *testing.T) {
	store := buildtest.NewStore(t)
	meta, _ := must.Two(Build(t.Context(), store, source(scatter(1, 50, shapes["uniform"])), BuildOptions{})).In(t)
	f := must.Get(Open(t.Context(), store, meta)).In(t)
	store.Close()
	for name, ask := range map[string]func() error{
		"Nearby":   func() error { _, _, err := f.Nearby(t.Context(), NearbyQuery{}, nil); return err },
		"Within":   func() error { _, _, err := f.Within(t.Context(), WithinQuery{Box: quadkey.World}, nil); return err },
		"Place":    func() error { _, err := f.Place(t.Context(), 1); return err },
		"Hit":      func() error { return f.Hit(t.Context(), 1, &Hit{}) },
		"NameIn":   func() error { _, _, err := f.NameIn(t.Context(), 1, "de"); return err },
		"Division": func() error { _, err := f.Division(t.Context(), "US.CA.001"); return err },
	} {
		if err := ask(); !errors.Is(err, cellstore.ErrClosed) || errors.Is(err, ErrNotFound) {
			t.Errorf("%s of a closed store: %v", name, err)
		}
	}
}

// The fields of a hit are the members of its JSON, for any texts, such as those that JSON escapes
// and those that look like members.
func TestHitFields(t *testing.T) {
	texts := []string{"", "ZH", "Europe/Zurich", `a "quoted" \\ part`, `,"timezone":"x"`, "<b>&\u2028", `\`, `"`}
	list := scatter(7, 300, shapes["uniform"])
	for i := range list {
		p := &list[i]
		p.Admin1, p.TimeZone = texts[i%len(texts)], texts[i/len(texts)%len(texts)]
		if name := texts[i/7%len(texts)]; name != "" {
			p.Name = name
		}
	}
	f := build(t, list)
	var dst []Hit
	for _, limit := range []int{300, 10, 300} { // in the memory of other hits
		dst, _ = must.Two(f.Nearby(t.Context(), NearbyQuery{Limit: limit}, dst)).In(t)
		sameHits(t, dst, bruteNearby(list, NearbyQuery{})[:limit])
		// Whether properties are values or JSON makes no difference.
		values := must.Get(CollectHits(nil, feature.DecodedLayer(f).Features(t.Context(),
			&feature.Query{Near: feature.NearTo(0, 0, 0), Limit: limit}))).In(t)
		if len(values) != len(dst) {
			t.Fatalf("%d hits of values, %d of JSON", len(values), len(dst))
		}
		for i := range dst {
			if diff := cmp.Diff(dst[i], values[i]); diff != "" {
				t.Fatal(diff)
			}
			at := slices.IndexFunc(list, func(p Place) bool { return p.ID == dst[i].ID })
			if h, p := &dst[i], &list[at]; h.Name != p.Name || h.Admin1 != p.Admin1 || h.TimeZone != p.TimeZone ||
				h.Country != p.Country || h.Class != p.Class || h.Code != p.Code || h.Population != p.Population {
				t.Fatalf("%+v of %+v", h, p)
			}
		}
	}
	const renamed = `"id":1,"name":"\u003cNeu\u003e","country":"CH"`
	if got := string(AppendNamed(nil, []byte(`"id":1,"name":"A \"b\"","country":"CH"`), "<Neu>")); got != renamed {
		t.Error(got)
	}
	for _, odd := range []string{"", `"id":1`, `"id":1,"name":`, `"id":1,"name":"`, `"id":1,"name":"\`, `"id":1,"name":7`} {
		if got := string(AppendNamed(nil, []byte(odd), "x")); got != odd {
			t.Errorf("%s becomes %s", odd, got)
		}
	}
}
