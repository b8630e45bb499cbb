package osm

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"
)

// maxRings bounds the rings of an area, each of which is compared with the larger ones.
const maxRings = 50_000

// polygons joins ways to rings, and rings to polygons. Which ring is a hole follows from which lies in which, and not
// from the roles of ways, which are often wrong. why says why there are none.
func polygons(ways [][]vertex) (all orb.MultiPolygon, why string) {
	joined, why := join(once(ways))
	if why != "" {
		return nil, why
	}
	var rings []orb.Ring
	for _, j := range joined {
		rings = append(rings, split(j)...)
	}
	switch {
	case len(rings) == 0:
		return nil, "its rings enclose nothing"
	case len(rings) > maxRings:
		return nil, fmt.Sprintf("it has more than %d rings", maxRings)
	}
	return nest(rings), ""
}

// once leaves out what two ways have in common: between two rings of one area there is no border.
func once(ways [][]vertex) [][]vertex {
	if len(ways) < 2 {
		return ways
	}
	type pair [2]int64
	between := func(a, b *vertex) pair { return pair{min(a.node, b.node), max(a.node, b.node)} }
	counts := map[pair]int{}
	twice := false
	for _, w := range ways {
		for i := 1; i < len(w); i++ {
			p := between(&w[i-1], &w[i])
			counts[p]++
			twice = twice || counts[p] == 2
		}
	}
	if !twice {
		return ways
	}
	var left [][]vertex
	for _, w := range ways {
		for i := 1; i < len(w); i++ {
			if p := between(&w[i-1], &w[i]); counts[p]%2 == 1 && p[0] != p[1] {
				counts[p] = 0 // of three, one is left
				left = append(left, w[i-1:i+1])
			}
		}
	}
	return left
}

// join joins ways at their ends to closed lines.
func join(ways [][]vertex) (closed [][]vertex, why string) {
	ends := map[int64][]int{} // ways by the nodes at their ends
	for i, w := range ways {
		if first, last := w[0].node, w[len(w)-1].node; first != last {
			ends[first] = append(ends[first], i)
			ends[last] = append(ends[last], i)
		} else {
			closed = append(closed, w)
		}
	}
	used := make([]bool, len(ways))
	// next returns an unused way at a node.
	next := func(node int64) int {
		list := ends[node]
		for len(list) > 0 && used[list[len(list)-1]] {
			list = list[:len(list)-1]
		}
		ends[node] = list
		if len(list) == 0 {
			return -1
		}
		return list[len(list)-1]
	}
	for i, w := range ways {
		if used[i] || w[0].node == w[len(w)-1].node {
			continue
		}
		used[i] = true
		line := slices.Clone(w)
		for line[0].node != line[len(line)-1].node {
			end := line[len(line)-1].node
			n := next(end)
			if n < 0 {
				return nil, fmt.Sprintf("a ring of it is not closed at node/%d", end)
			}
			used[n] = true
			more := ways[n]
			if more[0].node != end {
				more = slices.Clone(more)
				slices.Reverse(more)
			}
			line = append(line, more[1:]...)
		}
		closed = append(closed, line)
	}
	return closed, ""
}

// split divides a closed line at the nodes that it passes twice, so that each ring passes a node once.
func split(line []vertex) (rings []orb.Ring) {
	at := map[int64]int{}
	var stack []vertex
	for _, v := range line {
		from, seen := at[v.node]
		if !seen {
			at[v.node] = len(stack)
			stack = append(stack, v)
			continue
		}
		loop := stack[from:]
		if len(loop) > 2 {
			ring := make(orb.Ring, 0, len(loop)+1)
			for i := range loop {
				ring = append(ring, loop[i].point())
			}
			rings = append(rings, append(ring, ring[0]))
		}
		for i := range loop[1:] {
			delete(at, loop[1+i].node)
		}
		stack = stack[:from+1]
	}
	return rings
}

// nest makes polygons of rings. A ring in an odd number of others is a hole in the smallest of these.
func nest(rings []orb.Ring) (all orb.MultiPolygon) {
	type placed struct {
		ring    orb.Ring
		area    float64
		bound   orb.Bound
		depth   int
		polygon int // of a ring that is no hole
	}
	list := make([]placed, 0, len(rings))
	for _, r := range rings {
		if area := math.Abs(planar.Area(r)); area > 0 {
			list = append(list, placed{ring: r, area: area, bound: r.Bound()})
		}
	}
	slices.SortStableFunc(list, func(a, b placed) int { return cmp.Compare(b.area, a.area) })
	for i := range list {
		p := &list[i]
		within, _ := inside(orb.MultiPolygon{{p.ring}}).(orb.Point)
		parent := -1
		for k := i - 1; k >= 0 && parent < 0; k-- {
			// Only a larger ring can be around it. The smallest of these comes first.
			if list[k].bound.Contains(within) && planar.RingContains(list[k].ring, within) {
				parent = k
			}
		}
		if parent >= 0 {
			p.depth = list[parent].depth + 1
		}
		if p.depth%2 == 1 {
			to := list[parent].polygon
			all[to] = append(all[to], p.ring)
			continue
		}
		p.polygon = len(all)
		all = append(all, orb.Polygon{p.ring})
	}
	return all
}

// inside returns a point within the largest polygon, and in none of its holes: the middle of the widest part of one of a
// few parallels, rather of a middle one than of one at the edge.
func inside(all orb.MultiPolygon) orb.Geometry {
	var largest orb.Polygon
	size := -1.0
	for _, p := range all {
		if area := math.Abs(planar.Area(p[0])); area > size {
			largest, size = p, area
		}
	}
	if largest == nil {
		return nil
	}
	b := largest[0].Bound()
	best, most := largest[0][0], -1.0
	var crossings []float64
	for _, share := range []float64{0.5, 0.31, 0.69, 0.13, 0.87, 0.47} {
		lat := b.Min[1] + share*(b.Max[1]-b.Min[1])
		crossings = crossings[:0]
		for _, ring := range largest {
			for i := 1; i < len(ring); i++ {
				p, q := ring[i-1], ring[i]
				if (p[1] > lat) != (q[1] > lat) {
					crossings = append(crossings, p[0]+(lat-p[1])/(q[1]-p[1])*(q[0]-p[0]))
				}
			}
		}
		slices.Sort(crossings)
		for i := 1; i < len(crossings); i += 2 {
			if room := (crossings[i] - crossings[i-1]) * min(share, 1-share); room > most {
				best, most = orb.Point{(crossings[i] + crossings[i-1]) / 2, lat}, room
			}
		}
	}
	return best
}
