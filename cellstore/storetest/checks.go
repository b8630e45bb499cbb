package storetest

import (
	"fmt"
	"sync"

	"quadrille/cellstore"
)

// checkRules test A8. The columns that are checked hold no empty values: HBase treats empty values
// as absent, and callers avoid them.
var checkRules = []rule{
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
		together(workers, func(w int) {
			won, err := t.CheckAndMutate(e.ctx, cellstore.Check{Family: "f", Qualifier: []byte("owner"), Op: cellstore.Absent},
				put(key, "f", "owner", fmt.Sprint(w)))
			if err != nil {
				e.Errorf("CheckAndMutate: %v", err)
			}
			winners[w] = won
		})
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

// testCompareAndSet counts by optimistic updates, while another column of the row is really
// incremented.
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
		if _, err := t.Increment(e.ctx, cellstore.Increment{
			Row:    []byte("r"),
			Deltas: []cellstore.Delta{{Family: "f", Qualifier: []byte("m"), By: 1}},
		}, nil); err != nil {
			e.Errorf("Increment: %v", err)
		}
	}
	wg.Wait()
	if got, _ := e.value(t, "r", "f", "n"); got != fmt.Sprint(workers*10) {
		e.Errorf("the counter is %s, want %d", got, workers*10)
	}
}
