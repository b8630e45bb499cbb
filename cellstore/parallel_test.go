package cellstore

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestCutAll tests that the ranges of a scan are cut to the parts of a table. Together they hold
// each key as often as before, and each part has the order of the scan.
func TestCutAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]byte("ab\x00")), 0, 3), func(b []byte) []byte { return b })
		keys := rapid.SliceOfNDistinct(rapid.SliceOfN(rapid.SampledFrom([]byte("ab\x00")), 1, 3), 0, 12,
			func(b []byte) string { return string(b) }).Draw(t, "keys")
		slices.SortFunc(keys, bytes.Compare)
		reverse := rapid.Bool().Draw(t, "reverse")
		var ranges []Range
		for range rapid.IntRange(0, 3).Draw(t, "ranges") {
			ranges = append(ranges, Range{From: key.Draw(t, "from"), To: key.Draw(t, "to"), ToInclusive: rapid.Bool().Draw(t, "inclusive")})
		}
		splits := rapid.SliceOfNDistinct(rapid.SliceOfN(rapid.SampledFrom([]byte("ab\x00")), 1, 3), 0, 3,
			func(b []byte) string { return string(b) }).Draw(t, "splits")
		slices.SortFunc(splits, bytes.Compare)
		parts := []Range{{}}
		for _, s := range splits {
			parts[len(parts)-1].To = s
			parts = append(parts, Range{From: s})
		}

		all := ranges
		if len(all) == 0 {
			all = []Range{{}}
		}
		want := scanned(keys, all, reverse)
		var got [][]byte
		for _, part := range parts {
			var in [][]byte
			for _, k := range want {
				if bytes.Compare(k, part.From) >= 0 && (len(part.To) == 0 || bytes.Compare(k, part.To) < 0) {
					in = append(in, k)
				}
			}
			has := slices.DeleteFunc(scanned(keys, cutAll(ranges, part, reverse), reverse), func(k []byte) bool {
				return len(part.To) > 0 && bytes.Compare(k, part.To) >= 0
			})
			if !slices.EqualFunc(has, in, bytes.Equal) {
				t.Fatalf("part %q to %q has %q, want %q", part.From, part.To, has, in)
			}
			got = append(got, has...)
		}
		if len(got) != len(want) {
			t.Fatalf("the parts have %q, the scan %q", got, want)
		}
	})
}

// scanned returns the keys that a scan yields.
func scanned(keys [][]byte, ranges []Range, reverse bool) (out [][]byte) {
	for _, r := range ranges {
		var in [][]byte
		for _, k := range keys {
			low, high := r.From, r.To
			if reverse {
				low, high = high, low
			}
			l, h := bytes.Compare(k, low), bytes.Compare(k, high)
			above := l > 0 || len(low) == 0 || l == 0 && (!reverse || r.ToInclusive)
			below := h < 0 || len(high) == 0 || h == 0 && (reverse || r.ToInclusive)
			if above && below {
				in = append(in, k)
			}
		}
		if reverse {
			slices.Reverse(in)
		}
		out = append(out, in...)
	}
	return out
}
