package storetest

import (
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"

	"quadrille/cellstore"
)

// must runs a line of a script that prints ok.
func (e *env) must(line string) {
	e.Helper()
	if got := e.ask(line); got != "ok" {
		e.Fatalf("%s: %s", line, got)
	}
}

// ask runs a line of a script and returns what it prints.
func (e *env) ask(line string) string {
	e.Helper()
	got, err := e.exec(line)
	if err != nil {
		e.Fatal(err)
	}
	return got
}

// prints runs a line of a script and compares the output. when may say after which event.
func (e *env) prints(line, want string, when ...string) {
	e.Helper()
	if got := e.ask(line); got != want {
		e.Errorf("%s: %s prints %s, want %s", strings.Join(when, ""), line, got, want)
	}
}

// together runs a function in n goroutines, and returns when all of them have returned.
func together(n int, run func(w int)) {
	var wg sync.WaitGroup
	for w := range n {
		wg.Go(func() { run(w) })
	}
	wg.Wait()
}

// table returns a table that exists.
func (e *env) table(name string) cellstore.Table {
	e.Helper()
	t, err := e.machine.table(e.ctx, name)
	if err != nil {
		e.Fatal(err)
	}
	return t
}

// ok ends the test on an error.
func (e *env) ok(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// wantErr checks the error of a call. If the backend promises it, it also checks that the error
// names the call.
func (e *env) wantErr(call string, got, want error) {
	e.Helper()
	var where *cellstore.Error
	if !errors.Is(got, want) {
		e.Errorf("%s: %v, want %v", call, got, want)
	} else if e.b.NamesCalls && (!errors.As(got, &where) || where.Op == "") {
		e.Errorf("%s: %v does not say what was called", call, got)
	}
}

// value returns the newest value of a column.
func (e *env) value(r cellstore.Reader, row, family, qualifier string) (string, bool) {
	e.Helper()
	var got cellstore.Row
	_, err := r.Get(e.ctx, []byte(row),
		&cellstore.Selection{Columns: []cellstore.Column{{Family: family, Qualifier: []byte(qualifier)}}}, &got)
	e.ok(err)
	v, ok := got.Value(family, []byte(qualifier))
	return string(v), ok
}

// keys returns the keys of the rows yielded.
func (e *env) keys(rows iter.Seq2[*cellstore.Row, error]) []string {
	e.Helper()
	var keys []string
	for row, err := range rows {
		e.ok(err)
		keys = append(keys, string(row.Key))
	}
	return keys
}

// all returns every row of a table with all its versions, printed.
func (e *env) all(table string) string {
	e.Helper()
	return e.ask("scan " + table + " versions=all")
}

// yieldErr returns the error that a loop ends with, and checks that nothing
// follows it.
func (e *env) yieldErr(rows iter.Seq2[*cellstore.Row, error]) (failure error) {
	e.Helper()
	for row, err := range rows {
		if failure != nil {
			e.Fatalf("%v is followed by row %v, error %v", failure, row, err)
		}
		if failure = err; err != nil && row != nil {
			e.Fatalf("error %v comes with a row", err)
		}
	}
	return failure
}

func put(row, family, qualifier, value string) cellstore.Mutation {
	return mutate(row, cellstore.Put(family, []byte(qualifier), []byte(value)))
}

func mutate(row string, ops ...cellstore.Op) cellstore.Mutation {
	return cellstore.Mutation{Row: []byte(row), Ops: ops}
}

// scribble overwrites bytes, to show that no call has kept them.
func scribble(all ...[]byte) {
	for _, b := range all {
		for i := range b {
			b[i] = '!'
		}
	}
}

// sorted returns a copy in order.
func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

func lines(ls ...string) string { return strings.Join(ls, "\n") }
