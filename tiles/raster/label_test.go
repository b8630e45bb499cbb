package raster

import (
	"image"
	"testing"
)

// A name above its dot goes below it for a region's name, and for no other.
func TestStepAside(t *testing.T) {
	at := image.Rect(90, 80, 110, 92)
	for _, tt := range []struct {
		what  string
		label bool
		y     int
	}{
		{"a region's name", true, 99},
		{"a city's name", false, 80},
	} {
		c := &canvas{scale: 1, names: []name{
			{label: tt.label, box: at},
			{x: 100, y: 95, disc: 2, box: image.Rect(92, 80, 108, 98)},
		}}
		c.stepAside(1)
		if got := c.names[1].box.Min.Y; got != tt.y {
			t.Errorf("beside %s: at %d, want %d", tt.what, got, tt.y)
		}
	}
	// Where both places are taken it stays, and what is above decides as before.
	c := &canvas{scale: 1, names: []name{{label: true, box: at}, {label: true, box: at.Add(image.Pt(0, 24))}, {x: 100, y: 95, disc: 2, box: at}}}
	c.stepAside(2)
	if c.names[2].box != at {
		t.Error("moved to ", c.names[2].box)
	}
}
