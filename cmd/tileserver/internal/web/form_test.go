package web

import (
	"strings"
	"testing"
)

// An invalid form panics at the start, with advice.
func TestNewFormRefuses(t *testing.T) {
	for _, c := range []struct {
		of   Media
		want string
	}{
		{Media{Name: "png", Type: "image/x-png"}, "image/png and image/x-png are both the form png: give one of them another name"},
		{Media{Name: "json", Type: "application/json"}, "another name"},
		{Media{Type: "text/x"}, "give it both"},
		{Media{Name: "x"}, "give it both"},
	} {
		before := len(forms)
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, c.want) {
					t.Errorf("%+v: %q, want %q", c.of, text, c.want)
				}
			}()
			NewFormat(c.of)
		}()
		if len(forms) != before {
			t.Errorf("%+v is registered", c.of)
		}
	}
}

// TestFormTags tests that two forms have different ETags whatever their media types are, and that a
// form has the same ETag in every process.
func TestFormTags(t *testing.T) {
	seen := map[uint64]string{}
	for i := range forms {
		f := Format(i) //nolint:gosec // few
		if other, ok := seen[f.Tag()]; ok {
			t.Errorf("%s and %s have one tag", forms[i].Name, other)
		}
		seen[f.Tag()] = forms[i].Name
	}
	if got := FormatJSON.Tag(); got != uint64(HashStart.Bytes("json").Bytes("application/json")) {
		t.Errorf("the tag of JSON is %d", got)
	}
}
