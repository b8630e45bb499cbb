package points

import (
	"context"
	"math"

	"quadrille/feature"
	"quadrille/quadkey"
)

// eachIn calls fn with runs of the selected points that are in an area, as rows.
func (sel *selection) eachIn(ctx context.Context, a feature.Area, step func(context.Context) error, fn func(from, to int) error) error {
	at := 0
	return eachRun(ctx, a, 0, func(keys keyRange, p *feature.AreaPart) error {
		if step != nil {
			if err := step(ctx); err != nil {
				return err
			}
		}
		from := at + rank(sel.keys[at:], keys.first)
		to := len(sel.keys)
		if keys.last < math.MaxUint64 {
			to = from + rank(sel.keys[from:], keys.last+1)
		}
		at = to
		if p.Contains == nil {
			return fn(from, to)
		}
		var err error
		sel.each(from, to, func(row int) {
			if err != nil {
				return
			}
			var in bool
			if in, err = p.Contains(sel.degrees(row)); in && err == nil {
				err = fn(row, row+1)
			}
		})
		return err
	})
}

// degrees returns the position of a row.
func (sh *sheet) degrees(row int) quadkey.Position {
	at := position{lat: sh.lat[row], lon: sh.lon[row]}
	return at.degrees()
}

// rowsIn returns about the number of rows that must be read for the points of an area.
func (c *Collection) rowsIn(ctx context.Context, a feature.Area) (n int64, err error) {
	if c.tree == nil || a == nil {
		return math.MaxInt32, nil
	}
	var parts []keyRange
	err = eachRun(ctx, a, 0, func(keys keyRange, _ *feature.AreaPart) error {
		n += c.tree.count(&keys, &parts)
		parts = parts[:0]
		return nil
	})
	return n, err
}

// countSelected counts the points of an area that pass a filter by a sheet. ok is false if reading their rows costs
// less.
func (c *Collection) countSelected(ctx context.Context, q *feature.Query) (n int64, ok bool, err error) {
	rows, err := c.rowsIn(ctx, q.In)
	if err != nil {
		return 0, false, err
	}
	ok, err = c.selected(q.WithSteps(ctx), q.Filter, rows, func(_ reading, sel *selection) error {
		return sel.eachIn(ctx, q.In, q.Step, func(from, to int) error {
			n += sel.count(from, to)
			return nil
		})
	})
	return n, ok, err
}

// tallied is the number of points that are tallied at a time.
const tallied = 4096

// Tally implements feature.Tallier.
func (c *Collection) Tally(ctx context.Context, q *feature.Query, to *feature.Tallying) error {
	if !q.At.IsZero() || q.Near != nil {
		return feature.Unsupported("tally by columns")
	}
	rows, err := c.rowsIn(ctx, q.In)
	if err != nil {
		return err
	}
	e, all := c.Meta().Schema.ForIndex(q.Filter)
	names := append(to.Names(), e.Properties()...)
	ctx = q.WithSteps(ctx)
	ok, err := c.sheetOf(ctx, names, rows, func(r reading, sh *sheet, version uint64) error {
		for _, name := range to.Names() {
			if sh.columns[name].tooLarge {
				return feature.Unsupported("a column of %s", name)
			}
		}
		sel, err := c.selection(ctx, r, sh, version, q.Filter, e, all)
		if err != nil {
			return err
		}
		t := newTallier(sel, to)
		err = sel.eachIn(ctx, q.In, q.Step, func(from, until int) (err error) {
			sel.each(from, until, func(row int) {
				if t.rows = append(t.rows, row); len(t.rows) == tallied && err == nil {
					if q.Step != nil {
						err = q.Step(ctx)
					}
					if err == nil {
						err = t.flush(ctx)
					}
				}
			})
			return err
		})
		if err != nil {
			return err
		}
		return t.flush(ctx)
	})
	if !ok && err == nil {
		return feature.Unsupported("tally by columns")
	}
	return err
}

// tallier adds the points of a selection to a tally.
type tallier struct {
	of     *selection
	to     *feature.Tallying
	rows   []int
	at     []quadkey.Position
	by     []*column  // nil for a grouping by position
	groups [][]uint32 // of the codes of by; 0 is not known yet
	batch  feature.TallyBatch
}

func newTallier(sel *selection, to *feature.Tallying) *tallier {
	t := &tallier{of: sel, to: to}
	for k, g := range to.By() {
		var c *column
		var groups []uint32
		if g.Place == nil {
			c = sel.columns[g.Property]
			groups = make([]uint32, c.Len())
		}
		t.by, t.groups = append(t.by, c), append(t.groups, groups)
		t.batch.Groups[k] = make([]uint32, tallied)
	}
	for _, name := range to.Properties() {
		c := sel.columns[name]
		t.batch.Properties = append(t.batch.Properties, feature.TalliedProperty{
			Codes: make([]uint32, tallied), Operands: make([]feature.Operand, c.Len()), Text: c.Value,
		})
	}
	return t
}

// flush adds the rows.
func (t *tallier) flush(ctx context.Context) (err error) {
	b := &t.batch
	b.Len = len(t.rows)
	for k, g := range t.to.By() {
		groups := b.Groups[k][:b.Len]
		if g.Place != nil {
			t.at = t.at[:0]
			for _, row := range t.rows {
				t.at = append(t.at, t.of.degrees(row))
			}
			if err := g.Place.Place(ctx, t.at, groups); err != nil {
				return err
			}
			continue
		}
		known := t.groups[k]
		for i, row := range t.rows {
			code := t.by[k].code(row)
			if known[code] == 0 {
				if known[code], err = t.to.Group(k, t.by[k].Value(code)); err != nil {
					return err
				}
			}
			groups[i] = known[code]
		}
	}
	for p, name := range t.to.Properties() {
		c, of := t.of.columns[name], &b.Properties[p]
		for i, row := range t.rows {
			code := c.code(row)
			if !of.Operands[code].Known() {
				if of.Operands[code], err = t.to.OperandOf(p, c.Value(code)); err != nil {
					return err
				}
			}
			of.Codes[i] = code
		}
	}
	t.rows = t.rows[:0]
	return t.to.Add(b)
}
