package quota

import "time"

// count is what one client did, in the windows that run. Its owner locks it.
type count struct {
	number  [windows]uint32 // of the windows counted in
	n       [windows]int64  // requests that passed
	refused [windows]int64
	// What of n and refused is not written yet.
	pending, pendingRefused [windows]int64
	queued                  bool // a flush will come to it
}

// late is a count of a window that has ended before it was written.
type late struct {
	client     string
	window     Window
	number     uint32
	n, refused int64
}

// stale reports whether a window has ended. The shortest divides the others.
func (c *count) stale(now int64) bool { return Minute.of(now) > c.number[Minute] }

// advance begins the windows of a time. What was not written of those that
// end goes to ended. A clock that goes back leaves the windows as they are.
func (c *count) advance(now int64, ended func(w Window, number uint32, n, refused int64)) {
	for w := range windows {
		number := w.of(now)
		if number <= c.number[w] {
			continue
		}
		if (c.pending[w] != 0 || c.pendingRefused[w] != 0) && ended != nil {
			ended(w, c.number[w], c.pending[w], c.pendingRefused[w])
		}
		c.number[w] = number
		c.n[w], c.refused[w], c.pending[w], c.pendingRefused[w] = 0, 0, 0, 0
	}
}

// take counts a request and says whether it may pass. One that may not uses up
// nothing.
func (c *count) take(now time.Time, limits *Limits) Verdict {
	v := c.look(now, limits)
	for w := range windows {
		if v.Refused {
			c.refused[w]++
			c.pendingRefused[w]++
		} else {
			c.n[w]++
			c.pending[w]++
		}
	}
	if !v.Refused && v.Limit.Requests != 0 {
		v.Remaining--
	}
	return v
}

// charge counts requests that have been answered.
func (c *count) charge(n int64) Verdict {
	for w := range windows {
		c.n[w] += n
		c.pending[w] += n
	}
	return Verdict{}
}

// look is the verdict on a request that is not made.
func (c *count) look(now time.Time, limits *Limits) (v Verdict) {
	for w := range windows {
		limit := limits[w]
		if limit == 0 {
			continue
		}
		left := max(limit-c.n[w], 0)
		reset := wait(w, c.number[w], now)
		// Of several that refuse, the one that does so longest.
		if refuses := left == 0; v.Limit.Requests == 0 || refuses && (!v.Refused || reset > v.Reset) || !v.Refused && left < v.Remaining {
			v = Verdict{Refused: refuses, Limit: Limit{limit, w}, Remaining: left, Reset: reset}
		}
	}
	return v
}

// wait is the time until a window ends, in whole seconds, never too short.
func wait(w Window, number uint32, now time.Time) time.Duration {
	d := w.start(number + 1).Sub(now)
	return max((d + time.Second - 1).Truncate(time.Second), time.Second)
}
