package gazgen

import (
	"bytes"
	"io"
	"iter"
	"strings"
	"testing"
	"unicode"

	"quadrille/places"

	"github.com/google/go-cmp/cmp"
)

func take(t testing.TB, n int, seed uint64) []places.Place {
	t.Helper()
	var list []places.Place
	for p, err := range Seq(n, seed) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

func TestSeq(t *testing.T) {
	const n = 50_000
	list := take(t, n, 1)
	if len(list) != n {
		t.Fatalf("%d places", len(list))
	}
	ids, classes, countries, codes := map[uint32]bool{}, map[string]int{}, map[string]int{}, map[string]int{}
	populated, towns, large := 0, 0, 0
	for i := range list {
		p := &list[i]
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		if ids[p.ID] {
			t.Fatalf("id %d twice", p.ID)
		}
		ids[p.ID] = true
		classes[p.Class]++
		countries[p.Country]++
		codes[p.Class+"."+p.Code]++
		if p.Class == "P" && p.Population > 0 {
			populated++
			if p.Population > 5000 {
				towns++
			}
			if p.Population > 100_000 {
				large++
			}
		}
	}
	for _, k := range classTable {
		if share := float64(classes[k.name]) / n; share < k.share*0.7 || share > k.share*1.3 {
			t.Errorf("class %s: %.4f of the places, want %.4f", k.name, share, k.share)
		}
	}
	if len(countries) < 220 || len(codes) < 120 || countries["US"] < n/8 || countries["US"] > n/4 {
		t.Errorf("%d countries, %d codes, %d in the US", len(countries), len(codes), countries["US"])
	}
	if p := classes["P"]; populated < p/12 || populated > p/7 || towns < populated/25 || towns > populated/8 || large < 3 || large > towns/4 {
		t.Errorf("%d of %d populated, %d towns, %d large ones", populated, p, towns, large)
	}
	if d := cmp.Diff(list[:100], take(t, n, 1)[:100]); d != "" {
		t.Errorf("the same seed gives others: %s", d)
	}
	if cmp.Equal(list[0], take(t, n, 2)[0]) {
		t.Error("another seed gives the same")
	}
	for _, p := range Points(100, 1) {
		if err := (&places.Place{ID: 1, Name: "x", Lon: p[0], Lat: p[1]}).Validate(); err != nil {
			t.Error(err)
		}
	}
}

// TestSource tests that the tables besides the places are valid, refer to existing places, and are
// the same each time.
func TestSource(t *testing.T) {
	const n = 20_000
	src, again := Source(n, 1), Source(n, 1)
	known := map[uint32]bool{}
	for p := range src.Places {
		known[p.ID] = true
	}
	names, scripts, last, unsorted := 0, map[*unicode.RangeTable]int{}, uint32(0), 0
	next, stop := iter.Pull2(again.Names)
	defer stop()
	for a, err := range src.Names {
		if err == nil {
			err = a.Validate()
		}
		if err != nil || !known[a.PlaceID] {
			t.Fatalf("%+v: %v", a, err)
		}
		if other, _, _ := next(); other != a {
			t.Fatalf("%+v and %+v of the same seed", a, other)
		}
		names++
		if a.PlaceID < last {
			unsorted++
		}
		last = a.PlaceID
		for _, script := range []*unicode.RangeTable{
			unicode.Latin,
			unicode.Cyrillic,
			unicode.Han,
			unicode.Arabic,
			unicode.Katakana,
			unicode.Devanagari,
		} {
			if strings.ContainsFunc(a.Name, func(r rune) bool { return unicode.Is(script, r) }) {
				scripts[script]++
			}
		}
	}
	if names < n*11/10 || names > n*15/10 || unsorted < 10 || len(scripts) != 6 {
		t.Errorf("%d names, %d descents, %d scripts", names, unsorted, len(scripts))
	}
	parents, codes := 0, 0
	for p, err := range src.Parents {
		if err != nil || p.Validate() != nil || !known[p.Parent] || !known[p.Child] {
			t.Fatalf("%+v: %v", p, err)
		}
		parents++
	}
	for a, err := range src.Admin5 {
		if err != nil || a.Validate() != nil || !known[a.PlaceID] {
			t.Fatalf("%+v: %v", a, err)
		}
		codes++
	}
	if parents < n/40 || codes < n/50 {
		t.Errorf("%d parents, %d codes", parents, codes)
	}
	for _, d := range append(src.Gazetteer.Admin1, src.Gazetteer.Admin2...) {
		if err := d.Validate(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTables(t *testing.T) {
	const n = 1000
	for name, c := range map[string]struct {
		write         func(io.Writer) error
		columns, rows int // 0: any
	}{
		"places":    {func(w io.Writer) error { return WriteTSV(w, n, 7) }, 19, n},
		"names":     {func(w io.Writer) error { return WriteNamesTSV(w, n, 7) }, 10, 0},
		"hierarchy": {func(w io.Writer) error { return WriteParentsTSV(w, n, 7) }, 3, 0},
		"admin5":    {func(w io.Writer) error { return WriteAdmin5TSV(w, n, 7) }, 2, 0},
		"divisions": {func(w io.Writer) error { return WriteDivisionsTSV(w, Admin2()) }, 4, len(Admin2())},
	} {
		var out bytes.Buffer
		if err := c.write(&out); err != nil {
			t.Fatal(err)
		}
		lines := bytes.Split(bytes.TrimSuffix(out.Bytes(), []byte{'\n'}), []byte{'\n'})
		if len(lines) < 10 || c.rows > 0 && len(lines) != c.rows {
			t.Fatalf("%s: %d lines", name, len(lines))
		}
		for i, l := range lines {
			if columns := bytes.Count(l, []byte{'\t'}) + 1; columns != c.columns {
				t.Fatalf("%s: line %d has %d columns: %s", name, i+1, columns, l)
			}
		}
	}
}

func BenchmarkSeq(b *testing.B) {
	n, names := 0, 0
	for p := range Seq(b.N, 1) {
		n++
		names += len(p.Name) + len(p.AlternateNames)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(names)/float64(n), "B/name")
}
