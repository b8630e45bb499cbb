package quota

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"

	"quadrille/cellstore"
)

// clocks has a clock that can be set and a steady clock.
type clocks struct {
	wall   *clock
	steady time.Duration
}

func newClocks() *clocks { return &clocks{wall: newClock(noon)} }

func (c *clocks) options() Options {
	return Options{Now: c.wall.now, Monotonic: func() time.Duration { return c.steady }}
}

func (c *clocks) pass(d time.Duration) {
	c.wall.add(d)
	c.steady += d
}

// longest returns the greatest duration of a window: its length plus the tolerance between the two
// clocks.
func longest(w Window) time.Duration { return w.Duration() + w.Duration()/60 }

var jumps = map[string][]time.Duration{
	"a second back":            {-time.Second},
	"an hour back":             {-time.Hour},
	"a day back":               {-24 * time.Hour},
	"a year back":              {-365 * 24 * time.Hour},
	"to 1970":                  {-noon.Sub(time.Unix(0, 0))},
	"before 1970":              {-noon.Sub(time.Unix(-86400, 0))},
	"a day on":                 {24 * time.Hour},
	"a day on and back":        {24 * time.Hour, -24 * time.Hour},
	"a year on and back":       {365 * 24 * time.Hour, -365 * 24 * time.Hour},
	"a day back and on":        {-24 * time.Hour, 24 * time.Hour},
	"half a minute to and fro": {30 * time.Second, -30 * time.Second, 30 * time.Second, -30 * time.Second},
}

// A client that has reached its limit may send requests again after one window by the steady clock,
// whatever the other clock is set to. It may not do so much earlier, and it never gets more
// requests than its limit.
func TestClockIsSet(t *testing.T) {
	const limit = 3
	client := ClientAddrOf(netip.MustParseAddr("198.51.100.7"))
	for name, steps := range jumps {
		for w := range windows {
			t.Run(name+"/"+[windows]string{"minute", "hour", "day"}[w], func(t *testing.T) {
				c := newClocks()
				m := open(t, c.options())
				var l Limits
				l[w] = limit
				ask := func() bool {
					t.Helper()
					a, k := m.CountAddress(client, &l), m.CountKey("acme", &l)
					if a != k {
						t.Fatalf("an address got %+v, a key %+v", a, k)
					}
					if a.Reset < time.Second || a.Reset > longest(w) {
						t.Errorf("reset in %v", a.Reset)
					}
					return !a.Refused
				}
				use := func() (n int) {
					for ask() {
						n++
					}
					return n
				}
				// The clock has the same value as before it was set back and forth.
				passed, turns := use(), 1
				for _, step := range steps {
					c.wall.add(step)
					passed += use()
					if step > 0 {
						turns++
					}
				}
				if most := turns * limit; passed < limit || passed > most {
					t.Errorf("%d passed while the clock was set, want at most %d", passed, most)
				}
				// After two windows by the corrected clock, each window has passed as many requests
				// as its limit.
				for i := range 2 {
					v := m.Peek("acme", &l)
					c.pass(v.Reset)
					if !ask() {
						t.Errorf("window %d: still refused %v after it should have been let pass", i, v.Reset)
					}
					if n := use(); n != limit-1 {
						t.Errorf("window %d: %d passed after the first, want %d", i, n, limit-1)
					}
				}
			})
		}
	}
}

// TestClockIsSetAndRestart tests counts that were stored while the clock was ahead or behind. After
// a restart, these do not refuse a client for longer than a window either.
func TestClockIsSetAndRestart(t *testing.T) {
	const limit = 3
	for name, steps := range jumps {
		for w := range windows {
			t.Run(name+"/"+[windows]string{"minute", "hour", "day"}[w], func(t *testing.T) {
				c, dir := newClocks(), t.TempDir()
				var l Limits
				l[w] = limit
				session := func(do func(m *Meter)) {
					t.Helper()
					c.steady = 0
					table, closeTable := openTable(t, dir, c.wall)
					defer closeTable()
					o := c.options()
					o.Table = table
					m := open(t, o)
					do(m)
					if err := m.Flush(context.Background(), 0); err != nil {
						t.Fatal(err)
					}
				}
				use := func(m *Meter) (n int) {
					for range limit + 1 {
						v := m.CountKey("acme", &l)
						if v.Reset < time.Second || v.Reset > longest(w) {
							t.Errorf("reset in %v", v.Reset)
						}
						if !v.Refused {
							n++
						}
					}
					return n
				}
				session(func(m *Meter) { use(m) })
				for _, step := range steps {
					c.wall.add(step)
					session(func(m *Meter) {
						if n := use(m); n > limit {
							t.Errorf("%d passed", n)
						}
						c.pass(m.Peek("acme", &l).Reset)
						if n := use(m); n != limit {
							t.Errorf("in the window after the restart %d passed, want %d", n, limit)
						}
					})
				}
			})
		}
	}
}

// A Meter that uses the clock of its store neither begins a window nor loses a count when the
// machine's clock is briefly far ahead.
func TestClockIsAheadForAMoment(t *testing.T) {
	c := newClocks()
	clock := cellstore.NewClock(cellstore.ClockOptions{
		Wall: func() int64 { return c.wall.now().UnixMilli() }, Monotonic: func() time.Duration { return c.steady },
	})
	table, closeTable := openTableBy(t, t.TempDir(), clock)
	defer closeTable()
	m := open(t, Options{Table: table, Now: clock.Time, Monotonic: func() time.Duration { return c.steady }})
	l := limits(t, "3/1h")
	passed := 0
	for _, step := range []time.Duration{0, 48 * time.Hour, -48 * time.Hour, 365 * 24 * time.Hour, -365 * 24 * time.Hour} {
		c.wall.add(step)
		for range 2 {
			if !m.CountKey("acme", l).Refused {
				passed++
			}
			if err := m.Flush(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			c.pass(time.Second)
		}
	}
	if passed != 3 {
		t.Errorf("%d passed of 3", passed)
	}
	c.pass(time.Hour) // until the hour is read from the table
	u, err := m.Usage(t.Context(), "acme")
	if err != nil || len(u.Hours) != 1 || u.Hours[0].Requests != 3 || u.Hours[0].Refused != 7 || !u.Hours[0].Start.Equal(noon) {
		t.Errorf("%+v: %v", u, err)
	}
}

// A limit is enforced whatever the clock is set to. The number of passed requests is bounded by the
// number of windows in the steady time and the number of changes of the clock. A client passes if
// it waits as long as its refusal requires.
func TestClockIsSetAtRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newClocks()
		m := newMeter(c.options())
		var l Limits
		w := Window(rapid.IntRange(0, int(windows)-1).Draw(t, "window"))
		l[w] = rapid.Int64Range(1, 4).Draw(t, "limit")
		passed, set := int64(0), int64(0)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				c.wall.add(time.Duration(rapid.Int64Range(-3, 3).Draw(t, "windows")) * w.Duration())
				set++
			case 1:
				c.wall.add(time.Duration(rapid.Int64Range(-5000, 5000).Draw(t, "ms")) * time.Millisecond)
				set++
			case 2:
				c.pass(time.Duration(rapid.Int64Range(0, int64(w.Duration())).Draw(t, "pause")))
			}
			v := m.CountKey("acme", &l)
			if v.Reset < time.Second || v.Reset > longest(w)+time.Second {
				t.Fatalf("reset in %v", v.Reset)
			}
			if !v.Refused {
				passed++
			}
		}
		if v := m.Peek("acme", &l); v.Refused {
			c.pass(v.Reset)
			if m.Peek("acme", &l).Refused {
				t.Fatalf("refused after %v too", v.Reset)
			}
		}
		if most := l[w] * (2 + 2*set + int64(c.steady/w.Duration())); passed > most {
			t.Fatalf("%d passed in %v with the clock set %d times, want at most %d", passed, c.steady, set, most)
		}
	})
}
