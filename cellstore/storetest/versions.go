package storetest

import (
	"fmt"

	"quadrille/cellstore"
)

var versionRules = []rule{
	{id: "P1", name: "a put takes the clock once per mutation", needs: []need{clock}, script: `
create t f{versions=all}
put t r f:a=x f:b=y
get t r
  r f:a@1000000=x f:b@1000000=y
put t r f:a=z
get t r f:a versions=all
  r f:a@1000000=z
clock 1ms
put t r f:a=later
get t r f:a versions=all
  r f:a@1000001=later f:a@1000000=z
`},
	{id: "P1", name: "the newest put is current", script: `
create t f
put t r f:q=x
put t r f:q=y
get t r notime
  r f:q=y
`},
	{id: "P1", name: "one time for all of a put, none before the last", run: testOneTime},
	{id: "P1", name: "the clock stands still when it is set back a little", needs: []need{clock}, run: testClockBack},
	{id: "P1", name: "the clock comes back from far ahead", needs: []need{clock}, run: testClockAhead},
	{id: "P1", name: "the clock went back between two runs", needs: []need{clock}, run: testClockBackBetweenRuns},
	{id: "P2", name: "explicit timestamps need not be times", script: `
create t f{versions=all}
put t r f:q@0=least
put t r f:q@max=most
put t r f:q@12345=between
get t r versions=all
  r f:q@max=most f:q@12345=between f:q@0=least
put t r f:q@-2=x
  error: 0=ErrBadTimestamp
put t r f:q@all=x
  error: 0=ErrBadTimestamp
put t r -f:q@all
  error: 0=ErrBadTimestamp
put t r -f:q@-2
  error: 0=ErrBadTimestamp
put t r -f:q<=-2
  error: 0=ErrBadTimestamp
put t r -f<=-5
  error: 0=ErrBadTimestamp
put t r -f@now
  error: 0=ErrBadTimestamp
put t r -*<=-9223372036854775808
  error: 0=ErrBadTimestamp
check t r f:q present ; f:q@-2=x
  error: ErrBadTimestamp
get t r versions=all
  r f:q@max=most f:q@12345=between f:q@0=least
`},
	{id: "P3", name: "the last write of a version wins", script: `
create t f{versions=all}
put t r f:q@5=first
put t r f:q@5=second
get t r versions=all
  r f:q@5=second
put t r f:q@5=third f:q@5=""
get t r versions=all
  r f:q@5=""
put t r f:q@5=longer-than-before
get t r versions=all
  r f:q@5=longer-than-before
`},
	{id: "P4", name: "the largest timestamp is current", script: `
create t f g{versions=3}
put t r f:q@9=nine g:q@9=nine
put t r f:q@5=five g:q@5=five
put t r f:q@7=seven g:q@7=seven
get t r versions=all
  r f:q@9=nine g:q@9=nine g:q@7=seven g:q@5=five
put t r g:q@6=six
get t r g: versions=all
  r g:q@9=nine g:q@7=seven g:q@6=six
`},
	{id: "P5", name: "trimmed versions do not return", needs: []need{eager}, script: `
create t f{versions=2}
put t r f:q@1=1
put t r f:q@2=2
put t r f:q@3=3
get t r versions=all
  r f:q@3=3 f:q@2=2
put t r -f:q@3
get t r versions=all
  r f:q@2=2
put t r -f:q@2
get t r versions=all
  none
`},
	{id: "P5", name: "deleting leaves room", needs: []need{eager}, script: `
create t f{versions=3}
put t r f:q@1=1
put t r f:q@2=2
put t r f:q@3=3
put t r -f:q@3
put t r f:q@4=4
get t r versions=all
  r f:q@4=4 f:q@2=2 f:q@1=1
put t r f:q@3=again
get t r versions=all
  r f:q@4=4 f:q@3=again f:q@2=2
`},
	{id: "P5", name: "a late put below the newest is trimmed", needs: []need{eager}, script: `
create t f
put t r f:q@5=5
put t r f:q@3=3
get t r versions=all
  r f:q@5=5
put t r -f:q@5
get t r
  none
put t r f:q@1=1
get t r
  r f:q@1=1
`},
	{id: "P5", name: "within one mutation", needs: []need{eager, mixedMutation, cellTimestamps}, script: `
create t f{versions=2}
put t r f:q@1=1 f:q@2=2 f:q@3=3 -f:q@3 -f:q@1
get t r versions=all
  r f:q@2=2
put t s f:q@5=5 f:q@3=3 f:q@4=4 -f:q -f:q
get t s
  none
`},
	{id: "P5", name: "whatever deletes single versions", needs: []need{eager}, script: `
create t f{versions=2} g{versions=2}
put t r f:a@1=1 f:b@1=1 g:a@1=1
put t r f:a@2=2 f:b@2=2 g:a@2=2
put t r f:a@3=3 f:b@3=3 g:a@3=3
put t r -f@3
get t r versions=all
  r f:a@2=2 f:b@2=2 g:a@3=3 g:a@2=2
put t r -f@2
get t r versions=all
  r g:a@3=3 g:a@2=2
put t r -g:a
put t r -g:a
get t r
  none
`},
	{id: "P5", name: "replacing a version trims nothing", needs: []need{eager}, script: `
create t f{versions=2}
put t r f:q@1=1
put t r f:q@2=2
put t r f:q@2=two
put t r f:q@1=one
get t r versions=all
  r f:q@2=two f:q@1=one
put t r -f:q@2
get t r versions=all
  r f:q@1=one
`},
	// Expiry is part of the as-if-eager state, as compaction may remove what
	// has expired at any time: deleting what MinVersions keeps brings back
	// nothing.
	{id: "P5", name: "expired versions do not return", needs: []need{eager}, script: `
create t f{versions=all,ttl=1s,min=2}
put t r f:q@1=1 f:q@2=2 f:q@3=3
get t r versions=all
  r f:q@3=3 f:q@2=2
put t r -f:q@3
get t r versions=all
  r f:q@2=2
put t r -f:q
get t r versions=all
  none
`},
	{id: "P6", name: "lazy trimming does not show", needs: []need{eager, cellTimestamps}, script: `
create t f{versions=3}
put t r f:q@10=a f:q@20=b f:q@30=c f:q@40=d f:q@50=e f:q@60=f
put t r -f:q@60 -f:q@50
get t r versions=all
  r f:q@40=d
put t r f:q@10=again
get t r versions=all
  r f:q@40=d f:q@10=again
put t r f:q@20=b f:q@30=c
put t r -f@40
get t r versions=all
  r f:q@30=c f:q@20=b
`},
}

// testOneTime tests what can be said about a clock that is only read.
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
	if got, want := e.ask("get t r versions=all"), fmt.Sprintf("r f:q@%d=last f:q@%d=before", latest, startOfTime); got != want {
		e.Errorf("after the clock was set back: %s, want %s", got, want)
	}
	// Ages are reckoned by the same clock, and so are bounds of deletes.
	e.now.Add(-5000)
	if got := e.ask("get t r g:"); got != "none" {
		e.Errorf("setting the clock back brought back %s", got)
	}
	e.must("put t r -f:q<=now")
	if got := e.ask("get t r"); got != "none" {
		e.Errorf("a delete up to now spared %s", got)
	}
	values, err := e.table("t").Increment(e.ctx, cellstore.Increment{Row: []byte("r"), Deltas: []cellstore.Delta{{Family: "f", Qualifier: []byte("n"), By: 1}}}, nil)
	e.ok(err)
	if got, want := e.ask("get t r"), fmt.Sprintf("r f:n@%d=#%d", latest, values[0]); got != want {
		e.Errorf("after an increment: %s, want %s", got, want)
	}
}

// testClockAhead: what a clock far ahead has dated stays. What is written once the
// clock is right is dated, and expires, as if it had always been right.
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
	if got := e.ask("get t r f: versions=all"); got != want {
		e.Errorf("once the clock is right: %s, want %s", got, want)
	}
	if got, want := e.ask("get t r g:q"), fmt.Sprintf("r g:q@%d=y", right); got != want {
		e.Errorf("a cell with an age: %s, want %s", got, want)
	}
	e.must("put t r -f:q<=now")
	if got, want := e.ask("get t r f: versions=all"), fmt.Sprintf("r f:q@%d=ahead", startOfTime+ahead); got != want {
		e.Errorf("a delete up to now: %s, want %s", got, want)
	}
	e.must("clock 1h")
	if got, want := e.ask("get t r g:q"), fmt.Sprintf("r g:q@%d=y", right); got != want {
		e.Errorf("at exactly its age: %s, want %s", got, want)
	}
	e.must("clock 1ms")
	if got := e.ask("get t r g:q"); got != "none" {
		e.Errorf("when its age is over: %s", got)
	}
}

func testClockBackBetweenRuns(e *env) {
	e.must("create t f{versions=all} g")
	e.must("put t r f:q=first g:q=first")
	e.ok(e.close())
	e.now.Add(-10_000)
	e.ok(e.open(OpenOptions{}))
	e.must("put t r f:q=second g:q=second")
	want := fmt.Sprintf("r f:q@%d=first f:q@%d=second g:q@%d=first", startOfTime, startOfTime-10_000, startOfTime)
	if got := e.ask("get t r versions=all"); got != want {
		e.Errorf("after the clock was set back: %s, want %s", got, want)
	}
}
