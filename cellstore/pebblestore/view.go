package pebblestore

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"quadrille/cellstore"
)

// allVersions represents Unlimited.
const allVersions = math.MaxInt

// view is a Selection in the form for reads. It refers to the caller's slices until forget is
// called.
type view struct {
	fams     []selected // in the order of names
	filter   cellstore.ColumnFilter
	min, max int64 // timestamps in [min, max)
	versions int
	now      int64
	newest   bool // only the newest version, whatever its time
}

// empty reports whether no timestamp is in the range.
func (v *view) empty() bool { return v.max <= max(v.min, 0) }

// selected is the part of a selection for one family.
type selected struct {
	index int // in layout.fams
	whole bool
	plain bool     // every column, unfiltered
	cols  [][]byte // wanted by name, sorted

	// These fields are the state within one row.
	next     int  // the first of cols not passed
	admitted int  // columns that passed the filter and had a cell
	named    bool // the current column is one of cols
	passes   bool // the current column passes the filter
}

// compile checks a selection and fills the view from it. It does not allocate once the slices of
// the view are large enough.
func (v *view) compile(t *layout, clock func() int64, sel *cellstore.Selection) error {
	v.min, v.max, v.versions, v.now = 0, math.MaxInt64, 1, noTTL
	v.filter = cellstore.ColumnFilter{}
	v.newest = true
	if cap(v.fams) < len(t.fams) {
		v.fams = make([]selected, 0, len(t.fams))
	}
	if t.expires {
		v.now = clock()
		v.newest = false
	}
	if sel == nil {
		v.all(t)
		return nil
	}
	if min, max, ok := sel.Time.Bounds(); ok {
		if min > max {
			return fmt.Errorf("%w: time range from %d to %d", cellstore.ErrBadRange, min, max)
		}
		v.min, v.max = min, max
		v.newest = false
	}
	switch {
	case sel.Versions > 0:
		v.versions = sel.Versions
		v.newest = v.newest && v.versions == 1
	case sel.Versions == cellstore.Unlimited:
		v.versions = allVersions
		v.newest = false
	case sel.Versions < 0:
		return fmt.Errorf("%w: %d versions", cellstore.ErrBadRange, sel.Versions)
	}
	if sel.Filter.Limit < 0 || sel.Filter.Offset < 0 {
		return fmt.Errorf("%w: column limit %d, offset %d", cellstore.ErrBadRange, sel.Filter.Limit, sel.Filter.Offset)
	}
	v.filter = sel.Filter
	if len(sel.Families) == 0 && len(sel.Columns) == 0 {
		v.all(t)
		return nil
	}
	return v.some(t, sel)
}

func (v *view) all(t *layout) {
	v.fams = v.fams[:len(t.fams)]
	for i := range v.fams {
		v.fams[i].set(i, true, v.filter.IsZero())
	}
}

// only restricts the view to one family, plain or with the filter.
func (v *view) only(f int, plain bool) {
	v.fams = v.fams[:1]
	v.fams[0].set(f, true, plain)
}

func (s *selected) set(index int, whole, plain bool) {
	s.index, s.whole, s.plain, s.cols = index, whole, plain, s.cols[:0]
}

// some selects the named families and columns. It first stores each at the index of its family, in
// the order of names, and then removes the empty entries.
func (v *view) some(t *layout, sel *cellstore.Selection) error {
	if len(sel.Families) == 1 && len(sel.Columns) == 0 {
		f, err := t.family(sel.Families[0])
		if err == nil {
			v.only(f, v.filter.IsZero())
		}
		return err
	}
	fams := v.fams[:len(t.fams)]
	for i := range fams {
		fams[i].set(-1, false, false)
	}
	for _, name := range sel.Families {
		i, err := t.family(name)
		if err != nil {
			return err
		}
		fams[i].index, fams[i].whole, fams[i].plain = i, true, v.filter.IsZero()
	}
	for i := range sel.Columns {
		col := &sel.Columns[i]
		f, err := t.family(col.Family)
		if err != nil {
			return err
		}
		if err := checkSize("qualifier", len(col.Qualifier), cellstore.DefaultLimits.QualifierBytes); err != nil {
			return err
		}
		s := &fams[f]
		s.index = f
		if !s.plain { // otherwise the whole family is selected already
			s.cols = append(s.cols, col.Qualifier)
		}
	}
	n := 0
	for i := range fams {
		s := &fams[i]
		if s.index < 0 {
			continue
		}
		if len(s.cols) > 1 {
			slices.SortFunc(s.cols, bytes.Compare)
			s.cols = slices.CompactFunc(s.cols, bytes.Equal)
		}
		if n < i { // swapped, not copied: each keeps its own memory of cols
			fams[n], *s = *s, fams[n]
		}
		n++
	}
	v.fams = fams[:n]
	return nil
}

// forget drops the references to the caller's slices.
func (v *view) forget() {
	v.filter = cellstore.ColumnFilter{}
	for i := range v.fams {
		clear(v.fams[i].cols)
	}
}

const noTTL = math.MinInt64

// uncounted reports whether a version's visibility does not depend on newer ones.
func (f *family) uncounted() bool {
	return f.maxVersions == allVersions && (f.minVersions == 0 || f.ttl == 0)
}

// expired returns the timestamp below which cells of a family have expired.
func (v *view) expired(f *family) int64 {
	if f.ttl == 0 {
		return noTTL
	}
	return v.now - f.ttl
}

// lowest returns the smallest qualifier that the filter may pass.
func (v *view) lowest() []byte {
	if bytes.Compare(v.filter.From, v.filter.Prefix) > 0 {
		return v.filter.From
	}
	return v.filter.Prefix
}

// start returns the position in a row from which a family must be read.
func (s *selected) start(v *view, f *family) (qualifier []byte, inverted uint64) {
	if !s.whole {
		if f.uncounted() && v.max < math.MaxInt64 {
			return s.cols[0], invert(v.max - 1)
		}
		return s.cols[0], newestFirst
	}
	q := v.lowest()
	if len(s.cols) > 0 && bytes.Compare(s.cols[0], q) < 0 {
		q = s.cols[0]
	}
	return clipTo(q, cellstore.DefaultLimits.QualifierBytes), newestFirst
}

// begin starts a row.
func (s *selected) begin() { s.next, s.admitted, s.named, s.passes = 0, 0, false, false }

// want decides whether a new column is wanted. If it is not, target is the smallest qualifier that
// may be wanted, and more is false if there is none.
func (s *selected) want(v *view, q []byte) (want bool, target []byte, more bool) {
	for s.next < len(s.cols) && bytes.Compare(s.cols[s.next], q) < 0 {
		s.next++
	}
	s.named = s.next < len(s.cols) && bytes.Equal(s.cols[s.next], q)
	s.passes = false
	open := s.whole && !v.full(s.admitted)
	if open {
		low := v.lowest()
		switch {
		case bytes.Compare(q, low) < 0:
			target = low
		case !bytes.HasPrefix(q, v.filter.Prefix), !before(q, v.filter.To):
			open = false // all following columns fail too
		default:
			s.passes = true
		}
	}
	if s.named || s.passes {
		return true, nil, true
	}
	if s.next < len(s.cols) && (!open || bytes.Compare(s.cols[s.next], target) < 0) {
		return false, s.cols[s.next], true
	}
	return false, target, open
}

// full reports whether the filter admits no more than the given number of columns.
func (v *view) full(admitted int) bool {
	return v.filter.Limit > 0 && admitted-v.filter.Offset >= v.filter.Limit
}

// admit counts the current column, which has a visible cell, and reports whether the read shows the
// column.
func (s *selected) admit(v *view) bool {
	if s.passes {
		s.admitted++
		if s.admitted > v.filter.Offset {
			return true
		}
	}
	return s.named
}

// complete reports whether no column after the current one can be wanted.
func (s *selected) complete(v *view) bool {
	next := s.next
	if s.named {
		next++
	}
	return next == len(s.cols) && (!s.whole || v.full(s.admitted))
}
