package credit

import (
	"errors"
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
		{
			`<a href='https://a.org/"><script>'>x`,
			`<a href="https://a.org/%22%3E%3Cscript%3E" target="_blank" rel="noopener">x</a>`,
			"x, https://a.org/%22%3E%3Cscript%3E",
		},
		{`a<script>alert(1)</script>b<style>c</style>d`, "abd", "abd"},
		{`<img src=x onerror=alert(1)>y`, "y", "y"},
		{`<b>bold</b> <!-- no --> &lt;i&gt;`, "bold  &lt;i&gt;", "bold  <i>"},
		{"line\nof\x00\u202etext&#x202e;", "line oftext", "line oftext"},
	} {
		html, text := ParseHTML(c.in)
		if html != c.html || text != c.text {
			t.Errorf("%q:\n%q, want\n%q\n%q, want\n%q", c.in, html, c.html, text, c.text)
		}
	}
	if html, text := ParseHTML(strings.Repeat("é<", 10_000)); len(html) > 6*maxText || len(text) > 2*maxText {
		t.Errorf("%d bytes of HTML and %d of text", len(html), len(text))
	}
}

func FuzzCredit(f *testing.F) {
	f.Add(`<a href="https://osm.org">x</a>`)
	f.Fuzz(func(t *testing.T, s string) {
		rich, plain := ParseHTML(s)
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

// An attribution with a link is HTML and has both forms. All others are text. If markup would be
// shown or lost, the attribution is refused.
func TestOf(t *testing.T) {
	for _, c := range []struct {
		in, html, text string
		refused        bool
	}{
		{"", "", "", false},
		{"Us & them", "Us &amp; them", "Us & them", false},
		{`© <a href="https://example.org/l">City</a> & Sons`,
			`© <a href="https://example.org/l" target="_blank" rel="noopener">City</a> &amp; Sons`, "© City, https://example.org/l & Sons", false},
		{`<a href='http://a.org'>A</a> | <a href=http://b.org>B</a>`,
			`<a href="http://a.org" target="_blank" rel="noopener">A</a> | <a href="http://b.org" target="_blank" rel="noopener">B</a>`,
			"A, http://a.org | B, http://b.org", false},
		{`&copy; <a href="https://a.org">A</a>`, `© <a href="https://a.org" target="_blank" rel="noopener">A</a>`, "© A, https://a.org", false},
		{"5 < 6 > 4", "5 &lt; 6 &gt; 4", "5 < 6 > 4", false},
		{"&copy; City", "&amp;copy; City", "&copy; City", true},
		{"<b>City</b>", "&lt;b&gt;City&lt;/b&gt;", "<b>City</b>", true},
		{
			`<a href="javascript:alert(1)">x</a>`,
			"&lt;a href=&#34;javascript:alert(1)&#34;&gt;x&lt;/a&gt;",
			`<a href="javascript:alert(1)">x</a>`,
			true,
		},
		{`<a href="//a.org">x</a>`, "&lt;a href=&#34;//a.org&#34;&gt;x&lt;/a&gt;", `<a href="//a.org">x</a>`, true},
		{
			`<a href="https://a.org"><img src=x onerror=alert(1)>A</a>`,
			`<a href="https://a.org" target="_blank" rel="noopener">A</a>`,
			"A, https://a.org",
			true,
		},
		{
			`<a href="https://a.org">A</a><script>x</script>`,
			`<a href="https://a.org" target="_blank" rel="noopener">A</a>`,
			"A, https://a.org",
			true,
		},
	} {
		html, text := HTMLAndText(c.in)
		if html != c.html || text != c.text || AsText(c.in) != text {
			t.Errorf("%q:\n%q, want\n%q\n%q, want\n%q", c.in, html, c.html, text, c.text)
		}
		if err := Check(c.in); errors.Is(err, ErrMarkup) != c.refused {
			t.Errorf("%q: %v", c.in, err)
		}
	}
}
