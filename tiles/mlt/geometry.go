package mlt

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"quadrille/tiles/mvt"
)

// geometry is the geometry of a layer's features.
type geometry struct {
	polygons   bool // whether there are any
	types      []uint64
	geometries []uint64 // part counts of geometries with several parts
	parts      []uint64 // ring counts of polygons
	rings      []uint64 // vertex counts of lines and rings; rings do not repeat the first
	vertices   []mvt.XY

	slots   []uint32 // a hash table of places in dict, counted from 1; 0 is free
	dict    []mvt.XY
	offsets []uint64
	plain   []byte
	shared  []byte
}

func (g *geometry) reset() {
	g.polygons = false
	g.types, g.geometries, g.parts, g.rings = g.types[:0], g.geometries[:0], g.parts[:0], g.rings[:0]
	g.vertices = g.vertices[:0]
}

// add appends the geometry of a feature.
func (g *geometry) add(f mvt.Feature) error {
	if f.Type == mvt.Unknown {
		return fmt.Errorf("%w: a feature without a type of geometry", mvt.ErrMalformed)
	}
	g.polygons = g.polygons || f.Type == mvt.Polygon
	var p mvt.Path
	p.Reset(f)
	count := 0
	for {
		pts, closed, ok, err := p.Next(g.vertices)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		n := len(pts) - len(g.vertices)
		path := pts[len(g.vertices):]
		g.vertices = pts
		switch {
		case f.Type == mvt.Point:
			count += n
		case f.Type == mvt.LineString:
			count++
			g.rings = append(g.rings, uint64(n))
		case count == 0 || closed && clockwise(path):
			count++
			g.parts = append(g.parts, 1)
			g.rings = append(g.rings, uint64(n))
		default: // a hole
			g.parts[len(g.parts)-1]++
			g.rings = append(g.rings, uint64(n))
		}
	}
	typ := uint64(f.Type - mvt.Point) // typePoint, typeLineString, typePolygon
	if count != 1 {
		typ += typeMultiPoint
		g.geometries = append(g.geometries, uint64(count))
	}
	g.types = append(g.types, typ)
	return nil
}

// clockwise reports whether a ring is an outer one: its area is positive by the shoelace formula
// with y to the south.
func clockwise(ring []mvt.XY) bool {
	var area int64
	prev := ring[len(ring)-1]
	for _, p := range ring {
		area += int64(prev.X)*int64(p.Y) - int64(p.X)*int64(prev.Y)
		prev = p
	}
	return area > 0
}

// appendGeometry appends the column of geometry.
func (e *Encoder) appendGeometry(b []byte) []byte {
	g := &e.geometry
	g.plain = appendVertices(g.plain[:0], g.vertices)
	vertices, streams := g.plain, byte(2)
	if g.polygons && len(g.rings) > 1 && g.share() {
		// Neighbouring regions share vertices.
		g.shared = e.ints.append(g.shared[:0], streamVertexOffsets, g.offsets, false, plain|delta|deltaRuns)
		g.shared = appendVertices(g.shared, g.dict)
		if len(g.shared) < len(g.plain) {
			vertices, streams = g.shared, 3
		}
	}
	lengths := [...]struct {
		stream byte
		values []uint64
	}{{streamGeometries, g.geometries}, {streamParts, g.parts}, {streamRings, g.rings}}
	if !g.polygons { // lines are one level higher then
		lengths[1].values, lengths[2].values = g.rings, nil
	}
	for _, l := range lengths {
		if len(l.values) > 0 {
			streams++
		}
	}
	b = append(b, streams)
	b = e.ints.append(b, streamData, g.types, false, plain|runs)
	for _, l := range lengths {
		if len(l.values) > 0 {
			b = e.ints.append(b, l.stream, l.values, false, plain|runs)
		}
	}
	return append(b, vertices...)
}

// share builds the dictionary of vertices, and reports whether any vertex occurs twice.
func (g *geometry) share() bool {
	shift := 64 - bits.Len(uint(2*len(g.vertices)))
	size := 1 << (64 - shift)
	g.slots = slices.Grow(g.slots[:0], size)[:size]
	clear(g.slots)
	g.dict, g.offsets = g.dict[:0], g.offsets[:0]
	for _, p := range g.vertices {
		// This is Fibonacci hashing: multiplying by the golden ratio spreads values that are close
		// together.
		at := (uint64(uint32(p.X))<<32 | uint64(uint32(p.Y))) * 0x9E3779B97F4A7C15
		at = (at ^ at>>32) * 0x9E3779B97F4A7C15 >> shift
		for g.slots[at] != 0 && g.dict[g.slots[at]-1] != p {
			at = (at + 1) & uint64(size-1)
		}
		if g.slots[at] == 0 {
			g.dict = append(g.dict, p)
			g.slots[at] = uint32(len(g.dict))
		}
		g.offsets = append(g.offsets, uint64(g.slots[at]-1))
	}
	return len(g.dict) < len(g.vertices)
}

// appendVertices appends the stream of vertices: the differences of consecutive vertices, x and y
// in turn.
func appendVertices(b []byte, vertices []mvt.XY) []byte {
	size := 0
	var before mvt.XY
	for _, p := range vertices {
		size += varint(zigzag(int64(p.X-before.X))) + varint(zigzag(int64(p.Y-before.Y)))
		before = p
	}
	b = appendStream(b, streamVertices, encodingComponents, 2*len(vertices), size)
	before = mvt.XY{}
	for _, p := range vertices {
		b = binary.AppendUvarint(b, zigzag(int64(p.X-before.X)))
		b = binary.AppendUvarint(b, zigzag(int64(p.Y-before.Y)))
		before = p
	}
	return b
}
