package ipgeo

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"
)

// Extent counts addresses.
type Extent struct {
	IPv4 uint64
	IPv6 float64 // in /64 networks of 2⁶⁴ addresses, because no integer type holds the number of addresses
}

func (e *Extent) add(v4 bool, first, last u128) {
	n := last.sub(first)
	if v4 {
		e.IPv4 += n.lo + 1
		return
	}
	const half = 1 << 64
	e.IPv6 += float64(n.hi) + (float64(n.lo)+1)/half
}

// DiffKind is the kind of a difference.
type DiffKind string

// These are the kinds of a DiffExample.
const (
	DiffAdded   DiffKind = "added"
	DiffRemoved DiffKind = "removed"
	DiffChanged DiffKind = "changed"
)

// DiffExample is a range whose answer differs between the tables. It extends as
// far as both answers stay the same.
type DiffExample struct {
	Kind        DiffKind
	First, Last netip.Addr
	Old, New    []byte // the answers as in Result.JSON, without traits.network; nil for none
}

// DiffStats compares two tables address by address.
type DiffStats struct {
	OldRows, NewRows int64 // of both versions of IP

	Added          Extent // only the new table has an answer
	Removed        Extent // only the old table has an answer
	Changed        Extent // both tables have an answer, but different ones
	Same           Extent
	ChangedCountry Extent // the part of Changed whose country differs, or is known to only one table

	// Examples are the widest ranges added, removed or changed: IPv4 before
	// IPv6, widest first.
	Examples []DiffExample
}

// Share returns e as a share, from 0 to 1, of the addresses that either table
// answers, for IPv4 and for IPv6. s.Share(s.Removed) is the share that was
// lost.
func (s *DiffStats) Share(e Extent) (v4, v6 float64) {
	all4 := s.Added.IPv4 + s.Removed.IPv4 + s.Changed.IPv4 + s.Same.IPv4
	all6 := s.Added.IPv6 + s.Removed.IPv6 + s.Changed.IPv6 + s.Same.IPv6
	if all4 > 0 {
		v4 = float64(e.IPv4) / float64(all4)
	}
	if all6 > 0 {
		v6 = e.IPv6 / all6
	}
	return v4, v6
}

// DiffOptions are the options of Diff. The zero value is valid.
type DiffOptions struct {
	// Examples is the maximum number of examples for each IP version. 0 means
	// 10; a negative number means none.
	Examples int
	// Progress, if set, is called at intervals with the rows done so far and their total.
	Progress func(done, total int64)
}

// Diff compares the answers of two tables by walking both in order. It needs
// memory for the examples only.
func Diff(ctx context.Context, before, after *Reader, opts DiffOptions) (DiffStats, error) {
	if opts.Examples == 0 {
		opts.Examples = 10
	}
	d := differ{most: opts.Examples}
	nextOld, stopOld := iter.Pull2(before.ranges(ctx, nil, nil))
	defer stopOld()
	nextNew, stopNew := iter.Pull2(after.ranges(ctx, nil, nil))
	defer stopNew()
	a := side{next: nextOld, rows: &d.stats.OldRows}
	b := side{next: nextNew, rows: &d.stats.NewRows}
	total := before.meta.Rows4 + before.meta.Rows6 + after.meta.Rows4 + after.meta.Rows6
	for {
		if err := a.fill(); err != nil {
			return DiffStats{}, fmt.Errorf("ipgeo: compare, old table: %w", err)
		}
		if err := b.fill(); err != nil {
			return DiffStats{}, fmt.Errorf("ipgeo: compare, new table: %w", err)
		}
		if a.row == nil && b.row == nil {
			break
		}
		d.step(&a, &b)
		if d.steps++; d.steps%every == 0 && opts.Progress != nil {
			opts.Progress(*a.rows+*b.rows, total)
		}
	}
	d.stats.Examples = slices.Concat(d.widest[0], d.widest[1])
	return d.stats, nil
}

// side is the uncompared part of one table's current row.
type side struct {
	next   func() (*scanned, error, bool)
	row    *scanned // the rest of it, or nil
	cutRow scanned
	rows   *int64
}

func (s *side) fill() error {
	if s.row != nil {
		return nil
	}
	row, err, ok := s.next()
	if !ok || err != nil {
		return err
	}
	*s.rows++
	s.cutRow = *row
	s.row = &s.cutRow
	return nil
}

// begins orders rows by IP version and first address. A missing row is last.
func (s *side) begins(t *side) int {
	switch {
	case s.row == nil:
		return 1
	case t.row == nil:
		return -1
	case s.row.v4 != t.row.v4:
		if s.row.v4 {
			return -1
		}
		return 1
	}
	return s.row.first.compare(t.row.first)
}

// cut removes the addresses up to last from the current row.
func (s *side) cut(last u128) {
	if s.row.last == last {
		s.row = nil
		return
	}
	s.row.first = last.inc()
}

type differ struct {
	stats  DiffStats
	steps  int
	most   int
	widest [2][]DiffExample // IPv4, IPv6
}

// step compares the addresses from the lowest one left on either side up to where either side
// changes.
func (d *differ) step(a, b *side) {
	if c := a.begins(b); c != 0 {
		kind, extent, s, other := DiffRemoved, &d.stats.Removed, a, b
		if c > 0 {
			kind, extent, s, other = DiffAdded, &d.stats.Added, b, a
		}
		row := *s.row
		if other.row != nil && other.row.v4 == row.v4 && other.row.first.compare(row.last) <= 0 {
			row.last = other.row.first.dec()
		}
		extent.add(row.v4, row.first, row.last)
		if c > 0 {
			d.example(kind, &row, nil, &row.answer)
		} else {
			d.example(kind, &row, &row.answer, nil)
		}
		s.cut(row.last)
		return
	}
	row := *a.row
	if b.row.last.less(row.last) {
		row.last = b.row.last
	}
	if row.answer.equal(&b.row.answer) {
		d.stats.Same.add(row.v4, row.first, row.last)
	} else {
		d.stats.Changed.add(row.v4, row.first, row.last)
		if !bytes.Equal(row.answer.code(), b.row.answer.code()) {
			d.stats.ChangedCountry.add(row.v4, row.first, row.last)
		}
		d.example(DiffChanged, &row, &row.answer, &b.row.answer)
	}
	a.cut(row.last)
	b.cut(row.last)
}

// example keeps a range if it is among the widest.
func (d *differ) example(kind DiffKind, row *scanned, before, after *answer) {
	list := &d.widest[1]
	if row.v4 {
		list = &d.widest[0]
	}
	width := row.last.sub(row.first)
	// Of equally wide ranges, the first stays.
	at, _ := slices.BinarySearchFunc(*list, width, func(e DiffExample, w u128) int {
		if numberOf(e.Last).sub(numberOf(e.First)).less(w) {
			return 1
		}
		return -1
	})
	if at >= d.most {
		return
	}
	*list = slices.Insert(*list, at, DiffExample{kind, addrOf(row.v4, row.first), addrOf(row.v4, row.last), answerOf(before), answerOf(after)})
	if len(*list) > d.most {
		*list = (*list)[:d.most]
	}
}

// answerOf returns the members of an answer, or nil if there is none.
func answerOf(a *answer) []byte {
	if a == nil {
		return nil
	}
	var traits []byte
	if t := a.traits(); len(t) > 0 {
		traits = []byte(`"traits":{` + string(t) + "}")
	}
	var parts []string
	for _, p := range [][]byte{a.country(), a.appendCity(nil), traits, a.appendOwn(nil)} {
		if len(p) > 0 {
			parts = append(parts, string(p))
		}
	}
	return []byte(strings.Join(parts, ","))
}
