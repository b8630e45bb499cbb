package storetest

import (
	"fmt"

	"quadrille/cellstore"
)

var versionRules = []rule{
	{id: "P1", name: "one time for all of a put, none before the last", run: testOneTime},
	{id: "P1", name: "the clock stands still when it is set back a little", needs: []need{clock}, run: testClockBack},
	{id: "P1", name: "the clock comes back from far ahead", needs: []need{clock}, run: testClockAhead},
	{id: "P1", name: "the clock went back between two runs", needs: []need{clock}, run: testClockBackBetweenRuns},
}

// testOneTime makes the tests that are possible with a clock that can only be read.
func testOneTime(e *env) {
	e.must("create t f{versions=all} g")
	last := int64(0)
	for range 20 {
		e.must("put t r f:a=x f:b=y g:c=z")
		var row cellstore.Row
		_, err := e.table("t").Get(e.ctx, []byte("r"), nil, &row)
		e.ok(err)
		if len(row.Cells) != 3 {
			e.Fatalf("%d cells", len(row.Cells))
		}
		for i := range row.Cells {
			if c := &row.Cells[i]; c.Timestamp != row.Cells[0].Timestamp || c.Timestamp < last {
				e.Errorf("%s:%s is of %d, %s:%s of %d, and the last put of %d",
					c.Family, c.Qualifier, c.Timestamp, row.Cells[0].Family, row.Cells[0].Qualifier, row.Cells[0].Timestamp, last)
			}
		}
		last = row.Cells[0].Timestamp
	}
}

func testClockBack(e *env) {
	e.must("create t f{versions=all} g{ttl=1s}")
	e.must("put t r f:q=before g:q=x")
	e.must("clock 10s")
	e.must("put t r f:q=later")
	e.now.Add(-5000)
	e.must("put t r f:q=last")
	latest := int64(startOfTime + 10_000)
	e.prints("get t r versions=all", fmt.Sprintf("r f:q@%d=last f:q@%d=before", latest, startOfTime), "after the clock was set back")
	// The same clock determines ages and the bounds of deletes.
	e.now.Add(-5000)
	e.prints("get t r g:", "none", "after the clock was set back")
	e.must("put t r -f:q<=now")
	e.prints("get t r", "none", "after a delete up to now")
	values, err := e.table("t").Increment(e.ctx, cellstore.Increment{
		Row:    []byte("r"),
		Deltas: []cellstore.Delta{{Family: "f", Qualifier: []byte("n"), By: 1}},
	}, nil)
	e.ok(err)
	e.prints("get t r", fmt.Sprintf("r f:n@%d=#%d", latest, values[0]), "after an increment")
}

// testClockAhead: cells with timestamps from a clock that was far ahead stay. Cells that are
// written after the clock is right get timestamps, and expire, as if the clock had always been
// right.
func testClockAhead(e *env) {
	const ahead = 48 * 60 * 60 * 1000
	e.must("create t f{versions=all} g{ttl=1h}")
	e.must("put t r f:q=before")
	e.now.Add(ahead)
	e.must("put t r f:q=ahead g:a=x")
	e.now.Add(3000 - ahead)
	right := int64(startOfTime + 3000)
	e.must("put t r f:q=after g:q=y")
	want := fmt.Sprintf("r f:q@%d=ahead f:q@%d=after f:q@%d=before", startOfTime+ahead, right, startOfTime)
	e.prints("get t r f: versions=all", want, "once the clock is right")
	e.prints("get t r g:q", fmt.Sprintf("r g:q@%d=y", right), "a cell with an age")
	e.must("put t r -f:q<=now")
	e.prints("get t r f: versions=all", fmt.Sprintf("r f:q@%d=ahead", startOfTime+ahead), "after a delete up to now")
	e.must("clock 1h")
	e.prints("get t r g:q", fmt.Sprintf("r g:q@%d=y", right), "at exactly its age")
	e.must("clock 1ms")
	e.prints("get t r g:q", "none", "when its age is over")
}

func testClockBackBetweenRuns(e *env) {
	e.must("create t f{versions=all} g")
	e.must("put t r f:q=first g:q=first")
	e.ok(e.close())
	e.now.Add(-10_000)
	e.ok(e.open(OpenOptions{}))
	e.must("put t r f:q=second g:q=second")
	want := fmt.Sprintf("r f:q@%d=first f:q@%d=second g:q@%d=first", startOfTime, startOfTime-10_000, startOfTime)
	e.prints("get t r versions=all", want, "after the clock was set back")
}
