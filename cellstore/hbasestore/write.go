package hbasestore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
)

const (
	// putBytes and putRows bound one call of putMultiple.
	putBytes = 1 << 20
	putRows  = 1000
	// applyCalls bounds the concurrent calls of one Apply.
	applyCalls = 4
)

func (t *Table) durability(d cellstore.Durability) thrift2.Durability {
	switch {
	case d == cellstore.Async:
		return thrift2.AsyncWAL
	case t.s.opts.Fsync:
		return thrift2.FsyncWAL
	}
	return thrift2.SyncWAL
}

// stamp converts a timestamp for HBase. Now becomes the value for the region server's clock. All
// becomes the greatest timestamp that a cell can have, because the next value means the clock.
func stamp(ts int64) int64 {
	switch ts {
	case cellstore.Now:
		return thrift2.Latest
	case cellstore.AllVersions:
		return cellstore.MaxTimestamp
	}
	return ts
}

// Apply implements cellstore.Table. One call has many puts, and several calls run in parallel; the
// mutations of one row keep their order. If the answer to a put or delete with the store's clock is
// lost, the error is ErrUnknownOutcome, since a repetition would get another timestamp.
func (t *Table) Apply(ctx context.Context, mutations ...cellstore.Mutation) error {
	v, end, err := t.beginWrite(ctx)
	if err != nil {
		return t.fail("Apply", nil, err)
	}
	defer end()
	failed := map[int]error{}
	var valid []int
	for i := range mutations {
		m := &mutations[i]
		if err := v.Mutation(m); err != nil {
			failed[i] = t.fail("Apply", m.Row, err)
		} else if len(m.Ops) > 0 {
			valid = append(valid, i)
		}
	}
	for _, i := range t.applyAll(ctx, mutations, valid) {
		failed[i.index] = t.fail("Apply", mutations[i.index].Row, i.err)
	}
	if len(failed) > 0 {
		return &cellstore.BatchError{Errs: failed}
	}
	return nil
}

type failure struct {
	index int
	err   error
}

// applyAll sends the mutations with the given indexes in rounds, one round after the other, so that
// the mutations of one row keep their order.
func (t *Table) applyAll(ctx context.Context, ms []cellstore.Mutation, which []int) (failed []failure) {
	if len(which) == 1 { // the common case
		if err := t.applyOne(ctx, &ms[which[0]]); err != nil {
			return []failure{{which[0], err}}
		}
		return nil
	}
	if ascending(ms, which) { // as when loading: no row occurs twice
		return t.applyRound(ctx, ms, which)
	}
	bad := map[string]bool{} // rows with a failure: later mutations must not overtake it
	for len(which) > 0 {
		var round, later []int
		seen := map[string]bool{}
		for _, i := range which {
			row := string(ms[i].Row)
			if seen[row] {
				later = append(later, i)
				continue
			}
			seen[row] = true
			round = append(round, i)
		}
		for _, f := range t.applyRound(ctx, ms, round) {
			failed = append(failed, f)
			bad[string(ms[f.index].Row)] = true
		}
		which = which[:0]
		for _, i := range later {
			if bad[string(ms[i].Row)] {
				failed = append(failed, failure{i, fmt.Errorf("an earlier mutation of the row failed: %w", ErrUnavailable)})
				continue
			}
			which = append(which, i)
		}
	}
	return failed
}

func ascending(ms []cellstore.Mutation, which []int) bool {
	for i := 1; i < len(which); i++ {
		if bytes.Compare(ms[which[i-1]].Row, ms[which[i]].Row) >= 0 {
			return false
		}
	}
	return true
}

// applyRound sends mutations of different rows.
func (t *Table) applyRound(ctx context.Context, ms []cellstore.Mutation, which []int) []failure {
	var g errgroup.Group
	g.SetLimit(applyCalls)
	results := make([]error, len(which))
	send := func(from, to int) {
		g.Go(func() error {
			err := t.putAll(ctx, ms, which[from:to])
			for i := from; i < to; i++ {
				results[i] = err
			}
			return nil
		})
	}
	from, size := 0, 0
	for i, at := range which {
		m := &ms[at]
		n := putSize(m)
		if from < i && (n < 0 || size+n > putBytes || i-from == putRows) {
			send(from, i)
			from, size = i, 0
		}
		if n < 0 {
			g.Go(func() error {
				results[i] = t.applyOne(ctx, m)
				return nil
			})
			from = i + 1
			continue
		}
		size += n
	}
	if from < len(which) {
		send(from, len(which))
	}
	_ = g.Wait() // errors are in results
	var failed []failure
	for i, err := range results {
		if err != nil {
			failed = append(failed, failure{which[i], err})
		}
	}
	return failed
}

// putSize returns the opsSize of a mutation that has puts, and -1 for one that has deletes.
func putSize(m *cellstore.Mutation) int {
	if m.Ops[0].Kind != cellstore.OpPut {
		return -1
	}
	return opsSize(m)
}

// opsSize returns the approximate size of a mutation in bytes.
func opsSize(m *cellstore.Mutation) int {
	n := len(m.Row)
	for i := range m.Ops {
		op := &m.Ops[i]
		n += len(op.Family) + len(op.Qualifier) + len(op.Value) + cellBytes
	}
	return n
}

// putAll sends puts of different rows in one call.
func (t *Table) putAll(ctx context.Context, ms []cellstore.Mutation, which []int) error {
	if len(which) == 1 {
		return t.applyOne(ctx, &ms[which[0]])
	}
	puts := make([]thrift2.Put, len(which))
	kind := idempotentCall
	size := 0
	for i, at := range which {
		puts[i] = t.put(&ms[at])
		kind = max(kind, repeatable(&ms[at]))
		size += opsSize(&ms[at])
	}
	return t.callSized(ctx, kind, size, func(ctx context.Context, c *thrift2.Conn) error {
		return partialFailure(c.PutMultiple(ctx, t.state.path, puts), len(puts))
	})
}

// repeatable returns the kind of a mutation's call. A mutation has the same effect when sent again
// if it sets all its timestamps.
func repeatable(m *cellstore.Mutation) callKind {
	for i := range m.Ops {
		if m.Ops[i].Timestamp == cellstore.Now {
			return oneShotCall
		}
	}
	return idempotentCall
}

// put converts a mutation that has only puts. Of several puts of one version it keeps the last,
// because HBase would treat all of them as simultaneous.
func (t *Table) put(m *cellstore.Mutation) thrift2.Put {
	v := t.state.view.Load()
	p := thrift2.Put{Row: m.Row, Durability: t.durability(m.Durability), Values: make([]thrift2.Value, 0, len(m.Ops))}
	for i := range m.Ops {
		op := &m.Ops[i]
		p.Values = append(p.Values, thrift2.Value{
			Family:    v.raw(op.Family),
			Qualifier: escaped(op.Qualifier),
			Value:     op.Value,
			Timestamp: stamp(op.Timestamp),
		})
	}
	if !distinct(p.Values) {
		p.Values = lastOfEach(p.Values)
	}
	return p
}

// distinct reports whether values are in strict order, and therefore of different versions. Values
// in another order may be distinct too.
func distinct(vs []thrift2.Value) bool {
	for i := 1; i < len(vs); i++ {
		a, b := &vs[i-1], &vs[i]
		if d := cmp.Or(bytes.Compare(a.Family, b.Family), bytes.Compare(a.Qualifier, b.Qualifier),
			cmp.Compare(b.Timestamp, a.Timestamp)); d >= 0 {
			return false
		}
	}
	return true
}

func lastOfEach(vs []thrift2.Value) []thrift2.Value {
	type version struct {
		family, qualifier string
		ts                int64
	}
	last := make(map[version]int, len(vs))
	for i := range vs {
		last[version{string(vs[i].Family), string(vs[i].Qualifier), vs[i].Timestamp}] = i
	}
	if len(last) == len(vs) {
		return vs
	}
	kept := vs[:0]
	for i := range vs {
		if last[version{string(vs[i].Family), string(vs[i].Qualifier), vs[i].Timestamp}] == i {
			kept = append(kept, vs[i])
		}
	}
	return kept
}

// applyOne sends one valid mutation.
func (t *Table) applyOne(ctx context.Context, m *cellstore.Mutation) error {
	if m.Ops[0].Kind == cellstore.OpPut {
		p := t.put(m)
		return t.callSized(ctx, repeatable(m), opsSize(m), func(ctx context.Context, c *thrift2.Conn) error {
			return c.Put(ctx, t.state.path, &p)
		})
	}
	ms, kind, err := t.deletes(ctx, m)
	if err != nil || len(ms) == 0 {
		return err
	}
	return t.callSized(ctx, kind, deletesSize(ms), func(ctx context.Context, c *thrift2.Conn) error {
		if len(ms) == 1 {
			return c.DeleteSingle(ctx, t.state.path, ms[0].Delete)
		}
		return c.MutateRow(ctx, t.state.path, m.Row, ms)
	})
}

// mutations converts the mutation of a CheckAndMutate.
func (t *Table) mutations(ctx context.Context, m *cellstore.Mutation) ([]thrift2.Mutation, error) {
	if m.Ops[0].Kind == cellstore.OpPut {
		p := t.put(m)
		return []thrift2.Mutation{{Put: &p}}, nil
	}
	ms, _, err := t.deletes(ctx, m)
	return ms, err
}

// deletes converts a mutation that has only deletes, and returns whether they may
// be repeated.
func (t *Table) deletes(ctx context.Context, m *cellstore.Mutation) ([]thrift2.Mutation, callKind, error) {
	ops, kind := m.Ops, idempotentCall
	if t.depends(ops) {
		var err error
		if ops, kind, err = t.resolve(ctx, m); err != nil {
			return nil, oneShotCall, err
		}
	}
	kind = max(kind, repeatable(&cellstore.Mutation{Ops: ops}))
	var ms []thrift2.Mutation
	add := func(kind thrift2.DeleteType, columns ...thrift2.Column) {
		if n := len(ms); n > 0 && columns != nil {
			if last := ms[n-1].Delete; last.Columns != nil && last.Type == kind {
				last.Columns = append(last.Columns, columns...)
				return
			}
		}
		d := &thrift2.Delete{Row: m.Row, Timestamp: thrift2.Latest, Type: kind, Columns: columns, Durability: t.durability(m.Durability)}
		ms = append(ms, thrift2.Mutation{Delete: d})
	}
	for i := range ops {
		op := &ops[i]
		column := func(qualifier []byte) thrift2.Column {
			return thrift2.Column{Family: op.Family, Qualifier: qualifier, Timestamp: stamp(op.Timestamp)}
		}
		switch op.Kind {
		case cellstore.OpDeleteVersion:
			add(thrift2.DeleteColumn, column(escaped(op.Qualifier)))
		case cellstore.OpDeleteColumn:
			add(thrift2.DeleteColumns, column(escaped(op.Qualifier)))
		case cellstore.OpDeleteFamily:
			add(thrift2.DeleteFamily, column(nil))
		case cellstore.OpDeleteFamilyVersion:
			columns, err := t.versionAt(ctx, m.Row, op)
			if err != nil {
				return nil, oneShotCall, err
			}
			if len(columns) > 0 {
				add(thrift2.DeleteColumn, columns...)
			}
		case cellstore.OpDeleteRow:
			add(0)
			ms[len(ms)-1].Delete.Timestamp = stamp(op.Timestamp)
		}
	}
	return ms, kind, nil
}

// deletesSize returns the approximate size of deletes in bytes.
func deletesSize(ms []thrift2.Mutation) (n int) {
	for i := range ms {
		d := ms[i].Delete
		n += len(d.Row) + cellBytes
		for j := range d.Columns {
			n += len(d.Columns[j].Family) + len(d.Columns[j].Qualifier) + cellBytes
		}
	}
	return n
}

// versionAt lists the columns of a family that have the version that op deletes. HBase has a delete
// of one version of a family, with a fault under NEW_VERSION_BEHAVIOR: after the family is deleted
// up to a lower timestamp, the removed version counts again and hides older ones. Deletes of single
// columns do not have the fault. A put between this lookup and the deletes is removed only in
// columns that had the version before.
func (t *Table) versionAt(ctx context.Context, key []byte, op *cellstore.Op) ([]thrift2.Column, error) {
	sel := &cellstore.Selection{Families: []string{op.Family}, Time: cellstore.Between(op.Timestamp, op.Timestamp+1)}
	var row cellstore.Row
	if _, err := t.read(ctx, t.state.view.Load(), key, sel, &row); err != nil {
		return nil, err
	}
	var columns []thrift2.Column
	for i := range row.Cells {
		columns = append(columns, thrift2.Column{Family: op.Family, Qualifier: escaped(row.Cells[i].Qualifier), Timestamp: op.Timestamp})
	}
	return columns, nil
}
