package geopackage

import (
	"fmt"
	"math"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
)

// decodePoint reads a GeoPackage geometry that is a point, or a multipoint of one.
// blob is not kept.
func decodePoint(blob []byte, srs int64) (point orb.Geometry, repair, reason, detail string) {
	var g geometry
	var p orb.Point
	if g.begin(blob, srs) {
		p = g.point(0)
	}
	if g.reason != "" {
		return nil, "", g.reason, g.detail
	}
	return p, "", "", ""
}

// Point reads a point of well-known binary, or says why there is none. srid is the number of its
// coordinate system, as PostGIS writes it, or 0. wkb is written to.
func Point(wkb []byte) (p orb.Point, srid uint32, reason, detail string) {
	g := geometry{rest: wkb}
	const flag = 1 << 29
	if len(wkb) > 9 && wkb[0] <= 1 {
		g.setOrder(wkb[0])
		if kind := g.order.Uint32(wkb[1:]); kind&flag != 0 {
			srid = g.order.Uint32(wkb[5:])
			g.order.PutUint32(wkb[5:], kind&^flag)
			wkb[4], g.rest = wkb[0], wkb[4:]
		}
	}
	p = g.point(0)
	return p, srid, g.reason, g.detail
}

// point reads a point of well-known binary. Its coordinates are all NaN where it is
// empty.
func (g *geometry) point(depth int) (p orb.Point) {
	kind, dimensions, ok := g.head()
	switch {
	case !ok:
	case kind == 4 && depth == 0:
		n, ok := g.number()
		if !ok {
			break
		}
		if reason, detail := source.OnePoint(int(n)); reason != "" {
			g.refuse(reason, "%s", detail)
			break
		}
		return g.point(1)
	case kind != 1:
		name := kinds[kind]
		if name == "" {
			name = fmt.Sprintf("well-known binary of type %d", kind)
		}
		g.refuse(source.NotAPoint, "%s", name)
	case len(g.rest) < 8*dimensions:
		g.cutOff()
	default:
		p = orb.Point{g.float(0), g.float(8)}
		if math.IsNaN(p[0]) && math.IsNaN(p[1]) {
			g.refuse(source.NoGeometry, "empty")
		} else if reason, detail := source.CheckFinite(p[0], p[1]); reason != "" {
			g.refuse(reason, "%s", detail)
		}
	}
	return p
}
