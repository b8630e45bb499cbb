package hbasestore

import (
	"bytes"
	"math"
	"slices"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
)

// plan is a selection in two parts: the request to the cluster, and the filter of its answer. The
// cluster makes a selection only where it follows the contract. All other selection is done here.
type plan struct {
	v   *view
	sel *cellstore.Selection

	columns  []thrift2.Column
	versions int32
	time     *thrift2.TimeRange
	filter   []byte

	most     int // versions of a column in the answer
	min, max int64
	timed    bool
	plain    bool // the cluster's answer needs no filter
}

var everything cellstore.Selection

// newPlan makes the plan of a valid selection, which must not change while the plan is used. A nil
// selection selects everything.
func newPlan(v *view, sel *cellstore.Selection) *plan {
	if sel == nil {
		sel = &everything
	}
	p := &plan{v: v, sel: sel, most: 1, versions: 1}
	switch {
	case sel.Versions == cellstore.Unlimited || sel.Versions > math.MaxInt32:
		p.most, p.versions = math.MaxInt, math.MaxInt32
	case sel.Versions > 0:
		p.most, p.versions = sel.Versions, int32(sel.Versions)
	}
	p.ask()
	capped := p.versionsNeeded()
	if p.min, p.max, p.timed = sel.Time.Bounds(); p.timed {
		if p.trims() {
			p.versions = capped
		} else {
			// HBase refuses times below 0, which no cell has.
			p.time = &thrift2.TimeRange{Min: max(p.min, 0), Max: max(p.max, 0)}
		}
	}
	f := &sel.Filter
	if !f.IsZero() && len(sel.Columns) == 0 {
		var parts [][]byte
		if len(f.Prefix) > 0 {
			prefix := f.Prefix
			if prefix[0] == 0 {
				prefix = escaped(prefix)
			}
			parts = append(parts, thrift2.PrefixFilter(prefix))
		}
		if len(f.From)+len(f.To) > 0 {
			parts = append(parts, thrift2.RangeFilter(escapedEnd(f.From), escapedEnd(f.To)))
		}
		switch len(parts) {
		case 1:
			p.filter = parts[0]
		case 2:
			p.filter = thrift2.AllFilters(parts...)
		}
	}
	p.versions = min(p.versions, capped)
	// A single newest version does not depend on the number of versions.
	p.plain = !p.timed && f.IsZero() && (p.versions == 1 || !p.limited())
	return p
}

// anyFamily reports whether a condition holds for a selected family. It is called with nil for a
// family that the table lacks.
func (p *plan) anyFamily(is func(*family) bool) bool {
	if len(p.columns) == 0 {
		for _, f := range p.v.families {
			if is(f) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(p.columns, func(c thrift2.Column) bool { return is(p.v.families[c.Family]) })
}

// trims reports whether any selected family hides versions by their number.
func (p *plan) trims() bool {
	return p.anyFamily(func(f *family) bool { return f == nil || f.trims })
}

// limited reports whether the cluster may have more versions of a column than are visible.
func (p *plan) limited() bool {
	return p.anyFamily(func(f *family) bool { return f == nil || f.most > 0 })
}

// versionsNeeded returns the greatest number of versions of a column that a read can need.
func (p *plan) versionsNeeded() int32 {
	most := 0
	if p.anyFamily(func(f *family) bool {
		if f == nil || f.most == 0 {
			return true
		}
		most = max(most, f.most)
		return false
	}) {
		return math.MaxInt32
	}
	return int32(most)
}

// ask lists the selected families, and the selected columns of families that are selected only in
// part.
func (p *plan) ask() {
	for _, name := range p.sel.Families {
		if !slices.ContainsFunc(p.columns, func(c thrift2.Column) bool { return c.Family == name }) {
			p.columns = append(p.columns, thrift2.Column{Family: name})
		}
	}
	whole := len(p.columns)
	for i := range p.sel.Columns {
		c := &p.sel.Columns[i]
		if slices.ContainsFunc(p.columns[:whole], func(o thrift2.Column) bool { return o.Family == c.Family }) {
			continue
		}
		p.columns = append(p.columns, thrift2.Column{Family: c.Family, Qualifier: escaped(c.Qualifier)})
	}
}

// fill puts the selected cells of an answer into row, which is empty, and reports whether there are
// any. It does not keep memory of r.
func (p *plan) fill(r *thrift2.Result, row *cellstore.Row) bool {
	if p.plain {
		p.fillAll(r, row)
	} else {
		p.fillChosen(r, row)
	}
	if row.Empty() {
		return false
	}
	row.SetKey(r.Row)
	return true
}

func (p *plan) fillAll(r *thrift2.Result, row *cellstore.Row) {
	for i := range r.Cells {
		c := &r.Cells[i]
		if f := p.v.families[string(c.Family)]; f != nil {
			row.AppendCell(f.name, unescaped(c.Qualifier), c.Timestamp, c.Value)
		}
	}
}

// fillChosen goes through the columns one by one. It decides first which versions
// are visible, then applies the time range, the choice of columns and the number
// of versions.
func (p *plan) fillChosen(r *thrift2.Result, row *cellstore.Row) {
	passed := 0 // columns of this family that pass the filter
	last := ""
	for i := 0; i < len(r.Cells); {
		first := &r.Cells[i]
		end := i + 1
		for end < len(r.Cells) && bytes.Equal(r.Cells[end].Qualifier, first.Qualifier) && bytes.Equal(r.Cells[end].Family, first.Family) {
			end++
		}
		versions := r.Cells[i:end]
		i = end
		f := p.v.families[string(first.Family)]
		if f == nil {
			continue // another client added the family after the schema was read
		}
		if f.name != last {
			passed, last = 0, f.name
		}
		if f.most > 0 {
			versions = versions[:min(len(versions), f.most)]
		}
		if p.timed {
			versions = p.inTimeRange(versions)
		}
		if len(versions) == 0 || !p.selects(f.name, unescaped(first.Qualifier), &passed) {
			continue
		}
		for j := range min(len(versions), p.most) {
			row.AppendCell(f.name, unescaped(first.Qualifier), versions[j].Timestamp, versions[j].Value)
		}
	}
}

// inTimeRange cuts the versions of a column, newest first, to the time range.
func (p *plan) inTimeRange(vs []thrift2.Value) []thrift2.Value {
	for len(vs) > 0 && vs[0].Timestamp >= p.max {
		vs = vs[1:]
	}
	for n := len(vs); n > 0 && vs[n-1].Timestamp < p.min; n = len(vs) {
		vs = vs[:n-1]
	}
	return vs
}

// selects reports whether a column that has a visible cell is selected. A column that is selected
// by name passes regardless of the filter.
func (p *plan) selects(family string, qualifier []byte, passed *int) bool {
	s := p.sel
	asked := slices.ContainsFunc(s.Columns, func(c cellstore.Column) bool {
		return c.Family == family && bytes.Equal(c.Qualifier, qualifier)
	})
	whole := slices.Contains(s.Families, family) || len(s.Families) == 0 && len(s.Columns) == 0
	f := &s.Filter
	if !whole || !bytes.HasPrefix(qualifier, f.Prefix) || bytes.Compare(qualifier, f.From) < 0 ||
		len(f.To) > 0 && bytes.Compare(qualifier, f.To) >= 0 {
		return asked
	}
	*passed++
	return asked || *passed > f.Offset && (f.Limit == 0 || *passed <= f.Offset+f.Limit)
}

func (p *plan) get(row []byte) thrift2.Get {
	return thrift2.Get{Row: row, Columns: p.columns, Versions: p.versions, Time: p.time, Filter: p.filter}
}

func (p *plan) scan() thrift2.Scan {
	return thrift2.Scan{Columns: p.columns, Versions: p.versions, Time: p.time, Filter: p.filter}
}
