package cellstore

import (
	"sync"
	"sync/atomic"
	"time"
)

// Timekeeper is a Store that exposes the clock that dates and expires its cells. Whatever is built
// on the store uses the same clock.
type Timekeeper interface {
	Store
	Clock() *Clock
}

// DefaultClockSkew is the skew of a Clock unless ClockOptions.Skew is set.
const DefaultClockSkew = time.Minute

// Clock dates and expires the cells of a store. The code built on the store uses the same clock. It
// follows the machine's clock, which may be wrong for a moment, and bounds the harm of that:
//
//   - It is never more than its skew ahead of the present time of the machine's clock.
//   - If the machine's clock steps ahead by more than the skew, it follows only once the step has lasted for the
//     skew. Until then it continues by a steady clock, which cannot be set.
//   - It does not run backwards, unless the machine's clock is behind by more than the
//     skew: then its earlier times were wrong, and it goes back immediately.
//
// Remove nothing for its age unless the clock is Settled.
//
// A Clock may be used by any number of goroutines.
type Clock struct {
	read    func() (wall, steady int64) // ms since 1970, and since any moment
	trusts  bool                        // the wall clock is always followed
	skew    int64                       // ms
	stepped func(by time.Duration, followed bool)

	offset atomic.Int64 // wall - steady that is trusted
	since  atomic.Int64 // by the steady clock, of the offset
	latest atomic.Int64 // the latest time that Now returned
	doubts atomic.Bool  // the wall clock has been stepped and is not followed yet

	mu           sync.Mutex // held to change offset, since and the fields below
	doubted      int64      // wall - steady of the step
	doubtedSince int64      // by the steady clock
}

// ClockOptions describe a Clock. The zero value describes the machine's clock with the default
// skew.
type ClockOptions struct {
	// Skew bounds the error of the machine's clock, and is also a duration: a step ahead by more is
	// followed only once it has lasted for Skew.
	Skew time.Duration
	// Wall and Monotonic replace the machine's clocks. Wall is the clock that may be set, in
	// milliseconds since 1970. Monotonic is the monotonic clock. A Wall without Monotonic is followed at
	// once.
	Wall      func() int64
	Monotonic func() time.Duration
	// OnStep, unless nil, is called for steps by more than the skew. A step ahead is reported when
	// it is noticed, and again, with followed set, when it has lasted and the Clock follows it. A
	// step back is reported once, with followed set. OnStep must not call the Clock.
	OnStep func(by time.Duration, followed bool)
}

// NewClock returns a clock.
func NewClock(o ClockOptions) *Clock {
	if o.Skew <= 0 {
		o.Skew = DefaultClockSkew
	}
	c := &Clock{skew: max(o.Skew.Milliseconds(), 1), stepped: o.OnStep}
	switch start := time.Now(); {
	case o.Wall == nil:
		c.read = func() (wall, steady int64) {
			t := time.Now()
			return t.UnixMilli(), t.Sub(start).Milliseconds()
		}
	case o.Monotonic == nil:
		c.trusts = true
		c.read = func() (wall, steady int64) {
			wall = o.Wall()
			return wall, wall
		}
	default:
		c.read = func() (wall, steady int64) { return o.Wall(), o.Monotonic().Milliseconds() }
	}
	wall, steady := c.read()
	c.offset.Store(wall - steady)
	c.since.Store(steady)
	c.latest.Store(wall)
	return c
}

// ClockOf returns a clock that always follows wall, for tests; nil gives nil.
func ClockOf(wall func() int64) *Clock {
	if wall == nil {
		return nil
	}
	return NewClock(ClockOptions{Wall: wall})
}

// Now returns the time in milliseconds since 1970.
func (c *Clock) Now() int64 {
	wall, steady := c.read()
	if off := wall - steady - c.offset.Load(); off > c.skew/2 || off < -c.skew/2 || c.doubts.Load() {
		wall = c.judge(wall, steady)
	}
	for {
		latest := c.latest.Load()
		if wall <= latest && latest-wall <= c.skew {
			return latest
		}
		if c.latest.CompareAndSwap(latest, wall) {
			return wall
		}
	}
}

// judge returns the time for Now if the wall clock is wrong, or was wrong when it was last read.
func (c *Clock) judge(wall, steady int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	offset := wall - steady
	by := offset - c.offset.Load()
	if -c.skew <= by && by <= c.skew { // it drifts, or it is right again
		c.offset.Store(offset)
		if c.doubts.Swap(false) {
			c.since.Store(steady)
		}
		return wall
	}
	if step := offset - c.doubted; !c.doubts.Swap(true) || step > c.skew || step < -c.skew {
		c.doubted, c.doubtedSince = offset, steady
		c.tell(by, by < 0)
	}
	if steady-c.doubtedSince >= c.skew {
		c.offset.Store(offset)
		c.since.Store(steady)
		c.doubts.Store(false)
		if by > 0 {
			c.tell(by, true)
		}
		return wall
	}
	return min(wall, steady+c.offset.Load())
}

func (c *Clock) tell(by int64, followed bool) {
	if c.stepped != nil {
		c.stepped(time.Duration(by)*time.Millisecond, followed)
	}
}

// Time returns the result of Now as a time.Time.
func (c *Clock) Time() time.Time { return time.UnixMilli(c.Now()) }

// Limit returns the latest allowed timestamp, in milliseconds: the skew ahead of the machine's
// present clock.
func (c *Clock) Limit() int64 {
	wall, _ := c.read()
	return wall + c.skew
}

// Skew returns the skew of the clock, see ClockOptions.Skew.
func (c *Clock) Skew() time.Duration { return time.Duration(c.skew) * time.Millisecond }

// Settled reports whether the Clock has existed, and the machine's clock not been stepped, for at
// least the skew. Before that, hide expired data but do not remove it, because the clock may be
// wrong, and right again in a moment.
func (c *Clock) Settled() bool {
	if c.trusts {
		return true
	}
	c.Now() // notices a step
	_, steady := c.read()
	return !c.doubts.Load() && steady-c.since.Load() >= c.skew
}
