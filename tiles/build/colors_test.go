package build

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"pgregory.net/rapid"

	"quadrille/internal/testrace"
	"quadrille/internal/tilestest"
	"quadrille/tiles/internal/layout"
)

// pair is a pair of ids, the lesser first.
type pair [2]string

func pairOf(a, b string) pair { return pair{min(a, b), max(a, b)} }

// sharedEdges finds neighbours the slow way: by the edges that two regions have in common, in the
// source's coordinates.
func sharedEdges(l Layer) map[pair]bool {
	type edge struct{ a, b orb.Point }
	users := map[edge][]string{}
	for _, f := range l.Features {
		var polygons orb.MultiPolygon
		switch g := f.Geometry.(type) {
		case orb.Polygon:
			polygons = orb.MultiPolygon{g}
		case orb.MultiPolygon:
			polygons = g
		}
		for _, p := range polygons {
			for _, r := range p {
				for i := range r[1:] {
					e := edge{r[i], r[i+1]}
					if e.a[0] > e.b[0] || e.a[0] == e.b[0] && e.a[1] > e.b[1] {
						e.a, e.b = e.b, e.a
					}
					if e.a != e.b && !slices.Contains(users[e], f.ID) {
						users[e] = append(users[e], f.ID)
					}
				}
			}
		}
	}
	found := map[pair]bool{}
	for _, ids := range users {
		for i, a := range ids {
			for _, b := range ids[:i] {
				found[pairOf(a, b)] = true
			}
		}
	}
	return found
}

// colorsOf prepares a layer and returns its regions' colours.
func colorsOf(t *testing.T, l Layer) map[string]uint8 {
	t.Helper()
	l.Features = slices.Clone(l.Features)
	b, err := prepared(t, l)
	if err != nil {
		t.Fatal(err)
	}
	colors := map[string]uint8{}
	for _, r := range b.regions {
		if colors[r.id] = r.color; r.color >= layout.MapColors {
			t.Errorf("%s has the colour %d", r.id, r.color)
		}
	}
	return colors
}

// conflicts lists the neighbours of equal colours.
func conflicts(colors map[string]uint8, neighbours map[pair]bool) (found []pair) {
	for p := range neighbours {
		if colors[p[0]] == colors[p[1]] {
			found = append(found, p)
		}
	}
	return found
}

// quilt grows n connected regions over a board of squares. Some squares stay sea.
func quilt(side, n int, rnd *rand.Rand) Layer {
	board := make([]int, side*side)
	at := func(x, y int) int { return board[y*side+x] }
	var open [][3]int // x, y, region
	for i := range n {
		open = append(open, [3]int{rnd.IntN(side), rnd.IntN(side), i + 1})
	}
	for len(open) > 0 {
		k := rnd.IntN(len(open))
		c := open[k]
		open[k] = open[len(open)-1]
		open = open[:len(open)-1]
		if c[0] < 0 || c[0] >= side || c[1] < 0 || c[1] >= side || at(c[0], c[1]) != 0 {
			continue
		}
		board[c[1]*side+c[0]] = c[2]
		for _, d := range [][2]int{{1, 0}, {-1, 0}, {0, 1}, {0, -1}} {
			if rnd.IntN(12) > 0 {
				open = append(open, [3]int{c[0] + d[0], c[1] + d[1], c[2]})
			}
		}
	}
	l := Layer{Type: "patch"}
	const step = 0.5
	for y := range side {
		for x := range side {
			if id := at(x, y); id > 0 {
				w, s := float64(x)*step-30, float64(y)*step-20
				l.Features = append(l.Features, Feature{ID: fmt.Sprintf("r%03d", id), Geometry: tilestest.Square(w, s, w+step, s+step)})
			}
		}
	}
	return l
}

func TestColorsOfQuilts(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	rapid.Check(t, func(rt *rapid.T) {
		side, n := rapid.IntRange(2, 24).Draw(rt, "side"), rapid.IntRange(1, 60).Draw(rt, "regions")
		l := quilt(side, n, rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1)))
		if bad := conflicts(colorsOf(t, l), sharedEdges(l)); len(bad) > 0 {
			rt.Errorf("neighbours of one colour: %v", bad)
		}
	})
}

// realLayers returns the available political layers of Natural Earth.
func realLayers(t *testing.T) map[string]Layer {
	layers := map[string]Layer{
		"110m": naturalEarth(t, "country", "110m/ne_110m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME"),
	}
	if !testing.Short() {
		layers["50m"] = naturalEarth(t, "country", "50m/ne_50m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME")
		layers["10m"] = naturalEarth(t, "country", "10m/ne_10m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME")
		layers["10m states"] = naturalEarth(t, "state", "10m/ne_10m_admin_1_states_provinces.geojson.gz", "adm1_code", "name")
	}
	return layers
}

func TestColorsOfNaturalEarth(t *testing.T) {
	testrace.SkipUnderRace(t, "colours are chosen by one goroutine, of layers such as TestDeterminism builds under it")
	t.Parallel() // it takes long, and one build does not keep two processors busy
	for name, l := range realLayers(t) {
		t.Run(name, func(t *testing.T) {
			neighbours := sharedEdges(l)
			if l.Type == "country" {
				for _, p := range []pair{{"kaz", "rus"}, {"irn", "pak"}, {"can", "usa"}, {"bra", "fra"}} {
					if name == "10m" && !neighbours[p] {
						t.Errorf("%v share no edge of the source", p)
					}
				}
				// They face each other only across a gulf.
				neighbours[pair{"egy", "sau"}] = true
			}
			colors := colorsOf(t, l)
			if bad := conflicts(colors, neighbours); len(bad) > 0 {
				t.Errorf("neighbours of one colour: %v", bad)
			}
			count := map[uint8]int{}
			for _, c := range colors {
				count[c]++
			}
			t.Logf("%d pairs of neighbours; regions of each colour: %v", len(neighbours), count)
			for c := range uint8(layout.MapColors) {
				if 3*layout.MapColors*count[c] < len(colors) {
					t.Errorf("only %d of %d regions have the colour %d", count[c], len(colors), c)
				}
			}
		})
	}
}

// A small change of the data changes few colours.
func TestColorsStay(t *testing.T) {
	testrace.SkipUnderRace(t, "colours are chosen by one goroutine, of layers such as TestDeterminism builds under it")
	t.Parallel() // it takes long, and one build does not keep two processors busy
	l := naturalEarth(t, "country", "110m/ne_110m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME")
	before := colorsOf(t, l)
	missing := []string{"rus", "ssd", "che", ""}
	if testing.Short() {
		missing = missing[:1]
	}
	for _, gone := range missing {
		less := l
		less.Features = slices.DeleteFunc(slices.Clone(l.Features), func(f Feature) bool { return f.ID == gone })
		changed := 0
		for id, c := range colorsOf(t, less) {
			if before[id] != c {
				changed++
			}
		}
		t.Logf("without %s %d colours change", gone, changed)
		if gone == "" && changed > 0 {
			t.Error("the same data has other colours")
		}
		if changed > len(before)/8 {
			t.Errorf("without %s %d of %d colours change", gone, changed, len(before))
		}
	}
}

// There is one region more than colours, and each borders all others, as exclaves make possible.
// The two regions with the shortest common border get the same colour.
func TestColorsThatDoNotSuffice(t *testing.T) {
	const n = layout.MapColors + 1
	var c coloring
	c.borders = make([][]tie, n)
	for i := range int32(n) {
		for j := range int32(n) {
			if i != j {
				length := 10.0
				if i+j == 2*n-3 { // the last two
					length = 1
				}
				c.borders[i] = append(c.borders[i], tie{to: j, length: length})
			}
		}
	}
	c.near, c.prefer, c.color = make([][]int32, n), make([]uint8, n), make([]int8, n)
	c.run()
	for i := range c.color {
		for j := range i {
			if short := i == n-1 && j == n-2; (c.color[i] == c.color[j]) != short {
				t.Errorf("colours %v", c.color)
			}
		}
	}
}

func TestColorIsStored(t *testing.T) {
	l := Layer{"land", []Feature{
		{ID: "a", Geometry: tilestest.Square(0, 0, 10, 10), Properties: []Property{{"map_color", "mauve"}}},
		{ID: "b", Geometry: tilestest.Square(10, 0, 20, 10)},
	}}
	want := colorsOf(t, l)
	r, _, _ := buildReader(t, l)
	for id, c := range want {
		rec, err := r.Region(t.Context(), "land", id, false)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Color *uint8 `json:"map_color"`
		}
		if err := json.Unmarshal(rec, &got); err != nil || got.Color == nil || *got.Color != c {
			t.Errorf("%s: want the colour %d: %s, %v", id, c, rec, err)
		}
	}
	if want["a"] == want["b"] {
		t.Errorf("neighbours have the colours %v", want)
	}
}
