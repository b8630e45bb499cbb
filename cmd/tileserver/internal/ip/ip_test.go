package ip

import (
	"testing"
)

func TestPercentEncode(t *testing.T) {
	for _, tt := range [][2]string{
		{"", ""}, {"New York", "New York"}, {"Zürich", "Z%C3%BCrich"}, {"100%", "100%25"}, {"a\r\nX-Evil: 1",
			"a%0D%0AX-Evil: 1"}, {"\x7f\x80", "%7F%80"}, {"北京", "%E5%8C%97%E4%BA%AC"},
	} {
		if got := percentEncode(tt[0]); got != tt[1] {
			t.Errorf("%q: %q, want %q", tt[0], got, tt[1])
		}
	}
}
