package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"quadrille/cellstore"
)

var atomicRules = []rule{
	{id: "A1", name: "counters", script: `
create t f g
incr t r f:a=1
  1
incr t r f:a=5 g:b=-3 f:c=0
  6 -3 0
get t r notime
  r f:a=#6 f:c=#0 g:b=#-3
incr t r f:a=-10
  -4
incr t r f:a=0
  -4
incr t s f:""=7
  7
get t r f:a notime
  r f:a=#-4
`},
	{id: "A1", name: "counters are plain values", script: `
create t f
put t r f:a=#41
incr t r f:a=1
  42
check t r f:a = "\x00\x00\x00\x00\x00\x00\x00\x2a" ; f:a="\xff\xff\xff\xff\xff\xff\xff\xff"
  applied
incr t r f:a=-1
  -2
`},
	// A column named twice counts twice, and each value is the one after its
	// own delta.
	{id: "A1", name: "a column named twice", script: `
create t f
incr t r f:a=1 f:b=10 f:a=2
  1 10 3
get t r notime
  r f:a=#3 f:b=#10
`},
	{id: "A1", name: "no deltas", script: `
create t f
incr t r
scan t
  none
`},
	{id: "A1", name: "values are appended", run: func(e *env) {
		e.must("create t f")
		inc := cellstore.Increment{Row: []byte("r"), Deltas: []cellstore.Delta{{Family: "f", Qualifier: []byte("q"), By: 2}}}
		values := []int64{7}
		for range 2 {
			var err error
			values, err = e.table("t").Increment(e.ctx, inc, values)
			e.ok(err)
		}
		if !slices.Equal(values, []int64{7, 2, 4}) {
			e.Errorf("values %d, want 7 2 4", values)
		}
		inc.Row = nil
		values, err := e.table("t").Increment(e.ctx, inc, values)
		if err == nil || len(values) != 3 {
			e.Errorf("a failure answers %d, %v", values, err)
		}
	}},
	{id: "A1", name: "a deleted counter starts again at once", needs: []need{eager}, script: `
create t f
incr t r f:n=5
  5
put t r -f:n<=all
incr t r f:n=1
  1
get t r notime
  r f:n=#1
`},
	{id: "A1", name: "an expired counter starts again", needs: []need{clock}, script: `
create t f{ttl=1s}
incr t r f:n=5
  5
clock 1s
incr t r f:n=5
  10
clock 1001ms
incr t r f:n=1
  1
`},
	{id: "A1", name: "a counter that is old starts again", script: `
create t f{ttl=2s}
put t r f:n@5=#41
incr t r f:n=1
  1
`},
	{id: "A2", name: "overflow wraps", script: `
create t f
incr t r f:n=9223372036854775807
  9223372036854775807
incr t r f:n=1
  -9223372036854775808
incr t r f:n=-1
  9223372036854775807
incr t r f:n=-9223372036854775808
  -1
`},
	{id: "A3", name: "what is no counter is left alone", script: `
create t f g
put t r f:a@1=1234567 f:b@1=123456789 f:c@1=#5 g:e@1=""
incr t r f:c=1 f:a=1
  error: ErrNotCounter
incr t r f:c=1 f:b=1
  error: ErrNotCounter
incr t r f:new=1 g:e=1
  error: ErrNotCounter
get t r
  r f:a@1=1234567 f:b@1=123456789 f:c@1=#5 g:e@1=""
`},
	{id: "A4", name: "increments and appends are of now", script: `
create t f{versions=all}
put t r f:n@5=#1 f:s@5=a
incr t r f:n=1
  2
append t r f:s=b
  ab
get t r versions=all notime
  r f:n=#2 f:n=#1 f:s=ab f:s=a
`},
	{id: "A4", name: "increments and appends keep a time in the future", needs: []need{counterTimes}, script: `
create t f{versions=all}
put t s f:n@now+10h=#10 f:s@now+10h=x
incr t s f:n=1
  11
append t s f:s=y
  xy
get t s versions=all notime
  s f:n=#11 f:s=xy
`},
	{id: "A4", name: "the timestamp of increments and appends", needs: []need{clock}, script: `
create t f{versions=all}
put t r f:n@5=#1 f:s@5=a
incr t r f:n=1
  2
append t r f:s=b
  ab
get t r versions=all
  r f:n@1000000=#2 f:n@5=#1 f:s@1000000=ab f:s@5=a
put t r f:n@2000000=#10 f:s@2000000=x
incr t r f:n=1 f:m=1
  11 1
append t r f:s=y
  xy
get t r
  r f:m@1000000=#1 f:n@2000000=#11 f:s@2000000=xy
put t r f:n@max=#0
incr t r f:n=1
  1
get t r f:n
  r f:n@max=#1
`},
	{id: "A5", name: "concurrent increments all count", run: testConcurrentIncrements},
	{id: "A6", name: "append", script: `
create t f g
append t r f:a=one
  one
append t r f:a=two
  onetwo
append t r f:a=""
  onetwo
append t r f:new=""
  ""
append t r g:a="\x00"
  "\x00"
get t r notime
  r f:a=onetwo f:new="" g:a="\x00"
put t r f:a@1=old
append t r f:a=three
  onetwothree
`},
	{id: "A6", name: "concurrent appends all count", run: testConcurrentAppends},
	{id: "A7", name: "one mutation over families", needs: []need{mixedMutation, cellTimestamps}, script: `
create t f{versions=all} g{versions=all}
put t r f:a@1=1 f:a@2=2 g:a@1=1
put t r f:a@3=3 -g:a<=all f:b@1=1 -f:a@1 g:c@5=5
get t r versions=all
  r f:a@3=3 f:a@2=2 f:b@1=1 g:c@5=5
put t r f:x@1=1 -f:x@1 f:y@1=1 -f:y f:y@2=2
get t r f:x f:y versions=all
  r f:y@2=2
put t r -f<=all -g<=all
scan t
  none
`},
	{id: "A7", name: "all or nothing on bad input", needs: []need{cellTimestamps}, script: `
create t f g
put t r f:a@1=x
put t r f:a@2=y f:b@1=y x:c@1=y
  error: 0=ErrFamilyNotFound
put t r f:a@2=y g:b@-9=y
  error: 0=ErrBadTimestamp
put t "" f:a@2=y
  error: 0=ErrEmptyRow
scan t
  r f:a@1=x
`},
	{id: "A7", name: "mixed mutations", run: testMixed},
	{id: "A7", name: "readers see all of a mutation or nothing", run: testAtomicRows},
}

// testMixed: a backend without the capabilities refuses such mutations rather
// than apply them in parts.
func testMixed(e *env) {
	e.must("create t f")
	mixed := mutate("r", cellstore.PutAt("f", []byte("a"), 1, []byte("x")), cellstore.DeleteColumn("f", []byte("b"), 1))
	err := e.table("t").Apply(e.ctx, mixed)
	if e.caps.MixedMutation {
		e.ok(err)
	} else {
		e.wantErr("puts with deletes", err, errors.ErrUnsupported)
	}
	several := mutate("s", cellstore.PutAt("f", []byte("a"), 1, []byte("x")), cellstore.PutAt("f", []byte("a"), 2, []byte("x")))
	err = e.table("t").Apply(e.ctx, several)
	if e.caps.CellTimestamps {
		e.ok(err)
	} else {
		e.wantErr("several timestamps", err, errors.ErrUnsupported)
	}
	e.must("put t u")
	if got := e.ask("get t u"); got != "none" {
		e.Errorf("a mutation without operations wrote %s", got)
	}
}

const (
	workers = 8
	rounds  = 50
)

func testConcurrentIncrements(e *env) {
	e.must("create t f g")
	t := e.table("t")
	results := make([][]int64, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			inc := cellstore.Increment{Row: []byte("r"), Durability: cellstore.Durability(w % 2), Deltas: []cellstore.Delta{
				{Family: "f", Qualifier: []byte("n"), By: 1}, {Family: "g", Qualifier: []byte("n"), By: -1}}}
			var values []int64
			for range rounds {
				var err error
				if values, err = t.Increment(e.ctx, inc, values[:0]); err != nil {
					e.Errorf("Increment: %v", err)
					return
				}
				if values[0] != -values[1] {
					e.Errorf("the two counters are at %d", values)
				}
				results[w] = append(results[w], values[0])
			}
		})
	}
	wg.Wait()
	var all []int64
	for _, r := range results {
		if !slices.IsSorted(r) {
			e.Errorf("one worker saw the counter fall: %d", r)
		}
		all = append(all, r...)
	}
	slices.Sort(all)
	for i, n := range all {
		if n != int64(i+1) {
			e.Fatalf("result %d of %d is %d", i+1, len(all), n)
		}
	}
	want := fmt.Sprintf("r f:n=#%d g:n=#%d", workers*rounds, -workers*rounds)
	if got := e.ask("get t r notime"); got != want {
		e.Errorf("%s, want %s", got, want)
	}
}

func testConcurrentAppends(e *env) {
	e.must("create t f")
	t := e.table("t")
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range rounds {
				whole, err := t.Append(e.ctx, []byte("r"), "f", []byte("q"), []byte{byte('a' + w)}, cellstore.Sync)
				if err != nil || whole[len(whole)-1] != byte('a'+w) {
					e.Errorf("Append: %q, %v", whole, err)
					return
				}
				scribble(whole) // it is the caller's
			}
		})
	}
	wg.Wait()
	got, _ := e.value(t, "r", "f", "q")
	for w := range workers {
		if n := bytes.Count([]byte(got), []byte{byte('a' + w)}); n != rounds {
			e.Errorf("%d of %d appends of worker %d are there", n, rounds, w)
		}
	}
}

// testAtomicRows: writers set two columns of two families to the same value,
// or delete both; no reader finds them different.
func testAtomicRows(e *env) {
	e.must("create t f{versions=3} g{versions=3}")
	t := e.table("t")
	var writers, readers sync.WaitGroup
	var stop atomic.Bool
	for w := range workers / 2 {
		writers.Go(func() {
			for i := range 3 * rounds {
				key := fmt.Sprint("r", i%3)
				v := fmt.Append(nil, w, ".", i)
				m := mutate(key, cellstore.Put("f", []byte("a"), v), cellstore.Put("f", []byte("b"), v), cellstore.Put("g", []byte("a"), v))
				if i%7 == 6 {
					m = mutate(key, cellstore.DeleteRow(cellstore.All))
				}
				if err := t.Apply(e.ctx, m); err != nil {
					e.Errorf("Apply: %v", err)
					return
				}
			}
		})
	}
	whole := func(row *cellstore.Row) {
		if len(row.Cells)%3 != 0 {
			e.Errorf("a torn row: %s", formatRow(row, false))
			return
		}
		for i := range row.Cells[1:] {
			if len(row.Cells) == 3 && !bytes.Equal(row.Cells[i].Value, row.Cells[i+1].Value) {
				e.Errorf("a torn row: %s", formatRow(row, false))
			}
		}
	}
	for range 2 {
		readers.Go(func() {
			var row cellstore.Row
			for !stop.Load() && !e.Failed() {
				for i := range 3 {
					key := fmt.Append(nil, "r", i)
					if found, err := t.Get(e.ctx, key, nil, &row); err != nil {
						e.Errorf("Get: %v", err)
					} else if found {
						whole(&row)
					}
					if found, err := t.Next(e.ctx, key, nil, &cellstore.Selection{Versions: 3}, &row); err != nil {
						e.Errorf("Next: %v", err)
					} else if found {
						whole(&row)
					}
				}
				for row, err := range t.Scan(e.ctx, cellstore.Scan{}) {
					if err != nil {
						e.Errorf("Scan: %v", err)
						break
					}
					whole(row)
				}
			}
		})
	}
	writers.Wait()
	stop.Store(true)
	readers.Wait()
}
