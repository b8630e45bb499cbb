package ipgeo

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"

	"quadrille/cellstore"
)

// scanned is a range during iteration.
type scanned struct {
	v4          bool
	first, last u128
	answer      answer // its parts are valid until the next range
}

// rows yields the rows with from ≤ key < to, IPv4 before IPv6 and ascending. It
// reuses the row for the next.
func (r *Reader) rows(ctx context.Context, from, to []byte) iter.Seq2[*tableRow, error] {
	return func(yield func(*tableRow, error) bool) {
		var row tableRow
		for stored, err := range r.table.Scan(ctx, cellstore.Scan{Ranges: []cellstore.Range{{From: from, To: to}}}) {
			if err == nil && len(stored.Cells) != 1 {
				err = corruptRow(stored.Key, "it has not one cell")
			}
			if err == nil {
				err = row.decode(stored.Key, stored.Cells[0].Value)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(&row, nil) {
				return
			}
		}
	}
}

// ranges yields the ranges of the rows with from ≤ key < to, IPv4 before IPv6
// and ascending. It reuses the range for the next and checks that no two
// overlap.
func (r *Reader) ranges(ctx context.Context, from, to []byte) iter.Seq2[*scanned, error] {
	return func(yield func(*scanned, error) bool) {
		var s scanned
		some := false
		for row, err := range r.rows(ctx, from, to) {
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range row.n {
				before, follows := s.last, some && s.v4 == row.v4
				s = scanned{v4: row.v4}
				s.first, s.last = row.at(i)
				err := row.answer(i, &s.answer)
				switch {
				case s.last.less(s.first):
					err = corruptRow(row.key, "first address is after the last")
				case follows && s.first.compare(before) <= 0:
					err = corruptRow(row.key, "it overlaps the range before")
				}
				if err != nil {
					yield(nil, err)
					return
				}
				some = true
				if !yield(&s, nil) {
					return
				}
			}
		}
	}
}

// All yields every range, IPv4 before IPv6 and ascending. Addr is the first
// address of the range, and Network the largest network that holds it. The
// Result is reused for the next range and ends with the loop body. Nothing
// follows an error.
func (r *Reader) All(ctx context.Context) iter.Seq2[*Result, error] {
	return r.results(ctx, nil, nil, u128{}, nil)
}

// Within yields the ranges that share addresses with a network, as All does. Ranges are whole: the
// first may begin before the network, and the last may end after it. A network of addresses that
// carry IPv4 addresses, such as 2002:102:300::/40, represents those addresses. The error for the
// zero Prefix matches ErrBadAddress.
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
	return r.results(ctx, appendKey(nil, v4, first), end, first, &last)
}

// results yields the ranges of the rows from a key on as Results, without those that end before
// since. If until is given, it stops at the first range that begins after it.
func (r *Reader) results(ctx context.Context, from, to []byte, since u128, until *u128) iter.Seq2[*Result, error] {
	return func(yield func(*Result, error) bool) {
		var res Result
		for row, err := range r.ranges(ctx, from, to) {
			if err != nil {
				yield(nil, fmt.Errorf("ipgeo: %w", err))
				return
			}
			if row.last.less(since) {
				continue
			}
			if until != nil && until.less(row.first) {
				return
			}
			res.Addr = addrOf(row.v4, row.first)
			res.fill(row.v4, row.first, row.first, row.last, &row.answer)
			if !yield(&res, nil) {
				return
			}
		}
	}
}

// resolvePrefix returns the network to look up for p. If p's addresses only
// carry IPv4 addresses, that is the network of these; otherwise it is p itself.
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

// LookupBatch looks up addresses and calls fn for each, in order, with its index. fn gets the error
// that Lookup returns for the address: nil, ErrNotFound, a *ReservedError or ErrBadAddress.
// Result.Addr is set as in Lookup. The next address reuses the Result. An error of the store, of
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
