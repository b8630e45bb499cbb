package storetest

import (
	"fmt"
	"sync"

	"quadrille/cellstore"
)

// checkRules test A8. The columns that are checked hold no empty values: HBase
// reads those as absent, and callers avoid them.
var checkRules = []rule{
	{id: "A8", name: "absent and present", script: `
create t f g
check t r f:lock absent ; f:lock@1=mine
  applied
check t r f:lock absent ; f:lock@2=yours
  refused
check t r f:lock present ; g:x@1=1
  applied
check t r g:y present ; g:y@1=1
  refused
get t r
  r f:lock@1=mine g:x@1=1
check t r f:lock present ; -f:lock<=all
  applied
get t r
  r g:x@1=1
check t other g:x present ; g:x@1=1
  refused
`},
	{id: "A8", name: "stored OP operand, as unsigned bytes", script: `
create t f
put t r f:v@1=m
check t r f:v = m ; f:eq@1=y
  applied
check t r f:v = mm ; f:no@1=y
  refused
check t r f:v != m ; f:no@1=y
  refused
check t r f:v != l ; f:ne@1=y
  applied
check t r f:v < n ; f:lt@1=y
  applied
check t r f:v < m ; f:no@1=y
  refused
check t r f:v < l ; f:no@1=y
  refused
check t r f:v <= m ; f:le@1=y
  applied
check t r f:v <= l ; f:no@1=y
  refused
check t r f:v > l ; f:gt@1=y
  applied
check t r f:v > m ; f:no@1=y
  refused
check t r f:v > "m\x00" ; f:no@1=y
  refused
check t r f:v >= m ; f:ge@1=y
  applied
check t r f:v >= n ; f:no@1=y
  refused
check t r f:v < "\xff" ; f:unsigned@1=y
  applied
get t r
  r f:eq@1=y f:ge@1=y f:gt@1=y f:le@1=y f:lt@1=y f:ne@1=y f:unsigned@1=y f:v@1=m
`},
	{id: "A8", name: "a missing column fails every comparison", script: `
create t f
put t r f:other@1=x
check t r f:v = x ; f:no@1=y
  refused
check t r f:v != x ; f:no@1=y
  refused
check t r f:v < x ; f:no@1=y
  refused
check t r f:v <= x ; f:no@1=y
  refused
check t r f:v > x ; f:no@1=y
  refused
check t r f:v >= x ; f:no@1=y
  refused
get t r
  r f:other@1=x
`},
	{id: "A8", name: "the newest visible version is tested", script: `
create t f{versions=all}
put t r f:v@1=a f:v@5=e f:v@3=c
check t r f:v = e ; f:ok@1=y
  applied
check t r f:v = a ; f:no@1=y
  refused
put t r -f:v@5
check t r f:v = c ; -f:v<=all
  applied
check t r f:v absent ; f:ok@2=y
  applied
get t r
  r f:ok@2=y
`},
	{id: "A8", name: "a version that is old is absent", script: `
create t f{ttl=2s}
put t r f:v@1=x
check t r f:v present ; f:w=no
  refused
check t r f:v != y ; f:w=no
  refused
check t r f:v absent ; f:w=yes
  applied
`},
	{id: "A8", name: "an expired version is absent", needs: []need{clock}, script: `
create t f{ttl=1s}
put t r f:v=x
clock 1001ms
check t r f:v present ; f:w=no
  refused
check t r f:v != y ; f:w=no
  refused
check t r f:v absent ; f:w=yes
  applied
`},
	{id: "A8", name: "compare and set", script: `
create t f g
put t r f:v@1=1
check t r f:v = 1 ; f:v@2=2 g:log@2=one-to-two
  applied
check t r f:v = 1 ; f:v@3=3 g:log@3=never
  refused
get t r
  r f:v@2=2 g:log@2=one-to-two
check t r f:v = 2 ;
  applied
`},
	{id: "A8", name: "conditions without sense", script: `
create t f
put t r f:v@1=1
check t r f:v = "" ; f:v@2=2
  error: ErrBadCondition
check t r f:v >= "" ; f:v@2=2
  error: ErrBadCondition
check t r f:v absent x ; f:v@2=2
  error: ErrBadCondition
check t r f:v present x ; f:v@2=2
  error: ErrBadCondition
check t "" f:v present ; f:v@2=2
  error: ErrEmptyRow
get t r
  r f:v@1=1
`},
	{id: "A8", name: "an unknown operator", run: func(e *env) {
		e.must("create t f")
		_, err := e.table("t").CheckAndMutate(e.ctx, cellstore.Check{Family: "f", Op: 99, Value: []byte("x")}, put("r", "f", "q", "x"))
		e.wantErr("CheckAndMutate", err, cellstore.ErrBadCondition)
	}},
	{id: "A8", name: "one of many wins", run: testLock},
	{id: "A8", name: "compare and set loses no update", run: testCompareAndSet},
}

func testLock(e *env) {
	e.must("create t f")
	t := e.table("t")
	for round := range 20 {
		key := fmt.Sprint("lock", round)
		winners := make([]bool, workers)
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				won, err := t.CheckAndMutate(e.ctx, cellstore.Check{Family: "f", Qualifier: []byte("owner"), Op: cellstore.Absent},
					put(key, "f", "owner", fmt.Sprint(w)))
				if err != nil {
					e.Errorf("CheckAndMutate: %v", err)
				}
				winners[w] = won
			})
		}
		wg.Wait()
		owner, _ := e.value(t, key, "f", "owner")
		n := 0
		for w, won := range winners {
			if won {
				n++
				if fmt.Sprint(w) != owner {
					e.Errorf("%d won, the lock belongs to %s", w, owner)
				}
			}
		}
		if n != 1 {
			e.Errorf("%d of %d won", n, workers)
		}
	}
}

// testCompareAndSet counts by optimistic updates, beside real increments of
// another column of the row.
func testCompareAndSet(e *env) {
	e.must("create t f{versions=2}")
	e.must("put t r f:n@0=0")
	t := e.table("t")
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for done, tries := 0, 0; done < 10 && !e.Failed(); tries++ {
				if tries > 10*10*workers { // somebody wins every time
					e.Errorf("%d tries, %d of them won", tries, done)
				}
				var row cellstore.Row
				if _, err := t.Get(e.ctx, []byte("r"), nil, &row); err != nil {
					e.Errorf("Get: %v", err)
				}
				old, _ := row.Value("f", []byte("n"))
				var n int
				if _, err := fmt.Sscan(string(old), &n); err != nil {
					e.Errorf("the counter is %q", old)
				}
				won, err := t.CheckAndMutate(e.ctx, cellstore.Check{Family: "f", Qualifier: []byte("n"), Op: cellstore.Equal, Value: old},
					mutate("r", cellstore.PutAt("f", []byte("n"), int64(n+1), fmt.Append(nil, n+1))))
				if err != nil {
					e.Errorf("CheckAndMutate: %v", err)
				}
				if won {
					done++
				}
			}
		})
	}
	for range workers {
		if _, err := t.Increment(e.ctx, cellstore.Increment{Row: []byte("r"), Deltas: []cellstore.Delta{{Family: "f", Qualifier: []byte("m"), By: 1}}}, nil); err != nil {
			e.Errorf("Increment: %v", err)
		}
	}
	wg.Wait()
	if got, _ := e.value(t, "r", "f", "n"); got != fmt.Sprint(workers*10) {
		e.Errorf("the counter is %s, want %d", got, workers*10)
	}
}
