package enrich

import "testing"

// Offsets are exact: those of local mean time have seconds.
func TestOffsetText(t *testing.T) {
	for seconds, want := range map[int]string{
		0: "+00:00", 3600: "+01:00", -12600: "-03:30", 50400: "+14:00", -75: "-00:01:15", 1172: "+00:19:32", -52: "-00:00:52", 2048: "+00:34:08",
		-2670: "-00:44:30",
	} {
		if got := offsetText(seconds); got != want {
			t.Errorf("%d: %s, want %s", seconds, got, want)
		}
	}
}
