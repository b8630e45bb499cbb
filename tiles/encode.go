package tiles

import (
	"quadrille/quadkey"
	"quadrille/tiles/mvt"
)

// appendMultiPolygon appends polygons as a GeoJSON geometry: longitude before
// latitude, shells counterclockwise and holes clockwise (RFC 7946), first
// points repeated.
func appendMultiPolygon(dst []byte, polys []polygon, position func([]byte, point) []byte) []byte {
	if len(polys) == 1 {
		dst = append(dst, `{"type":"Polygon","coordinates":`...)
		dst = appendPolygon(dst, polys[0], position)
		return append(dst, '}')
	}
	dst = append(dst, `{"type":"MultiPolygon","coordinates":[`...)
	for i, p := range polys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendPolygon(dst, p, position)
	}
	return append(dst, "]}"...)
}

func appendPolygon(dst []byte, p polygon, position func([]byte, point) []byte) []byte {
	dst = append(dst, '[')
	for i, r := range p {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '[')
		// Ours run the other way round, as latitude grows against y.
		dst = position(dst, r[0])
		for j := len(r) - 1; j >= 0; j-- {
			dst = append(dst, ',')
			dst = position(dst, r[j])
		}
		dst = append(dst, ']')
	}
	return append(dst, ']')
}

// mercatorPosition writes positions of tiles at a zoom.
func mercatorPosition(z int) func([]byte, point) []byte {
	d := decimalsAt(z)
	return func(dst []byte, p point) []byte { return appendLonLat(dst, p, d) }
}

// platePosition writes positions of the plate carrée grid.
func platePosition(dst []byte, p point) []byte {
	dst = append(dst, '[')
	dst = appendFixed(dst, float64(p.x)/worldSize*360-180, 6)
	dst = append(dst, ',')
	dst = appendFixed(dst, 90-float64(p.y)/worldSize*360, 6)
	return append(dst, ']')
}

// appendSquare appends a whole tile as a GeoJSON Polygon.
func appendSquare(dst []byte, t quadkey.Tile) []byte {
	// The grid is finer than any tile we serve only down to zoom 13, so the
	// corners come from the tile itself.
	d := 7
	if int(t.Z) <= MaxZoom {
		d = decimalsAt(int(t.Z))
	}
	b := t.Bound()
	dst = append(dst, `{"type":"Polygon","coordinates":[[`...)
	for i, c := range [5][2]float64{{b.West, b.South}, {b.East, b.South}, {b.East, b.North}, {b.West, b.North}, {b.West, b.South}} {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '[')
		dst = appendFixed(dst, c[0], d)
		dst = append(dst, ',')
		dst = appendFixed(dst, c[1], d)
		dst = append(dst, ']')
	}
	return append(dst, "]]}"...)
}

const (
	tagID   = "id"
	tagName = "name"
	tagRank = "rank"

	tagLeft  = "left"
	tagRight = "right"

	mvtBuffer = mvt.Extent >> bufferShift
)

// layerWriter writes regions into a vector layer.
type layerWriter struct {
	mvt.Layer
	ring []mvt.XY
}

func (l *layerWriter) begin(r *region) {
	l.Begin(r.tag, mvt.Polygon)
	l.TagString(tagID, r.id)
	if r.name != "" {
		l.TagString(tagName, r.name)
	}
}

// polygons adds polygons to the current feature, moved to an origin and
// scaled down by 2^shift.
func (l *layerWriter) polygons(polys []polygon, origin point, shift uint) {
	for _, p := range polys {
		for _, r := range p {
			l.ring = l.ring[:0]
			for _, q := range r {
				l.ring = append(l.ring, mvt.XY{X: (q.x - origin.x) >> shift, Y: (q.y - origin.y) >> shift})
			}
			l.Ring(l.ring)
		}
	}
}

// bufferedSquare is the ring of a whole tile with its buffer.
var bufferedSquare = []mvt.XY{
	{X: -mvtBuffer, Y: -mvtBuffer},
	{X: mvt.Extent + mvtBuffer, Y: -mvtBuffer},
	{X: mvt.Extent + mvtBuffer, Y: mvt.Extent + mvtBuffer},
	{X: -mvtBuffer, Y: mvt.Extent + mvtBuffer},
}
