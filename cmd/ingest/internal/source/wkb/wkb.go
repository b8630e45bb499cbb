// Package wkb decodes well-known binary of any geometry: ISO's, the older kind with flags for
// the dimensions, and PostGIS's, which begins with the number of its coordinate system.
package wkb

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
)

// MaxBytes is the size of the largest geometry that is decoded: MaxVertices positions of two
// float64 values, and 32 MiB for the headers of its parts and rings.
const MaxBytes = 16*source.MaxVertices + 32<<20

const (
	maxDepth = 8 // collections within collections
	// Each part has a header of nine bytes, so a small geometry can have many parts.
	maxParts = 1 << 20
)

const (
	point           = 1
	lineString      = 2
	polygon         = 3
	multiPoint      = 4
	multiLineString = 5
	multiPolygon    = 6
	collection      = 7
	circularString  = 8
	multiSurface    = 12
	triangle        = 17
)

// unread has the names of unsupported kinds.
var unread = map[uint32]string{9: "CompoundCurve", 10: "CurvePolygon", 11: "MultiCurve"}

// Decode returns the geometry, or the reason why it cannot be read, and the number of its
// coordinate system, or 0 if it names none. Heights and measures are left out. An empty point
// becomes an empty MultiPoint. The result does not refer to b.
func Decode(b []byte) (g orb.Geometry, srid uint32, reason, detail string) {
	d := decoder{rest: b}
	if g = d.read(0); d.reason != "" {
		g = nil
	}
	return g, d.srid, d.reason, d.detail
}

type decoder struct {
	order          binary.ByteOrder
	rest           []byte
	srid           uint32
	vertices       int
	parts          int
	reason, detail string // once there is a reason, the geometry is not used
}

func (d *decoder) refuse(reason, format string, args ...any) {
	if d.reason == "" {
		d.reason, d.detail = reason, fmt.Sprintf(format, args...)
	}
	d.rest = nil
}

func (d *decoder) cutOff() { d.refuse(source.ReasonDamaged, "well-known binary cut off") }

// read reads one geometry with all its parts.
func (d *decoder) read(depth int) orb.Geometry {
	if d.parts++; depth > maxDepth || d.parts > maxParts {
		d.refuse(source.ReasonTooManyPoints, "geometries nested more than %d deep, or more than %d of them", maxDepth, maxParts)
		return nil
	}
	kind, dimensions := d.head(depth)
	if d.reason != "" {
		return nil
	}
	switch kind {
	case point:
		if len(d.rest) < 8*dimensions {
			d.cutOff()
			return nil
		}
		p := d.position(0)
		if d.rest = d.rest[8*dimensions:]; !math.IsNaN(p[0]) || !math.IsNaN(p[1]) {
			return p
		}
		return orb.MultiPoint{}
	case lineString, circularString: // no job takes lines, straight or curved
		return orb.LineString(d.positions(d.number(), dimensions))
	case polygon, triangle:
		return d.polygon(dimensions)
	case multiPoint, multiLineString, multiPolygon, collection, multiSurface:
		return d.members(kind, depth)
	}
	name := unread[kind]
	if name == "" {
		name = fmt.Sprintf("well-known binary of type %d", kind)
	}
	d.refuse(source.ReasonUnknownKind, "%s", name)
	return nil
}

// head reads the beginning of a geometry: its byte order, its kind, and how many
// numbers a position has.
func (d *decoder) head(depth int) (kind uint32, dimensions int) {
	if len(d.rest) < 5 {
		d.cutOff()
		return 0, 0
	}
	switch d.rest[0] {
	case 0:
		d.order = binary.BigEndian
	case 1:
		d.order = binary.LittleEndian
	default:
		d.refuse(source.ReasonDamaged, "byte order %d", d.rest[0])
		return 0, 0
	}
	d.rest = d.rest[1:]
	kind, dimensions = d.number(), 2
	const z, m, srid = 1 << 31, 1 << 30, 1 << 29
	for _, flag := range []uint32{z, m} {
		if kind&flag != 0 {
			dimensions++
		}
	}
	if kind&srid != 0 {
		if depth > 0 {
			d.refuse(source.ReasonDamaged, "a part with a coordinate system of its own")
			return 0, 0
		}
		d.srid = d.number()
	}
	kind &^= z | m | srid
	switch kind / 1000 {
	case 0:
		return kind, dimensions
	case 1, 2:
		return kind % 1000, 3
	case 3:
		return kind % 1000, 4
	}
	return kind, 0 // an unknown kind
}

func (d *decoder) number() uint32 {
	if len(d.rest) < 4 {
		d.cutOff()
		return 0
	}
	n := d.order.Uint32(d.rest)
	d.rest = d.rest[4:]
	return n
}

func (d *decoder) positions(n uint32, dimensions int) []orb.Point {
	if uint64(n)*uint64(8*dimensions) > uint64(len(d.rest)) {
		d.cutOff()
		return nil
	}
	if d.vertices += int(n); d.vertices > source.MaxVertices {
		d.refuse(source.ReasonTooManyPoints, "more than %d", source.MaxVertices)
		return nil
	}
	all := make([]orb.Point, n)
	for i := range all {
		all[i] = d.position(8 * dimensions * i)
	}
	d.rest = d.rest[int(n)*8*dimensions:]
	return all
}

// position reads the position at an offset.
func (d *decoder) position(at int) orb.Point {
	b := d.rest[at : at+16]
	return orb.Point{math.Float64frombits(d.order.Uint64(b)), math.Float64frombits(d.order.Uint64(b[8:]))}
}

func (d *decoder) polygon(dimensions int) orb.Polygon {
	n := d.number()
	if uint64(n)*4 > uint64(len(d.rest)) {
		d.cutOff()
		return nil
	}
	if d.parts += int(min(n, maxParts+1)); d.parts > maxParts {
		d.refuse(source.ReasonTooManyPoints, "more than %d rings", maxParts)
		return nil
	}
	rings := make(orb.Polygon, n)
	for i := 0; i < len(rings) && d.reason == ""; i++ {
		rings[i] = d.positions(d.number(), dimensions)
	}
	return rings
}

func (d *decoder) members(kind uint32, depth int) orb.Geometry {
	all := orb.Collection{}
	for n := d.number(); n > 0 && d.reason == ""; n-- {
		m := d.read(depth + 1)
		if empty, ok := m.(orb.MultiPoint); kind == multiPoint && ok && len(empty) == 0 {
			continue
		}
		all = append(all, m)
	}
	switch kind {
	case multiPoint:
		return ofOneKind[orb.MultiPoint](all)
	case multiLineString:
		return ofOneKind[orb.MultiLineString](all)
	case multiPolygon:
		return ofOneKind[orb.MultiPolygon](all)
	}
	return all
}

// ofOneKind combines parts to one geometry. If their kinds differ, the result is a collection.
func ofOneKind[M interface {
	~[]E
	orb.Geometry
}, E orb.Geometry](parts orb.Collection) orb.Geometry {
	all := make(M, len(parts))
	for i, g := range parts {
		part, ok := g.(E)
		if !ok {
			return parts
		}
		all[i] = part
	}
	return all
}
