package places

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/quadkey"

	"github.com/google/go-cmp/cmp"
)

// tileGeoJSON returns a tile as GeoJSON features that are separated by commas.
func tileGeoJSON(t testing.TB, f *Finder, tile quadkey.Tile) (b []byte) {
	t.Helper()
	w := feature.Writer{GeoJSON: true, NumericIDs: true}
	for shown, err := range f.Tile(t.Context(), tile, nil) {
		if err != nil {
			t.Fatal(tile, err)
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		if b, err = w.Append(b, shown, ""); err != nil {
			t.Fatal(tile, err)
		}
	}
	return b
}

// drawn is a feature.Pen that records what is drawn, or fails.
type drawn struct {
	places []Hit
	err    error
}

func (d *drawn) Begin(number uint64, at quadkey.Position) error {
	d.places = append(d.places, Hit{ID: uint32(number), Lat: at.Lat, Lon: at.Lon})
	return d.err
}

func (d *drawn) Text(name, value string) {
	switch p := &d.places[len(d.places)-1]; name {
	case "name":
		p.Name = value
	case "code":
		p.Code = value
	default:
		d.err = errors.New("there is no text " + name)
	}
}

func (d *drawn) Integer(name string, value int64) {
	if name == "population" {
		d.places[len(d.places)-1].Population = value
	}
}

func (d *drawn) Boolean(string, bool) {}

func (d *drawn) End() {}

// shownIDs reads both forms of a tile, and checks that they agree with each other and with the
// places.
func shownIDs(t testing.TB, f *Finder, byID map[uint32]Place, tile quadkey.Tile) []uint32 {
	t.Helper()
	list := features(t, tileGeoJSON(t, f, tile))
	ids := make([]uint32, 0, len(list))
	at := 0
	var pen drawn
	err := f.Draw(t.Context(), tile, nil, &pen)
	each := func(s *Hit) error {
		if at == len(list) {
			return fmt.Errorf("more places than the %d features", at)
		}
		id, lon, lat := s.ID, s.Lon, s.Lat
		p := settled(byID[id])
		if lon != p.Lon || lat != p.Lat || s.Name != p.Name || s.Code != p.Code || s.Population != p.Population {
			return fmt.Errorf("place %d is %+v", id, s)
		}
		x := list[at]
		at++
		if x.Type != "Feature" || x.Geometry.Type != "Point" || x.ID != id || x.Geometry.Coordinates != [2]float64{lon, lat} {
			return fmt.Errorf("place %d is feature %+v", id, x)
		}
		want := map[string]any{"name": p.Name}
		for k, v := range map[string]string{"class": p.Class, "code": p.Code, "country": p.Country} {
			if v != "" {
				want[k] = v
			}
		}
		if p.Population > 0 {
			want["population"] = float64(p.Population)
		}
		if !maps.Equal(want, x.Properties) {
			return fmt.Errorf("place %d has properties %v, want %v", id, x.Properties, want)
		}
		ids = append(ids, id)
		return nil
	}
	for i := range pen.places {
		if err == nil {
			err = each(&pen.places[i])
		}
	}
	if err != nil || at != len(list) {
		t.Fatalf("%v: %d of %d features: %v", tile, at, len(list), err)
	}
	return ids
}

// The importance of a feature is that of its place. A weight takes the place of the population, and is an attribute of the feature.
func TestImportanceOfFeatures(t *testing.T) {
	for name, shape := range shapes {
		list := scatter(22, 120, shape)
		for i := 0; i < len(list); i += 3 {
			list[i].Weight = uint64(i)*10_000 + 1
		}
		byID := map[uint32]Place{}
		for _, p := range list {
			byID[p.ID] = p
		}
		f := build(t, list)
		for _, tile := range []quadkey.Tile{{}, {Z: 1, X: 1}, {Z: 11, X: 1058, Y: 714}} {
			for x, err := range f.Tile(t.Context(), tile, nil) {
				if err != nil {
					t.Fatal(err)
				}
				p := byID[uint32(x.Number)]
				want := importance(appendQualifier(nil, p.Class, p.Code), uint64(p.Population), p.Weight)
				if got := Importance(x); got != want && p.Class != "" {
					t.Errorf("%s: %s.%s with %d people has importance %d, want %d", name, p.Class, p.Code, p.Population, got, want)
				}
			}
		}
	}
}

// Every tile of every zoom that has places shows what the rule says. A place is counted and shown
// in one tile of each zoom, and once it is shown, all deeper zooms show it.
func TestTilesAgainstBruteForce(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := scatter(21, 120, shape)
			byID := map[uint32]Place{}
			for _, p := range list {
				byID[p.ID] = p
			}
			f := build(t, list)
			shownAbove := map[uint32]bool{}
			for z := uint8(0); z <= quadkey.MaxZoom; z++ {
				inTile := map[quadkey.Tile][]Place{}
				for _, p := range list {
					s := settled(p)
					tile := must.Get(quadkey.TileAt(s.Lon, s.Lat, z)).In(t)
					inTile[tile] = append(inTile[tile], p)
				}
				shown := map[uint32]bool{}
				for tile, members := range inTile {
					got, want := shownIDs(t, f, byID, tile), bruteTile(members, tile)
					if !slices.Equal(got, want) {
						t.Fatalf("%v shows %v, want %v", tile, got, want)
					}
					for _, id := range got {
						if shown[id] {
							t.Fatalf("place %d is in two tiles of zoom %d", id, z)
						}
						shown[id] = true
					}
				}
				for id := range shownAbove {
					if !shown[id] {
						t.Fatalf("place %d is shown at zoom %d and not at %d", id, z-1, z)
					}
				}
				if shownAbove = shown; z >= allZoom && len(shown) != len(list) {
					t.Fatalf("zoom %d shows %d of %d", z, len(shown), len(list))
				}
			}
		})
	}
}

func TestCountsAgainstBruteForce(t *testing.T) {
	list := scatter(22, 300, clustered)
	f := build(t, list)
	rng := rand.New(rand.NewPCG(2, 2))
	for z := uint8(0); z <= rollupZoom; z++ {
		want := map[quadkey.Tile]map[string]int64{}
		for _, p := range list {
			s := settled(p)
			tile := must.Get(quadkey.TileAt(s.Lon, s.Lat, z)).In(t)
			if want[tile] == nil {
				want[tile] = map[string]int64{}
			}
			want[tile][p.Class]++
		}
		for range 10 { // most of them empty
			tile := must.Get(quadkey.NewTile(int(z), rng.IntN(1<<z), rng.IntN(1<<z))).In(t)
			if want[tile] == nil {
				want[tile] = map[string]int64{}
			}
		}
		for tile, counts := range want {
			got := map[string]int64{}
			var order []string
			err := f.Counts(t.Context(), tile, func(class string, n int64) {
				got[class] = n
				order = append(order, class)
			})
			if diff := cmp.Diff(counts, got); err != nil || diff != "" || !slices.IsSorted(order) {
				t.Fatalf("%v: %v %v %s", tile, err, order, diff)
			}
		}
	}
}

// With more places in one spot than a tile may show, it shows the most important ones.
func TestCrowdedTile(t *testing.T) {
	list := make([]Place, maxShown+500)
	byID := map[uint32]Place{}
	for i := range list {
		list[i] = Place{ID: uint32(i + 1), Name: "x", Lat: 10, Lon: 10, Class: "P", Code: "PPL", Population: int64(i*7919%1501) * 100}
		byID[list[i].ID] = list[i]
	}
	f := build(t, list)
	for _, z := range []uint8{14, 15, 16, 20} {
		tile := must.Get(quadkey.TileAt(10, 10, z)).In(t)
		if got, want := shownIDs(t, f, byID, tile), bruteTile(list, tile); !slices.Equal(got, want) {
			t.Errorf("zoom %d: %d places, want %d: %.100s…, want %.100s…", z, len(got), len(want), fmt.Sprint(got), fmt.Sprint(want))
		}
	}
}

func TestTilesRefuse(t *testing.T) {
	f := build(t, []Place{bern})
	ctx := t.Context()
	for _, tile := range []quadkey.Tile{{Z: 23}, {Z: 3, X: 8}, {Z: 12, Y: 4096}} {
		for _, err := range f.Tile(ctx, tile, nil) {
			if !errors.Is(err, ErrQuery) {
				t.Errorf("%v: %v", tile, err)
			}
		}
		if err := f.Draw(ctx, tile, nil, &drawn{}); !errors.Is(err, ErrQuery) {
			t.Errorf("%v: %v", tile, err)
		}
		if err := f.Counts(ctx, tile, func(string, int64) {}); !errors.Is(err, ErrQuery) {
			t.Errorf("%v: %v", tile, err)
		}
	}
	if err := f.Counts(ctx, quadkey.Tile{Z: rollupZoom + 1}, func(string, int64) {}); !errors.Is(err, ErrQuery) {
		t.Error(err)
	}
	stop := errors.New("stop")
	for _, z := range []uint8{4, 12} {
		tile := must.Get(quadkey.TileAt(bern.Lon, bern.Lat, z)).In(t)
		if err := f.Draw(ctx, tile, nil, &drawn{err: stop}); err != stop {
			t.Error(err)
		}
	}
}

func TestGridAgainstSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 30 {
		var g grid
		var cells []quadkey.Cell
		for range rng.IntN(6) {
			c := quadkey.Cell(rng.Uint32())
			cells = append(cells, c)
			g.add(c)
		}
		for range 200 {
			z := uint8(rng.IntN(gridZoom + 1))
			tile := quadkey.Cell(rng.Uint32()).Tile().Ancestor(z)
			if len(cells) > 0 && rng.IntN(2) == 0 {
				tile = cells[rng.IntN(len(cells))].Tile().Ancestor(z)
			}
			first, last := tile.CellRange()
			want := slices.ContainsFunc(cells, func(c quadkey.Cell) bool { return first <= c && c <= last })
			if g.meets(first, last) != want {
				t.Fatalf("%v: %v, want %v", tile, !want, want)
			}
		}
	}
}

func TestImportance(t *testing.T) {
	order := []Place{ // the most important first
		{Name: "Tokyo", Class: "P", Code: "PPLC", Population: 8336599},
		{Name: "Mumbai", Class: "P", Code: "PPLA", Population: 12691836},
		{Name: "New York", Class: "P", Code: "PPL", Population: 8175133},
		{Name: "Brooklyn", Class: "P", Code: "PPLX", Population: 2300664},
		{Name: "Zürich", Class: "P", Code: "PPLA", Population: 341730},
		{Name: "Bern", Class: "P", Code: "PPLC", Population: 121631},
		{Name: "Vaduz", Class: "P", Code: "PPLC", Population: 5197},
		{Name: "Atlantic Ocean", Class: "H", Code: "OCN"},
		{Name: "a town", Class: "P", Code: "PPL", Population: 60000},
		{Name: "an airport", Class: "S", Code: "AIRP"},
		{Name: "a village", Class: "P", Code: "PPL", Population: 900},
		{Name: "a mountain", Class: "T", Code: "MT"},
		{Name: "a hamlet", Class: "P", Code: "PPL"},
		{Name: "a ruin", Class: "P", Code: "PPLQ", Population: 100},
		{Name: "China", Class: "A", Code: "PCLI", Population: 1330044000},
		{Name: "a district", Class: "A", Code: "ADM3", Population: 2000},
	}
	last := ^uint64(0)
	for _, p := range order {
		i := bruteImportance(&p)
		if i >= last {
			t.Errorf("%s ranks no lower than the one before", p.Name)
		}
		last = i
	}
	if a, b := importance([]byte("P.PPL"), ^uint64(0), 0), importance([]byte("P.PPLA"), ^uint64(0), 0); a >= b || a>>63 != 1 {
		t.Errorf("absurd populations: %x, %x", a, b)
	}
}

// Coarse tiles show great cities in addition to capitals of the same part. They do not show small
// cities, or neighbours in the same quarter.
func TestGreatCitiesOfOnePart(t *testing.T) {
	list := []Place{
		{ID: 1, Name: "Beijing", Lat: 39.907, Lon: 116.397, Class: "P", Code: "PPLC", Country: "CN", Population: 18_960_744},
		{ID: 2, Name: "Shanghai", Lat: 31.222, Lon: 121.458, Class: "P", Code: "PPLA", Country: "CN", Population: 22_315_474},
		{ID: 3, Name: "Tianjin", Lat: 39.142, Lon: 117.177, Class: "P", Code: "PPLA", Country: "CN", Population: 11_090_314},
		{ID: 4, Name: "Qiqihar", Lat: 39.34, Lon: 123.96, Class: "P", Code: "PPL", Country: "CN", Population: 882_364},
	}
	byID := map[uint32]Place{}
	for _, p := range list {
		byID[p.ID] = p
	}
	tile := must.Get(quadkey.TileAt(116.397, 39.907, 2)).In(t)
	if got := shownIDs(t, build(t, list), byID, tile); !slices.Equal(got, []uint32{1, 2}) {
		t.Errorf("%v shows %v, want 1 and 2", tile, got)
	}
}

// TestDrawnCapitals tests that tiles say of the seat of a territory, at every zoom and in every form,
// that it is no capital, and that sections of towns and places of the past wait for close zooms.
func TestDrawnCapitals(t *testing.T) {
	f := build(t, []Place{
		{ID: 1, Name: "Nuuk", Lat: 64.18, Lon: -51.72, Class: "P", Code: "PPLC", Country: "GL", Population: 14_798},
		{ID: 2, Name: "Bern", Lat: 46.95, Lon: 7.45, Class: "P", Code: "PPLC", Country: "CH", Population: 121_631},
		{ID: 3, Name: "Bümpliz", Lat: 46.94, Lon: 7.38, Class: "P", Code: "PPLX", Country: "CH", Population: 900_000},
		{ID: 4, Name: "Yono", Lat: 1, Lon: 1, Class: "P", Code: "PPLQ"},
	})
	for _, z := range []uint8{0, 5, rollupZoom, rollupZoom + 1, 16} {
		want := map[string]string{"Nuuk": "PPLG", "Bern": "PPLC"}
		if z > rollupZoom {
			want["Bümpliz"], want["Yono"] = "PPLX", "PPLQ"
		}
		points, features := map[string]string{}, map[string]string{}
		tiles := map[quadkey.Tile]bool{}
		for _, at := range [][2]float64{{-51.72, 64.18}, {7.45, 46.95}, {7.38, 46.94}, {1, 1}} {
			tiles[must.Get(quadkey.TileAt(at[0], at[1], z)).In(t)] = true
		}
		for tile := range tiles {
			must.Do(t, f.eachShown(t.Context(), tile, selectPoints, func(p *point, _ []byte) error {
				points[string(p.name)] = string(p.code)
				return nil
			}))
			must.Do(t, feature.Each(f.Tile(t.Context(), tile, nil), func(one *feature.Feature) error {
				features[one.Name()] = one.Properties.Text("code")
				return nil
			}))
		}
		if !maps.Equal(points, want) || !maps.Equal(features, want) {
			t.Errorf("zoom %d has the points %v and the features %v, want %v", z, points, features, want)
		}
	}
}
