package source_test

import (
	"encoding/binary"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/testfile"
)

// encoded returns units in UTF-16.
func encoded(order binary.AppendByteOrder, units ...uint16) (text string) {
	var b []byte
	for _, u := range units {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

func TestUTF16(t *testing.T) {
	orders := []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian}
	for name, tc := range map[string]struct{ text, want string }{
		"letters":      {"id,name\n1,Zürich 東京 𝄞\n", "id,name\n1,Zürich 東京 𝄞\n"},
		"only letters": {"id", "id"},
		"long":         {strings.Repeat("id,name 𝄞\n", 100_000), strings.Repeat("id,name 𝄞\n", 100_000)},
	} {
		for _, order := range orders {
			for mark, units := range map[string][]uint16{"a mark": {0xfeff}, "no mark": nil} {
				for _, pack := range []func(string) string{func(s string) string { return s }, testfile.Gzip[string]} {
					got, _, err := readAll(t, pack(encoded(order, append(units, utf16.Encode([]rune(tc.text))...)...)))
					if err != nil || string(got) != tc.want {
						t.Errorf("%s, %v, %s: %d bytes, %v", name, order, mark, len(got), err)
					}
				}
			}
		}
	}
	for name, text := range map[string]string{
		"cut off":    "\xff\xfea\x00b\x00c",
		"cut a pair": "\xff\xfea\x00b\x00\x34\xd8\x1e",
	} {
		if _, path, err := readAll(t, text); err == nil || !strings.HasPrefix(err.Error(), path+": ends within a character of UTF-16") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{"UTF-32": "\xff\xfe\x00\x00a\x00\x00\x00", "zeros": "\x00\x00a\x00", "short": "a\x00"} {
		if got, _, err := readAll(t, text); err != nil || string(got) != text {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	// The files of UTF-32 are refused with advice.
	f, err := source.Open(testfile.WriteTemp(t, "file", "\xff\xfe\x00\x00a\x00\x00\x00"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Refuse(source.WantPoints); err == nil || !strings.Contains(err.Error(), "iconv -f UTF-32") {
		t.Error(err)
	}
}

// A half of a pair that stands alone is not UTF-8, and nothing else is lost.
func TestUTF16Any(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		units := rapid.SliceOfN(rapid.OneOf(rapid.Uint16(), rapid.Uint16Range(0xd7ff, 0xe000), rapid.Uint16Range('a', 'c')), 0, 40).
			Draw(t, "units")
		var order binary.AppendByteOrder = binary.LittleEndian
		if rapid.Bool().Draw(t, "big endian") {
			order = binary.BigEndian
		}
		if len(units) > 0 && units[0] == 0 {
			units[0] = 1 // would be a mark of UTF-32
		}
		f, err := source.Open(testfile.Write(t, dir+"/file", encoded(order, append([]uint16{0xfeff}, units...)...)))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		got, err := io.ReadAll(iotest.OneByteReader(f))
		want := utf16.Decode(units)
		lost := slices.Contains(want, utf8.RuneError) && !slices.Contains(units, utf8.RuneError)
		if err != nil || utf8.Valid(got) == lost || !lost && string(got) != string(want) {
			t.Fatalf("%x: %q, %v", units, got, err)
		}
	})
}

func TestForeignUTF16(t *testing.T) {
	const file = "../../../../../shared/data/files/tables/tab_utf16.txt"
	if _, err := os.Stat(file); err != nil {
		t.Skip(err)
	}
	f, err := source.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := io.ReadAll(f)
	if err != nil || f.Shown != "UTF-16" || strings.Count(string(got), "\n") != 121 || !strings.HasPrefix(string(got), "id\t") {
		t.Errorf("%.60q, %v", got, err)
	}
}
