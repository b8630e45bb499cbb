package topojson

import (
	"fmt"
	"math"
	"strings"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
)

// feature resolves the arc references of one feature.
func (t *topology) feature(g *geometry) (source.Feature, *source.BadRecord) {
	x := expansion{t: t, left: source.MaxVertices}
	x.add(g)
	f := source.Feature{ID: g.id, Members: g.properties, Lost: g.lost}
	if x.reason == "" && len(x.polygons) == 0 {
		if len(x.flat) > 0 && t.quantised {
			x.polygons = []orb.Polygon{t.box(x.flat)}
			f.Repair = source.RepairCollapsed
		} else {
			x.reason = source.ReasonNoArea
		}
	}
	if x.reason != "" {
		return source.Feature{}, &source.BadRecord{Source: t.name, Reason: x.reason, Detail: x.detail}
	}
	f.Geometry = source.JoinPolygons(x.polygons)
	return f, nil
}

// box returns the box of a shape that quantisation has flattened, such as Vatican City, which is
// two points in world-atlas. Each point represents the cell around it, so all that is known of the
// shape is the box around these cells.
func (t *topology) box(flat orb.Ring) orb.Polygon {
	near := flat.Clone() // a collapsed shape is small, across ±180° too
	for i, p := range near {
		if d := p[0] - flat[0][0]; math.Abs(d) > 180 {
			near[i][0] -= math.Copysign(360, d)
		}
	}
	b := near.Bound()
	dx, dy := math.Abs(t.scale[0])/2, math.Abs(t.scale[1])/2
	w, s := b.Min[0]-dx, max(-90, b.Min[1]-dy)
	e, n := b.Max[0]+dx, min(90, b.Max[1]+dy)
	return orb.Polygon{{{w, s}, {e, s}, {e, n}, {w, n}, {w, s}}}
}

// expansion is the state of a feature while its references are resolved.
type expansion struct {
	t        *topology
	polygons []orb.Polygon
	flat     orb.Ring // the first ring without area
	left     int      // vertices it may still have
	reason   string
	detail   string
}

func (x *expansion) refuse(reason, format string, args ...any) {
	if x.reason == "" {
		x.reason, x.detail = reason, fmt.Sprintf(format, args...)
	}
}

func (x *expansion) add(g *geometry) {
	want := 2
	switch g.kind {
	case "GeometryCollection":
		for i := range g.members {
			if m := &g.members[i]; m.kind == "Polygon" || m.kind == "MultiPolygon" || m.kind == "GeometryCollection" {
				x.add(m)
			}
		}
		if len(x.polygons) == 0 {
			x.refuse(source.ReasonNotAPolygon, "GeometryCollection without one")
		}
		return
	case "Polygon":
	case "MultiPolygon":
		want = 3
	case "":
		x.refuse(source.ReasonNoGeometry, "no type")
		return
	default:
		x.refuse(source.ReasonNotAPolygon, "%s", strings.Trim(source.Excerpt(g.kind), `"`))
		return
	}
	r := g.arcs
	switch {
	case r == nil:
		x.refuse(source.ReasonDamaged, "%s without arcs", g.kind)
	case r.reason != "":
		x.refuse(r.reason, "%s", r.detail)
	case r.height == empty:
		x.refuse(source.ReasonNoGeometry, "empty array of arcs")
	case r.height != want:
		x.refuse(source.ReasonWrongNesting, "%s of depth %d", g.kind, r.height)
	}
	if x.reason != "" {
		return
	}
	var ring, ref int
	for _, end := range r.polys {
		rings := make([]orb.Ring, 0, end-ring)
		for ; ring < end; ring++ {
			to := r.rings[ring]
			out := x.ring(r.arcs[ref:to])
			if x.flat == nil && len(out) < 4 {
				x.flat = out
			}
			rings = append(rings, out)
			ref = to
		}
		if x.reason != "" {
			return
		}
		x.polygons = source.AddPolygon(x.polygons, rings)
	}
}

// near reports whether two ends that should be one point are equal, or at most two steps of the
// grid apart, as around Illinois in us-atlas. Such a gap is closed by a straight line.
func (t *topology) near(p, q orb.Point) bool {
	if p == q {
		return true
	}
	const steps = 2.5
	return t.quantised && math.Abs(p[0]-q[0]) <= steps*math.Abs(t.scale[0]) && math.Abs(p[1]-q[1]) <= steps*math.Abs(t.scale[1])
}

// ring joins arcs end to end; ~i is arc i reversed. Two arcs that meet share a
// point, which is kept once.
func (x *expansion) ring(refs []int32) orb.Ring {
	n := 0
	for _, ref := range refs {
		i := ref
		if i < 0 {
			i = ^i
		}
		if int(i) >= len(x.t.arcs) {
			x.refuse(source.ReasonBadTopologyArc, "%d of %d arcs", ref, len(x.t.arcs))
			return nil
		}
		n += len(x.t.arcs[i])
	}
	if n > x.left {
		x.refuse(source.ReasonTooManyPoints, "more than %d", source.MaxVertices)
		return nil
	}
	x.left -= n
	out := make(orb.Ring, 0, n)
	for _, ref := range refs {
		var arc []orb.Point
		if ref >= 0 {
			arc = x.t.arcs[ref]
		} else {
			arc = x.t.arcs[^ref]
		}
		for k := range arc {
			p := arc[k]
			if ref < 0 {
				p = arc[len(arc)-1-k]
			}
			placed, reason, detail := source.NormalizePosition(p[0], p[1])
			if reason != "" {
				x.refuse(reason, "%s", detail)
				return nil
			}
			if k == 0 && len(out) > 0 {
				if out[len(out)-1] == placed {
					continue
				}
				if !x.t.near(out[len(out)-1], placed) {
					x.refuse(source.ReasonBadTopologyArc, "arc %d does not begin where the one before it ends", ref)
					return nil
				}
			}
			out = append(out, placed)
		}
	}
	if len(out) > 0 && !x.t.near(out[0], out[len(out)-1]) {
		x.refuse(source.ReasonBadTopologyArc, "ring of %d arcs does not close", len(refs))
		return nil
	}
	return out
}

func vertices(g orb.Geometry) (n int) {
	count := func(p orb.Polygon) {
		for _, r := range p {
			n += len(r)
		}
	}
	switch g := g.(type) {
	case orb.Polygon:
		count(g)
	case orb.MultiPolygon:
		for _, p := range g {
			count(p)
		}
	}
	return n
}
