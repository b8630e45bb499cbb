package lang

import "testing"

func TestIsLocal(t *testing.T) {
	for _, c := range []struct {
		code, country string
		local         bool
	}{
		{"de", "DE", true}, {"de", "AT", true}, {"de", "CH", true}, {"fr", "CH", false}, {"en", "US", true}, {"es", "US", false},
		{"zh-Hant", "TW", true}, {"zh", "HK", true}, {"no", "NO", true}, {"nb", "NO", true}, {"ru", "RU", true}, {"ja", "JP", true},
		{"", "DE", false}, {"de", "", false}, {"de", "ZZ", false}, {"de", "Deutschland", false},
	} {
		if got := IsLocal(c.code, c.country); got != c.local {
			t.Errorf("IsLocal(%q, %q) is %v", c.code, c.country, got)
		}
	}
}
