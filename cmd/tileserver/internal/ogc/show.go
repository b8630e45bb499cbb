package ogc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"quadrille/quadkey"
)

// values decodes the properties of a feature. Numbers are as they are written.
func (f *item) values() (map[string]any, error) {
	values := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(slices.Concat([]byte{'{'}, f.properties, []byte{'}'})))
	d.UseNumber()
	return values, d.Decode(&values)
}

func sorted(values map[string]any) []string { return slices.Sorted(maps.Keys(values)) }

// cell is how a table shows a value.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = cell(v[i])
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		text, _ := json.Marshal(v) //nolint:errchkjson // it has been decoded
		return string(text)
	}
	return fmt.Sprint(v)
}

// viewOf is the fragment of the map page that shows a box.
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
