package jsonrecords

import (
	"fmt"
	"strings"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
)

// These are the reasons of elements of Overpass that cannot be used, with what to ask for.
const (
	ReasonNoCenter = `element without a position; ask Overpass for it by "out center;"`
	ReasonNoShape  = `element without its shape; ask Overpass for it by "out geom;", or convert the answer by osmtogeojson`
	reasonBare     = "element without tags" // is no record
)

// remark reads a remark of Overpass. It refuses an answer that was cut off by an error.
func (r *Reader) remark() error {
	text, _, err := r.s.Text(1 << 10)
	if err == nil && strings.Contains(string(text), "error") {
		err = fmt.Errorf("%s: Overpass has not finished: %s; ask it for less, or for more time by [timeout:900]", r.name, source.Excerpt(text))
	}
	return err
}

// element reads an element of OpenStreetMap. Its tags are the columns.
func (r *Reader) element(typ string, f *source.Feature) (reason, detail string) {
	name := typ + "/" + string(source.TextOf(r.member("id")))
	tags, center, shape := r.member("tags"), r.member("center"), r.member("geometry")
	lat, lon := r.member("lat"), r.member("lon")
	if tags == nil {
		return reasonBare, ""
	}
	if isObject(center) {
		each(center, func(name, value []byte) {
			switch string(name) {
			case `"lat"`:
				lat = value
			case `"lon"`:
				lon = value
			}
		})
	}
	if typ == "way" && len(shape) > 0 && shape[0] == '[' {
		r.geometry = append(r.geometry[:0], `{"type":"LineString","coordinates":[`...)
		for i := range list(shape) {
			var at [2][]byte
			if isObject(i) {
				each(i, func(name, value []byte) {
					switch string(name) {
					case `"lat"`:
						at[1] = value
					case `"lon"`:
						at[0] = value
					}
				})
			}
			if at[0] == nil || at[1] == nil {
				return ReasonNoShape, name // a vertex outside the asked box is null
			}
			if r.geometry[len(r.geometry)-1] == ']' {
				r.geometry = append(r.geometry, ',')
			}
			r.geometry = append(append(append(append(append(r.geometry, '['), at[0]...), ','), at[1]...), ']')
		}
		var g orb.Geometry
		if g, reason, detail = r.geometries.Read(append(r.geometry, "]}"...)); reason != "" {
			return reason, detail
		}
		f.Geometry = g
		if line, is := g.(orb.LineString); is && len(line) > 3 && line[0] == line[len(line)-1] {
			f.Geometry = orb.Polygon{orb.Ring(line)}
		}
	}
	switch located := lat != nil && lon != nil; {
	case r.Want == source.WantPoints && !located:
		return ReasonNoCenter, name
	case r.Want == source.WantPolygons && f.Geometry == nil && typ != "node":
		return ReasonNoShape, name
	case r.Want == source.WantPoints:
		f.Geometry = nil // the center
	case f.Geometry == nil && located:
		f.Geometry = orb.Point{}
	}
	r.flat.text("id", name)
	for _, p := range r.top {
		switch string(p.name) {
		case "type", "id", "lat", "lon", "tags", "center", "geometry", "bounds", "nodes", "members":
		default:
			r.flat.value(0, p.name, p.value, 1)
		}
	}
	if r.Want == source.WantPoints {
		r.flat.value(0, []byte("lat"), lat, 1)
		r.flat.value(0, []byte("lon"), lon, 1)
	}
	if isObject(tags) {
		r.flat.inner("tags", tags)
	}
	return "", ""
}

// list yields the elements of an array. It is valid JSON.
func list(array []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for i := 1; i < len(array) && array[i] != ']'; {
			if array[i] == ',' || isSpace(array[i]) {
				i++
				continue
			}
			end := valueEnd(array, i)
			if !yield(array[i:end]) {
				return
			}
			i = end
		}
	}
}
