package ipgeo

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"

	"quadrille/cellstore"
)

// scanned is a row during iteration, decoded except for its sections.
type scanned struct {
	v4          bool
	first, last u128
	rest        []byte // the sections, until the next row
	key         []byte
}

func (s *scanned) decode(r *cellstore.Row) error {
	s.key, s.v4 = r.Key, len(r.Key) > 0 && r.Key[0] == prefix4
	if len(r.Cells) != 1 {
		return corruptRow(r.Key, "it has not one cell")
	}
	if !s.v4 && (len(r.Key) == 0 || r.Key[0] != prefix6) {
		return corruptRow(r.Key, "key is of no version of IP")
	}
	var row row
	rest, err := row.decodeBounds(r.Key, r.Cells[0].Value, s.v4)
	s.first, s.last, s.rest = row.first, row.last, rest
	return err
}

// rows yields the rows with from ≤ key < to, IPv4 before IPv6 and ascending. It
// reuses the row for the next and checks that no two rows overlap.
func (r *Reader) rows(ctx context.Context, from, to []byte) iter.Seq2[*scanned, error] {
	return func(yield func(*scanned, error) bool) {
		var s, before scanned
		for row, err := range r.table.Scan(ctx, cellstore.Scan{Ranges: []cellstore.Range{{From: from, To: to}}}) {
			if err == nil {
				if err = s.decode(row); err == nil && before.key != nil && before.v4 == s.v4 && s.first.compare(before.last) <= 0 {
					err = corruptRow(row.Key, "it overlaps the row before")
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(&s, nil) {
				return
			}
			before = s
		}
	}
}

// All yields every range, IPv4 before IPv6 and ascending. Addr is the first
// address of the range, and Network the largest network that holds it. The
// Result is reused for the next range and ends with the loop body. Nothing
// follows an error.
func (r *Reader) All(ctx context.Context) iter.Seq2[*Result, error] {
	return r.results(ctx, nil, nil, nil)
}

// Within yields the ranges that share addresses with a network, as All does.
// Ranges are whole: the first may begin before the network, and the last may
// end after it. A network of addresses that carry IPv4 addresses, such as
// 2002:102:300::/40, stands for those addresses. The error for the zero Prefix
// matches ErrBadAddress.
func (r *Reader) Within(ctx context.Context, network netip.Prefix) iter.Seq2[*Result, error] {
	if !network.IsValid() {
		return func(yield func(*Result, error) bool) {
			yield(nil, fmt.Errorf("ipgeo: %w: the zero Prefix; parse one first", ErrBadAddress))
		}
	}
	network = resolvePrefix(network)
	first, last := prefixBounds(network)
	v4 := network.Addr().Is4()
	end := end6
	if v4 {
		end = end4
	}
	return r.results(ctx, appendKey(nil, v4, first), end, &last)
}

// results yields the rows from a key on as Results. If until is given, it stops
// at the first row that begins after it.
func (r *Reader) results(ctx context.Context, from, to []byte, until *u128) iter.Seq2[*Result, error] {
	return func(yield func(*Result, error) bool) {
		var res Result
		for row, err := range r.rows(ctx, from, to) {
			if err != nil {
				yield(nil, fmt.Errorf("ipgeo: %w", err))
				return
			}
			if until != nil && until.less(row.first) {
				return
			}
			var s sections
			if wrong := s.decode(row.rest); wrong != "" {
				yield(nil, fmt.Errorf("ipgeo: %w", corruptRow(row.key, wrong)))
				return
			}
			res.Addr = addrOf(row.v4, row.first)
			res.fill(row.v4, row.first, row.first, row.last, &s)
			if !yield(&res, nil) {
				return
			}
		}
	}
}

// resolvePrefix returns the network to look up for p: that of the IPv4
// addresses that p's carry, otherwise p itself.
func resolvePrefix(p netip.Prefix) netip.Prefix {
	p = p.Masked()
	a, bits := p.Addr(), p.Bits()
	if a.Is4() {
		return p
	}
	for _, c := range carriers {
		if bits >= c.skip && bits >= c.prefix.Bits() && c.prefix.Contains(a) {
			v4, _ := resolve(a).Prefix(min(bits-c.skip, 32))
			return v4
		}
	}
	return p
}

// LookupBatch looks up addresses and calls fn for each, in their order, with
// its index. fn gets the error that Lookup returns for the address: nil,
// ErrNotFound, a *ReservedError or ErrBadAddress. Result.Addr is set as in
// Lookup. The Result is reused for the next address. An error of the store, of
// the context or of fn ends the batch and is returned.
func (r *Reader) LookupBatch(ctx context.Context, addrs []netip.Addr, fn func(i int, res *Result, err error) error) error {
	return lookupBatch(ctx, r, addrs, fn)
}

// LookupBatch does the same as Reader.LookupBatch.
func (ix *Index) LookupBatch(ctx context.Context, addrs []netip.Addr, fn func(i int, res *Result, err error) error) error {
	return lookupBatch(ctx, ix, addrs, fn)
}

func lookupBatch(ctx context.Context, l Lookuper, addrs []netip.Addr, fn func(i int, res *Result, err error) error) error {
	const often = 1 << 8
	var res Result
	for i, a := range addrs {
		if i%often == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		err := l.Lookup(ctx, a, &res)
		if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrReserved) && !errors.Is(err, ErrBadAddress) {
			return err
		}
		if err := fn(i, &res, err); err != nil {
			return err
		}
	}
	return nil
}
