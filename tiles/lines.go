package tiles

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
)

// While borders are prepared, those of all regions of all layers lie in one
// arrangement of lines. Where borders coincide, between neighbours or between
// layers, there is one line, so whatever is done to it is done to all of them.

// line is a piece of border between two vertices, from the lesser to the
// greater in (x, y) order. who names the regions whose borders run along it.
type line struct {
	a, b point
	who  int32 // into a registry
}

func (l line) edge() edge { return edge{l.a, l.b} }

// share says how often a region's border runs along a line, counted from a to
// b, less the times it runs the other way.
type share struct{ region, n int32 }

// registry numbers the sets of shares that lines have, which are few. Any
// number of goroutines may use it. The numbers depend on their timing; nothing
// that is written may.
type registry struct {
	mu   sync.RWMutex
	sets [][]share
	ids  map[string]int32
	sums map[[2]int32]int32
}

func newRegistry() *registry {
	return &registry{sets: [][]share{nil}, ids: map[string]int32{"": 0}, sums: map[[2]int32]int32{}}
}

// shares returns a set, sorted by region and without zeros, not to be changed.
func (r *registry) shares(who int32) []share {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.sets[who]
}

// of returns the number of a set, which is sorted here.
func (r *registry) of(set []share) int32 {
	slices.SortFunc(set, func(s, t share) int { return cmp.Compare(s.region, t.region) })
	n := 0
	for i := 0; i < len(set); {
		sum := share{region: set[i].region}
		for ; i < len(set) && set[i].region == sum.region; i++ {
			sum.n += set[i].n
		}
		if sum.n != 0 {
			set[n] = sum
			n++
		}
	}
	set = set[:n]
	var buf [64]byte
	key := buf[:0]
	for _, s := range set {
		key = binary.AppendVarint(binary.AppendVarint(key, int64(s.region)), int64(s.n))
	}
	r.mu.RLock()
	id, ok := r.ids[string(key)]
	r.mu.RUnlock()
	if ok {
		return id
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if id, ok := r.ids[string(key)]; ok {
		return id
	}
	id = int32(len(r.sets))
	r.sets = append(r.sets, slices.Clone(set))
	r.ids[string(key)] = id
	return id
}

// sum returns the number of the set of lines that fall together.
func (r *registry) sum(p, q int32) int32 {
	k := [2]int32{min(p, q), max(p, q)}
	r.mu.RLock()
	id, ok := r.sums[k]
	r.mu.RUnlock()
	if !ok {
		id = r.of(slices.Concat(r.shares(p), r.shares(q)))
		r.mu.Lock()
		r.sums[k] = id
		r.mu.Unlock()
	}
	return id
}

// reversed returns the number of the set as seen from b to a.
func (r *registry) reversed(p int32) int32 {
	k := [2]int32{p, -1}
	r.mu.RLock()
	id, ok := r.sums[k]
	r.mu.RUnlock()
	if !ok {
		set := slices.Clone(r.shares(p))
		for i := range set {
			set[i].n = -set[i].n
		}
		id = r.of(set)
		r.mu.Lock()
		r.sums[k] = id
		r.mu.Unlock()
	}
	return id
}

func compareLines(l, m line) int { return compareEdges(l.edge(), m.edge()) }

// merge sorts lines and joins those that coincide, in place. Lines that are
// nobody's any more are left out.
func merge(lines []line, reg *registry) []line {
	slices.SortFunc(lines, compareLines)
	var set []share
	n := 0
	for i := 0; i < len(lines); {
		l, from := lines[i], i
		for i++; i < len(lines) && lines[i].a == l.a && lines[i].b == l.b; i++ {
		}
		switch i - from {
		case 1:
		case 2:
			l.who = reg.sum(l.who, lines[from+1].who)
		default:
			set = set[:0]
			for _, m := range lines[from:i] {
				set = append(set, reg.shares(m.who)...)
			}
			l.who = reg.of(set)
		}
		if l.who != 0 {
			lines[n] = l
			n++
		}
	}
	return lines[:n]
}

// byRegion deals the edges of lines out to the regions they belong to.
func byRegion(lines []line, reg *registry, regions int) [][]edge {
	counts := make([]int, regions)
	for _, l := range lines {
		for _, s := range reg.shares(l.who) {
			counts[s.region] += int(max(s.n, -s.n))
		}
	}
	out := make([][]edge, regions)
	for i, n := range counts {
		out[i] = make([]edge, 0, n)
	}
	for _, l := range lines {
		for _, s := range reg.shares(l.who) {
			out[s.region] = appendTimes(out[s.region], s.n, l.edge())
		}
	}
	return out
}
