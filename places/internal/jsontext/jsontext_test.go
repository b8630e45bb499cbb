package jsontext_test

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"quadrille/places/internal/jsontext"
)

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "Zürich", `a "b" \c`, "<img src=x> & Sons", "line\u2028end\u2029", "\x00\x1f\x7f", "bad \xff\xc3 utf", "\ufffd", "北京"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := string(jsontext.AppendString([]byte("x"), s))
		var back string
		if err := json.Unmarshal([]byte(out[1:]), &back); err != nil || back != strings.ToValidUTF8(s, "\ufffd") && back != valid(s) {
			t.Errorf("%q: %s, %v", s, out, err)
		}
		if strings.ContainsAny(out, "<>&\x00\x1f\x7f\u2028\u2029") {
			t.Errorf("%q: %s", s, out)
		}
	})
}

// valid replaces each byte that is not UTF-8, where strings.ToValidUTF8 replaces
// runs of them.
func valid(s string) string { return string([]rune(s)) }

func TestAppendDegrees(t *testing.T) {
	for _, units := range []int32{0, 1, -1, 10, 473_666_700, -1_800_000_000, 1_800_000_000, 900_000_000, 123_456_789, math.MinInt32, math.MaxInt32} {
		got := string(jsontext.AppendDegrees(nil, units))
		v, err := strconv.ParseFloat(got, 64)
		if err != nil || int64(math.Round(v*1e7)) != int64(units) || strings.HasSuffix(got, "0") && strings.Contains(got, ".") {
			t.Errorf("%d: %s", units, got)
		}
	}
}
