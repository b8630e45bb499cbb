package servertest

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/quadkey"
	"quadrille/tiles"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

var (
	since = regexp.MustCompile(`"since":"[^"]*"`)
	taken = regexp.MustCompile(`"bytes":[0-9]+`) // on the disk, which depends on its blocks
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

// GoldenFakes pins whole answers of a server over fakes, headers included: clients rely on
// them. There is one file of testdata for a family of endpoints. A request is a path with an
// optional method before it, and headers after it, separated by " | ".
func GoldenFakes(t *testing.T, family string, requests ...string) {
	t.Helper()
	f := New(t, nil, All...)
	f.Boundaries.Holds = []tiles.Region{
		{Type: "country", ID: "us", Name: `The "States" <b>&`},
		{Type: "state", ID: "us-ks", Name: "Kansas"},
		{Type: "state", ID: "nameless"},
	}
	f.Boundaries.Matches = []tiles.Match{
		{Region: tiles.Region{Type: "country", ID: "us", Name: `The "States" <b>&`}, Kind: tiles.MatchInside},
		{Region: tiles.Region{Type: "state", ID: "us-ks", Name: "Kansas"}, Kind: tiles.MatchSnapped, Distance: 1234.56},
		{Region: tiles.Region{Type: "lake"}},
		{Region: tiles.Region{Type: "reef"}, Truncated: true},
	}
	region := func(lat, lon float64, bounds quadkey.Box, members string) feature.Feature {
		return feature.Feature{Position: quadkey.Position{Lat: lat, Lon: lon}, Bounds: bounds, Properties: feature.Compact([]byte(members))}
	}
	f.Boundaries.Regions = map[string][]feature.Feature{
		"country": {region(-17, 178, quadkey.Box{West: 177.25, South: -18.5, East: -179.75, North: 0}, `"type":"country","id":"fj","name":"Fiji"`)},
		"state": {
			region(1, 1, quadkey.Box{West: -0.000001, South: 1, East: 2, North: 3}, `"type":"state","id":"nameless"`),
			region(0, 1, quadkey.Box{East: 2, North: 1}, `"type":"state","id":"next"`),
		},
	}
	for _, list := range f.Boundaries.Regions {
		for i := range list {
			list[i].ID = list[i].Properties.Text("id")
		}
	}
	f.Places.Hits = []places.Hit{
		{ID: 2988507, Lat: 48.85341, Lon: 2.3488, DistanceM: 432.06, JSON: []byte(`"id":2988507,"name":"Paris","lat":48.85341,"lon":2.3488`)},
		{ID: 3, Lat: -1, Lon: 1e-7, DistanceM: 0, JSON: []byte(`"id":3,"name":"Ω"`)},
	}
	f.Places.Shown = []ShownPlace{{ID: 7, Lon: 2.35, Lat: 48.85, Name: "P", Code: "PPL", Population: 5}}
	f.golden(family, requests)
}

// GoldenGlobe is GoldenFakes for the server that NewGlobe returns.
func GoldenGlobe(t *testing.T, family string, requests ...string) {
	t.Helper()
	g := NewGlobe(t, nil)
	g.Places.Completions = map[string]string{
		"zür": `{"places":[{"id":2657896,"name":"Zürich","population":341730,"match":{"kind":"prefix","highlight":[0,3]}},{"id":1,"name":"\"population\":9}"}]}`,
	}
	g.golden(family, requests)
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
		Dump(&out, line, f.Do(method, path, headers...))
	}
	Golden(f.T, family, out.Bytes())
}
