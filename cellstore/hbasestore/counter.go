package hbasestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
)

func clock() int64 { return time.Now().UnixMilli() }

// CheckAndMutate implements cellstore.Table. It is never sent twice: if the answer is lost, the
// error is ErrUnknownOutcome.
func (t *Table) CheckAndMutate(ctx context.Context, check cellstore.Check, m cellstore.Mutation) (bool, error) {
	v, end, err := t.beginWrite(ctx)
	if err != nil {
		return false, t.fail("CheckAndMutate", m.Row, err)
	}
	defer end()
	err = v.Row(m.Row)
	if err == nil {
		err = v.Check(m.Row, &check)
	}
	if err == nil {
		err = v.Mutation(&m)
	}
	if err != nil {
		return false, t.fail("CheckAndMutate", m.Row, err)
	}
	var ms []thrift2.Mutation
	if len(m.Ops) > 0 {
		if ms, err = t.mutations(ctx, &m); err != nil {
			return false, t.fail("CheckAndMutate", m.Row, err)
		}
	}
	if len(ms) == 0 {
		holds, err := t.holds(ctx, v, m.Row, &check)
		if err != nil {
			err = t.fail("CheckAndMutate", m.Row, err)
		}
		return holds, err
	}
	c := thrift2.Check{Row: m.Row, Family: check.Family, Qualifier: escaped(check.Qualifier), Operand: check.Value}
	c.Op = operator(check.Op)
	var done bool
	err = t.call(ctx, oneShotCall, func(ctx context.Context, conn *thrift2.Conn) (err error) {
		done, err = conn.CheckAndMutate(ctx, t.state.path, &c, ms)
		return err
	})
	if err != nil {
		return false, t.fail("CheckAndMutate", m.Row, err)
	}
	return done, nil
}

// operator swaps the sides of a comparison: HBase compares the operand with the
// stored value.
func operator(op cellstore.CompareOp) thrift2.CompareOp {
	switch op {
	case cellstore.Less:
		return thrift2.Greater
	case cellstore.LessOrEqual:
		return thrift2.GreaterOrEqual
	case cellstore.Greater:
		return thrift2.Less
	case cellstore.GreaterOrEqual:
		return thrift2.LessOrEqual
	case cellstore.NotEqual, cellstore.Present:
		return thrift2.NotEqual
	}
	return thrift2.Equal // for Absent, with an empty operand
}

// holds evaluates a check whose mutation is empty, because HBase refuses such a mutation.
func (t *Table) holds(ctx context.Context, v *view, key []byte, check *cellstore.Check) (bool, error) {
	r, err := t.newest(ctx, v, key, cellstore.Column{Family: check.Family, Qualifier: check.Qualifier})
	if err != nil {
		return false, err
	}
	if len(r.Cells) == 0 {
		return check.Holds(nil, false), nil
	}
	return check.Holds(r.Cells[0].Value, true), nil
}

// Increment implements cellstore.Table. It is never sent twice.
func (t *Table) Increment(ctx context.Context, inc cellstore.Increment, values []int64) ([]int64, error) {
	v, end, err := t.beginWrite(ctx)
	if err != nil {
		return values, t.fail("Increment", inc.Row, err)
	}
	defer end()
	if err := v.Increment(&inc); err != nil {
		return values, t.fail("Increment", inc.Row, err)
	}
	if len(inc.Deltas) == 0 {
		return values, nil
	}
	deltas, at := join(inc.Deltas)
	var r thrift2.Result
	err = t.call(ctx, oneShotCall, func(ctx context.Context, c *thrift2.Conn) error {
		return c.Increment(ctx, t.state.path, inc.Row, deltas, t.durability(inc.Durability), &r)
	})
	if err != nil {
		return values, t.fail("Increment", inc.Row, err)
	}
	// HBase returns the final values. For a column that occurs twice, the intermediate values are
	// computed from the value before the first delta.
	now := make([]int64, len(deltas))
	for i := range deltas {
		n, ok := counted(&r, &deltas[i])
		if !ok {
			return values, t.fail("Increment", inc.Row,
				fmt.Errorf("%w: the answer lacks column %s:%q", cellstore.ErrUnknownOutcome, deltas[i].Family, deltas[i].Qualifier))
		}
		now[i] = n - deltas[i].By
	}
	for i := range inc.Deltas {
		now[at[i]] += inc.Deltas[i].By
		values = append(values, now[at[i]])
	}
	return values, nil
}

// join adds up the deltas of each column; at maps each delta to its sum.
func join(in []cellstore.Delta) (out []thrift2.Delta, at []int) {
	seen := make(map[column]int, len(in))
	for i := range in {
		d := &in[i]
		c := column{d.Family, string(d.Qualifier)}
		j, ok := seen[c]
		if !ok {
			j = len(out)
			seen[c] = j
			out = append(out, thrift2.Delta{Family: d.Family, Qualifier: escaped(d.Qualifier)})
		}
		out[j].By += d.By
		at = append(at, j)
	}
	return out, at
}

func counted(r *thrift2.Result, d *thrift2.Delta) (int64, bool) {
	for i := range r.Cells {
		c := &r.Cells[i]
		if string(c.Family) == d.Family && bytes.Equal(c.Qualifier, d.Qualifier) && len(c.Value) == 8 {
			return int64(binary.BigEndian.Uint64(c.Value)), true
		}
	}
	return 0, false
}

// Append implements cellstore.Table. It is never sent twice. HBase knows only
// its own limit of a cell, so the size of the value is read first. Another client
// may make the value grow between the read and the append.
func (t *Table) Append(ctx context.Context, row []byte, family string, qualifier, value []byte, d cellstore.Durability) ([]byte, error) {
	v, end, err := t.beginWrite(ctx)
	if err != nil {
		return nil, t.fail("Append", row, err)
	}
	defer end()
	if err := v.Append(row, family, qualifier, value, d); err != nil {
		return nil, t.fail("Append", row, err)
	}
	size, err := t.valueSize(ctx, v, row, cellstore.Column{Family: family, Qualifier: qualifier})
	if err == nil {
		err = v.AppendResult(size + len(value))
	}
	if err != nil {
		return nil, t.fail("Append", row, err)
	}
	values := []thrift2.Value{{Family: []byte(family), Qualifier: escaped(qualifier), Value: value, Timestamp: thrift2.Latest}}
	var r thrift2.Result
	err = t.callSized(ctx, oneShotCall, size+len(value), func(ctx context.Context, c *thrift2.Conn) error {
		return c.Append(ctx, t.state.path, row, values, t.durability(d), &r)
	})
	if err != nil {
		return nil, t.fail("Append", row, err)
	}
	for i := range r.Cells {
		if c := &r.Cells[i]; string(c.Family) == family && bytes.Equal(unescaped(c.Qualifier), qualifier) {
			return c.Value, nil
		}
	}
	return nil, t.fail("Append", row, fmt.Errorf("%w: the answer lacks the column", cellstore.ErrUnknownOutcome))
}

// newest reads the newest version of one column.
func (t *Table) newest(ctx context.Context, v *view, row []byte, c cellstore.Column) (r thrift2.Result, err error) {
	get := newPlan(v, &cellstore.Selection{Columns: []cellstore.Column{c}}).get(row)
	err = t.call(ctx, readCall, func(ctx context.Context, c *thrift2.Conn) error {
		return c.Get(ctx, t.state.path, &get, &r)
	})
	return r, err
}

func (t *Table) valueSize(ctx context.Context, v *view, row []byte, c cellstore.Column) (int, error) {
	r, err := t.newest(ctx, v, row, c)
	if err != nil || len(r.Cells) == 0 {
		return 0, err
	}
	return len(r.Cells[0].Value), nil
}
