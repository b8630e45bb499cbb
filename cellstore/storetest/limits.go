package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"quadrille/cellstore"
)

var limitRules = []rule{
	{id: "L1", name: "limits are no wider than the contract", run: func(e *env) {
		got, most := e.store.Limits(), cellstore.DefaultLimits
		for _, l := range []struct{ got, most int }{
			{got.RowKeyBytes, most.RowKeyBytes}, {got.QualifierBytes, most.QualifierBytes}, {got.CellKeyBytes, most.CellKeyBytes},
			{got.ValueBytes, most.ValueBytes}, {got.Operations, most.Operations},
		} {
			if l.got < 1 || l.got > l.most {
				e.Errorf("limits %+v, want 1 to those of %+v", got, most)
			}
		}
	}},
	{id: "L1", name: "rows", run: testRowLimit},
	{id: "L1", name: "qualifiers", run: testQualifierLimit},
	{id: "L1", name: "values", run: testValueLimit},
	{id: "L1", name: "operations", run: testOperationLimit},
	{id: "L1", name: "ends of ranges may be of any length", run: func(e *env) {
		e.must("create t f")
		e.must("put t m f:q@1=x")
		e.must("put t ~ f:q@1=last")
		long := strings.Repeat("z", 70_000)
		for line, want := range map[string]string{
			"scan t [," + long + ")": "m f:q@1=x", "scan t [" + long + ",)": "~ f:q@1=last", "scan t [" + long + ",a) reverse": "m f:q@1=x",
			"next t to=" + long: "m f:q@1=x", "next t from=" + long: "~ f:q@1=last", "prev t from=" + long: "m f:q@1=x",
			"prev t to=" + long: "~ f:q@1=last", "scan t prefix=" + long: "none", "get t m qprefix=" + long: "none",
			"get t m qrange=[a," + long + ")": "m f:q@1=x", "get t m qrange=[" + long + ",)": "none",
		} {
			if got := e.ask(line); got != want {
				e.Errorf("%s…: %s, want %s", line[:20], got, want)
			}
		}
	}},
	{id: "L2", name: "no input is kept or changed by writes", run: testWritesKeepNothing},
	{id: "L2", name: "no input is kept or changed by reads", run: testReadsKeepNothing},
	{id: "L2", name: "what is returned is the caller's", run: testReturnedBytes},
}

// wantLimit checks an error about a size.
func (e *env) wantLimit(call string, err error, what string, got, most int) {
	e.Helper()
	e.wantErr(call, err, cellstore.ErrTooLarge)
	var l *cellstore.LimitError
	if !errors.As(err, &l) || l.What != what || l.Got != got || l.Max != most {
		e.Errorf("%s: %v, want a %s of %d over %d", call, err, what, got, most)
	}
}

// tryAll calls every method that takes a row and a column, and passes the errors to report.
func (e *env) tryAll(row, qualifier []byte, report func(call string, err error)) {
	e.Helper()
	t := e.table("t")
	apply := func(op cellstore.Op) error {
		err := t.Apply(e.ctx, cellstore.Mutation{Row: row, Ops: []cellstore.Op{op}})
		var batch *cellstore.BatchError
		if err != nil && (!errors.As(err, &batch) || len(batch.Errs) != 1) {
			e.Errorf("Apply: %v, want a BatchError", err)
		}
		return err
	}
	report("put", apply(cellstore.PutAt("f", qualifier, 1, []byte("x"))))
	report("delete of a version", apply(cellstore.DeleteVersion("f", qualifier, 1)))
	report("delete of a column", apply(cellstore.DeleteColumn("f", qualifier, 1)))
	_, err := t.CheckAndMutate(e.ctx, cellstore.Check{Family: "f", Qualifier: qualifier, Op: cellstore.Absent}, cellstore.Mutation{Row: row})
	report("CheckAndMutate", err)
	_, err = t.Increment(e.ctx, cellstore.Increment{Row: row, Deltas: []cellstore.Delta{{Family: "f", Qualifier: qualifier, By: 1}}}, nil)
	report("Increment", err)
	_, err = t.Append(e.ctx, row, "f", qualifier, []byte("x"), cellstore.Sync)
	report("Append", err)
	var got cellstore.Row
	sel := &cellstore.Selection{Columns: []cellstore.Column{{Family: "f", Qualifier: qualifier}}}
	_, err = t.Get(e.ctx, row, sel, &got)
	report("Get", err)
	report("MultiGet", e.yieldErr(t.MultiGet(e.ctx, [][]byte{row}, sel)))
	if e.caps.Bulk {
		l, err := t.Bulk(e.ctx)
		e.ok(err)
		report("Add", l.Add(row, cellstore.Cell{Family: "f", Qualifier: qualifier}))
		e.ok(l.Abort())
	}
}

func testRowLimit(e *env) {
	e.must("create t f g")
	limits := e.store.Limits()
	long := bytes.Repeat([]byte{0}, limits.RowKeyBytes+1)
	e.tryAll(long, nil, func(call string, err error) { e.wantLimit(call, err, "row", limits.RowKeyBytes+1, limits.RowKeyBytes) })
	e.tryAll(nil, nil, func(call string, err error) { e.wantErr(call, err, cellstore.ErrEmptyRow) })
	e.tryAll([]byte{}, nil, func(call string, err error) { e.wantErr(call, err, cellstore.ErrEmptyRow) })
	e.prints("scan t", "none", "after refused calls")

	// This is the longest row, with the longest qualifier, and its neighbours.
	t := e.table("t")
	row, q := long[:limits.RowKeyBytes], bytes.Repeat([]byte{0xFF}, limits.QualifierBytes)
	e.ok(t.Apply(e.ctx, mutate(string(row), cellstore.PutAt("f", q, 5, []byte("x")), cellstore.PutAt("g", nil, 5, []byte("y"))),
		mutate(string(row[1:]), cellstore.PutAt("f", q, 5, []byte("shorter")))))
	for range 2 {
		var got cellstore.Row
		found, err := t.Get(e.ctx, row, nil, &got)
		e.ok(err)
		if !found || len(got.Cells) != 2 || !bytes.Equal(got.Key, row) || !bytes.Equal(got.Cells[0].Qualifier, q) ||
			string(got.Cells[0].Value) != "x" {
			e.Errorf("the longest row: found is %t, %d cells", found, len(got.Cells))
		}
		found, err = t.Prev(e.ctx, row, nil, nil, &got)
		e.ok(err)
		if !found || len(got.Key) != limits.RowKeyBytes {
			e.Errorf("prev of the longest row: found is %t, %d bytes", found, len(got.Key))
		}
		e.must("compact t")
	}
}

func testQualifierLimit(e *env) {
	e.must("create t f")
	most := e.store.Limits().QualifierBytes
	long := bytes.Repeat([]byte("q"), most+1)
	e.tryAll([]byte("r"), long, func(call string, err error) { e.wantLimit(call, err, "qualifier", most+1, most) })
	e.prints("scan t", "none", "after refused calls")
}

func testValueLimit(e *env) {
	e.must("create t f{versions=2}")
	most := e.store.Limits().ValueBytes
	t := e.table("t")
	long := noise(most + 1)
	over := cellstore.PutAt("f", []byte("q"), 1, long)
	e.wantLimit("put", t.Apply(e.ctx, mutate("r", cellstore.PutAt("f", []byte("small"), 1, nil), over)), "value", most+1, most)
	_, err := t.CheckAndMutate(e.ctx, cellstore.Check{Family: "f", Op: cellstore.Absent}, mutate("r", over))
	e.wantLimit("CheckAndMutate", err, "value", most+1, most)
	_, err = t.Append(e.ctx, []byte("r"), "f", []byte("q"), long, cellstore.Sync)
	e.wantLimit("Append", err, "value", most+1, most)
	if e.caps.Bulk {
		l, err := t.Bulk(e.ctx)
		e.ok(err)
		e.wantLimit("Add", l.Add([]byte("r"), cellstore.Cell{Family: "f", Value: long}), "value", most+1, most)
		// A cell that is refused because of its content does not end the load.
		e.must("create loaded f")
		e.ok(l.Abort())
		l, err = e.table("loaded").Bulk(e.ctx)
		e.ok(err)
		e.wantErr("Add", l.Add([]byte("r"), cellstore.Cell{Family: "f", Value: long}), cellstore.ErrTooLarge)
		e.ok(l.Add([]byte("r"), cellstore.Cell{Family: "f", Qualifier: []byte("q"), Timestamp: cellstore.MaxTimestamp, Value: long[:most]}))
		e.ok(l.Commit(e.ctx))
		if got, _ := e.value(e.table("loaded"), "r", "f", "q"); got != string(long[:most]) {
			e.Errorf("the longest value that was loaded came back with %d bytes", len(got))
		}
	}
	e.prints("scan t", "none", "after refused calls")

	e.ok(t.Apply(e.ctx, mutate("r", cellstore.PutAt("f", []byte("q"), 1, long[:most]))))
	_, err = t.Append(e.ctx, []byte("r"), "f", []byte("q"), []byte("x"), cellstore.Sync)
	e.wantLimit("Append to the longest value", err, "value", most+1, most)
	for range 2 {
		if got, _ := e.value(t, "r", "f", "q"); got != string(long[:most]) {
			e.Errorf("the longest value came back with %d bytes", len(got))
		}
		e.must("compact t")
	}
}

func testOperationLimit(e *env) {
	e.must("create t f")
	most := e.store.Limits().Operations
	t := e.table("t")
	m := mutate("r")
	inc := cellstore.Increment{Row: []byte("n")}
	for i := range most + 1 {
		q := []byte{byte('a' + i%2)}
		m.Ops = append(m.Ops, cellstore.PutAt("f", q, int64(i), fmt.Append(nil, i)))
		inc.Deltas = append(inc.Deltas, cellstore.Delta{Family: "f", Qualifier: q, By: 1})
	}
	e.wantLimit("Apply", t.Apply(e.ctx, m), "operations", most+1, most)
	_, err := t.CheckAndMutate(e.ctx, cellstore.Check{Family: "f", Op: cellstore.Absent}, m)
	e.wantLimit("CheckAndMutate", err, "operations", most+1, most)
	_, err = t.Increment(e.ctx, inc, nil)
	e.wantLimit("Increment", err, "operations", most+1, most)
	e.prints("scan t", "none", "after refused calls")
	m.Ops = m.Ops[1:] // the most there may be
	if !e.caps.CellTimestamps {
		for i := range m.Ops {
			m.Ops[i].Timestamp = 1
		}
	}
	e.ok(t.Apply(e.ctx, m))
	if got, _ := e.value(t, "r", "f", string(m.Ops[most-1].Qualifier)); got != fmt.Sprint(most) {
		e.Errorf("after %d operations the value is %s", most, got)
	}
}

// testWritesKeepNothing scribbles over every input once its call has returned.
func testWritesKeepNothing(e *env) {
	for _, d := range []cellstore.Durability{cellstore.Sync, cellstore.Async} {
		e.must("create t f g")
		t := e.table("t")
		b := func(s string) []byte { return append(make([]byte, 0, 64), s...) }
		row, q, v, operand, n := b("r"), b("q"), b("value"), b("value"), b("n")
		m := cellstore.Mutation{Row: row, Ops: []cellstore.Op{cellstore.PutAt("f", q, 1, v)}, Durability: d}
		unchanged := func(call string) {
			if string(row) != "r" || string(q) != "q" || string(v) != "value" || string(operand) != "value" || string(n) != "n" {
				e.Errorf("%s changed its input: %q %q %q %q %q", call, row, q, v, operand, n)
			}
		}
		e.ok(t.Apply(e.ctx, m))
		unchanged("Apply")
		ok, err := t.CheckAndMutate(e.ctx, cellstore.Check{Family: "f", Qualifier: q, Op: cellstore.Equal, Value: operand},
			cellstore.Mutation{Row: row, Ops: []cellstore.Op{cellstore.PutAt("g", q, 1, v)}, Durability: d})
		e.ok(err)
		if !ok {
			e.Error("the condition does not hold")
		}
		unchanged("CheckAndMutate")
		_, err = t.Append(e.ctx, row, "g", n, v, d)
		e.ok(err)
		unchanged("Append")
		_, err = t.Increment(e.ctx, cellstore.Increment{
			Row:        row,
			Deltas:     []cellstore.Delta{{Family: "f", Qualifier: n, By: 1}},
			Durability: d,
		}, nil)
		e.ok(err)
		unchanged("Increment")
		scribble(row, q, v, operand, n, row[:cap(row)], v[:cap(v)])
		want := "r f:n=#1 f:q=value g:n=value g:q=value"
		for range 2 {
			e.prints("get t r notime", want, "inputs were kept")
			e.ok(e.reopen())
		}
		e.must("drop t")
	}
}

func testReadsKeepNothing(e *env) {
	e.must("create t f g")
	e.fill("t", "f", 20)
	t := e.table("t")
	from, to, key, q, p := []byte("0003"), []byte("0006"), []byte("0004"), []byte("q"), []byte("q")
	sel := cellstore.Selection{Families: []string{"f"}, Columns: []cellstore.Column{{Family: "g", Qualifier: q}},
		Filter: cellstore.ColumnFilter{Prefix: p}}
	ranges := []cellstore.Range{{From: from, To: to}}
	keys := [][]byte{key}
	scan := t.Scan(e.ctx, cellstore.Scan{Ranges: ranges, Selection: sel})
	multi := t.MultiGet(e.ctx, keys, &sel)
	var row cellstore.Row
	_, err := t.Get(e.ctx, key, &sel, &row)
	e.ok(err)
	_, err = t.Next(e.ctx, from, to, &sel, &row)
	e.ok(err)
	_, err = t.Prev(e.ctx, to, from, &sel, &row)
	e.ok(err)
	rows := make([]cellstore.Row, 1)
	e.ok(t.NextEach(e.ctx, from, to, sel.Families, rows))
	if string(from)+string(to)+string(key)+string(q)+string(p) != "000300060004qq" {
		e.Errorf("reads changed their input: %q %q %q %q %q", from, to, key, q, p)
	}
	// The iterators were created before the inputs are overwritten, and are read afterwards.
	scribble(from, to, key, q, p)
	sel.Families[0], sel.Columns[0].Family, ranges[0], keys[0] = "x", "x", cellstore.Range{}, nil
	if got := fmt.Sprint(e.keys(scan), e.keys(multi)); got != "[0003 0004 0005] [0004]" {
		e.Errorf("iterators kept their input: %s", got)
	}
}

func testReturnedBytes(e *env) {
	e.must("create t f{versions=2}")
	e.fill("t", "f", 20)
	want := e.ask("scan t")
	t := e.table("t")
	spoil := func(row *cellstore.Row) {
		scribble(row.Key)
		for i := range row.Cells {
			scribble(row.Cells[i].Qualifier, row.Cells[i].Value)
		}
	}
	for range 2 {
		var row cellstore.Row
		_, err := t.Get(e.ctx, []byte("0003"), nil, &row)
		e.ok(err)
		spoil(&row)
		for row, err := range t.Scan(e.ctx, cellstore.Scan{}) {
			e.ok(err)
			spoil(row)
		}
		for row, err := range t.Scan(e.ctx, cellstore.Scan{Reverse: true}) {
			e.ok(err)
			spoil(row)
		}
		for row, err := range t.MultiGet(e.ctx, [][]byte{[]byte("0004"), []byte("x"), []byte("0005")}, nil) {
			e.ok(err)
			spoil(row)
		}
		e.prints("scan t", want, "after writes into returned rows")
		e.must("compact t")
	}
	// A Row keeps the result of one read until it is used for another.
	var first, second cellstore.Row
	_, err := t.Get(e.ctx, []byte("0001"), nil, &first)
	e.ok(err)
	_, err = t.Get(context.Background(), []byte("0002"), nil, &second)
	e.ok(err)
	if string(first.Key) != "0001" || string(first.Cells[0].Value) != "1" {
		e.Errorf("a read changed another Row: %s", formatRow(&first, false))
	}
}
