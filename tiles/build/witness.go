package build

import (
	"math"
	"math/rand/v2"
	"sort"

	"github.com/paulmach/orb"

	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// A witness is a point, together with the fact whether it lies in a region by the source. Witnesses
// are chosen and judged in degrees and ring by ring, before the build computes borders. They are
// stored with the region's record. With them, package verify notices when a build loses area of its
// source, or adds some. A comparison of rows with each other cannot find such an error, because all
// rows of the build have it.

const (
	// maxWitnesses bounds the witnesses of a region. Very many regions or
	// vertices lower it.
	maxWitnesses  = 48
	allWitnesses  = 1 << 19
	witnessEffort = 1 << 30 // vertices times witnesses of one region
	witnessTries  = 3       // points tried for each witness

	// Rounding moves a border by a few units of the grid, so points closer to a border than
	// witnessMargin prove nothing.
	witnessMargin = 8 * 360.0 / grid.WorldSize
)

// sourceRing is a ring with its bounding box.
type sourceRing struct {
	points                   ring
	hole                     bool
	first                    int // number of its first vertex among all of the region
	west, south, east, north float64
}

// appendWitnesses appends witnesses of one region. regions is the number of regions that share
// allWitnesses. The same seed gives the same witnesses. Flat rings that were left out are used too:
// if one of them does enclose something, its witnesses contradict the build.
func appendWitnesses(dst []byte, polygons [][]ring, flat []flatRing, regions int, seed uint64) []byte {
	var rings []sourceRing
	vertices := 0
	add := func(r ring, hole bool) {
		s := sourceRing{r, hole, vertices, math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
		for _, q := range r {
			s.west, s.east = min(s.west, q[0]), max(s.east, q[0])
			s.south, s.north = min(s.south, q[1]), max(s.north, q[1])
		}
		vertices += len(r)
		rings = append(rings, s)
	}
	holes := flat // in the order of their polygons
	for k, p := range polygons {
		for i, r := range p {
			add(r, i > 0)
		}
		for ; len(holes) > 0 && holes[0].polygon <= k; holes = holes[1:] {
			if holes[0].hole && len(holes[0].ring) > 0 {
				add(holes[0].ring, true)
			}
		}
	}
	for _, r := range flat {
		if !r.hole && len(r.ring) > 0 {
			add(r.ring, false)
		}
	}
	if vertices == 0 {
		return dst
	}
	want := min(maxWitnesses, max(2, allWitnesses/regions), max(2, witnessEffort/vertices))
	rnd := rand.New(rand.NewPCG(seed, 0))
	for tries := want * witnessTries; tries > 0 && want > 0; tries-- {
		p := somewhere(rings, vertices, rnd)
		p[0] -= 360 * math.Floor((p[0]+180)/360)
		w := layout.WitnessAt(p[0], p[1])
		var sure bool
		if w.Inside, sure = judge(rings, w); sure {
			dst = w.AppendTo(dst)
			want--
		}
	}
	return dst
}

// somewhere returns a point near a ring: in a box that is one and a half times as large as the
// ring's, or in the triangle of any three of its vertices. It prefers rings with many vertices, and
// small ones.
func somewhere(rings []sourceRing, vertices int, rnd *rand.Rand) orb.Point {
	r := &rings[rnd.IntN(len(rings))]
	if rnd.IntN(2) == 0 {
		v := rnd.IntN(vertices)
		r = &rings[sort.Search(len(rings), func(i int) bool { return rings[i].first > v })-1]
	}
	n := len(r.points)
	i := rnd.IntN(n)
	var a, b, c orb.Point
	switch rnd.IntN(4) {
	case 0:
		return orb.Point{
			r.west + (rnd.Float64()*1.5-0.25)*(r.east-r.west),
			max(-90, min(90, r.south+(rnd.Float64()*1.5-0.25)*(r.north-r.south))),
		}
	case 1:
		a, b, c = r.points[i], r.points[rnd.IntN(n)], r.points[rnd.IntN(n)]
	default:
		a, b, c = r.points[i], r.points[(i+1)%n], r.points[(i+2)%n]
	}
	s, t := rnd.Float64(), rnd.Float64()
	if s+t > 1 {
		s, t = 1-s, 1-t
	}
	return orb.Point{a[0] + s*(b[0]-a[0]) + t*(c[0]-a[0]), a[1] + s*(b[1]-a[1]) + t*(c[1]-a[1])}
}

// judge reports whether a witness lies in the polygons of these rings, each shell before its holes.
// The witness lies inside if some shell winds around it and no hole of that shell does. Near an
// edge the result is not certain.
func judge(rings []sourceRing, w layout.Witness) (inside, sure bool) {
	lon, lat := w.Degrees()
	if math.Abs(lat) > 90-witnessMargin {
		return false, false
	}
	shell := false // inside the current polygon's shell and none of its holes
	for i := range rings {
		r := &rings[i]
		if !r.hole {
			inside, shell = inside || shell, false
		}
		if lat < r.south-witnessMargin || lat > r.north+witnessMargin {
			continue
		}
		// Longitudes are unwrapped, so the point has one position for each turn of 360°.
		x := lon + 360*math.Ceil((r.west-witnessMargin-lon)/360)
		for ; x <= r.east+witnessMargin; x += 360 {
			turns, near := r.points.turns(x, lat)
			if near {
				return false, false
			}
			if turns != 0 {
				shell = !r.hole
			}
		}
	}
	return inside || shell, true
}

// turns counts how often a ring winds around a point. near is set if the point is too near an edge
// for a certain result.
func (r ring) turns(x, y float64) (turns int, near bool) {
	a := r[len(r)-1]
	for _, b := range r {
		if max(a[1], b[1])+witnessMargin >= y && min(a[1], b[1])-witnessMargin <= y && max(a[0], b[0])+witnessMargin >= x {
			// left is twice the area of the triangle of edge and point, positive if the point is on
			// the left.
			dx, dy := b[0]-a[0], b[1]-a[1]
			left := dx*(y-a[1]) - dy*(x-a[0])
			if min(a[0], b[0])-witnessMargin <= x && math.Abs(left) <= witnessMargin*math.Hypot(dx, dy) {
				return 0, true
			}
			if a[1] <= y && b[1] > y && left > 0 {
				turns++
			} else if a[1] > y && b[1] <= y && left < 0 {
				turns--
			}
		}
		a = b
	}
	return turns, false
}
