package gazgen

import (
	"bytes"
	"testing"

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

func TestWriteTSV(t *testing.T) {
	var out bytes.Buffer
	if err := WriteTSV(&out, 1000, 7); err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSuffix(out.Bytes(), []byte{'\n'}), []byte{'\n'})
	if len(lines) != 1000 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, l := range lines {
		if n := bytes.Count(l, []byte{'\t'}) + 1; n != 19 {
			t.Fatalf("line %d has %d columns: %s", i+1, n, l)
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
