package repeats

import "testing"

// TestWatch tests that Watch lets only one element in eight be looked up while nothing repeats, and
// more once a few elements repeat.
func TestWatch(t *testing.T) {
	var w Watch
	ask := func(windows, foundOneIn int) (looked int) {
		for i := range windows * window {
			if !w.ShouldLook() {
				continue
			}
			if looked++; foundOneIn > 0 && i/oneIn%foundOneIn == 0 {
				w.Found()
			}
		}
		return looked
	}
	if n := ask(17, 0); n != window+16*window/oneIn || !w.Idle() {
		t.Errorf("%d looks where nothing comes again, idle %v", n, w.Idle())
	}
	if n := ask(4, least/2); n != window/oneIn+3*window || w.Idle() {
		t.Errorf("%d looks where some come again, idle %v", n, w.Idle())
	}
}
