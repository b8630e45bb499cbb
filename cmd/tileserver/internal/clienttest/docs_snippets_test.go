package clienttest

import (
	"context"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"quadrille/cmd/internal/programs"
	"quadrille/cmd/internal/toyworld"
)

// runners maps each language of /docs to the way to run its snippets unchanged: file is the name of
// the file for a snippet, and command runs it.
var runners = map[string]struct {
	file    string
	command []string
}{
	"curl":       {"snippet.sh", []string{"sh"}},
	"JavaScript": {"snippet.mjs", []string{"node"}},
	"Python":     {"snippet.py", []string{"python3"}},
	"Go":         {"snippet.go", []string{"go", "run"}},
}

// The programs that /docs shows for a form send the form's values, whatever they are, with the key
// that was typed into another form.
func TestDocsSnippets(t *testing.T) {
	browser := startBrowser(t)
	data, dir := t.TempDir(), t.TempDir()
	if err := toyworld.Publish(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(dir, "keys")
	key := newKey(t, "reader", keys, "write:taxis")
	site := programs.Serve(t, "--data", data, "--live", filepath.Join(dir, "live"), "--keys", keys).URL
	send := func(method, path, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, site+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Api-Key", key)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	if code, b := send(http.MethodPut, "/points/taxis", ""); code != http.StatusCreated {
		t.Fatalf("%d %s", code, b)
	}

	w := open(t, browser, site+"/#", screen{width: 1280, height: 900, density: 1})
	w.expect("401") // the map page has no key
	w.do(chromedp.Navigate(site + "/docs#getAt"))
	const shown = `document.querySelector('article.shown .desk') !== null`
	w.waitFor(shown)
	evaluate[chromedp.Void](w, `document.querySelector('article.shown input[type=password]').focus()`)
	w.do(chromedp.SendKeys(chromedp.CSS("article.shown input[type=password]"), key))

	const hostile = "it's \"Zürich\" $HOME $(id) `id` \\n \\ %41 <b> & + # ? @"
	feature := `{"type":"Feature","geometry":{"type":"Point","coordinates":[6.5,46.5]},"properties":{"name":"it's $HOME ` +
		"`id`" + ` \\ \"é\"` + `"}}`
	for _, tt := range []struct {
		id     string // of the operation
		fields map[string]string
		body   string
		path   string // what to ask for the same answer
		method string
		file   string // where the answer goes, "" for the standard output
	}{
		{id: "geocode", fields: map[string]string{"q": hostile}, method: http.MethodGet,
			path: "/geocode?q=it%27s%20%22Z%C3%BCrich%22%20%24HOME%20%24(id)%20%60id%60%20%5Cn%20%5C%20%2541%20%3Cb%3E%20%26%20%2B%20%23%20%3F%20%40&limit=1"},
		{
			id:     "postSearches",
			body:   "{\"q\":\"it's \\\"Zürich\\\" $HOME `id` \\\\\"}\n\n{\"q\":\"x\\ny\"}\n",
			method: http.MethodPost,
			path:   "/geocode?limit=1",
		},
		{
			id:     "putPoint",
			fields: map[string]string{"collection": "taxis", "id": "it's $1"},
			body:   feature,
			method: http.MethodPut,
			path:   "/points/taxis/it%27s%20%241",
		},
		{
			id:     "getTile",
			fields: map[string]string{"layers": "country", "z": "0", "x": "0", "y": "0", "format": "mvt"},
			method: http.MethodGet,
			path:   "/tiles/country/0/0/0.mvt",
			file:   "tile.mvt",
		},
		{
			id:     "getTile",
			fields: map[string]string{"layers": "country", "z": "0", "x": "0", "y": "0", "format": "png"},
			method: http.MethodGet,
			path:   "/tiles/country/0/0/0.png",
			file:   "tile.png",
		},
	} {
		w.do(chromedp.Navigate(site + "/docs#" + tt.id))
		w.waitFor(`document.querySelector('article.shown')?.id === ` + quote(tt.id) + ` && ` + shown)
		if got := evaluate[string](w, `document.querySelector('article.shown input[type=password]').value`); got != key {
			t.Errorf("%s: the key is %q", tt.id, got)
		}
		set := func(selector, value string) {
			t.Helper()
			evaluate[chromedp.Void](w,
				`{ const field = document.querySelector(`+quote("article.shown "+selector)+`); field.value = `+quote(value)+
					`; field.dispatchEvent(new Event('input', { bubbles: true })) }`)
		}
		for name, value := range tt.fields {
			set("[name="+name+"]", value)
		}
		if tt.body != "" {
			set("textarea", tt.body)
		}
		code, want := send(tt.method, tt.path, tt.body)
		if code >= 300 {
			t.Fatalf("%s %s: %d %s", tt.method, tt.path, code, want)
		}
		for _, language := range slices.Sorted(maps.Keys(runners)) {
			evaluate[chromedp.Void](w,
				`[...document.querySelectorAll('article.shown [role=tab]')].find(tab => tab.textContent === `+quote(language)+`).click()`)
			text := evaluate[string](w, `document.querySelector('article.shown [role=tabpanel]').textContent`)
			t.Run(tt.id+" "+tt.fields["format"]+" "+language, func(t *testing.T) {
				got := runSnippet(t, language, text, tt.file)
				if plain(got) != plain(want) {
					t.Errorf("%s\nanswers %q, want %q", text, got, want)
				}
			})
		}
		if tt.id == "putPoint" {
			if _, b := send(http.MethodGet, tt.path, ""); !strings.Contains(b, `"name":"it's $HOME `+"`id`"+` \\ \"é\""`) {
				t.Errorf("the point became %s", b)
			}
		}
	}

	if kept := evaluate[string](w,
		`location.href + document.cookie + JSON.stringify([{ ...localStorage }, { ...sessionStorage }])`); strings.Contains(kept, key) {
		t.Errorf("the key is kept: %s", kept)
	}
	// The arrow keys step through the languages, and the panel is labelled with the name of its
	// tab.
	const tab = `document.activeElement.textContent`
	evaluate[chromedp.Void](w, `document.querySelector('article.shown [role=tab][aria-selected=true]').focus()`)
	w.key(kb.Home)
	w.waitFor(tab + ` === 'curl'`)
	w.key(kb.ArrowLeft)
	w.waitFor(tab + ` === 'Go' && document.activeElement.ariaSelected === 'true'`)
	w.waitFor(`(() => {
		const panel = document.getElementById(document.activeElement.getAttribute('aria-controls'))
		return panel.getAttribute('aria-labelledby') === document.activeElement.id && panel.textContent.startsWith('package main')
	})()`)
}

// versions matches the version of a point or collection, which changes with each write.
var versions = regexp.MustCompile(`"version":\d+`)

// plain removes from an answer the parts that differ between requests, and the line break that
// printing adds.
func plain(text string) string {
	return versions.ReplaceAllString(strings.TrimRight(text, "\n"), `"version":0`)
}

// runSnippet runs a program. It returns the program's output, or the content of the named file if
// the program writes one.
func runSnippet(t *testing.T, language, text, file string) string {
	t.Helper()
	program := runners[language]
	command := program.command[0]
	if language == "curl" {
		command = "curl"
	}
	if _, err := exec.LookPath(command); err != nil {
		t.Skipf("%s is not installed", command)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, program.file), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	run := exec.CommandContext(ctx, program.command[0], append(program.command[1:], program.file)...)
	run.Dir = dir
	var out, complaints strings.Builder
	run.Stdout, run.Stderr = &out, &complaints
	if err := run.Run(); err != nil {
		t.Fatalf("%s\n%v: %s", text, err, complaints.String())
	}
	if file == "" {
		return out.String()
	}
	b, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
