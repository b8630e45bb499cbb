package raster

import (
	"errors"
	"fmt"
	"image"
	"slices"
	"testing"

	"quadrille/tiles/mvt"
)

// A name stands to the right of its dot. A region's name, a greater place's dot or any marker moves
// the name to another side. Another place's name does not.
func TestSides(t *testing.T) {
	r := newRenderer(t)
	place := func(x, y float64, disc float64) name {
		return name{x: x, y: y, disc: disc, look: r.look("places"), text: []byte("Name")}
	}
	right := image.Rect(104, 90, 140, 110)
	marker := place(115, 100, 3)
	marker.look = r.look("points")
	region := name{label: true, box: right, look: r.look("country")}
	other := place(300, 100, 2)
	other.box = right
	for _, tt := range []struct {
		what   string
		before []name
		after  []name
		left   bool
	}{
		{"nothing", nil, nil, false},
		{"a region's name", []name{region}, nil, true},
		{"a greater place's dot", []name{place(115, 100, 3)}, nil, true},
		{"a lesser place's dot", nil, []name{place(115, 100, 3)}, false},
		{"a marker", nil, []name{marker}, true},
		{"a place's name", []name{other}, nil, false},
	} {
		c := &canvas{scale: 1, size: 256, names: append(append(tt.before[:len(tt.before):len(tt.before)], place(100, 100, 2)), tt.after...)}
		i := len(tt.before)
		c.place(i)
		if box := c.names[i].box; box.Empty() || (box.Max.X <= 100) != tt.left || !tt.left && box.Min.X <= 100 {
			t.Errorf("beside %s: at %v, want it left %v", tt.what, box, tt.left)
		}
	}
	// If no side is clear, the name stays to the right, and priority decides.
	c := &canvas{scale: 1, names: []name{{label: true, box: image.Rect(50, 50, 150, 150), look: r.look("country")}, place(100, 100, 2)}}
	c.place(1)
	if c.names[1].box.Min.X <= 100 || c.unobstructed(1) {
		t.Error("moved to ", c.names[1].box)
	}
}

// Of places close to each other the most important one is shown, and capitals always are. A capital
// counts as much as the most important place around it. At low zooms a dot without a name is not
// drawn.
func TestPlacesApart(t *testing.T) {
	s := someStyle()
	s.Places.MinPopulation = []float64{9e9, 9e9, 9e9, 9e9, 9e9, 5e5}
	r, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	place := func(text string, x, people float64, capital bool) name {
		n := name{x: x, y: 100, text: []byte(text), people: people, capital: capital}
		r.settle(&n)
		n.order = n.look.Turn
		return n
	}
	c := &canvas{scale: 1, names: []name{
		place("Delhi", 100, 1e7, false), place("New Delhi", 101, 3e5, true), place("Noida", 115, 6e5, false), place("Agra", 140, 2e6,
			false), place("Hamlet", 200, 400, false),
	}}
	c.lift(6)
	var shown []string
	for i := range c.names {
		if r.wanted(&c.names[i], 5) {
			shown = append(shown, string(c.names[i].text))
		}
	}
	if len(shown) != 4 {
		t.Errorf("wanted %q, want all but the hamlet", shown)
	}
	slices.SortFunc(c.names, comparePriority)
	c.keepApart(&PlaceStyle{DotDistancePx: 30}, &Tile{Zoom: 6, Row: 26})
	shown = nil
	for _, n := range c.names {
		shown = append(shown, string(n.text))
	}
	if want := "[New Delhi Agra Hamlet]"; len(shown) != 3 || shown[0] != "New Delhi" || shown[1] != "Agra" {
		t.Errorf("kept %q, want %s", shown, want)
	}
	if c.names[0].look != r.places[0][1] {
		t.Error("a capital has no ring")
	}

	// These are the surroundings of London at zoom 9, in the tile row of 51.5° N, where a pixel is
	// 190 m.
	rule := PlaceStyle{DotDistancePx: 12}
	rule.AroundCity.People, rule.AroundCity.Times, rule.AroundCity.KM, rule.AroundCity.PX = 5e5, 3, 20, 150
	for scale := 1; scale <= 2; scale++ {
		at := func(x float64) float64 { return x * float64(scale) }
		c = &canvas{scale: scale, size: 256 * scale, names: []name{
			place("London", at(10), 9e6, true), place("Brent", at(10+80), 3e5, false), place("Luton", at(10-110), 2e5, false),
			place("Half", at(10+90), 4e6, false), place("Seat", at(10+70), 1e3, true), place("Near", at(10+99), 3.9e6, false),
		}}
		slices.SortFunc(c.names, comparePriority)
		c.keepApart(&rule, &Tile{Zoom: 9, Row: 170})
		shown = nil
		for _, n := range c.names {
			shown = append(shown, string(n.text))
		}
		if slices.Sort(shown); !slices.Equal(shown, []string{"Half", "London", "Luton", "Seat"}) {
			t.Errorf("kept %q around London at scale %d, want Half, London, Luton and Seat", shown, scale)
		}
	}
}

// TestSizes tests the size of a region's name: it has the smallest look at the first two zooms with
// the name, and a larger one with each further zoom. A name that is new at a zoom comes late in the
// order in which names are placed.
func TestSizes(t *testing.T) {
	s := someStyle()
	country := s.Types["country"]
	country.Turn, country.LateTurn, country.Text.MaxRanks = 1, 10, []float64{2, 5, 10, 20}
	country.SmallerTexts = []TextStyle{{Size: 9, MaxRanks: country.Text.MaxRanks}, {Size: 8, MaxRanks: country.Text.MaxRanks}}
	s.Types["country"] = country
	r, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		rank  int64
		sizes [8]float64 // by zoom; 0 for no name
	}{
		{0, [8]float64{8, 8, 9, 12, 12, 12, 12, 12}},
		{4, [8]float64{0, 8, 8, 9, 12, 12, 12, 12}},
		{19, [8]float64{0, 0, 0, 8, 8, 9, 12, 12}},
		{20, [8]float64{0, 0, 0, 0, 8, 8, 9, 12}},
	} {
		for zoom, want := range tt.sizes {
			p := &plane{points: []spot{{"country_label", "aa", "Land", tt.rank, mvt.XY{X: 2048, Y: 2048}}}}
			got, err := r.Names(p.window(0, 0, zoom, 1))
			if err != nil || len(got) > 1 || len(got) == 1 != (want > 0) || want > 0 && got[0].Look.Size != want {
				t.Errorf("rank %d at zoom %d: %v, %v; want size %v", tt.rank, zoom, got, err, want)
			}
			// At the zoom where the region's name is new, the place next to the region has
			// priority.
			p.points = append(p.points, spot{"places", "1", "Town", 0, mvt.XY{X: 2100, Y: 2048}})
			got, err = r.Names(p.window(0, 0, zoom, 1))
			late := want > 0 && (zoom == 0 || tt.sizes[zoom-1] == 0)
			if err != nil || len(got) != 1 && !late || (got[0].Type == "places") != (late || want == 0) {
				t.Errorf("rank %d at zoom %d beside a place: %v, %v", tt.rank, zoom, got, err)
			}
		}
	}
}

// TestNamesTold tests that Names returns the names of the tile, and those of its neighbours that
// reach into the tile.
func TestNamesTold(t *testing.T) {
	r := newRenderer(t)
	got, err := r.Names(sampleMap().window(0, 0, 5, 1))
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, n := range got {
		told = append(told, fmt.Sprint(n.Type, "/", n.ID, " ", n.Text))
	}
	want := []string{"country/aa Westland", "country/bb United Kingdom of the East", "country/cc Over the edge",
		"state/aa-2 Süd-Štát", "places/1 Łódź", "places/2 Hamlet"}
	if !slices.Equal(told, want) {
		t.Errorf("the picture has %q, want %q", told, want)
	}
	if _, err := r.Names(&Tile{Scale: 3}); !errors.Is(err, ErrScale) {
		t.Errorf("of scale 3: %v, want %v", err, ErrScale)
	}
}

// TestCounts tests that every cluster has its number in the middle of its disc, also where another is
// near.
func TestCounts(t *testing.T) {
	s := someStyle()
	points := s.Types["points"]
	points.Count = TextStyle{Size: 10, Bold: true}
	s.Types["points"] = points
	r, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	var l mvt.Layer
	l.Reset("points:shops")
	for i, at := range []int32{1000, 1100} {
		l.Begin(uint64(i), mvt.Point)
		l.Point(mvt.XY{X: at, Y: 2048})
		l.TagInt("point_count", 1234)
		l.TagString("point_count_abbreviated", "1.2k")
		l.End()
	}
	names, err := r.Names(&Tile{Zoom: 4, Scale: 1, Points: [9][]byte{4: l.AppendTo(nil)}})
	if err != nil || len(names) != 2 {
		t.Fatalf("%d numbers of 2 clusters: %v", len(names), err)
	}
	for _, n := range names {
		x, y := (n.Box.Min.X+n.Box.Max.X)/2, (n.Box.Min.Y+n.Box.Max.Y)/2
		if n.Text != "1.2k" || x < 60 || x > 70 || y < 127 || y > 129 {
			t.Errorf("%q at %v", n.Text, n.Box)
		}
	}
}
