package cellstore_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"quadrille/cellstore"
)

// machine has a wall clock, which tests set, and a steady clock.
type machine struct {
	wall   int64
	steady time.Duration
}

func (m *machine) clock(stepped func(time.Duration, bool)) *cellstore.Clock {
	return cellstore.NewClock(cellstore.ClockOptions{
		Wall: func() int64 { return m.wall }, Monotonic: func() time.Duration { return m.steady }, OnStep: stepped,
	})
}

func (m *machine) set(by time.Duration) { m.wall += by.Milliseconds() }

func (m *machine) pass(d time.Duration) {
	m.set(d)
	m.steady += d
}

const year = 365 * 24 * time.Hour

// TestClock sets the machine's clock in several steps. In each step, want is the time that Now
// returns afterwards, counted from the start of the test.
func TestClock(t *testing.T) {
	type step struct {
		set, pass time.Duration
		want      time.Duration
		settled   bool
	}
	for name, steps := range map[string][]step{
		"right": {{0, 30 * time.Second, 30 * time.Second, false}, {0, 30 * time.Second, time.Minute, true}},
		"a little ahead and back": {
			{10 * time.Second, 0, 10 * time.Second, false},
			{-10 * time.Second, time.Second, 10 * time.Second, false},
			{0, 10 * time.Second, 11 * time.Second, false},
		},
		"48 h ahead for 3 s": {
			{0, time.Hour, time.Hour, true}, {48 * time.Hour, 0, time.Hour, false}, {0, 3 * time.Second, time.Hour + 3*time.Second, false},
			{-48 * time.Hour, 0, time.Hour + 3*time.Second, false}, {0, time.Minute, time.Hour + 63*time.Second, true},
		},
		"a year ahead for good": {
			{year, 0, 0, false}, {0, 59 * time.Second, 59 * time.Second, false},
			{0, time.Second, year + time.Minute, false}, {0, time.Minute, year + 2*time.Minute, true},
		},
		"48 h back for 3 s": {
			{0, time.Hour, time.Hour, true}, {-48 * time.Hour, 0, -47 * time.Hour, false},
			{48 * time.Hour, 3 * time.Second, time.Hour + 3*time.Second, false}, {0, time.Minute, time.Hour + 63*time.Second, true},
		},
		"made when it was ahead": {
			{-year, 3 * time.Second, 3*time.Second - year, false},
			{0, time.Minute, 63*time.Second - year, false},
			{0, time.Minute, 123*time.Second - year, true},
		},
		"ahead, and then by another time": {
			{time.Hour, 0, 0, false},
			{time.Hour, 50 * time.Second, 50 * time.Second, false},
			{0, 50 * time.Second, 100 * time.Second, false},
			{0, 10 * time.Second, 2*time.Hour + 110*time.Second, false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &machine{wall: 1_000_000_000_000}
			start, c := m.wall, m.clock(nil)
			for i, s := range steps {
				m.set(s.set)
				m.pass(s.pass)
				if got := time.Duration(c.Now()-start) * time.Millisecond; got != s.want {
					t.Errorf("step %d: %v, want %v", i, got, s.want)
				}
				if got := c.Settled(); got != s.settled {
					t.Errorf("step %d: settled is %t", i, got)
				}
			}
		})
	}
}

// OnStep is called when a step is noticed and when it is followed.
func TestClockTellsSteps(t *testing.T) {
	type told struct {
		by       time.Duration
		followed bool
	}
	var got []told
	m := &machine{wall: 1_000_000_000_000}
	c := m.clock(func(by time.Duration, followed bool) { got = append(got, told{by, followed}) })
	for _, set := range []time.Duration{48 * time.Hour, -48 * time.Hour, year, 0, 0, -year, 0, 0} {
		m.set(set)
		c.Now()
		m.pass(40 * time.Second)
		c.Now()
	}
	want := []told{{48 * time.Hour, false}, {year, false}, {year, true}, {-year, true}}
	if !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
}

// However the machine's clock is set, Now is at most the skew ahead of it. If Now goes back, it
// does so by more than the skew. Now is right once the machine's clock has been right for as long
// as the skew.
func TestClockIsBounded(t *testing.T) {
	const skew = int64(time.Minute / time.Millisecond)
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{wall: rapid.Int64Range(0, 2e12).Draw(t, "start")}
		c := m.clock(nil)
		last := c.Now()
		look := func() {
			now := c.Now()
			if now > m.wall+skew {
				t.Fatalf("told %d ms ahead", now-m.wall)
			}
			if now < last && last-now <= skew {
				t.Fatalf("went back %d ms", last-now)
			}
			last = now
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				m.set(time.Duration(rapid.Int64Range(-100, 100).Draw(t, "h")) * time.Hour)
			case 1:
				m.set(time.Duration(rapid.Int64Range(-100, 100).Draw(t, "s")) * time.Second)
			case 2:
				m.pass(time.Duration(rapid.Int64Range(0, 100).Draw(t, "pause")) * time.Second)
			}
			look()
		}
		m.pass(time.Minute)
		if look(); last < m.wall {
			t.Fatalf("%d ms behind after the clock was right for a minute", m.wall-last)
		}
	})
}
