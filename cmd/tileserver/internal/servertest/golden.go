package servertest

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	orbmvt "github.com/paulmach/orb/encoding/mvt"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

var (
	next  = regexp.MustCompile(`(?s).*"next":"([^"]*)"`)
	since = regexp.MustCompile(`"since":"[^"]*"`)
	taken = regexp.MustCompile(`"bytes":[0-9]+`)                 // on the disk, which depends on its blocks
	mark  = regexp.MustCompile(`(/g/[a-z0-9_.-]+)-[0-9a-f]{8}/`) // which any change of rows changes
)

// Dump writes a response as text that is easy to compare.
func Dump(out *bytes.Buffer, request string, res *http.Response) {
	fmt.Fprintf(out, "> %s\n%d\n", request, res.StatusCode)
	var b bytes.Buffer
	_, _ = b.ReadFrom(res.Body)
	text := taken.ReplaceAllString(b.String(), `"bytes":0`)
	if n := strconv.Itoa(b.Len()); res.Header.Get("Content-Length") == n {
		res.Header.Set("Content-Length", strconv.Itoa(len(text)))
	}
	if layers, err := orbmvt.Unmarshal(b.Bytes()); err == nil && strings.Contains(res.Header.Get("Content-Type"),
		"vector-tile") && b.Len() > 0 {
		text = "" // the golden shows a vector tile by its features
		for _, l := range layers {
			for _, f := range l.Features {
				text += fmt.Sprintln(l.Name, f.Geometry.GeoJSONType(), f.ID, f.Properties)
			}
		}
	}
	var names []string
	for name := range res.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value := strings.Join(res.Header[name], " + ")
		if name == "Etag" && len(value) == 18 {
			value = "(a tag)"
		}
		fmt.Fprintf(out, "%s: %s\n", name, value)
	}
	text = since.ReplaceAllString(strings.TrimRight(text, "\n"), `"since":"…"`)
	text = mark.ReplaceAllString(text, "$1-(a mark)/")
	fmt.Fprintf(out, "\n%s\n\n", text)
}

func Golden(t testing.TB, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run go test with -update to write it", err)
	}
	if bytes.Equal(got, want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("%s:%d\n got %s\nwant %s", path, i+1, g[i], w[i])
		}
	}
	t.Fatalf("%s has %d lines, want %d", path, len(g), len(w))
}

// GoldenSmall compares whole answers of the server that New returns, including headers, with golden
// files, because clients rely on them. testdata has one file for each family of endpoints. A
// request is a path with an optional method before it, and headers after it, separated by " | ". In
// a path, {next} is the cursor of the last answer with a cursor.
func GoldenSmall(t *testing.T, family string, requests ...string) {
	t.Helper()
	New(t, nil, DefaultDatasets...).golden(family, requests)
}

// GoldenGlobe does the same as GoldenSmall, for the server that NewGlobe returns.
func GoldenGlobe(t *testing.T, family string, requests ...string) {
	t.Helper()
	NewGlobe(t, nil).golden(family, requests)
}

func (f *Server) golden(family string, requests []string) {
	f.T.Helper()
	var out bytes.Buffer
	for _, line := range requests {
		parts := strings.Split(line, " | ")
		method, path := http.MethodGet, parts[0]
		if m, p, ok := strings.Cut(path, " "); ok {
			method, path = m, p
		}
		headers, _ := HeadersOf(parts[1:])
		if m := next.FindSubmatch(out.Bytes()); m != nil {
			path = strings.ReplaceAll(path, "{next}", string(m[1]))
		}
		Dump(&out, line, f.Do(method, path, headers...))
	}
	Golden(f.T, family, out.Bytes())
}
