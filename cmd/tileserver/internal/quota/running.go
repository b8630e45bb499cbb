package quota

import (
	"math"
	"time"
)

// turn is one run of a window. Its lower half is the number of the window. Its upper half counts
// how often a window began that was not later than the previous one.
type turn uint64

// number returns the number of the window, under which counts are written.
func (t turn) number() uint32 { return uint32(t) }

// running has the current windows, which are the same for all clients. It is immutable.
//
// A window ends when the clock leaves it, or when its length has passed by a steady clock that
// cannot be set, whichever is first. Thus, if the clock is set back, the window neither lasts until
// the clock has caught up, nor begins again immediately: earlier requests stay counted for the rest
// of the window.
type running struct {
	turns [windows]turn
	ends  [windows]time.Duration // by the steady clock
	// All windows run until one of these two times.
	second int64         // by the clock, Unix
	steady time.Duration // by the steady clock
}

// A window may last longer by 1/tolerance of its length, to allow for clocks that differ in speed
// or are adjusted slightly.
const tolerance = 60

// after returns the windows at a time, given the windows before.
func (r *running) after(now time.Time, steady time.Duration) *running {
	next := &running{second: math.MaxInt64, steady: math.MaxInt64}
	if r != nil {
		next.turns, next.ends = r.turns, r.ends
	}
	for w := range windows {
		number := w.of(now.Unix())
		last := next.turns[w]
		if r == nil || number > last.number() || steady >= next.ends[w] {
			next.turns[w] = last>>32<<32 | turn(number)
			if r != nil && number <= last.number() {
				next.turns[w] += 1 << 32
			}
			left := min(w.start(number+1).Sub(now), w.Duration())
			next.ends[w] = steady + left + w.Duration()/tolerance
		}
		next.second = min(next.second, w.start(next.turns[w].number()+1).Unix())
		next.steady = min(next.steady, next.ends[w])
	}
	return next
}

// moment is when a request is counted.
type moment struct {
	*running
	now    time.Time
	steady time.Duration
}

// wait returns the time until a window ends, rounded up to whole seconds.
func (at moment) wait(w Window) time.Duration {
	d := min(w.start(at.turns[w].number()+1).Sub(at.now), at.ends[w]-at.steady)
	return max((d + time.Second - 1).Truncate(time.Second), time.Second)
}

// moment returns the present. A caller may then wait for the lock of a count. It uses the windows
// that are current after the wait, so the windows of a count never go back.
func (m *Meter) moment() moment {
	at := moment{m.running.Load(), m.opts.Now(), 0}
	if m.opts.Monotonic != nil {
		at.steady = m.opts.Monotonic()
	} else {
		at.steady = at.now.Sub(m.began)
	}
	if at.running.includes(at) {
		return at
	}
	m.beginning.Lock()
	defer m.beginning.Unlock()
	if at.running = m.running.Load(); !at.running.includes(at) {
		at.running = at.running.after(at.now, at.steady)
		m.running.Store(at.running)
	}
	return at
}

func (r *running) includes(at moment) bool {
	return r != nil && at.now.Unix() < r.second && at.steady < r.steady
}
