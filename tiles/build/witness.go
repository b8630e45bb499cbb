package build

import (
	"math"
	"math/rand/v2"
	"sort"

	"github.com/paulmach/orb"

	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// Witnesses are points of which the source says whether they lie in a region.
// They are chosen and judged before anything is computed of borders, in degrees
// and ring by ring, and kept with the region's record. By them package verify notices
// when a build loses area that its source draws, or adds some, which rows that
// agree with each other do not show.

const (
	// A region has at most mostWitnesses, and fewer where there are very many
	// regions or vertices.
	mostWitnesses = 48
	allWitnesses  = 1 << 19
	witnessEffort = 1 << 30 // vertices times witnesses of one region
	witnessTries  = 3       // points tried for each witness

	// Rounding moves a border by a few units of the grid. Points nearer to one
	// bear witness to nothing.
	witnessMargin = 8 * 360.0 / grid.WorldSize
)

// sourceRing is a ring with the box around it.
type sourceRing struct {
	points                   ring
	hole                     bool
	first                    int // number of its first vertex among all of the region
	west, south, east, north float64
}

// appendWitnesses appends witnesses of a region among so many. The same seed
// gives the same ones.
func appendWitnesses(dst []byte, polygons [][]ring, regions int, seed uint64) []byte {
	var rings []sourceRing
	vertices := 0
	for _, p := range polygons {
		for i, r := range p {
			s := sourceRing{r, i > 0, vertices, math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
			for _, q := range r {
				s.west, s.east = min(s.west, q[0]), max(s.east, q[0])
				s.south, s.north = min(s.south, q[1]), max(s.north, q[1])
			}
			vertices += len(r)
			rings = append(rings, s)
		}
	}
	if vertices == 0 {
		return dst
	}
	want := min(mostWitnesses, max(2, allWitnesses/regions), max(2, witnessEffort/vertices))
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

// somewhere returns a point near a ring: in half as large a box again, or in the triangle
// of three of its vertices, neighbours or not, as lobes are. Rings of many vertices
// come more often, and small ones too.
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

// judge says whether a witness lies in the polygons of which these are the rings,
// each shell before its holes: whether some shell winds around it and no hole of
// that shell does. It is not sure near an edge.
func judge(rings []sourceRing, w layout.Witness) (inside, sure bool) {
	lon, lat := w.Degrees()
	if math.Abs(lat) > 90-witnessMargin {
		return false, false
	}
	shell := false // of the polygon at hand, less its holes
	for i := range rings {
		r := &rings[i]
		if !r.hole {
			inside, shell = inside || shell, false
		}
		if lat < r.south-witnessMargin || lat > r.north+witnessMargin {
			continue
		}
		// Longitudes run on, so a point has a place in each turn.
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

// turns counts how often a ring winds around a point, and tells whether the point
// is too near to an edge to say.
func (r ring) turns(x, y float64) (turns int, near bool) {
	a := r[len(r)-1]
	for _, b := range r {
		if max(a[1], b[1])+witnessMargin >= y && min(a[1], b[1])-witnessMargin <= y && max(a[0], b[0])+witnessMargin >= x {
			// Twice the area of the triangle with the edge, positive when the
			// point is on its left.
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
