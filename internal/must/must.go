// Package must ends a test whose preparation fails. It is for calls that are not under test; the
// test itself checks the results of tested calls. Only tests import it.
//
//	store := must.Get(pebblestore.Open(dir, nil)).In(t)
//	must.Do(t, store.Close())
package must

import "iter"

// TB is the part of testing.TB, or of rapid.T, that a failure needs.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// TestingT is the part of testing.TB that Close needs.
type TestingT interface {
	TB
	Error(args ...any)
	Cleanup(fn func())
}

// Close closes c at the end of the test. If Close fails, so does the test.
func Close(t TestingT, c interface{ Close() error }) {
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// All yields values, and ends the test at the first error.
func All[T any](t TB, seq iter.Seq2[T, error]) iter.Seq[T] {
	return func(yield func(T) bool) {
		for v, err := range seq {
			if Do(t, err); !yield(v) {
				return
			}
		}
	}
}

// Do ends the test if there is an error.
func Do(t TB, err error) {
	if err != nil {
		t.Helper() // here, so that a benchmark pays nothing for it
		t.Fatal(err)
	}
}

// One is the result of a call: a value and an error.
type One[T any] struct {
	v   T
	err error
}

// Get takes the results of a call.
func Get[T any](v T, err error) One[T] { return One[T]{v, err} }

// In returns the value, or ends the test with the error.
func (o One[T]) In(t TB) T {
	if o.err != nil {
		t.Helper()
		t.Fatal(o.err)
	}
	return o.v
}

// Pair is the result of a call with two values.
type Pair[A, B any] struct {
	a   A
	b   B
	err error
}

// Two takes the results of a call with two values.
func Two[A, B any](a A, b B, err error) Pair[A, B] { return Pair[A, B]{a, b, err} }

// In returns both values, or ends the test with the error.
func (p Pair[A, B]) In(t TB) (A, B) {
	if p.err != nil {
		t.Helper()
		t.Fatal(p.err)
	}
	return p.a, p.b
}
