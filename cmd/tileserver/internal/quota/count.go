package quota

// count has the requests of one client in the current windows. Its owner locks it.
type count struct {
	turns   [windows]turn  // of the windows counted in
	n       [windows]int64 // requests that passed
	refused [windows]int64
	// These are the parts of n and refused that are not written yet.
	pending, pendingRefused [windows]int64
	queued                  bool // a flush will come to it
}

// late is a count that was not written before its window ended.
type late struct {
	client     string
	window     Window
	number     uint32
	n, refused int64
}

// advance begins the windows of a time. It passes counts that were not yet written, of windows that
// end, to ended.
func (c *count) advance(r *running, ended func(w Window, number uint32, n, refused int64)) {
	for w := range windows {
		if c.turns[w] == r.turns[w] {
			continue
		}
		if (c.pending[w] != 0 || c.pendingRefused[w] != 0) && ended != nil {
			ended(w, c.turns[w].number(), c.pending[w], c.pendingRefused[w])
		}
		c.turns[w] = r.turns[w]
		c.n[w], c.refused[w], c.pending[w], c.pendingRefused[w] = 0, 0, 0, 0
	}
}

// take counts a request and reports whether it may pass. A refused request does not count against
// the limits.
func (c *count) take(at moment, limits *Limits) Verdict {
	v := c.look(at, limits)
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

// look returns the verdict on a request without counting it.
func (c *count) look(at moment, limits *Limits) (v Verdict) {
	for w := range windows {
		limit := limits[w]
		if limit == 0 {
			continue
		}
		left := max(limit-c.n[w], 0)
		reset := at.wait(w)
		// If several limits refuse the request, the one with the longest wait is reported.
		if refuses := left == 0; v.Limit.Requests == 0 || refuses && (!v.Refused || reset > v.Reset) || !v.Refused && left < v.Remaining {
			v = Verdict{Refused: refuses, Limit: Limit{limit, w}, Remaining: left, Reset: reset}
		}
	}
	return v
}
