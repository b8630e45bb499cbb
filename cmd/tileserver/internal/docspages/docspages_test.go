package docspages_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"quadrille/cmd/tileserver/internal/docspages"
	"quadrille/docs"
)

func text(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

// A link leads to a page, to a picture or to another site, or it becomes plain text. Nothing in a
// document runs as a script.
func TestLinks(t *testing.T) {
	g, err := docspages.Read(fstest.MapFS{
		"a.md": text("# A & `b`\n\n[to b](b.md#what-a-text-may-cost), [here](#the-rest), " +
			"[web](https://example.org/x?y=1&z=2), [file](../deploy/nginx.conf), " +
			"[**bold** file](none.md), [up](../../etc/passwd), [root](/etc/passwd), [host](//example.org/b.md), " +
			"[script](javascript:alert(1)), [data](data:text/html,x), [folder](.), [odd](%zz)\n\n" +
			"![one](p.png) ![none](q.png) [![in a link](p.png)](none.md) <script>alert(2)</script> <b onclick=x>\n\n<div>block</div>\n\n" +
			"## The rest\n\n| a | b |\n|---|--:|\n| `x<y` | [b](b.md) |\n\n<!-- not run: why -->\n```sh\necho \"<hi>\"\n```\n"),
		"b.md":        text("# B\n\n## What a text may cost\n"),
		"sub/c.md":    text("# C\n"),
		"p.png":       text("picture"),
		"secret.conf": text("x"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Documents) != 2 || g.Documents[0].Title != "A & b" || len(g.Pictures) != 1 ||
		!slices.Equal(g.Documents[1].Sections, []docspages.Section{{ID: "what-a-text-may-cost", Title: "What a text may cost"}}) {
		t.Fatalf("%+v", g)
	}
	page, err := g.HTML(g.Documents[0])
	if err != nil {
		t.Fatal(err)
	}
	_, main, _ := strings.Cut(string(page), "<main")
	var links []string
	for _, m := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(main, -1) {
		links = append(links, m[1])
	}
	want := []string{"b#what-a-text-may-cost", "#the-rest", "https://example.org/x?y=1&amp;z=2", "p.png", "p.png", "b"}
	if !slices.Equal(links, want) {
		t.Errorf("links %q, want %q", links, want)
	}
	for _, want := range []string{"<strong>bold</strong> file", "<code>x&lt;y</code>", "echo &quot;&lt;hi&gt;&quot;",
		"<th>a</th>", `<h1 id="a--b">A &amp; <code>b</code></h1>`, " none "} {
		if !strings.Contains(main, want) {
			t.Errorf("no %q in\n%s", want, main)
		}
	}
	for _, never := range []string{"<script", "onclick", "javascript:", "<div>", "not run", "style="} {
		if strings.Contains(main, never) {
			t.Errorf("%s is in\n%s", never, main)
		}
	}
}

// The project's current documents are read, and each has a unique title.
func TestDocuments(t *testing.T) {
	g, err := docspages.Read(docs.FS, docs.FirstDocuments...)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range docs.FirstDocuments {
		if g.Documents[i].Name+".md" != name {
			t.Errorf("document %d is %s.md, not %s", i, g.Documents[i].Name, name)
		}
	}
	titles := map[string]bool{}
	for _, d := range g.Documents {
		if d.Title == "" || titles[d.Title] {
			t.Errorf("%s: the title is %q", d.Name, d.Title)
		}
		titles[d.Title] = true
		page, err := g.HTML(d)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(page), "<h1"); n != 1 {
			t.Errorf("%s: %d headings of the first level", d.Name, n)
		}
	}
	if len(titles) == 0 {
		t.Error("there are no documents")
	}
}
