package ipgeo

import (
	"net/netip"
	"slices"
)

// piece is a run of addresses in which every source has one winning span.
type piece struct {
	first, last u128
	records     []recordRef // of the winners, by rank; empty for addresses that are never looked up
}

// sweep passes over the addresses once, from the lowest, and cuts overlapping spans into disjoint,
// sorted pieces. It takes O(n log n) for each source that overlaps with other sources.
type sweep struct {
	lanes lanes
	emit  func(*piece) error
	keeps func(source uint16) bool // may locate private networks; nil: none does

	begun    int64 // spans begun so far
	overlaps int64
	reserved int64

	piece piece
	at    u128 // the first address not yet decided, if some
	some  bool // a span that has begun may not have ended
	seen  u128 // the last address of any span met so far
	any   bool // seen is set

	cuts []span // the unreachable, sorted and disjoint
	next int    // cut to begin
}

// newSweep returns a sweep of one IP version. It passes each piece to emit, and spills nested spans
// that exceed memory to dir.
func newSweep(v4 bool, dir string, memory int64, keeps func(uint16) bool, emit func(*piece) error) *sweep {
	return &sweep{lanes: lanes{v4: v4, dir: dir, room: memory}, emit: emit, keeps: keeps, cuts: unreachable(v4)}
}

// cutBy reports whether a cut applies to the source of a rank.
func (s *sweep) cutBy(cut *span, rank uint32) bool {
	return cut.order != privateCut || s.keeps == nil || !s.keeps(uint16(rank-1))
}

// add takes the next span, in the order of first addresses.
func (s *sweep) add(n *span) error {
	for s.next < len(s.cuts) && s.cuts[s.next].first.compare(n.first) <= 0 {
		s.next++
		if err := s.begin(&s.cuts[s.next-1]); err != nil {
			return err
		}
	}
	s.count(n)
	return s.begin(n)
}

// finish emits the remaining pieces.
func (s *sweep) finish() error {
	for ; s.next < len(s.cuts); s.next++ {
		if err := s.begin(&s.cuts[s.next]); err != nil {
			return err
		}
	}
	return s.decide(maxU128)
}

func (s *sweep) close() error { return s.lanes.close() }

// begin emits the results for all addresses before a span, and then adds the span.
func (s *sweep) begin(n *span) error {
	if s.some && s.at.less(n.first) {
		if err := s.decide(n.first.dec()); err != nil {
			return err
		}
	}
	s.at, s.some = n.first, true
	return s.lanes.push(n, n.first)
}

// decide emits the pieces from s.at up to end. No span begins in between.
func (s *sweep) decide(end u128) (err error) {
	for {
		if s.some, err = s.lanes.expire(s.at); err != nil || !s.some {
			return err
		}
		last, records := end, s.piece.records[:0]
		var cut *span
		for i := range s.lanes.all { // the cuts have the lowest rank
			top := s.lanes.all[i].top()
			if top == nil {
				continue
			}
			if top.rank == 0 {
				cut = top
			} else if cut == nil || !s.cutBy(cut, top.rank) {
				records = append(records, top.record)
			}
			if top.last.less(last) {
				last = top.last
			}
		}
		s.piece = piece{s.at, last, records}
		if err := s.emit(&s.piece); err != nil {
			return err
		}
		if s.at = last.inc(); last == end {
			return nil
		}
	}
}

// count updates the statistics.
func (s *sweep) count(n *span) {
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
	for ; i < len(s.cuts) && s.cuts[i].first.compare(n.last) <= 0; i++ {
		if s.cutBy(&s.cuts[i], n.rank) {
			s.reserved++
			break
		}
	}
}

// unreachable returns the cuts, sorted and disjoint: the reserved addresses, and the addresses that
// resolve to other addresses.
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
		cut := span{first: first, last: last}
		if sp != nil && sp.Block.private() {
			cut.order = privateCut
		}
		if n := len(out); n > 0 && out[n-1].last.inc() == first && out[n-1].order == cut.order {
			out[n-1].last = last
			continue
		}
		out = append(out, cut)
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
