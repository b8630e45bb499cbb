package ops

import (
	"testing"
	"time"
)

// The status page shows ages, sizes and numbers in a readable form.
func TestWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second:    "",
		time.Minute:     " (just now)",
		5 * time.Minute: " (5 minutes ago)",
		3 * time.Hour:   " (3 hours ago)",
		72 * time.Hour:  " (3 days ago)",
	} {
		if got := age(d); got != want {
			t.Errorf("age of %v: %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1 kB", 1_234_567: "1.23 MB", 5e12: "5 TB", 5e16: "5e+04 TB"} {
		if got := size(n); got != want {
			t.Errorf("size of %d: %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567", -123: "-123"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// A box is drawn within the map of the page, in two parts if it crosses ±180°, and large enough to
// be visible. Of the whole world there is none.
func TestExtents(t *testing.T) {
	for _, tc := range []struct {
		bounds []float64
		parts  int
	}{
		{nil, 0}, {[]float64{5, 45, 10, 48}, 1}, {[]float64{170, -20, -170, -10}, 2}, {[]float64{8, 47, 8, 47},
			1}, {[]float64{-180, -90, 180, 90}, 0}, {[]float64{-180, 40, 180, 90}, 1},
	} {
		parts := extentsOf(tc.bounds)
		if len(parts) != tc.parts {
			t.Fatalf("%v: %d parts, want %d", tc.bounds, len(parts), tc.parts)
		}
		for _, e := range parts {
			if e.X < 0 || e.Y < 0 || e.X+e.Width > side || e.Y+e.Height > side || e.Width < least || e.Height < least {
				t.Errorf("%v is drawn at %+v", tc.bounds, e)
			}
		}
	}
}

// The kinds of records come in the order of their names.
func TestCounts(t *testing.T) {
	if got, want := counts(map[string]int64{"river": 6, "time_zone": 4190, "country": 254}), "254 country, 6 river, 4,190 time zone"; got != want {
		t.Errorf("counts: %q, want %q", got, want)
	}
	if got := counts(nil); got != "" {
		t.Errorf("counts of nothing: %q", got)
	}
}
