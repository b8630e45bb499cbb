package layertile

import "testing"

func TestShortCount(t *testing.T) {
	for n, want := range map[int64]string{
		2: "2", 999: "999", 1000: "1k", 1200: "1.2k", 9949: "9.9k", 9951: "10k", 12345: "12k", 999_499: "999k", 999_500: "1M",
		1_250_000: "1.2M", 4_000_000_000: "4G", 1 << 62: "4.6E",
	} {
		if got := ShortCount(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
