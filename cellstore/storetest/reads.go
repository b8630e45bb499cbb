package storetest

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"

	"quadrille/cellstore"
)

var readRules = []rule{
	{id: "G1", name: "the newest version of every column", script: `
create t f{versions=3} g{versions=all} h
put t r f:a@1=1 f:a@2=2 f:b@5=5 g:a@3=3 g:a@1=1
get t r
  r f:a@2=2 f:b@5=5 g:a@3=3
next t
  r f:a@2=2 f:b@5=5 g:a@3=3
scan t
  r f:a@2=2 f:b@5=5 g:a@3=3
`},
	{id: "G2", name: "the n newest visible versions", script: `
create t f{versions=3} g{versions=all}
put t r f:q@1=1 f:q@2=2 f:q@3=3 f:q@4=4 f:q@5=5 g:q@1=1 g:q@2=2 g:q@3=3 g:q@4=4 g:q@5=5 g:p@8=8
get t r versions=2
  r f:q@5=5 f:q@4=4 g:p@8=8 g:q@5=5 g:q@4=4
get t r versions=4
  r f:q@5=5 f:q@4=4 f:q@3=3 g:p@8=8 g:q@5=5 g:q@4=4 g:q@3=3 g:q@2=2
get t r versions=all
  r f:q@5=5 f:q@4=4 f:q@3=3 g:p@8=8 g:q@5=5 g:q@4=4 g:q@3=3 g:q@2=2 g:q@1=1
get t r versions=-2
  error: ErrBadRange
scan t versions=-2
  error: ErrBadRange
`},
	{id: "G3", name: "a time range is half-open", script: `
create t f{versions=all}
put t r f:q@0=0 f:q@3=3 f:q@5=5 f:q@6=6 f:q@max=m
get t r time=[3,6) versions=all
  r f:q@5=5 f:q@3=3
get t r time=[3,6)
  r f:q@5=5
get t r time=[5,6)
  r f:q@5=5
get t r time=[4,5)
  none
get t r time=[5,5)
  none
get t r time=[0,1)
  r f:q@0=0
get t r time=[7,all)
  r f:q@max=m
get t r time=[-5,4) versions=all
  r f:q@3=3 f:q@0=0
get t r time=[max,all)
  r f:q@max=m
next t time=[1,3)
  none
scan t time=[1,4)
  r f:q@3=3
multiget t r s ; time=[1,4)
  r f:q@3=3
  s (none)
`},
	{id: "G3", name: "an inverted time range is an error", script: `
create t f
put t r f:q@1=1
get t r time=[5,4)
  error: ErrBadRange
next t time=[5,4)
  error: ErrBadRange
prev t time=[5,4)
  error: ErrBadRange
scan t time=[0,-1)
  error: ErrBadRange
multiget t r ; time=[1,0)
  error: ErrBadRange
`},
	{id: "G4", name: "visibility before time range before versions", needs: []need{eager}, script: `
create t f{versions=3} g
put t r f:q@1=1 f:q@2=2 f:q@3=3 f:q@4=4 f:q@5=5 f:q@6=6 f:q@7=7 f:q@8=8 g:q@4=4 g:q@9=9
get t r f: time=[0,5)
  none
get t r time=[0,5) versions=all
  none
get t r time=[0,7) versions=all
  r f:q@6=6
get t r time=[6,9) versions=2
  r f:q@8=8 f:q@7=7
scan t time=[0,9)
  r f:q@8=8
next t time=[3,6) versions=3
  none
`},
	{id: "G4", name: "every time range", needs: []need{eager, clock}, run: testEveryTimeRange},
	{id: "G5", name: "as of a moment", script: `
create t f{versions=all} g
put t r f:q@10=a f:q@20=b f:q@30=c f:p@25=p g:q@20=g
get t r asof=9
  none
get t r asof=10
  r f:q@10=a
get t r asof=24
  r f:q@20=b g:q@20=g
get t r asof=25
  r f:p@25=p f:q@20=b g:q@20=g
get t r asof=all
  r f:p@25=p f:q@30=c g:q@20=g
get t r asof=-1
  none
scan t asof=20 f:q
  r f:q@20=b
`},
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
	{id: "G6", name: "families and columns add up", script: `
create t f{versions=2} g h
put t r f:a@1=1 f:a@2=2 f:b@3=3 g:a@4=4 g:b@5=5 h:a@6=6
get t r f:
  r f:a@2=2 f:b@3=3
get t r h: f:
  r f:a@2=2 f:b@3=3 h:a@6=6
get t r f:a versions=2
  r f:a@2=2 f:a@1=1
get t r g:b f:b
  r f:b@3=3 g:b@5=5
get t r f:b h:
  r f:b@3=3 h:a@6=6
get t r f: f:a f: f:a
  r f:a@2=2 f:b@3=3
get t r f:none
  none
get t r f:none g:a f:""
  r g:a@4=4
next t h:b
  none
scan t g:a g:b
  r g:a@4=4 g:b@5=5
`},
	{id: "G6", name: "unselected families are not read", needs: []need{counters}, run: testFamiliesApart},
	{id: "G7", name: "a missing row is not an error", script: `
create t f
get t r
  none
put t q f:q@1=1
put t s f:q@1=1
get t r
  none
get t "q\x00"
  none
multiget t r q qq s
  r (none)
  q f:q@1=1
  qq (none)
  s f:q@1=1
`},
	{id: "N13", name: "rows come in the order asked", script: `
create t f{versions=all} g
put t a f:q@1=1 f:q@2=2 g:q@1=g
put t b f:q@1=1
put t c g:q@1=g
multiget t c a b
  c g:q@1=g
  a f:q@2=2 g:q@1=g
  b f:q@1=1
multiget t b a b x b
  b f:q@1=1
  a f:q@2=2 g:q@1=g
  b f:q@1=1
  x (none)
  b f:q@1=1
multiget t a c ; f: versions=all
  a f:q@2=2 f:q@1=1
  c (none)
multiget t
  none
multiget t a "" b
  error: ErrEmptyRow
`},
	{id: "N13", name: "ranges come in the order asked", script: `
create t f
put t a1 f:q@1=1
put t a2 f:q@1=2
put t b1 f:q@1=3
put t c1 f:q@1=4
put t c2 f:q@1=5
scan t prefix=c prefix=a
  c1 f:q@1=4
  c2 f:q@1=5
  a1 f:q@1=1
  a2 f:q@1=2
scan t [b1,c2) [a1,a1] [x,) [b1,c1)
  b1 f:q@1=3
  c1 f:q@1=4
  a1 f:q@1=1
  b1 f:q@1=3
scan t prefix=c prefix=a limit=3
  c1 f:q@1=4
  c2 f:q@1=5
  a1 f:q@1=1
scan t [c1,a2] [a1,) reverse
  c1 f:q@1=4
  b1 f:q@1=3
  a2 f:q@1=2
  a1 f:q@1=1
`},
	{id: "N12", name: "the next row of each family on its own", script: `
create t f{versions=2} g h
put t b f:q@1=1 f:q@2=2
put t c g:q@1=1
put t d f:q@1=1 g:q@2=2
put t e h:q@1=1
nexteach t from=a f: g: h:
  f: b f:q@2=2
  g: c g:q@1=1
  h: e h:q@1=1
nexteach t from=c h: f: g:
  h: e h:q@1=1
  f: d f:q@1=1
  g: c g:q@1=1
nexteach t from=c to=d f: g:
  f: none
  g: c g:q@1=1
nexteach t from=c to=c f: g:
  f: none
  g: none
nexteach t from="c\x00" g: g:
  g: d g:q@2=2
  g: d g:q@2=2
nexteach t from=x to=b f:
  f: none
put t c -g<=all
nexteach t from=a g:
  g: d g:q@2=2
`},
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

// testFamiliesApart reads a small family beside a large one, cold.
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
	if got := e.ask("get t row0007 small:q notime"); got != "row0007 small:q=x" {
		e.Error(got)
	}
	if read := stats.Stats().BlockBytes - before.BlockBytes; read > rows*size/4 {
		e.Errorf("reading the small family read %d bytes of blocks; the large one has %d", read, rows*size)
	}
}

// noise is bytes that no compression shrinks.
func noise(n int) []byte {
	rnd := rand.New(rand.NewPCG(uint64(n), 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
	return b
}

// testTimeSkips scans one of many days that lie apart.
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

// testEveryTimeRange reads columns of twenty versions in every time range, as the model
// does: a range never brings back what the number of versions or their age hides.
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
