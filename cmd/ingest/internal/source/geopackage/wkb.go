package geopackage

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
)

// wkbMost is the size of the largest geometry taken: MaxVertices in two
// dimensions, and the heads of as many small rings as fit.
const wkbMost = 16*source.MaxVertices + 32<<20

const (
	maxDepth = 8 // collections within collections
	// Each has a head of nine bytes, so a blob can name many with little.
	maxParts = 1 << 20
)

// geometry is what a blob holds: polygons, or the reason why none.
type geometry struct {
	polygons       []orb.Polygon
	repair         string
	reason, detail string

	order     binary.ByteOrder
	rest      []byte
	vertices  int
	parts     int
	otherKind string // of something in it that is no polygon
}

func (g *geometry) refuse(reason, format string, args ...any) bool {
	if g.reason == "" {
		g.reason, g.detail = reason, fmt.Sprintf(format, args...)
	}
	g.polygons = nil
	return false
}

// decode reads a GeoPackage geometry. blob is not kept.
//
//	0 "GP"   2 version 0   3 flags   4 coordinate system, int32   8 envelope   then WKB
//	flags: extended<<5 | empty<<4 | kind of envelope<<1 | little-endian
func decode(blob []byte, srs int64) (g geometry) {
	if !g.begin(blob, srs) {
		return g
	}
	switch {
	case !g.read(0):
	case len(g.polygons) > 0:
	case g.otherKind != "":
		g.refuse(source.NotAPolygon, "%s", g.otherKind)
	case g.vertices > 0:
		g.refuse(source.NoArea, "")
	default:
		g.refuse(source.NoGeometry, "empty")
	}
	return g
}

// begin reads the head of a GeoPackage geometry.
func (g *geometry) begin(blob []byte, srs int64) bool {
	if len(blob) == 0 {
		return g.refuse(source.NoGeometry, "")
	}
	if len(blob) < 8 || blob[0] != 'G' || blob[1] != 'P' {
		return g.refuse(source.Damaged, "not a GeoPackage geometry")
	}
	flags := blob[3]
	if blob[2] != 0 || flags&(1<<5) != 0 {
		return g.refuse(source.UnknownKind, "GeoPackage geometry of a later or an extended kind")
	}
	g.setOrder(flags & 1)
	// 0 and -1 are "unknown" and common in the blobs of careless writers.
	if id := int64(int32(g.order.Uint32(blob[4:]))); id != srs && id != 0 && id != -1 {
		return g.refuse(source.OtherSystem, "%d, the layer in %d", id, srs)
	}
	envelope := [8]int{0, 32, 48, 48, 64, -1, -1, -1}[flags>>1&7]
	if envelope < 0 || len(blob) < 8+envelope {
		return g.refuse(source.Damaged, "envelope cut off")
	}
	g.rest = blob[8+envelope:]
	if len(g.rest) == 0 {
		return g.refuse(source.NoGeometry, "")
	}
	return true
}

// decodePolygons is decode for a layer of polygons.
func decodePolygons(blob []byte, srs int64) (polygons orb.Geometry, repair, reason, detail string) {
	g := decode(blob, srs)
	return source.Join(g.polygons), g.repair, g.reason, g.detail
}

func (g *geometry) setOrder(little byte) {
	g.order = binary.BigEndian
	if little == 1 {
		g.order = binary.LittleEndian
	}
}

var kinds = map[uint32]string{
	1: "Point", 2: "LineString", 3: "Polygon", 4: "MultiPoint", 5: "MultiLineString", 6: "MultiPolygon", 7: "GeometryCollection",
	8: "CircularString", 9: "CompoundCurve", 10: "CurvePolygon", 11: "MultiCurve", 12: "MultiSurface", 17: "Triangle",
}

// read reads one geometry of well-known binary, ISO's or the older kind with
// flags for the dimensions, with whatever is in it.
func (g *geometry) read(depth int) bool {
	if g.parts++; depth > maxDepth || g.parts > maxParts {
		return g.refuse(source.TooManyPoints, "geometries nested more than %d deep, or more than %d of them", maxDepth, maxParts)
	}
	outer := g.order
	kind, dimensions, ok := g.head()
	if !ok {
		return false
	}
	defer func() { g.order = outer }()
	switch kind {
	case 3, 17:
		return g.polygon(dimensions)
	case 6, 7, 12:
		n, ok := g.number()
		if !ok {
			return false
		}
		for range n {
			if !g.read(depth + 1) {
				return false
			}
		}
		return true
	case 1:
		g.other(kind)
		return g.skip(1, dimensions)
	case 2, 8:
		g.other(kind)
		n, ok := g.number()
		return ok && g.skip(n, dimensions)
	case 4, 5:
		g.other(kind)
		n, ok := g.number()
		for ; ok && n > 0; n-- {
			ok = g.read(depth + 1)
		}
		return ok
	}
	name := kinds[kind]
	if name == "" {
		name = fmt.Sprintf("well-known binary of type %d", kind)
	}
	return g.refuse(source.UnknownKind, "%s", name)
}

// head reads how a geometry of well-known binary begins: its byte order, its kind and
// how many numbers a position has.
func (g *geometry) head() (kind uint32, dimensions int, ok bool) {
	if len(g.rest) < 5 {
		return 0, 0, g.cutOff()
	}
	if g.rest[0] > 1 {
		return 0, 0, g.refuse(source.Damaged, "byte order %d", g.rest[0])
	}
	g.setOrder(g.rest[0])
	kind = g.order.Uint32(g.rest[1:])
	g.rest = g.rest[5:]
	dimensions = 2
	const z, m, srid = 1 << 31, 1 << 30, 1 << 29
	for _, flag := range []uint32{z, m} {
		if kind&flag != 0 {
			dimensions++
		}
	}
	if kind&srid != 0 {
		return 0, 0, g.refuse(source.Damaged, "well-known binary with a coordinate system of its own")
	}
	kind &^= z | m
	switch kind / 1000 {
	case 1, 2:
		dimensions = 3
	case 3:
		dimensions = 4
	}
	return kind % 1000, dimensions, true
}

// other notes a geometry that is no polygon; beside polygons it is left out,
// as in GeoJSON's collections.
func (g *geometry) other(kind uint32) {
	if g.otherKind == "" {
		g.otherKind = kinds[kind]
	}
}

func (g *geometry) cutOff() bool { return g.refuse(source.Damaged, "well-known binary cut off") }

func (g *geometry) number() (uint32, bool) {
	if len(g.rest) < 4 {
		return 0, g.cutOff()
	}
	n := g.order.Uint32(g.rest)
	g.rest = g.rest[4:]
	return n, true
}

func (g *geometry) skip(points uint32, dimensions int) bool {
	size := uint64(points) * uint64(8*dimensions)
	if size > uint64(len(g.rest)) {
		return g.cutOff()
	}
	g.rest = g.rest[size:]
	return true
}

func (g *geometry) polygon(dimensions int) bool {
	n, ok := g.number()
	if !ok {
		return false
	}
	if uint64(n)*4 > uint64(len(g.rest)) {
		return g.cutOff()
	}
	if g.parts += int(min(n, maxParts+1)); g.parts > maxParts {
		return g.refuse(source.TooManyPoints, "more than %d rings", maxParts)
	}
	rings := make([]orb.Ring, 0, min(n, 1024))
	for range n {
		points, ok := g.number()
		if !ok {
			return false
		}
		if uint64(points)*uint64(8*dimensions) > uint64(len(g.rest)) {
			return g.cutOff()
		}
		if g.vertices += int(points); g.vertices > source.MaxVertices {
			return g.refuse(source.TooManyPoints, "more than %d", source.MaxVertices)
		}
		r := make(orb.Ring, points)
		for i := range r {
			p, reason, detail := source.Place(g.float(0), g.float(8))
			if reason != "" {
				return g.refuse(reason, "%s", detail)
			}
			r[i] = p
			g.rest = g.rest[8*dimensions:]
		}
		if source.IsOpen(r) {
			source.AddRepair(&g.repair, source.Closed)
		}
		rings = append(rings, r)
	}
	g.polygons = source.AddPolygon(g.polygons, rings)
	return true
}

func (g *geometry) float(at int) float64 { return math.Float64frombits(g.order.Uint64(g.rest[at:])) }
