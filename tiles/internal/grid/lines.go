package grid

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
)

// While borders are prepared, those of all regions of all layers form one
// arrangement of lines. Borders that coincide, between neighbours or between
// layers, are one line, so every change to it affects all of them.

// Line is a piece of border between two vertices, from the lesser to the greater in (x, y) order.
// ShareSet is the set of borders along it.
type Line struct {
	A, B     Point
	ShareSet int32 // of shares, by its number in ShareSets
}

func (l Line) edge() Edge { return Edge{l.A, l.B} }

// Share is the number of times that a region's border runs along a line from A to B, less the times
// it runs from B to A.
type Share struct{ Region, Times int32 }

// ShareSets numbers the distinct sets of shares. There are few distinct sets. Any number of
// goroutines may use it. The numbers of the sets depend on timing, so no output may depend on the
// numbers.
type ShareSets struct {
	mu   sync.RWMutex
	sets [][]Share
	ids  map[string]int32
	sums map[[2]int32]int32
}

// NewShareSets returns ShareSets with only the empty set, whose number is 0.
func NewShareSets() *ShareSets {
	return &ShareSets{sets: [][]Share{nil}, ids: map[string]int32{"": 0}, sums: map[[2]int32]int32{}}
}

// Shares returns a set, sorted by region and without zeros. The caller must not
// change it.
func (r *ShareSets) Shares(who int32) []Share {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.sets[who]
}

// All returns all sets so far, indexed by number. The caller must not change them.
func (r *ShareSets) All() [][]Share {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.sets
}

// Number returns the number of a set. It sorts the set.
func (r *ShareSets) Number(set []Share) int32 {
	slices.SortFunc(set, func(s, t Share) int { return cmp.Compare(s.Region, t.Region) })
	n := 0
	for i := 0; i < len(set); {
		sum := Share{Region: set[i].Region}
		for ; i < len(set) && set[i].Region == sum.Region; i++ {
			sum.Times += set[i].Times
		}
		if sum.Times != 0 {
			set[n] = sum
			n++
		}
	}
	set = set[:n]
	var buf [64]byte
	key := buf[:0]
	for _, s := range set {
		key = binary.AppendVarint(binary.AppendVarint(key, int64(s.Region)), int64(s.Times))
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

// sum returns the number of the combined set of two coinciding lines.
func (r *ShareSets) sum(p, q int32) int32 {
	k := [2]int32{min(p, q), max(p, q)}
	r.mu.RLock()
	id, ok := r.sums[k]
	r.mu.RUnlock()
	if !ok {
		id = r.Number(slices.Concat(r.Shares(p), r.Shares(q)))
		r.mu.Lock()
		r.sums[k] = id
		r.mu.Unlock()
	}
	return id
}

// reversed returns the number of the set in the direction from B to A.
func (r *ShareSets) reversed(p int32) int32 {
	k := [2]int32{p, -1}
	r.mu.RLock()
	id, ok := r.sums[k]
	r.mu.RUnlock()
	if !ok {
		set := slices.Clone(r.Shares(p))
		for i := range set {
			set[i].Times = -set[i].Times
		}
		id = r.Number(set)
		r.mu.Lock()
		r.sums[k] = id
		r.mu.Unlock()
	}
	return id
}

func compareLines(l, m Line) int { return CompareEdges(l.edge(), m.edge()) }

// MergeLines sorts lines and joins coinciding ones, in place. It drops lines whose shares cancel.
func MergeLines(lines []Line, reg *ShareSets) []Line {
	sortBy(lines, func(l *Line) uint64 { return l.A.key() }, compareLines)
	var set []Share
	n := 0
	for i := 0; i < len(lines); {
		l, from := lines[i], i
		for i++; i < len(lines) && lines[i].A == l.A && lines[i].B == l.B; i++ {
		}
		switch i - from {
		case 1:
		case 2:
			l.ShareSet = reg.sum(l.ShareSet, lines[from+1].ShareSet)
		default:
			set = set[:0]
			for _, m := range lines[from:i] {
				set = append(set, reg.Shares(m.ShareSet)...)
			}
			l.ShareSet = reg.Number(set)
		}
		if l.ShareSet != 0 {
			lines[n] = l
			n++
		}
	}
	return lines[:n]
}

// EdgesByRegion distributes the edges of lines over their regions.
func EdgesByRegion(lines []Line, reg *ShareSets, regions int) [][]Edge {
	sets := reg.All()
	counts := make([]int, regions)
	for _, l := range lines {
		for _, s := range sets[l.ShareSet] {
			counts[s.Region] += int(max(s.Times, -s.Times))
		}
	}
	out := make([][]Edge, regions)
	for i, n := range counts {
		out[i] = make([]Edge, 0, n)
	}
	for _, l := range lines {
		for _, s := range sets[l.ShareSet] {
			out[s.Region] = appendTimes(out[s.Region], s.Times, l.edge())
		}
	}
	return out
}

// AppendLines appends the edges of a chain as lines. The chain must be cut at the antimeridian.
func AppendLines(dst []Line, edges []Edge, reg *ShareSets, number int32) []Line {
	forth, back := reg.Number([]Share{{number, 1}}), reg.Number([]Share{{number, -1}})
	for _, e := range edges {
		switch {
		case e.A == e.B:
		case e.Upward():
			dst = append(dst, Line{e.A, e.B, forth})
		default:
			dst = append(dst, Line{e.B, e.A, back})
		}
	}
	return dst
}
