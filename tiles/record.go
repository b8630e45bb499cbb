package tiles

import (
	"fmt"

	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles/internal/layout"
)

// record holds the parts of a region's record that the package uses. It refers to the stored bytes.
type record struct {
	id     string // as published
	name   []byte
	bounds [4]float64
	// before and after are the members before and after the bounds. Each includes the commas
	// between its members.
	before, after []byte
}

// RecordID returns the id in a region's record, as published, or "".
func RecordID(record []byte) string {
	for name, v := range feature.Members(record) {
		if string(name) == `"id"` && feature.IsText(v) {
			return string(feature.TextOf(v))
		}
	}
	return ""
}

// parseRecord reads the record of a region by the names of its members. So it never mistakes a
// member inside a property of the source for a member of the record. id may be any spelling of the
// region's id.
func (rt *readerType) parseRecord(id string, value []byte) (rec record, err error) {
	// Every member consists of its name, a colon, its value, and a comma or closing brace.
	at, bounded := 1, false
	for name, v := range feature.Members(value) {
		switch string(name) {
		case `"id"`:
			if feature.IsText(v) {
				rec.id = string(feature.TextOf(v))
			}
		case `"name"`:
			if feature.IsText(v) {
				rec.name = feature.TextOf(v)
			}
		case `"bbox"`:
			// A record begins with the type and the id.
			end := at + len(name) + len(":") + len(v)
			rec.bounds, bounded = parseBounds(v)
			if bounded = bounded && at > 1 && end < len(value); bounded {
				rec.before, rec.after = value[1:at-1], value[end:len(value)-1]
			}
		}
		at += len(name) + len(":") + len(v) + 1
	}
	if !feature.SameRegionID(rec.id, id) || !bounded || at != len(value) || value[0] != '{' || value[at-1] != '}' {
		return rec, fmt.Errorf("%w: record of %s %s", ErrCorrupt, rt.Name, id)
	}
	return rec, nil
}

// parseBounds reads the bounds of a region as the build writes them.
func parseBounds(value []byte) (b [4]float64, ok bool) {
	n := 0
	for v := range feature.Elements(value) {
		var size int
		if n == len(b) || len(v) == 0 {
			return b, false
		}
		if b[n], size, ok = layout.ParseFixed(v); !ok || size != len(v) {
			return b, false
		}
		n++
	}
	return b, n == len(b) && boxOf(b).Valid()
}

func boxOf(b [4]float64) quadkey.Box {
	return quadkey.Box{West: b[0], South: b[1], East: b[2], North: b[3]}
}
