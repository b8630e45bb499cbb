package ipgeo

import (
	"cmp"
	"container/heap"
	"net/netip"
	"slices"
)

// span is an accepted range in compact form, because a builder holds millions.
type span struct {
	first, last u128
	record      uint32
	order       uint32 // in which the ranges were given
	rank        uint32 // of the source, from 1; 0 is above every source
}

// noRecord marks the spans of addresses that are never looked up.
const noRecord = ^uint32(0)

// wins orders the overlapping spans of one source. The one that answers comes
// first.
func (s *span) wins(t *span) bool {
	if c := s.last.sub(s.first).compare(t.last.sub(t.first)); c != 0 {
		return c < 0
	}
	return s.order < t.order
}

const (
	chunkSpans = 1 << 14
	chunkBytes = chunkSpans * (spanBytes + laneBytes)
	spanBytes  = 48
	laneBytes  = 16 // for a span's pointer in a lane, if all overlap, and the lane's growth
)

// spans holds spans in chunks, so growing never copies and sorting needs no
// extra memory. Reading in order merges the chunks.
type spans struct{ chunks [][]span }

// add appends s and reports whether it needed a new chunk.
func (c *spans) add(s span) (grew bool) {
	n := len(c.chunks)
	if n == 0 || len(c.chunks[n-1]) == chunkSpans {
		var chunk []span
		if n > 0 { // the first chunk grows, so small builds stay small
			chunk = make([]span, 0, chunkSpans)
		}
		c.chunks = append(c.chunks, chunk)
		n, grew = n+1, true
	}
	c.chunks[n-1] = append(c.chunks[n-1], s)
	return grew
}

// merge yields the spans of several sorted chunks, ordered by first address.
type merge [][]span

func newMerge(chunks [][]span) *merge {
	m := make(merge, 0, len(chunks))
	for _, c := range chunks {
		byFirst := func(a, b span) int { return a.first.compare(b.first) }
		if !slices.IsSortedFunc(c, byFirst) { // sources mostly are sorted
			slices.SortFunc(c, byFirst)
		}
		if len(c) > 0 {
			m = append(m, c)
		}
	}
	heap.Init(&m)
	return &m
}

func (m merge) Len() int           { return len(m) }
func (m merge) Less(i, j int) bool { return m[i][0].first.less(m[j][0].first) }
func (m merge) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *merge) Push(any)          {} // chunks are never added
func (m *merge) Pop() any          { *m = (*m)[:len(*m)-1]; return nil }

// peek returns the next span, or nil.
func (m merge) peek() *span {
	if len(m) == 0 {
		return nil
	}
	return &m[0][0]
}

func (m *merge) advance() {
	(*m)[0] = (*m)[0][1:]
	if len((*m)[0]) > 0 {
		heap.Fix(m, 0)
	} else {
		heap.Pop(m)
	}
}

// lane is a heap of the begun spans of one source, with the winner on top. A
// span that has ended stays until it comes to the top.
type lane struct {
	rank uint32
	heap []*span
}

func (l *lane) push(s *span) {
	h := append(l.heap, s)
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].wins(h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	l.heap = h
}

func (l *lane) pop() {
	h := l.heap
	n := len(h) - 1
	h[0], h[n] = h[n], nil
	h = h[:n]
	for i := 0; ; {
		down := 2*i + 1
		if down >= n {
			break
		}
		if down+1 < n && h[down+1].wins(h[down]) {
			down++
		}
		if !h[down].wins(h[i]) {
			break
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
	l.heap = h
}

// piece is a run of addresses in which every source has one winning span.
type piece struct {
	first, last u128
	records     []uint32 // of the winners, by rank; empty for addresses that are never looked up
}

// sweep goes over the addresses once, from the lowest, and cuts overlapping
// spans into disjoint, sorted pieces. It takes O(n log n) for each source that
// overlaps others.
type sweep struct {
	piece piece // the current one, after next; its records until the next

	begun    int64 // spans begun so far
	overlaps int64
	reserved int64

	left  *merge
	lanes []lane // by rank
	at    u128   // the first address not yet decided
	end   bool
	seen  u128 // the last address of any span met so far
	any   bool // seen is set

	cuts []span // the unreachable, sorted and disjoint
}

func newSweep(c *spans, cuts []span) *sweep {
	chunks := c.chunks
	if len(cuts) > 0 {
		chunks = append(slices.Clip(chunks), slices.Clone(cuts))
	}
	return &sweep{left: newMerge(chunks), cuts: cuts}
}

// next finds the next piece, or reports that there is none.
func (s *sweep) next() bool {
	if s.end {
		return false
	}
	some := s.expire()
	for n := s.left.peek(); n != nil; n = s.left.peek() {
		if !some {
			s.at, some = n.first, true
		} else if s.at.less(n.first) {
			break
		}
		s.begin(n)
		s.left.advance()
	}
	if !some {
		s.end = true
		return false
	}
	last, records := maxU128, s.piece.records[:0]
	for i := range s.lanes {
		if h := s.lanes[i].heap; len(h) > 0 {
			records = append(records, h[0].record)
			if h[0].last.less(last) {
				last = h[0].last
			}
		}
	}
	if records[0] == noRecord { // the cuts have the lowest rank
		records = records[:0]
	}
	if n := s.left.peek(); n != nil && n.first.compare(last) <= 0 {
		last = n.first.dec() // n.first > at, because all others have begun
	}
	s.piece = piece{s.at, last, records}
	if last == maxU128 {
		s.end = true // nothing is left, because a later span would have cut this one
	}
	s.at = last.inc()
	return true
}

// expire removes the winners that end before at, until the winner of each lane
// does not. It reports whether any span is left.
func (s *sweep) expire() (some bool) {
	for i := range s.lanes {
		l := &s.lanes[i]
		for len(l.heap) > 0 && l.heap[0].last.less(s.at) {
			l.pop()
		}
		some = some || len(l.heap) > 0
	}
	return some
}

// lane returns the lane of a rank.
func (s *sweep) lane(rank uint32) *lane {
	i, ok := slices.BinarySearchFunc(s.lanes, rank, func(l lane, rank uint32) int { return cmp.Compare(l.rank, rank) })
	if !ok {
		s.lanes = slices.Insert(s.lanes, i, lane{rank: rank})
	}
	return &s.lanes[i]
}

func (s *sweep) begin(n *span) {
	s.lane(n.rank).push(n)
	if n.record == noRecord {
		return
	}
	s.begun++
	if s.any && n.first.compare(s.seen) <= 0 {
		s.overlaps++
	}
	if !s.any || s.seen.less(n.last) {
		s.seen, s.any = n.last, true
	}
	// The cuts are disjoint. If any meets n, the first that ends inside or
	// after n does.
	i, _ := slices.BinarySearchFunc(s.cuts, n.first, func(c span, a u128) int { return c.last.compare(a) })
	if i < len(s.cuts) && s.cuts[i].first.compare(n.last) <= 0 {
		s.reserved++
	}
}

// unreachable returns the addresses that Lookup never looks up, sorted and
// disjoint: reserved ones, and those that resolve to others.
func unreachable(v4 bool) []span {
	var edges []u128 // where special blocks begin, and the address after each
	add := func(p netip.Prefix) {
		if p.Addr().Is4() != v4 {
			return
		}
		first, last := prefixBounds(p)
		edges = append(edges, first)
		if last != maxU128 {
			edges = append(edges, last.inc())
		}
	}
	for _, r := range registry {
		add(netip.MustParsePrefix(r.prefix))
	}
	for _, c := range carriers {
		add(c.prefix)
	}
	slices.SortFunc(edges, u128.compare)
	edges = slices.Compact(edges)

	// All addresses between two edges are of the same kind.
	var out []span
	for i, first := range edges {
		last := maxU128
		if v4 {
			last = u128{lo: 1<<32 - 1}
		}
		if i+1 < len(edges) {
			last = edges[i+1].dec()
		}
		if last.less(first) {
			break // the edge after 255.255.255.255
		}
		a := addrOf(v4, first)
		sp := special(a)
		if resolve(a) == a && (sp == nil || sp.Block.Global) {
			continue
		}
		if n := len(out); n > 0 && out[n-1].last.inc() == first {
			out[n-1].last = last
			continue
		}
		out = append(out, span{first: first, last: last, record: noRecord})
	}
	return out
}

// prefixBounds returns the first and the last address of p, which is masked.
func prefixBounds(p netip.Prefix) (first, last u128) {
	first = numberOf(p.Addr())
	host := p.Addr().BitLen() - p.Bits()
	switch {
	case host >= 128:
		return first, maxU128
	case host >= 64:
		return first, u128{first.hi | (1<<(host-64) - 1), ^uint64(0)}
	}
	return first, u128{first.hi, first.lo | (1<<host - 1)}
}
