package source_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/testfile"
)

func zipped(members ...string) string {
	var list [][2]string
	for _, name := range members {
		list = append(list, [2]string{name, "text of " + name})
	}
	return testfile.Zip(list...)
}

func isText(name string) bool { return strings.HasSuffix(name, ".txt") && name != "readme.txt" }

func TestOpen(t *testing.T) {
	for name, tc := range map[string]struct {
		content string
		want    string
		err     string
	}{
		"empty":               {"", "", ""},
		"plain":               {"hello", "hello", ""},
		"byte order mark":     {"\xef\xbb\xbfhello", "hello", ""},
		"only that":           {"\xef\xbb\xbf", "", ""},
		"gzip":                {testfile.Gzip("hello"), "hello", ""},
		"gzip with mark":      {testfile.Gzip("\xef\xbb\xbfhello"), "hello", ""},
		"two gzip members":    {testfile.Gzip("hello ") + testfile.Gzip("world"), "hello world", ""},
		"truncated gzip":      {testfile.Gzip(strings.Repeat("hello", 1000))[:30], "", "truncated"},
		"not quite gzip":      {"\x1f\x8bxx", "", "gzip"},
		"zip":                 {zipped("readme.txt", "cities.txt", "notes.md"), "text of cities.txt", ""},
		"zip without":         {zipped("readme.txt"), "", "no member of the format"},
		"zip with two":        {zipped("a.txt", "b.txt"), "", `both "a.txt" and "b.txt"`},
		"zip without its end": {zipped("a.txt")[:40], "", "zip"},
	} {
		t.Run(name, func(t *testing.T) {
			path := testfile.WriteTemp(t, "file", tc.content)
			f, err := source.OpenMember(path, isText)
			var got []byte
			if err == nil {
				defer f.Close()
				got, err = io.ReadAll(f)
			}
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(err.Error(), path) {
					t.Fatalf("error %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil || string(got) != tc.want {
				t.Fatalf("%q, %v", got, err)
			}
			sum, err := f.SHA256()
			want := sha256.Sum256([]byte(tc.content))
			if err != nil || sum != hex.EncodeToString(want[:]) {
				t.Errorf("checksum %s, %v", sum, err)
			}
			if f.Size != int64(len(tc.content)) || f.Progress() > f.Size {
				t.Errorf("size %d, progress %d", f.Size, f.Progress())
			}
		})
	}
}

// The checksum is that of the whole file, even if only its beginning was read.
func TestChecksumOfUnreadFile(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 1<<20)
	f, err := source.Open(testfile.WriteTemp(t, "file", content))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	io.ReadFull(f, make([]byte, 10))
	sum, err := f.SHA256()
	want := sha256.Sum256(content)
	if err != nil || sum != hex.EncodeToString(want[:]) {
		t.Error(sum, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := source.Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := source.Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
	if _, err := source.Open(testfile.WriteTemp(t, "file", zipped("a.txt"))); err == nil || !strings.Contains(err.Error(), "unpack it") {
		t.Error(err)
	}
}

// A spreadsheet is recognised by all its parts together, because archives of data may also have a
// member with such a name.
func TestArchiveRefusesDocuments(t *testing.T) {
	for want, members := range map[string][]string{
		"OpenDocument":      {"content.xml", "META-INF/manifest.xml"},
		"an Excel workbook": {"xl/workbook.xml"},
		"":                  {"content.xml", "a.csv"},
	} {
		a, err := source.OpenArchive(testfile.WriteTemp(t, "x.zip", zipped(members...)))
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		err = a.Refuse()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", members, err)
		}
	}
}

func TestDecompressionIsBounded(t *testing.T) {
	f, err := source.Open(testfile.WriteTemp(t, "file", testfile.Gzip(make([]byte, 24<<20))))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, err := io.Copy(io.Discard, f); !errors.Is(err, source.ErrTooLarge) || n > 20<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestBadRecord(t *testing.T) {
	b := &source.BadRecord{Source: "x.csv", Line: 7, Reason: "odd"}
	if got := b.Error(); got != "x.csv:7: odd" {
		t.Error(got)
	}
	b.Detail = source.Excerpt("a\r\x00" + strings.Repeat("x", 100))
	if got := b.Error(); got != `x.csv:7: odd: "a\r\x00`+strings.Repeat("x", 77)+`"…` {
		t.Error(got)
	}
}

func TestPlace(t *testing.T) {
	inf := math.Inf(1)
	for _, tc := range []struct {
		lon, lat float64
		want     orb.Point
		reason   string
	}{
		{0, 0, orb.Point{0, 0}, ""},
		{180, 90, orb.Point{180, 90}, ""},
		{-180, -90, orb.Point{-180, -90}, ""},
		{180.0000003, 90.0002, orb.Point{180, 90}, ""},
		{-180.01, -90.01, orb.Point{-180, -90}, ""},
		{190, 10, orb.Point{190, 10}, ""},
		{-190, 10, orb.Point{-190, 10}, ""},
		{360, 0, orb.Point{360, 0}, ""},
		{361, 0, orb.Point{}, source.ReasonOutsideWorld},
		{0, 90.02, orb.Point{}, source.ReasonOutsideWorld},
		{0, -91, orb.Point{}, source.ReasonOutsideWorld},
		{math.NaN(), 0, orb.Point{}, source.ReasonNotANumber},
		{0, math.NaN(), orb.Point{}, source.ReasonNotANumber},
		{inf, 0, orb.Point{}, source.ReasonNotANumber},
		{0, -inf, orb.Point{}, source.ReasonNotANumber},
	} {
		if p, reason, _ := source.NormalizePosition(tc.lon, tc.lat); p != tc.want || reason != tc.reason {
			t.Errorf("%v %v: %v %q", tc.lon, tc.lat, p, reason)
		}
	}
}

func TestAddPolygon(t *testing.T) {
	full := orb.Ring{{0, 0}, {1, 0}, {1, 1}, {0, 0}}
	open := orb.Ring{{0, 0}, {1, 0}, {1, 1}}
	flat := orb.Ring{{0, 0}, {1, 0}, {0, 0}}
	for name, tc := range map[string]struct {
		rings []orb.Ring
		want  []orb.Polygon
	}{
		"nothing":    {nil, nil},
		"full":       {[]orb.Ring{full, full}, []orb.Polygon{{full, full}}},
		"open":       {[]orb.Ring{open}, []orb.Polygon{{full}}},
		"flat hole":  {[]orb.Ring{full, flat, full}, []orb.Polygon{{full, full}}},
		"flat outer": {[]orb.Ring{flat, full}, nil},
		"empty":      {[]orb.Ring{{}}, nil},
	} {
		if got := source.AddPolygon(nil, tc.rings); !cmp.Equal(got, tc.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
