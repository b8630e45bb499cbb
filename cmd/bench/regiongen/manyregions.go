// Package regiongen makes layers of very many regions, for tests and
// benchmarks: municipalities that together cover a land, and the districts and
// provinces that are made of them. The same number and seed give the same
// layers everywhere.
//
// The municipalities are the Voronoi cells of points that crowd around cities. The points in the
// sea have cells too, but these are left out. So coasts are as ragged as borders, and there are
// islands and lakes. Neighbours share their vertices exactly. All names are invented.
package regiongen

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Level is a level of the divisions of a Land.
type Level int

// The levels are nested: a district is made of municipalities, a province of
// districts.
const (
	Municipality Level = iota
	District
	Province
)

var levelNames = [...]string{"municipality", "district", "province"}

// String returns the name of the level, which is a region type.
func (l Level) String() string { return levelNames[l] }

// perParent is the approximate number of regions of a level in one of the next.
const perParent = 25

// The land lies within this box of degrees, at some distance from its sides.
const west, south, east, north = -170.0, -58.0, 170.0, 78.0

// Land is a division of a land into regions.
type Land struct {
	seed   uint64
	sites  []site // sites on land first
	number int    // of sites on land
	tree   *tree
	parent [Province + 1][]int32 // by municipality: its region of each level
}

type site struct{ x, y float64 }

// New makes a land of n municipalities.
func New(n int, seed uint64) *Land {
	l := &Land{seed: seed, number: n}
	rnd := rand.New(rand.NewPCG(seed, 1))
	cities := make([]city, max(1, n/400))
	for i := range cities {
		at := l.someLand(rnd)
		cities[i] = city{at, 0.1 + 3*math.Pow(rnd.Float64(), 4)}
	}
	var sea []site
	for len(l.sites) < n {
		s := somewhere(rnd)
		if rnd.IntN(10) < 7 {
			c := cities[int(float64(len(cities))*math.Pow(rnd.Float64(), 2))]
			s = site{c.at.x + rnd.NormFloat64()*c.spread, c.at.y + rnd.NormFloat64()*c.spread}
		}
		switch {
		case s.x <= west || s.x >= east || s.y <= south || s.y >= north:
		case l.isLand(s):
			l.sites = append(l.sites, s)
		default:
			sea = append(sea, s)
		}
	}
	l.sites = append(l.sites, sea...)
	l.tree = newTree(l.sites)
	l.divide(rnd)
	return l
}

type city struct {
	at     site
	spread float64
}

func somewhere(rnd *rand.Rand) site {
	return site{west + rnd.Float64()*(east-west), south + rnd.Float64()*(north-south)}
}

func (l *Land) someLand(rnd *rand.Rand) site {
	for {
		if s := somewhere(rnd); l.isLand(s) {
			return s
		}
	}
}

// isLand reports whether a place is land: about a third of the box is.
func (l *Land) isLand(s site) bool {
	// The land does not reach the sides of the box; there is sea.
	margin := min(s.x-west, east-s.x, s.y-south, north-s.y)
	height := 0.0
	for octave := range 6 {
		scale := math.Exp2(float64(octave)) / 40
		height += l.noise(s.x*scale, s.y*scale, uint64(octave)) / math.Exp2(float64(octave))
	}
	return margin > 4 && height > 0.12
}

// noise returns values that interpolate smoothly between random values at whole coordinates.
func (l *Land) noise(x, y float64, octave uint64) float64 {
	x0, y0 := math.Floor(x), math.Floor(y)
	at := func(dx, dy float64) float64 {
		h := l.seed*0x9E3779B97F4A7C15 + octave
		for _, v := range [2]float64{x0 + dx, y0 + dy} {
			h = (h ^ uint64(int64(v))) * 0xBF58476D1CE4E5B9
			h ^= h >> 29
		}
		return float64(h>>11)/(1<<52) - 1
	}
	ease := func(t float64) float64 { return t * t * (3 - 2*t) }
	tx, ty := ease(x-x0), ease(y-y0)
	a := at(0, 0) + tx*(at(1, 0)-at(0, 0))
	b := at(0, 1) + tx*(at(1, 1)-at(0, 1))
	return a + ty*(b-a)
}

// divide gives each municipality its district and its province: those whose
// centre is nearest.
func (l *Land) divide(rnd *rand.Rand) {
	own := make([]int32, l.number)
	for i := range own {
		own[i] = int32(i)
	}
	l.parent[Municipality] = own
	centres := l.sites[:l.number]
	for level := District; level <= Province; level++ {
		order := rnd.Perm(len(centres))[:max(1, len(centres)/perParent)]
		slices.Sort(order)
		chosen := make([]site, len(order))
		for i, k := range order {
			chosen[i] = centres[k]
		}
		t := newTree(chosen)
		of := make([]int32, len(centres))
		for i, c := range centres {
			of[i] = t.nearest(c, 1, nil)[0].index
		}
		l.parent[level] = make([]int32, l.number)
		for i, below := range l.parent[level-1] {
			l.parent[level][i] = of[below]
		}
		centres = chosen
	}
}

// Len returns the number of regions of a level.
func (l *Land) Len(level Level) int {
	return 1 + int(slices.Max(l.parent[level]))
}

// point is a vertex in units of 10⁻⁷ degrees.
type point struct{ x, y int64 }

// cell returns the corners of a site's Voronoi cell, counterclockwise. Both cells at a common edge
// compute its ends in the same way.
func (l *Land) cell(i int32) []point {
	type corner struct {
		at   site
		edge int32 // the site beyond the edge that begins here
	}
	s := l.sites[i]
	const beyond = -1 // the box
	poly := []corner{{site{west, south}, beyond}, {site{east, south}, beyond}, {site{east, north}, beyond}, {site{west, north}, beyond}}
	var near []found
	for k := 16; ; k *= 2 {
		cut := len(near)
		near = l.tree.nearest(s, k, near)
		for _, n := range near[cut:] {
			if n.index == i {
				continue
			}
			o := l.sites[n.index]
			// A place is on this side of the line if it is nearer to s than to o.
			mx, my, dx, dy := (s.x+o.x)/2, (s.y+o.y)/2, o.x-s.x, o.y-s.y
			beside := func(p site) float64 { return (p.x-mx)*dx + (p.y-my)*dy }
			kept := make([]corner, 0, len(poly)+1)
			for j, c := range poly {
				d := poly[(j+1)%len(poly)]
				cs, ds := beside(c.at), beside(d.at)
				meet := func() site {
					t := cs / (cs - ds)
					return site{c.at.x + t*(d.at.x-c.at.x), c.at.y + t*(d.at.y-c.at.y)}
				}
				switch {
				case cs <= 0 && ds <= 0:
					kept = append(kept, c)
				case cs <= 0:
					kept = append(kept, c, corner{meet(), n.index})
				case ds <= 0:
					kept = append(kept, corner{meet(), c.edge})
				}
			}
			poly = kept
		}
		farthest := 0.0
		for _, c := range poly {
			farthest = max(farthest, math.Hypot(c.at.x-s.x, c.at.y-s.y))
		}
		if len(near) == len(l.sites) || math.Sqrt(near[len(near)-1].distance) >= 2*farthest {
			break
		}
	}
	out := make([]point, 0, len(poly))
	for j, c := range poly {
		at := c.at
		if before := poly[(j+len(poly)-1)%len(poly)].edge; before >= 0 && c.edge >= 0 {
			three := []int32{i, before, c.edge}
			slices.Sort(three)
			at = circumcentre(l.sites[three[0]], l.sites[three[1]], l.sites[three[2]])
		}
		p := point{int64(math.Round(at.x * 1e7)), int64(math.Round(at.y * 1e7))}
		if len(out) == 0 || out[len(out)-1] != p {
			out = append(out, p)
		}
	}
	for len(out) > 1 && out[0] == out[len(out)-1] {
		out = out[:len(out)-1]
	}
	return out
}

func circumcentre(a, b, c site) site {
	bx, by, cx, cy := b.x-a.x, b.y-a.y, c.x-a.x, c.y-a.y
	d := 2 * (bx*cy - by*cx)
	bb, cc := bx*bx+by*by, cx*cx+cy*cy
	return site{a.x + (cy*bb-by*cc)/d, a.y + (bx*cc-cx*bb)/d}
}
