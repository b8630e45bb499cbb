package pebblestore

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"quadrille/cellstore"
)

// model is the slow and obvious store the driver is judged by: a list of the
// cells loaded, in the order of reads, searched from end to end.
type model struct {
	schema cellstore.Schema
	now    int64
	cells  []modelCell
}

type modelCell struct {
	row []byte
	cellstore.Cell
}

func (a modelCell) compareColumn(b modelCell) int {
	return cmp.Or(bytes.Compare(a.row, b.row), cmp.Compare(a.Family, b.Family), bytes.Compare(a.Qualifier, b.Qualifier))
}

func (a modelCell) compare(b modelCell) int {
	return cmp.Or(a.compareColumn(b), -cmp.Compare(a.Timestamp, b.Timestamp))
}

// load adds cells sorted and without duplicates; equal ones replace.
func (m *model) load(cells []modelCell) {
	for _, c := range cells {
		i, found := slices.BinarySearchFunc(m.cells, c, modelCell.compare)
		if found {
			m.cells[i] = c
		} else {
			m.cells = slices.Insert(m.cells, i, c)
		}
	}
}

// visible applies MaxVersions, TTL and MinVersions.
func (m *model) visible() []modelCell {
	var out []modelCell
	n := 0
	for i, c := range m.cells {
		if i == 0 || c.compareColumn(m.cells[i-1]) != 0 {
			n = 0
		}
		n++
		f := m.family(c.Family)
		if f.MaxVersions != cellstore.Unlimited && n > f.MaxVersions {
			continue
		}
		if f.TTL > 0 && m.now-c.Timestamp > f.TTL.Milliseconds() && n > f.MinVersions {
			continue
		}
		out = append(out, c)
	}
	return out
}

func (m *model) family(name string) cellstore.Family {
	i := slices.IndexFunc(m.schema.Families, func(f cellstore.Family) bool { return f.Name == name })
	return m.schema.Families[i]
}

// rows returns the rows a selection shows, in order.
func (m *model) rows(sel *cellstore.Selection) []cellstore.Row {
	if sel == nil {
		sel = &cellstore.Selection{}
	}
	min, max, timed := sel.Time.Bounds()
	if !timed {
		min, max = 0, math.MaxInt64
	}
	versions := sel.Versions
	if versions == 0 {
		versions = 1
	}
	var timely []modelCell
	for _, c := range m.visible() {
		if min <= c.Timestamp && c.Timestamp < max {
			timely = append(timely, c)
		}
	}
	var rows []cellstore.Row
	taken, column := 0, 0
	var wanted bool
	for i, c := range timely {
		if i == 0 || !bytes.Equal(c.row, timely[i-1].row) || c.Family != timely[i-1].Family {
			column = 0
		}
		if i == 0 || c.compareColumn(timely[i-1]) != 0 {
			taken = 0
			wanted = m.wants(sel, c, &column)
		}
		taken++
		if !wanted || versions != cellstore.Unlimited && taken > versions {
			continue
		}
		if n := len(rows); n == 0 || !bytes.Equal(rows[n-1].Key, c.row) {
			rows = append(rows, cellstore.Row{Key: c.row})
		}
		last := &rows[len(rows)-1]
		last.Cells = append(last.Cells, c.Cell)
	}
	return rows
}

// wants decides on a column; column counts those of the row and family that
// passed the filter's bounds so far.
func (m *model) wants(sel *cellstore.Selection, c modelCell, column *int) bool {
	named := slices.ContainsFunc(sel.Columns, func(col cellstore.Column) bool {
		return col.Family == c.Family && bytes.Equal(col.Qualifier, c.Qualifier)
	})
	whole := slices.Contains(sel.Families, c.Family) || len(sel.Families) == 0 && len(sel.Columns) == 0
	f := sel.Filter
	if !whole || !bytes.HasPrefix(c.Qualifier, f.Prefix) || bytes.Compare(c.Qualifier, f.From) < 0 ||
		len(f.To) > 0 && bytes.Compare(c.Qualifier, f.To) >= 0 {
		return named
	}
	*column++
	return named || *column > f.Offset && (f.Limit == 0 || *column <= f.Offset+f.Limit)
}

// within keeps the rows of a forward range.
func within(rows []cellstore.Row, r cellstore.Range) []cellstore.Row {
	var out []cellstore.Row
	for _, row := range rows {
		if bytes.Compare(row.Key, r.From) < 0 {
			continue
		}
		if d := bytes.Compare(row.Key, r.To); len(r.To) > 0 && (d > 0 || d == 0 && !r.ToInclusive) {
			continue
		}
		out = append(out, row)
	}
	return out
}

// downFrom keeps the rows of a reverse range, from its high end.
func downFrom(rows []cellstore.Row, r cellstore.Range) []cellstore.Row {
	var out []cellstore.Row
	for _, row := range slices.Backward(rows) {
		if len(r.From) > 0 && bytes.Compare(row.Key, r.From) > 0 {
			continue
		}
		if d := bytes.Compare(row.Key, r.To); len(r.To) > 0 && (d < 0 || d == 0 && !r.ToInclusive) {
			continue
		}
		out = append(out, row)
	}
	return out
}

func (m *model) scan(s cellstore.Scan) []cellstore.Row {
	rows := m.rows(&s.Selection)
	ranges := s.Ranges
	if len(ranges) == 0 {
		ranges = []cellstore.Range{{}}
	}
	var out []cellstore.Row
	for _, r := range ranges {
		if s.Reverse {
			out = append(out, downFrom(rows, r)...)
		} else {
			out = append(out, within(rows, r)...)
		}
	}
	if s.Limit > 0 && len(out) > s.Limit {
		out = out[:s.Limit]
	}
	return out
}
