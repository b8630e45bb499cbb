package ip

import (
	"testing"
)

func TestHeaderValue(t *testing.T) {
	for raw, want := range map[string]string{
		`"a\r\nb"`:             "a%0D%0Ab",
		`"\u2028"`:             "%E2%80%A8",
		`{"de":"x","en":"\n"}`: "%0A",
		`{"fr":"f","de":"d"}`:  "d",
		`47.36`:                "47.36",
		`-1e5`:                 "-1e5",
		"[\"ü\",\r\n1]":        "[\"%C3%BC\",%0D%0A1]", `{"en":1}`: "", `"`: "",
	} {
		if got := headerValue([]byte(raw)); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}
