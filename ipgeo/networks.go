package ipgeo

import (
	"iter"
	"net/netip"
)

// Networks yields the fewest CIDR networks that hold exactly the addresses from
// first to last, both included, ascending. There are none if first is after last,
// if one is the zero Addr, or if they are of two IP versions.
func Networks(first, last netip.Addr) iter.Seq[netip.Prefix] {
	return func(yield func(netip.Prefix) bool) {
		v4 := first.Is4()
		if !first.IsValid() || !last.IsValid() || v4 != last.Is4() {
			return
		}
		from, to := numberOf(first), numberOf(last)
		// The largest network that begins where the previous one ended is the best choice: a
		// smaller one would only need more networks after it.
		for from.compare(to) <= 0 {
			p := network(v4, from, from, to)
			if !yield(p) {
				return
			}
			_, end := prefixBounds(p)
			if end == to { // the last of all addresses has no successor
				return
			}
			from = end.inc()
		}
	}
}

// Span is a closed range of addresses of one IP version. The zero Span is empty.
type Span struct{ First, Last netip.Addr }

// Extend extends the span by a range that follows it without a gap, and reports whether it does.
func (s *Span) Extend(first, last netip.Addr) bool {
	if !s.Last.IsValid() || s.Last.Is4() != first.Is4() || s.Last.Next() != first {
		return false
	}
	s.Last = last
	return true
}
