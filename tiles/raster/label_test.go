package raster

import (
	"image"
	"slices"
	"testing"
)

// A name stands to the right of its dot, and on another side for a region's name, a
// greater place's dot or any marker, but for no other place's name.
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
		c := &canvas{scale: 1, names: append(append(tt.before[:len(tt.before):len(tt.before)], place(100, 100, 2)), tt.after...)}
		i := len(tt.before)
		c.place(i)
		if box := c.names[i].box; box.Empty() || (box.Max.X <= 100) != tt.left || !tt.left && box.Min.X <= 100 {
			t.Errorf("beside %s: at %v, want it left %v", tt.what, box, tt.left)
		}
	}
	// Where no side is clear it stays to the right, and what comes first decides.
	c := &canvas{scale: 1, names: []name{{label: true, box: image.Rect(50, 50, 150, 150), look: r.look("country")}, place(100, 100, 2)}}
	c.place(1)
	if c.names[1].box.Min.X <= 100 || c.unobstructed(1) {
		t.Error("moved to ", c.names[1].box)
	}
}

// Of places that stand close the most important is shown, and capitals are; a
// capital counts as much as what is around it. Far out a dot has its name.
func TestPlacesApart(t *testing.T) {
	s := someStyle()
	s.Places.Least = []float64{9e9, 9e9, 9e9, 9e9, 9e9, 5e5}
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
		place("Delhi", 100, 1e7, false), place("New Delhi", 101, 3e5, true), place("Noida", 115, 6e5, false), place("Agra", 140, 2e6, false), place("Hamlet", 200, 400, false),
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
	c.keepApart(30)
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
}
