package archive

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCredit(t *testing.T) {
	for _, c := range []struct{ in, html, text string }{
		{"Us & them", "Us &amp; them", "Us & them"},
		{`<a href="https://osm.org/copyright" onclick="x()" target="_top">&copy; OSM</a> people`,
			`<a href="https://osm.org/copyright" target="_blank" rel="noopener">© OSM</a> people`, "© OSM, https://osm.org/copyright people"},
		{`<a href="javascript:alert(1)">x</a>`, "x", "x"},
		{`<a href="https://u:p@osm.org/">x</a>`, "x", "x"},
		{`<a href='https://a.org/"><script>'>x`, `<a href="https://a.org/%22%3E%3Cscript%3E" target="_blank" rel="noopener">x</a>`, "x, https://a.org/%22%3E%3Cscript%3E"},
		{`a<script>alert(1)</script>b<style>c</style>d`, "abd", "abd"},
		{`<img src=x onerror=alert(1)>y`, "y", "y"},
		{`<b>bold</b> <!-- no --> &lt;i&gt;`, "bold  &lt;i&gt;", "bold  <i>"},
		{"line\nof\x00\u202etext&#x202e;", "line oftext", "line oftext"},
	} {
		html, text := credit(c.in)
		if html != c.html || text != c.text {
			t.Errorf("%q:\n%q, want\n%q\n%q, want\n%q", c.in, html, c.html, text, c.text)
		}
	}
	if html, text := credit(strings.Repeat("é<", 10_000)); len(html) > 6*maxText || len(text) > 2*maxText {
		t.Errorf("%d bytes of HTML and %d of text", len(html), len(text))
	}
}

func FuzzCredit(f *testing.F) {
	f.Add(`<a href="https://osm.org">x</a>`)
	f.Fuzz(func(t *testing.T, s string) {
		rich, plain := credit(s)
		for part := range strings.SplitSeq(rich, "<") {
			if part != "" && strings.HasPrefix(rich, part) {
				continue // before the first tag
			}
			if part != "" && !strings.HasPrefix(part, `a href="http`) && !strings.HasPrefix(part, "/a>") {
				t.Errorf("%q became %q", s, rich)
			}
		}
		if !utf8.ValidString(plain) || strings.ContainsAny(plain, "\x00\n") {
			t.Errorf("%q became %q", s, plain)
		}
	})
}

func TestPlace(t *testing.T) {
	world := [4]float64{-180, -85.05112877980659, 180, 85.05112877980659}
	for _, c := range []struct {
		bounds, center []float64
		want           [4]float64
		zoom           float64
	}{
		{nil, nil, world, 2},
		{[]float64{0, 0, 0, 0}, []float64{0, 0, 0}, world, 0},
		{[]float64{170, -10, -170, 10}, nil, world, 2},
		{[]float64{-200, -90, 200, 90}, []float64{1, 2, 99}, world, 2},
		{[]float64{1, 2, 3, 4}, []float64{2, 3, 5}, [4]float64{1, 2, 3, 4}, 5},
		{[]float64{1, 2, 3, 4}, []float64{9, 9, 5}, [4]float64{1, 2, 3, 4}, 2},
		{[]float64{190, 2, 195, 4}, nil, world, 2},
	} {
		i := Info{MinZoom: 2, MaxZoom: 7}
		i.place(c.bounds, c.center)
		if i.Bounds != c.want || i.Center[2] != c.zoom {
			t.Errorf("%v, %v: %v, zoom %v", c.bounds, c.center, i.Bounds, i.Center[2])
		}
	}
	for _, s := range []string{"", "1,2,3", "1,2,3,4,5", "1,2,3,NaN", "1,2,3,Inf", "1,2,3,x"} {
		if n := numbers(s, 4); n != nil {
			t.Errorf("%q: %v", s, n)
		}
	}
}
