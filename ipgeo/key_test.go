package ipgeo

import (
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestKeys builds ranges with and without keys and expects the same table:
// with them, only the first range of each record has it.
func TestKeys(t *testing.T) {
	tb, ctx := t, t.Context()
	rapid.Check(t, func(t *rapid.T) {
		codes := []string{"CH", "DE", "FR", "not a code"}
		n := rapid.IntRange(1, 30).Draw(t, "n")
		plain, keyed := make([]Range, n), make([]Range, n)
		sent := map[int]bool{}
		for i := range n {
			first := rapid.Uint32Range(0x01000000, 0x01000400).Draw(t, "first")
			last := first + rapid.Uint32Range(0, 300).Draw(t, "length")
			code := rapid.IntRange(0, len(codes)-1).Draw(t, "code")
			r := Range{
				First: netip.AddrFrom4([4]byte{byte(first >> 24), byte(first >> 16), byte(first >> 8), byte(first)}),
				Last:  netip.AddrFrom4([4]byte{byte(last >> 24), byte(last >> 16), byte(last >> 8), byte(last)}),
			}
			if rapid.Bool().Draw(t, "reversed") && first != last {
				r.First, r.Last = r.Last, r.First // refused, and the record with it
			}
			keyed[i] = r
			keyed[i].Key = uint64(code) + 1
			r.Record.Country.ISOCode = codes[code]
			plain[i] = r
			if !sent[code] || code == len(codes)-1 {
				keyed[i].Record = r.Record
				sent[code] = sent[code] || r.Check() == nil
			}
		}
		build := func(ranges []Range) ([]string, int) {
			bad := 0
			store := new(fakeStore)
			opts := BuildOptions{Bad: func(*BadRangeError) error { bad++; return nil }}
			if _, _, err := Build(ctx, store, seqOf(ranges), opts); err != nil {
				t.Fatal(err)
			}
			return rows(tb, store), bad
		}
		want, wantBad := build(plain)
		got, gotBad := build(keyed)
		if !slices.Equal(got, want) || gotBad != wantBad {
			t.Fatalf("with keys %v and %d refused, without %v and %d", got, gotBad, want, wantBad)
		}
	})
}
