package pebblestore

import (
	"sync/atomic"
	"testing"
	"time"

	"quadrille/cellstore"
)

// A cell does not expire because the clock is far ahead for a moment, even if the table is swept or
// the store is opened at that moment.
func TestClockAheadRemovesNothing(t *testing.T) {
	const ahead = 48 * time.Hour
	var wall, steady atomic.Int64 // ms
	wall.Store(1_000_000_000_000)
	pass := func(d time.Duration) {
		wall.Add(d.Milliseconds())
		steady.Add(d.Milliseconds())
	}
	open := func() *cellstore.Clock {
		return cellstore.NewClock(cellstore.ClockOptions{
			Wall: wall.Load, Monotonic: func() time.Duration { return time.Duration(steady.Load()) * time.Millisecond },
		})
	}
	s, tab := writable(t, &Options{Clock: open()}, cellstore.Family{Name: "f", TTL: time.Hour})
	must(0, tab.Apply(ctx, async("r", cellstore.Put("f", nil, []byte("x")))))
	shown := func(want bool, when string) {
		t.Helper()
		must(0, tab.sweepAll(ctx, false))
		var row cellstore.Row
		if found := must(tab.Get(ctx, []byte("r"), nil, &row)); found != want {
			t.Errorf("%s: shown is %t", when, found)
		}
	}
	pass(time.Minute)
	wall.Add(ahead.Milliseconds())
	shown(true, "ahead")
	pass(3 * time.Second)
	shown(true, "ahead for 3 s")
	wall.Add(-ahead.Milliseconds())
	shown(true, "right again")

	wall.Add(ahead.Milliseconds()) // for longer than the skew
	shown(true, "ahead again")
	pass(time.Minute)
	shown(false, "ahead for a minute")
	wall.Add(-ahead.Milliseconds())
	shown(true, "right after a minute")

	// The store is opened again while the clock is ahead.
	wall.Add(ahead.Milliseconds())
	reopened := open()
	s.opts.Clock, tab.clock = reopened, reopened.Now
	shown(false, "opened ahead")
	pass(3 * time.Second)
	shown(false, "opened ahead 3 s ago")
	wall.Add(-ahead.Milliseconds())
	shown(true, "opened ahead, right again")

	pass(time.Hour)
	shown(false, "expired")
	pass(time.Minute)
	shown(false, "expired, and the clock is settled")
	if n := stored(tab); n != 0 {
		t.Errorf("%d cells are stored after they expired", n)
	}
}
