package storetest

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"

	"quadrille/cellstore"
)

var readRules = []rule{
	{id: "G4", name: "every time range", needs: []need{eager, clock}, run: testEveryTimeRange},
	{id: "G5", name: "as of either end of time", run: func(e *env) {
		e.must("create t f{versions=all}")
		e.must("put t r f:q@0=0 f:q@max=max")
		t := e.table("t")
		var row cellstore.Row
		for asOf, want := range map[int64]string{math.MinInt64: "none", -2: "none", 0: "0", math.MaxInt64 - 1: "max", math.MaxInt64: "max"} {
			found, err := t.Get(e.ctx, []byte("r"), &cellstore.Selection{Time: cellstore.AsOf(asOf)}, &row)
			e.ok(err)
			got := "none"
			if found {
				got = string(row.Cells[0].Value)
			}
			if got != want {
				e.Errorf("as of %d: %s, want %s", asOf, got, want)
			}
		}
	}},
	{id: "G6", name: "unselected families are not read", needs: []need{counters}, run: testFamiliesApart},
	{id: "N12", name: "rows to fill", run: func(e *env) {
		e.must("create t f g")
		e.must("put t r f:q@1=x")
		t := e.table("t")
		rows := make([]cellstore.Row, 3)
		rows[2].SetKey([]byte("left over"))
		e.ok(t.NextEach(e.ctx, nil, nil, []string{"g", "f"}, rows))
		if !rows[0].Empty() || string(rows[1].Key) != "r" || rows[0].Key != nil {
			e.Errorf("rows %q, %q", rows[0].Key, rows[1].Key)
		}
		e.ok(t.NextEach(e.ctx, nil, nil, nil, nil))
		if err := t.NextEach(e.ctx, nil, nil, []string{"f", "g"}, rows[:1]); err == nil {
			e.Error("two families fit into one row")
		}
	}},
	{id: "N15", name: "a time range skips blocks", needs: []need{counters}, run: testTimeSkips},
}

// testFamiliesApart reads a small family of a table that also has a large one, with cold caches.
func testFamiliesApart(e *env) {
	e.must("create t small{block=4096} large{block=4096,compression=none}")
	const rows, size = 500, 2000
	var batch []cellstore.Mutation
	for i := range rows {
		key := fmt.Sprintf("row%04d", i)
		batch = append(batch, mutate(key, cellstore.Put("small", []byte("q"), []byte("x")), cellstore.Put("large", []byte("q"), noise(size))))
	}
	e.ok(e.table("t").Apply(e.ctx, batch...))
	e.must("compact t")
	e.ok(e.reopen())
	t := e.table("t")
	stats := t.(cellstore.StatsReader)
	before := stats.Stats()
	if n := len(e.keys(t.Scan(e.ctx, cellstore.Scan{Selection: cellstore.Selection{Families: []string{"small"}}}))); n != rows {
		e.Fatalf("%d rows, want %d", n, rows)
	}
	e.prints("get t row0007 small:q notime", "row0007 small:q=x")
	if read := stats.Stats().BlockBytes - before.BlockBytes; read > rows*size/4 {
		e.Errorf("reading the small family read %d bytes of blocks; the large one has %d", read, rows*size)
	}
}

// noise returns n bytes that cannot be compressed.
func noise(n int) []byte {
	rnd := rand.New(rand.NewPCG(uint64(n), 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
	return b
}

// testTimeSkips scans one of many separate days.
func testTimeSkips(e *env) {
	e.must("create t f{versions=all,block=4096,compression=none}")
	const rows, day = 2000, 1000
	var batch []cellstore.Mutation
	value := noise(200)
	for i := range rows {
		batch = append(batch, mutate(fmt.Sprintf("row%05d", i), cellstore.PutAt("f", []byte("q"), int64(i*day), value)))
	}
	e.ok(e.table("t").Apply(e.ctx, batch...))
	e.must("compact t")
	e.ok(e.reopen())
	t := e.table("t")
	stats := t.(cellstore.StatsReader)
	count := func(time cellstore.TimeRange) (n int, blocks int64) {
		before := stats.Stats().BlocksRead
		for row, err := range t.Scan(e.ctx, cellstore.Scan{Selection: cellstore.Selection{Time: time}}) {
			e.ok(err)
			if !bytes.Equal(row.Cells[0].Value, value) {
				e.Fatalf("row %s has another value", row.Key)
			}
			n++
		}
		return n, stats.Stats().BlocksRead - before
	}
	all, allBlocks := count(cellstore.TimeRange{})
	some, someBlocks := count(cellstore.Between(700*day, 720*day))
	if all != rows || some != 20 {
		e.Errorf("%d rows of all time and %d of 20 days, want %d and 20", all, some, rows)
	}
	if someBlocks > allBlocks/4 {
		e.Errorf("20 of %d days took %d of %d blocks", rows, someBlocks, allBlocks)
	}
}

// testEveryTimeRange reads columns of twenty versions in every time range, as the model does: a
// range never makes a version visible that MaxVersions or TTL hides.
func testEveryTimeRange(e *env) {
	oracle, err := newMachine(ModelBackend(e.T), e.caps)
	e.ok(err)
	both := func(line string) {
		e.Helper()
		want, err := oracle.exec(line)
		e.ok(err)
		if got := e.ask(line); got != want {
			e.Fatalf("%s: %s, want %s", line, got, want)
		}
	}
	const ago = 990 // of the oldest version, in ms: half of the twenty are older than a second when they are read
	for i, options := range []string{
		"versions=1", "versions=9", "versions=all", "versions=9,ttl=1s", "versions=all,ttl=1s", "versions=all,ttl=1s,min=14",
	} {
		table := fmt.Sprint("t", i)
		both("create " + table + " f{" + options + "}")
		start := e.now.Load() - ago
		write := "put"
		if e.caps.Bulk { // each version may be in a file that its time tells of
			write = "bulk"
		}
		for n := int64(20); n > 0; n-- {
			both(fmt.Sprintf(write+" %s row f:p@%[2]d=%[3]d f:q@%[2]d=%[3]d f:r@%[2]d=%[3]d", table, start+n, n))
		}
		both("clock 20ms")
		for from := range int64(23) {
			for to := from; to < 23; to++ {
				for _, versions := range []string{"1", "8", "all"} {
					rest := fmt.Sprintf(" time=[%d,%d) versions=%s", start+from, start+to, versions)
					both("scan " + table + rest)
					both("get " + table + " row f:q" + rest)
				}
			}
		}
	}
}
