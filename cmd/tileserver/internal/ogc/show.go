package ogc

import (
	"fmt"
	"math"
	"strings"

	"quadrille/feature"
	"quadrille/quadkey"
)

// cell returns the text of a value in a table.
func cell(v feature.Value) string {
	switch v.Kind() {
	case feature.Null:
		return ""
	case feature.Any:
		text := v.AppendJSON(nil)
		if !feature.IsList(text) {
			return string(text)
		}
		var parts []string
		for element := range feature.Elements(text) {
			parts = append(parts, cell(feature.JSONValue(element)))
		}
		return strings.Join(parts, ", ")
	}
	return v.Text()
}

// viewOf returns the URL fragment with which the map page shows a box.
func viewOf(b quadkey.Box) string {
	width := b.East - b.West
	if width < 0 {
		width += 360
	}
	extent := max(width, 2*(b.North-b.South), 0.05)
	lon := b.West + width/2
	if lon > 180 {
		lon -= 360
	}
	zoom := min(max(int(math.Log2(720/extent)), 1), 14)
	return fmt.Sprintf("#%d/%.5f/%.5f", zoom, (b.South+b.North)/2, lon)
}
