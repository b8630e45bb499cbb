package tiles

import (
	"testing"
)

// chainOf returns the lines of rings, shells if area is positive.
func drawnOf(t *testing.T, rings ...[]point) []drawn {
	t.Helper()
	reg := newRegistry()
	var lines []line
	for _, r := range rings {
		kind := int32(0)
		if ringArea2(r) < 0 {
			kind = 1
		}
		for i, p := range r {
			e := edge{p, r[(i+1)%len(r)]}
			n := int32(1)
			if !e.upward() {
				e, n = e.reversed(), -1
			}
			lines = append(lines, line{e.a, e.b, reg.of([]share{{kind, n}})})
		}
	}
	n := noder{reg: reg, crossings: true}
	lines, err := n.node(lines)
	if err != nil {
		t.Fatal(err)
	}
	var out []drawn
	for _, l := range lines {
		d := drawn{a: l.a, b: l.b}
		for _, s := range reg.shares(l.who) {
			if s.region == 0 {
				d.shells = s.n
			} else {
				d.holes = s.n
			}
		}
		out = append(out, d)
	}
	return out
}

func TestResolve(t *testing.T) {
	square := func(x0, y0, x1, y1 int32) []point {
		return []point{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}}
	}
	hole := func(x0, y0, x1, y1 int32) []point {
		return []point{{x0, y0}, {x0, y1}, {x1, y1}, {x1, y0}}
	}
	for name, tc := range map[string]struct {
		rings    [][]point
		area2    int64
		repaired bool
	}{
		"a square":                {[][]point{square(0, 0, 10, 10)}, 200, false},
		"with a hole":             {[][]point{square(0, 0, 10, 10), hole(2, 2, 4, 4)}, 200 - 8, false},
		"an island in the hole":   {[][]point{square(0, 0, 10, 10), hole(2, 2, 8, 8), square(4, 4, 6, 6)}, 200 - 72 + 8, false},
		"two that overlap":        {[][]point{square(0, 0, 10, 10), square(5, 5, 15, 15)}, 400 - 50, true},
		"two that touch":          {[][]point{square(0, 0, 10, 10), square(10, 5, 15, 15)}, 200 + 100, false},
		"a figure eight":          {[][]point{{{0, 0}, {10, 10}, {10, 0}, {0, 10}}}, 2 * 2 * 25, true},
		"a hole out of its shell": {[][]point{square(0, 0, 10, 10), hole(20, 20, 24, 24)}, 200, true},
		"a hole half out":         {[][]point{square(0, 0, 10, 10), hole(8, 2, 12, 4)}, 200 - 8, true},
		"a spike":                 {[][]point{{{0, 0}, {10, 0}, {20, 0}, {10, 0}, {10, 10}, {0, 10}}}, 200, false},
		"twice the same":          {[][]point{square(0, 0, 10, 10), square(0, 0, 10, 10)}, 200, true},
		"wound twice":             {[][]point{{{0, 0}, {10, 0}, {10, 10}, {0, 10}, {0, 0}, {10, 0}, {10, 10}, {0, 10}}}, 200, true},
	} {
		border, repaired := resolve(drawnOf(t, tc.rings...), nil)
		if got := area2(border); got != tc.area2 || repaired != tc.repaired {
			t.Errorf("%s: area2 %d, want %d; repaired %t", name, got, tc.area2, repaired)
		}
	}
}
