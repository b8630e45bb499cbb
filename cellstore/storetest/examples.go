package storetest

import (
	"fmt"

	"quadrille/cellstore"
)

// exampleRules are the tests of worked examples that scripts cannot express.
var exampleRules = []rule{
	{id: "W10", name: "racing creators", run: testRacingCreators},
	{id: "W14", name: "a miss reads no data block", needs: []need{counters}, run: testMissReadsNothing},
}

// testRacingCreators: many goroutines create the id of the same name at once. Each takes a number
// of its own and first writes the row from the number to the name. Then one of them wins; a crash
// at any moment leaves only waste (A10).
func testRacingCreators(e *env) {
	e.must("create uid id name")
	t := e.table("uid")
	ids := make([]string, workers)
	won := make([]bool, workers)
	together(workers, func(w int) {
		next, err := t.Increment(e.ctx, cellstore.Increment{
			Row:    []byte{0},
			Deltas: []cellstore.Delta{{Family: "id", Qualifier: []byte("metrics"), By: 1}},
		}, nil)
		if err != nil {
			e.Errorf("Increment: %v", err)
			return
		}
		ids[w] = string([]byte{0, 0, byte(next[0])})
		if err := t.Apply(e.ctx, put(ids[w], "name", "metrics", "sys.load")); err != nil {
			e.Errorf("Apply: %v", err)
			return
		}
		won[w], err = t.CheckAndMutate(e.ctx, cellstore.Check{
			Family:    "id",
			Qualifier: []byte("metrics"),
			Op:        cellstore.Absent,
		}, put("sys.load", "id", "metrics", ids[w]))
		if err != nil {
			e.Errorf("CheckAndMutate: %v", err)
		}
	})
	id, _ := e.value(t, "sys.load", "id", "metrics")
	winners := 0
	seen := map[string]bool{}
	for w := range workers {
		if seen[ids[w]] {
			e.Errorf("the number %q was given out twice", ids[w])
		}
		seen[ids[w]] = true
		if won[w] {
			winners++
			if ids[w] != id {
				e.Errorf("%q won, the name has %q", ids[w], id)
			}
		}
	}
	if name, _ := e.value(t, id, "name", "metrics"); winners != 1 || name != "sys.load" {
		e.Errorf("%d winners; the way back leads to %q", winners, name)
	}
}

// testMissReadsNothing reads prefixes that do not exist but lie between existing ones.
func testMissReadsNothing(e *env) {
	e.must("create title_autocomp j{bloom=row,block=4096}")
	const rows, asked = 2000, 1000
	var batch []cellstore.Mutation
	for i := range rows {
		batch = append(batch, mutate(fmt.Sprintf("prefix%05d", i), cellstore.PutAt("j", nil, 1, fmt.Appendf(nil, `[{"title": %d}]`, i))))
	}
	e.ok(e.table("title_autocomp").Apply(e.ctx, batch...))
	e.must("compact title_autocomp")
	e.ok(e.reopen())
	t := e.table("title_autocomp")
	stats := t.(cellstore.StatsReader)
	blocks := func(format string, hit bool) int64 {
		before := stats.Stats().BlocksRead
		var row cellstore.Row
		for i := range asked {
			i = i * 997 % rows // far from the one before
			found, err := t.Get(e.ctx, fmt.Appendf(nil, format, i), nil, &row)
			e.ok(err)
			if found != hit {
				e.Fatalf("%s of %d: found is %t", format, i, found)
			}
		}
		return stats.Stats().BlocksRead - before
	}
	if hits := blocks("prefix%05d", true); hits < asked/2 {
		e.Fatalf("%d hits read %d blocks: the counters do not count", asked, hits)
	}
	if misses := blocks("prefix%05dhdaoop", false); misses > asked/20 {
		e.Errorf("%d misses read %d data blocks", asked, misses)
	}
}
