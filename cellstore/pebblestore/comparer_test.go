package pebblestore

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"pgregory.net/rapid"
)

// base.CheckComparer of the engine cannot be imported; pebble.CheckComparer
// is its exported name.
func TestEngineAcceptsComparer(t *testing.T) {
	prefix := func(rows ...string) (ps [][]byte) {
		for _, r := range rows {
			ps = append(ps, appendPrefix(nil, 3, []byte(r)))
		}
		return ps
	}
	suffix := func(q string, ts int64) []byte { return appendSuffix(nil, []byte(q), invert(ts)) }
	long := string(bytes.Repeat([]byte{0}, 246))
	prefixes := prefix("a", "a\x00", "a\x00\x00", "ab", "\xff", "\x00", "row\x09", "row\xfe\xff")
	suffixes := [][]byte{
		suffix("", 0), suffix("", 5), suffix("", 1<<62),
		suffix("q", 0), suffix("q", 7), suffix("q\x00", 7), suffix("q\xff", 7),
		suffix(long[:245], 1), suffix(long, 1), suffix(long+"x", 1),
	}
	if err := pebble.CheckComparer(comparer, prefixes, suffixes); err != nil {
		t.Fatal(err)
	}
}

// cellKey has the parts of a key. It is the reference for the encoding.
type cellKey struct {
	family byte
	row, q []byte
	ts     int64
	bare   bool
}

func (k cellKey) encode() []byte {
	b := appendPrefix(nil, k.family, k.row)
	if !k.bare {
		b = appendSuffix(b, k.q, invert(k.ts))
	}
	return b
}

func compareParts(a, b cellKey) int {
	if c := cmp.Or(cmp.Compare(a.family, b.family), bytes.Compare(a.row, b.row)); c != 0 {
		return c
	}
	if a.bare || b.bare {
		switch {
		case a.bare && b.bare:
			return 0
		case a.bare:
			return -1
		}
		return 1
	}
	return cmp.Or(bytes.Compare(a.q, b.q), -cmp.Compare(a.ts, b.ts))
}

// someBytes favours bytes that occur as separators and lengths in keys.
func someBytes(min, max int) *rapid.Generator[[]byte] {
	b := rapid.OneOf(rapid.SampledFrom([]byte{0, 1, 8, 9, 10, 0xFE, 0xFF, 'a', 'b'}), rapid.Byte())
	return rapid.SliceOfN(b, min, max)
}

func someKey() *rapid.Generator[cellKey] {
	return rapid.Custom(func(t *rapid.T) cellKey {
		k := cellKey{
			family: byte(rapid.IntRange(1, 3).Draw(t, "family")),
			row:    someBytes(1, 6).Draw(t, "row"),
			q:      someBytes(0, 6).Draw(t, "qualifier"),
			ts:     rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, 1<<63-2)).Draw(t, "timestamp"),
			bare:   rapid.IntRange(0, 9).Draw(t, "bare") == 0,
		}
		if n := rapid.SampledFrom([]int{0, 0, 0, 0, 240, 245, 246, 300, 16384}).Draw(t, "longer"); n > 0 {
			k.q = append(k.q, bytes.Repeat([]byte{k.q0()}, n)...)
		}
		return k
	})
}

func (k cellKey) q0() byte {
	if len(k.q) > 0 {
		return k.q[0]
	}
	return 0
}

func TestKeyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := someKey().Draw(t, "a"), someKey().Draw(t, "b")
		if rapid.Bool().Draw(t, "same row") {
			b.family, b.row = a.family, a.row
		}
		x, y := a.encode(), b.encode()
		want := compareParts(a, b)
		if got := comparer.Compare(x, y); got != want {
			t.Fatalf("Compare(%x, %x) = %d, want %d", x, y, got, want)
		}
		if got := comparer.Equal(x, y); got != (want == 0) {
			t.Fatalf("Equal(%x, %x) = %v", x, y, got)
		}
		ax, ay := comparer.AbbreviatedKey(x), comparer.AbbreviatedKey(y)
		if ax < ay && want >= 0 || ax > ay && want <= 0 {
			t.Fatalf("AbbreviatedKey of %x and %x disagree with their order", x, y)
		}
		if px, py := x[:splitKey(x)], y[:splitKey(y)]; want <= 0 && comparer.Compare(px, py) > 0 {
			t.Fatalf("prefixes of %x and %x are in another order", x, y)
		}
		if want < 0 {
			s := comparer.Separator(nil, x, y)
			checkShort(t, s, x)
			if comparer.Compare(x, s) > 0 || comparer.Compare(s, y) >= 0 {
				t.Fatalf("Separator(%x, %x) = %x", x, y, s)
			}
		}
		s := comparer.Successor([]byte("kept"), x)
		if !bytes.HasPrefix(s, []byte("kept")) {
			t.Fatalf("Successor lost dst: %x", s)
		}
		checkShort(t, s[4:], x)
		if comparer.Compare(x, s[4:]) > 0 {
			t.Fatalf("Successor(%x) = %x", x, s[4:])
		}
	})
}

func checkShort(t *rapid.T, s, x []byte) {
	if err := comparer.ValidateKey(s); err != nil {
		t.Fatal(err)
	}
	if len(s) > len(x) {
		t.Fatalf("%x is longer than %x", s, x)
	}
}

// No prefix fits between a prefix and its immediate successor.
func TestImmediateSuccessor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := appendPrefix(nil, 1, someBytes(1, 4).Draw(t, "row"))
		next := comparer.ImmediateSuccessor(nil, a)
		if splitKey(next) != len(next) || comparer.Compare(a, next) >= 0 {
			t.Fatalf("ImmediateSuccessor(%x) = %x", a, next)
		}
		b := appendPrefix(nil, 1, someBytes(1, 6).Draw(t, "other"))
		if comparer.Compare(a, b) < 0 && comparer.Compare(b, next) < 0 {
			t.Fatalf("%x lies between %x and %x", b, a, next)
		}
	})
}

// Splitting a key returns its parts, and sorting encoded keys sorts their parts.
func TestKeyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(someKey(), 1, 12).Draw(t, "keys")
		var encoded [][]byte
		for _, k := range keys {
			e := k.encode()
			if err := comparer.ValidateKey(e); err != nil {
				t.Fatal(err)
			}
			n := splitKey(e)
			if e[0] != k.family || !bytes.Equal(e[1:n-1], k.row) {
				t.Fatalf("%x splits at %d, want family %d row %x", e, n, k.family, k.row)
			}
			if !k.bare {
				q, inverted := splitSuffix(e[n:])
				if !bytes.Equal(q, k.q) || int64(^inverted) != k.ts {
					t.Fatalf("%x has %x@%d, want %x@%d", e, q, int64(^inverted), k.q, k.ts)
				}
				if len(e) != keyLen(len(k.row), len(k.q)) {
					t.Fatalf("keyLen(%d, %d) = %d, want %d", len(k.row), len(k.q), keyLen(len(k.row), len(k.q)), len(e))
				}
			}
			encoded = append(encoded, e)
		}
		slices.SortFunc(keys, compareParts)
		slices.SortFunc(encoded, comparer.Compare)
		for i := range keys {
			if !bytes.Equal(keys[i].encode(), encoded[i]) {
				t.Fatalf("place %d: %x, want %x", i, encoded[i], keys[i].encode())
			}
		}
	})
}

// FuzzKey checks that no bytes make the comparer panic or contradict itself.
func FuzzKey(f *testing.F) {
	f.Add([]byte{}, []byte{0})
	f.Add([]byte("\x01row\x00q\x00\x00\x00\x00\x00\x00\x00\x01\x0a"), []byte("\x01row\x00"))
	f.Add([]byte{255}, []byte{1, 255})
	f.Add([]byte{0, 0, 255}, []byte{255, 255, 255})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, k := range [][]byte{a, b} {
			n := splitKey(k)
			if n < 0 || n > len(k) {
				t.Fatalf("splitKey(%x) = %d", k, n)
			}
			splitSuffix(k[n:])
			_ = fmt.Sprint(comparer.FormatKey(k))
			comparer.AbbreviatedKey(k)
			comparer.Successor(nil, k)
		}
		if x, y := comparer.Compare(a, b), comparer.Compare(b, a); x != -y {
			t.Fatalf("Compare(%x, %x) = %d, reversed %d", a, b, x, y)
		}
		if comparer.ValidateKey(a) != nil || comparer.ValidateKey(b) != nil {
			return
		}
		if c := comparer.Compare(a, b); comparer.Equal(a, b) != (c == 0) {
			t.Fatalf("Equal(%x, %x) disagrees with Compare %d", a, b, c)
		} else if c < 0 {
			s := comparer.Separator(nil, a, b)
			if comparer.Compare(a, s) > 0 || comparer.Compare(s, b) >= 0 {
				t.Fatalf("Separator(%x, %x) = %x", a, b, s)
			}
		}
	})
}

// keyLen returns the length of an encoded cell key.
func keyLen(row, qualifier int) int {
	n := 2 + row + qualifier + shortTail
	if qualifier+shortTail > maxShort {
		n += longTail - shortTail
	}
	return n
}
