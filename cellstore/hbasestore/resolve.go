package hbasestore

import (
	"context"
	"slices"

	"quadrille/cellstore"
)

// Some deletes can be sent only after the stored versions have been read.

// depends reports whether a mutation has such deletes.
func (t *Table) depends(ops []cellstore.Op) bool {
	v := t.state.view.Load()
	return slices.ContainsFunc(ops, func(op cellstore.Op) bool {
		switch op.Kind {
		case cellstore.OpDeleteVersion:
			return len(ops) > 1 && op.Timestamp == cellstore.Now || v.families[op.Family].revealsOlder()
		case cellstore.OpDeleteFamilyVersion:
			return v.families[op.Family].revealsOlder()
		}
		return false
	})
}

// column identifies a column of a row.
type column struct{ family, qualifier string }

// versions are the timestamps of a column's versions, newest first.
type versions struct {
	column
	of *family
	ts []int64
	// upTo is the timestamp up to which the cluster may still store versions that have been trimmed
	// or have expired. It is -1 if there are none.
	upTo int64
}

// resolve gives each delete of a newest version the timestamp of the newest version after the
// deletes before it. HBase would look up all newest versions before it does any of the deletes. A
// mutation of a single delete leaves the lookup to HBase. If older versions would become visible
// after a delete, resolve deletes them too.
//
// Other clients may write to the same columns between this lookup and the deletes. Their writes
// then count as done before or after it, and a version that becomes visible through two such
// deletes may be deleted too. If such deletes were sent again much later, they could remove more,
// so they are not repeated.
func (t *Table) resolve(ctx context.Context, m *cellstore.Mutation) ([]cellstore.Op, callKind, error) {
	v := t.state.view.Load()
	all, err := t.versionsOf(ctx, v, m)
	if err != nil {
		return nil, oneShotCall, err
	}
	at := make(map[column]*versions, len(all))
	for _, c := range all {
		at[c.column] = c
	}
	kind := idempotentCall
	var ops []cellstore.Op
	take := func(c *versions, op cellstore.Op) {
		op.Kind, op.Qualifier = cellstore.OpDeleteVersion, []byte(c.qualifier)
		ops = append(ops, op)
		if c.upTo >= 0 {
			ops = append(ops, cellstore.DeleteColumn(c.family, op.Qualifier, c.upTo))
			c.upTo, kind = -1, oneShotCall
		}
	}
	for _, op := range m.Ops {
		switch {
		case op.Kind == cellstore.OpDeleteVersion:
			c := at[column{op.Family, string(op.Qualifier)}]
			newest := op.Timestamp == cellstore.Now
			switch i := c.find(op.Timestamp); {
			case i >= 0:
				if newest && len(m.Ops) > 1 {
					op.Timestamp = c.ts[i]
				}
				c.ts = slices.Delete(c.ts, i, i+1)
				take(c, op)
			case !newest || len(m.Ops) == 1:
				ops = append(ops, op) // for versions put meanwhile
			}
		case op.Kind == cellstore.OpDeleteFamilyVersion && v.families[op.Family].revealsOlder():
			if op.Timestamp == cellstore.Now {
				op.Timestamp = clock()
			}
			for _, c := range all {
				if i := c.find(op.Timestamp); c.family == op.Family && i >= 0 {
					c.ts = slices.Delete(c.ts, i, i+1)
					take(c, op)
				}
			}
		default:
			ops = append(ops, op)
			for _, c := range all {
				c.delete(&op)
			}
		}
	}
	return ops, kind, nil
}

// find returns the index of a version, the newest for Now; -1 if there is none.
func (c *versions) find(ts int64) int {
	switch {
	case c == nil || len(c.ts) == 0:
		return -1
	case ts == cellstore.Now:
		return 0
	}
	return slices.Index(c.ts, ts)
}

// delete removes from c the versions that an operation on several versions removes. It uses the
// clock of this machine for the cluster's.
func (c *versions) delete(op *cellstore.Op) {
	switch op.Kind {
	case cellstore.OpDeleteFamily, cellstore.OpDeleteFamilyVersion:
		if c.family != op.Family {
			return
		}
	case cellstore.OpDeleteColumn:
		if c.column != (column{op.Family, string(op.Qualifier)}) {
			return
		}
	}
	upTo := op.Timestamp
	if upTo == cellstore.Now {
		upTo = clock()
	}
	c.ts = slices.DeleteFunc(c.ts, func(ts int64) bool {
		return ts == upTo || ts < upTo && op.Kind != cellstore.OpDeleteFamilyVersion
	})
}

// versionsOf reads the columns in which a mutation deletes single versions.
func (t *Table) versionsOf(ctx context.Context, v *view, m *cellstore.Mutation) ([]*versions, error) {
	sel := &cellstore.Selection{Versions: cellstore.Unlimited}
	asked := map[column]bool{}
	for i := range m.Ops {
		op := &m.Ops[i]
		c := column{op.Family, string(op.Qualifier)}
		switch op.Kind {
		case cellstore.OpDeleteVersion:
			if !asked[c] {
				asked[c] = true
				sel.Columns = append(sel.Columns, cellstore.Column{Family: op.Family, Qualifier: op.Qualifier})
			}
		case cellstore.OpDeleteFamilyVersion:
			if v.families[op.Family].revealsOlder() && !slices.Contains(sel.Families, op.Family) {
				sel.Families = append(sel.Families, op.Family)
			}
		}
	}
	var row cellstore.Row
	if _, err := t.read(ctx, v, m.Row, sel, &row); err != nil {
		return nil, err
	}
	var all []*versions
	for i := range row.Cells {
		cell := &row.Cells[i]
		c := column{cell.Family, string(cell.Qualifier)}
		if n := len(all); n == 0 || all[n-1].column != c {
			all = append(all, &versions{column: c, of: v.families[cell.Family]})
		}
		last := all[len(all)-1]
		last.ts = append(last.ts, cell.Timestamp)
	}
	for _, c := range all {
		c.upTo = c.hidden()
	}
	return all, nil
}

// hidden returns upTo. If there are MaxVersions visible versions, upTo is below the oldest of them.
// It is also below the versions that MinVersions exempts from their TTL.
func (c *versions) hidden() int64 {
	f, lowest := c.of, c.ts[len(c.ts)-1]
	switch {
	case f == nil:
	case f.spare && len(c.ts) >= f.most:
		return lowest - 1
	case f.minVersionsTTL > 0 && len(c.ts) >= f.min:
		return min(lowest, clock()-f.minVersionsTTL) - 1
	}
	return -1
}
