package points_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"quadrille/feature"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/places/points"
	"quadrille/quadkey"
)

// distributions has functions that draw random positions, in degrees.
var distributions = map[string]func(r *rand.Rand) (lat, lon float64){
	"even":     func(r *rand.Rand) (float64, float64) { return r.Float64()*180 - 90, r.Float64()*360 - 180 },
	"poles":    func(r *rand.Rand) (float64, float64) { return sign(r) * (90 - r.ExpFloat64()), r.Float64()*360 - 180 },
	"meridian": func(r *rand.Rand) (float64, float64) { return r.NormFloat64() * 20, wrap(180 + r.NormFloat64()) },
	"city": func(r *rand.Rand) (float64, float64) {
		return 47.37 + r.NormFloat64()*0.02, 8.54 + r.NormFloat64()*0.03
	},
	"cities": func(r *rand.Rand) (float64, float64) {
		c := r.IntN(30)
		return float64(c*5-75) + r.NormFloat64()*0.1, float64(c*11%360-180) + r.Float64()*0.2
	},
	"one": func(*rand.Rand) (float64, float64) { return 40.7128, -74.006 },
	"grid": func(r *rand.Rand) (float64, float64) {
		return float64(r.IntN(13)*15 - 90), float64(r.IntN(25)*15 - 180)
	},
}

func sign(r *rand.Rand) float64 { return float64(r.IntN(2)*2 - 1) }

func wrap(lon float64) float64 {
	if lon > 180 {
		lon -= 360
	}
	return lon
}

var categories = []string{"cafe", "bakery", "shop", "charger", "zoo"}

// randomPoint returns a point of a distribution, with properties.
func randomPoint(r *rand.Rand, id int, at func(*rand.Rand) (float64, float64)) points.Point {
	lat, lon := at(r)
	category := categories[min(int(r.ExpFloat64()), len(categories)-1)]
	properties := fmt.Sprintf(`{"name":"Place %d","category":%q,"price":%d,"open":%v`, id, category, r.IntN(100), r.IntN(3) > 0)
	if id%3 == 0 {
		properties += fmt.Sprintf(`,"seats":%d`, id%7)
	}
	properties += "}"
	return points.Point{
		ID: fmt.Sprint("p-", id), Lat: round(math.Max(-90, math.Min(90, lat))), Lon: round(lon), Properties: []byte(properties), Line: int64(id),
	}
}

func round(v float64) float64 { return math.Round(v*1e7) / 1e7 }

// reference answers by a look at every point. Points are in the order of their ids.
type reference []points.Point

// filter is a filter with a reference for its meaning.
type filter struct {
	terms []feature.Term
	pass  func(p map[string]any) bool
}

var filters = []filter{
	{nil, func(map[string]any) bool { return true }},
	{[]feature.Term{{Name: "category", Values: []string{"zoo"}}}, func(p map[string]any) bool { return p["category"] == "zoo" }},
	{[]feature.Term{
		{Name: "category", Values: []string{"bakery", "charger"}},
		{Name: "open", Values: []string{"true"}},
	}, func(p map[string]any) bool {
		return (p["category"] == "bakery" || p["category"] == "charger") && p["open"] == true
	}},
	{[]feature.Term{{Name: "price", Op: "lt", Values: []string{"5"}}}, func(p map[string]any) bool { return p["price"].(float64) < 5 }},
	{[]feature.Term{{Name: "open", Op: "not"}}, func(p map[string]any) bool { return p["open"] != true }},
	{[]feature.Term{{Op: "has", Values: []string{"seats"}}}, func(p map[string]any) bool { return p["seats"] != nil }},
}

func (f *filter) parse(t testing.TB, s feature.Schema) feature.Filter {
	t.Helper()
	if f.terms == nil {
		return nil
	}
	return must.Get(feature.ParseFilter(s, f.terms)).In(t)
}

// decoded is a cache of decoded properties.
var decoded sync.Map

func properties(p *points.Point) map[string]any {
	if m, ok := decoded.Load(string(p.Properties)); ok {
		return m.(map[string]any)
	}
	var m map[string]any
	if err := json.Unmarshal(p.Properties, &m); err != nil {
		panic(err)
	}
	decoded.Store(string(p.Properties), m)
	return m
}

func (ref reference) passing(f *filter, in func(lat, lon float64) bool) (list []points.Point) {
	for _, p := range ref {
		if in(p.Lat, p.Lon) && f.pass(properties(&p)) {
			list = append(list, p)
		}
	}
	return list
}

func everywhere(float64, float64) bool { return true }

// ranked is a point in the order of an answer.
type ranked struct {
	rank  float64
	key   quadkey.PointKey
	point *points.Point
}

func (a ranked) compare(b ranked) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.key, b.key), strings.Compare(a.point.ID, b.point.ID))
}

// rank puts points in the order of a rank, then of their positions and ids.
func rank(list []points.Point, by func(p *points.Point) float64) []ranked {
	order := []ranked{}
	for i := range list {
		p := &list[i]
		key, _ := quadkey.PointKeyOf(p.Lon, p.Lat)
		order = append(order, ranked{by(p), key, p})
	}
	slices.SortFunc(order, ranked.compare)
	return order
}

// nearby lists the points of all pages of an answer.
func (ref reference) nearby(q *points.NearbyQuery, f *filter) []ranked {
	list := rank(ref.passing(f, everywhere), func(p *points.Point) float64 { return quadkey.Distance(q.Lon, q.Lat, p.Lon, p.Lat) })
	return slices.DeleteFunc(list, func(r ranked) bool { return r.rank < q.MinRadiusM || q.RadiusM > 0 && r.rank > q.RadiusM })
}

// within lists the points of all pages of an answer. Sorts are by price.
func (ref reference) within(q *points.WithinQuery, f *filter, in func(lat, lon float64) bool) []ranked {
	return rank(ref.passing(f, in), func(p *points.Point) float64 {
		price, ok := properties(p)[q.Sort.Field.Name].(float64)
		switch {
		case q.Sort.Field.Name == "":
			return 0
		case !ok:
			return math.Inf(1)
		case q.Sort.Descending:
			return -price
		}
		return price
	})
}

func idsOf(list []ranked) []string {
	ids := []string{}
	for _, p := range list {
		ids = append(ids, p.point.ID)
	}
	return ids
}

func ids(hits []points.Hit) []string {
	ids := []string{}
	for i := range hits {
		ids = append(ids, hits[i].ID)
	}
	return ids
}

// build publishes points.
func build(t testing.TB, list []points.Point, opts points.BuildOptions) *points.Collection {
	t.Helper()
	store := buildtest.NewStore(t)
	opts.Name = "test"
	meta := must.Get(points.Build(t.Context(), store, buildtest.SeqOf(list), opts)).In(t)
	return must.Get(points.Open(t.Context(), store, meta)).In(t)
}

// Published points answer like a scan of every point.
func TestPublishedAgainstReference(t *testing.T) {
	testrace.SkipUnderRace(t, "one question or write after the other, which others do at once")
	for name, at := range distributions {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(len(name))))
			n := 3000
			if testing.Short() {
				n = 800
			}
			var ref reference
			for i := range n {
				ref = append(ref, randomPoint(r, i, at))
			}
			shuffled := slices.Clone(ref)
			r.Shuffle(n, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			c := build(t, shuffled, points.BuildOptions{})
			if got := c.Meta().Points; got != int64(n) {
				t.Fatalf("%d points", got)
			}
			questions := 200
			if testing.Short() {
				questions = 40
			}
			for range questions {
				compare(t, c, ref, r, at)
			}
		})
	}
}

// compare compares the answers to random queries.
func compare(t *testing.T, c *points.Collection, ref reference, r *rand.Rand, at func(*rand.Rand) (float64, float64)) {
	t.Helper()
	f := &filters[r.IntN(len(filters))]
	parsed := f.parse(t, c.Meta().Schema)
	q := randomNearby(r, at)
	q.Filter = parsed
	want := idsOf(ref.nearby(&q, f))
	var got []string
	for range 4 {
		hits, next := must.Two(c.Nearby(t.Context(), q, nil)).In(t)
		got = append(got, ids(hits)...)
		if q.Cursor = next; next == "" {
			if len(got) != len(want) {
				t.Fatalf("%+v: %d points, want %d", q, len(got), len(want))
			}
			break
		}
	}
	if !slices.Equal(got, want[:len(got)]) {
		for i := range got {
			if got[i] != want[i] {
				var h points.Hit
				err := c.GetAt(t.Context(), want[i], time.Time{}, &h)
				n, _ := c.CountIn(t.Context(), feature.Tile{}, nil, time.Time{})
				t.Logf("%s: %+v %v; %d of %d points", want[i], h, err, n, len(ref))
				for _, p := range ref {
					if p.ID == want[i] {
						t.Logf("%+v", p)
					}
				}
				break
			}
		}
		t.Fatalf("%+v: %v, want %v", q, got, want[:len(got)])
	}

	areas, tile := randomAreas(r, at)
	for kind, a := range areas {
		got := []string{}
		q := points.WithinQuery{Area: a.area, Filter: parsed, Limit: 1 + r.IntN(1000), Name: kind, Sort: randomSort(r)}
		want := idsOf(ref.within(&q, f, a.in))
		for {
			hits, next := must.Two(c.Within(t.Context(), q, nil)).In(t)
			if len(hits) == 0 && next != "" {
				t.Fatal("an empty page has a next one")
			}
			got = append(got, ids(hits)...)
			if q.Cursor = next; next == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s %+v: %v, want %v", kind, q, got, want)
		}
		n, err := c.CountIn(t.Context(), a.area, parsed, q.At)
		if err != nil || n != int64(len(want)) {
			t.Fatalf("%s %+v: counted %d, want %d: %v", kind, q, n, len(want), err)
		}
		streamed := 0
		if err := c.Each(t.Context(), q, func(*points.Hit) error { streamed++; return nil }); err != nil || streamed != len(want) {
			t.Fatalf("%s: %d streamed, want %d: %v", kind, streamed, len(want), err)
		}
	}
	compareTiles(t, c, ref, tile)
	p := &ref[r.IntN(len(ref))]
	var h points.Hit
	if err := c.GetAt(t.Context(), p.ID, time.Time{}, &h); err != nil || h.ID != p.ID || h.Lat != p.Lat || h.Lon != p.Lon ||
		string(h.Properties) != string(p.Properties) {
		t.Fatalf("%+v, want %+v: %v", h, p, err)
	}
}

// compareTiles compares the content of tiles. The tile of the world shows all points. Another tile
// may show points near its border in a cluster of a neighbour, so every point is in its tile or in
// a tile around it.
func compareTiles(t *testing.T, c *points.Collection, ref reference, tile quadkey.Tile) {
	t.Helper()
	const few = 1000 // a tile with more points may leave some out
	shownIn := func(tile quadkey.Tile) (shown int) {
		must.Do(t, c.ShowTile(t.Context(), tile, func(s *points.Shown) error {
			shown += int(max(s.Count, 1))
			return nil
		}))
		return shown
	}
	around := func(other quadkey.Tile) bool {
		dx, dy := int64(other.X)-int64(tile.X), int64(other.Y)-int64(tile.Y)
		return max(dx, -dx, dy, -dy) <= 1
	}
	if all, shown := ref.passing(&filters[0], everywhere), shownIn(quadkey.Tile{}); shown != len(all) && len(all) <= few {
		t.Fatalf("the world shows %d points, want %d", shown, len(all))
	}
	in := len(ref.passing(&filters[0], func(lat, lon float64) bool { return tileOf(lat, lon, tile.Z) == tile }))
	near := len(ref.passing(&filters[0], func(lat, lon float64) bool { return around(tileOf(lat, lon, tile.Z)) }))
	shown, all := shownIn(tile), 0
	for dx := -1; dx <= 1; dx++ {
		for dy := -1; dy <= 1; dy++ {
			if x, y := int(tile.X)+dx, int(tile.Y)+dy; x >= 0 && y >= 0 && x < 1<<tile.Z && y < 1<<tile.Z {
				all += shownIn(quadkey.Tile{Z: tile.Z, X: uint32(x), Y: uint32(y)})
			}
		}
	}
	if near <= few && (shown > near || all < in) {
		t.Fatalf("tile %v shows %d points and with those around it %d; want at most %d, and at least %d", tile, shown, all, near, in)
	}
}

// Of several points with the same id, the option Last decides whether the first or the last is
// kept, in any order of storage.
func TestDuplicates(t *testing.T) {
	for last, from := range map[bool]int{false: 0, true: 200} {
		testDuplicates(t, last, from)
	}
}

func testDuplicates(t *testing.T, last bool, from int) {
	t.Helper()
	var list []points.Point
	for i := range 300 {
		list = append(list, points.Point{
			ID:         fmt.Sprint(i % 100),
			Lat:        float64(i / 150),
			Lon:        float64(i % 3),
			Properties: fmt.Appendf(nil, `{"n":%d}`, i),
			Line:       int64(i),
		})
	}
	told := 0
	c := build(t, list, points.BuildOptions{KeepLast: last, OnDuplicate: func(id string, line int64) error {
		if told++; fmt.Sprint(line%100) != id || line >= int64(from) && line < int64(from)+100 {
			t.Errorf("%s of line %d is left out", id, line)
		}
		return nil
	}})
	if c.Meta().Points != 100 || told != 200 {
		t.Fatalf("%d points, %d left out", c.Meta().Points, told)
	}
	n := 0
	err := c.Each(t.Context(), points.WithinQuery{Area: feature.Tile{}}, func(h *points.Hit) error {
		n++
		id, _ := strconv.Atoi(h.ID)
		if want := fmt.Sprintf(`{"n":%d}`, from+id); string(h.Properties) != want {
			return fmt.Errorf("%s has %s", h.ID, h.Properties)
		}
		return nil
	})
	if err != nil || n != 100 {
		t.Fatal(n, err)
	}
}
