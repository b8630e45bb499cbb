package points

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/liveclient"
	"quadrille/cmd/ingest/internal/serverclient"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/internal/testfile"
	"quadrille/feature"
	"quadrille/internal/testrace"
)

// liveServer accepts lines like tileserver.
type liveServer struct {
	there  bool
	made   string
	lines  []string
	refuse string // lines that hold it
	schema string // of the existing collection
}

func (s *liveServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		s.made, s.there = string(body), true
		w.WriteHeader(http.StatusCreated)
	case r.Method == http.MethodGet:
		fmt.Fprintf(w, `{"name":"mine","schema":[%s]}`, s.schema)
	case !s.there:
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"type":"collection-not-found"}`)
	default:
		in := bufio.NewScanner(r.Body)
		for n := 1; in.Scan(); n++ {
			if s.refuse != "" && strings.Contains(in.Text(), s.refuse) {
				fmt.Fprintf(w, `{"line":%d,"status":400,"type":"bad-point","detail":"Not this one."}`+"\n", n)
				continue
			}
			s.lines = append(s.lines, in.Text())
			fmt.Fprintf(w, `{"line":%d,"status":200}`+"\n", n)
		}
	}
}

func (s *liveServer) target(t *testing.T) liveclient.Target {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return liveclient.Target{Collection: "mine", Client: serverclient.Client{Server: u}}
}

// Points that are written into a live collection have the same types and ids as published ones.
func TestPointsIntoLive(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, rep := &liveServer{refuse: `"id":"r"`}, &examples{}
	of := Collection{
		Name: "mine", Title: "Mine", Private: true, Credit: job.Credit{License: "CC0-1.0"},
		PropertyTypes: feature.Schema{{Name: "tags", Kind: feature.Texts}}, Told: columns.Told{Name: "label"},
	}
	stdin := strings.NewReader("id;lat;lon;label;price;zip;tags\nb;46m;7;x;1;1;\nr;1;2;R;2;3;\n")
	path := testfile.WriteTemp(t, "a.csv", "id;lat;lon;label;price;zip;tags\nb;46.5;-7.25;\"B \"\"1\"\"\";2.50;08001;\"x; y\"\n"+
		"a;1;1;before;3;8002;x\na;47.1234567;8;A;1;1;\n")
	err := IntoLive(t.Context(), of, []string{path, "-"}, s.target(t), job.Options{Reporter: rep, MaxBad: 0.9, Stdin: stdin})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{ // in the order of the files: the last position of an id stays
		`{"type":"Feature","id":"b","geometry":{"type":"Point","coordinates":[-7.25,46.5]},"properties":{"name":"B \"1\"","price":2.5,"zip":"08001","tags":["x","y"]}}`,
		`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,1]},"properties":{"name":"before","price":3,"zip":"8002","tags":["x"]}}`,
		`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[8,47.1234567]},"properties":{"name":"A","price":1,"zip":"1"}}`,
	}
	if d := gocmp.Diff(want, s.lines); d != "" {
		t.Error(d)
	}
	if want := `{"title":"Mine","licence":"CC0-1.0","private":true,"schema":{"tags":"texts"}}`; s.made != want {
		t.Error(s.made)
	}
	slices.Sort(rep.first)
	wantBad := []string{
		"standard input:2: coordinate is not a number: \"46m\"",
		"standard input:3: the server refuses it: Not this one.",
	}
	if d := gocmp.Diff(wantBad, rep.first); d != "" {
		t.Error(d)
	}
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*")); left != nil {
		t.Errorf("left behind: %q", left)
	}
}

// The files get the types of the existing collection, unless --type says otherwise.
func TestIntoLiveTakesTypes(t *testing.T) {
	s, rep := &liveServer{
		there:  true,
		schema: `{"name":"code","type":"text"},{"name":"price","type":"number"},{"name":"mixed","type":"any"},{"name":"rare","type":"time"},{"name":"tags","type":"text"}`,
	}, &examples{}
	of := Collection{Name: "mine", PropertyTypes: feature.Schema{{Name: "tags", Kind: feature.Texts}}}
	stdin := strings.NewReader("id,lat,lon,code,price,mixed,tags\na,1,2,7,3,5,x;y\nb,1,2,8,ask,6,\n")
	if err := IntoLive(t.Context(), of, []string{"-"}, s.target(t), job.Options{Reporter: rep, MaxBad: 0.9, Stdin: stdin}); err != nil {
		t.Fatal(err)
	}
	want := []string{`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[2,1]},"properties":{"code":"7","price":3,"mixed":5,"tags":["x","y"]}}`}
	if d := gocmp.Diff(want, s.lines); d != "" {
		t.Error(d)
	}
	if len(rep.first) != 1 || !strings.Contains(rep.first[0], `price: "ask" is no number`) {
		t.Errorf("%q", rep.first)
	}
}

// The expiry of points is kept, published and written into a live collection.
func TestPointsExpire(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	line := func(id, expires string) string {
		return `{"type":"Feature","id":"` + id + `","geometry":{"type":"Point","coordinates":[8,47]},"properties":{},"expires":` + expires + "}\n"
	}
	path := testfile.WriteTemp(t, "a.geojson",
		line("gone", `"2001-02-03T04:05:06Z"`)+line("late", `"2090-01-02T04:04:05.5+01:00"`)+line("never", "null"))
	s := &liveServer{there: true}
	if err := IntoLive(t.Context(), Collection{Name: "mine"}, []string{path}, s.target(t), job.Options{}); err != nil {
		t.Fatal(err)
	}
	var expires []string
	for _, line := range s.lines {
		_, after, _ := strings.Cut(line, `"properties":{}`)
		expires = append(expires, after)
	}
	want := []string{`,"expires":"2001-02-03T04:05:06Z"}`, `,"expires":"2090-01-02T03:04:05.5Z"}`, `}`}
	if d := gocmp.Diff(want, expires); d != "" {
		t.Error(d)
	}
	c := jobtest.Catalog(t)
	if _, err := Ingest(t.Context(), c, Collection{Name: "mine"}, []string{path}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	var shown []string
	for f, err := range openPoints(t, c, "mine").Features(t.Context(), &feature.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, fmt.Sprint(f.ID, " ", f.Expires.Year()))
	}
	slices.Sort(shown)
	if d := gocmp.Diff([]string{"late 2090", "never 1"}, shown); d != "" {
		t.Error(d)
	}
}

// Every feature arrives, in several requests, for every format.
func TestManyPointsIntoLive(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	all := shops(12_000)
	var want []string
	for _, content := range []string{featureCollection(all), string(geoPackage(t, all, "shops"))} {
		s := &liveServer{there: true}
		of := Collection{Name: "mine"}
		if err := IntoLive(t.Context(), of, []string{testfile.WriteTemp(t, "file", content)}, s.target(t), job.Options{}); err != nil {
			t.Fatal(err)
		}
		if len(s.lines) != len(all) || s.made != "" {
			t.Fatal(len(s.lines), s.made)
		}
		if want == nil {
			want = s.lines
		}
		if !slices.Equal(want, s.lines) {
			t.Error("formats differ")
		}
	}
}

// If too many records are bad, no collection is made and nothing is written.
func TestNothingIntoLive(t *testing.T) {
	for name, text := range map[string]string{
		"bad":   "id,lat,lon\na,1,1\nb,x,1\n",
		"empty": "id,lat,lon\n",
	} {
		s := &liveServer{}
		err := IntoLive(t.Context(), Collection{Name: "mine"}, []string{testfile.WriteTemp(t, "file", text)}, s.target(t),
			job.Options{MaxBad: 0.1})
		if err == nil || s.there || s.lines != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := &liveServer{there: true, refuse: "id"}
	err := IntoLive(t.Context(), Collection{Name: "mine"}, []string{testfile.WriteTemp(t, "file", "id,lat,lon\na,1,1\n")}, s.target(t),
		job.Options{MaxBad: 0.1})
	var many *job.TooManyBadError
	if !errors.As(err, &many) || !strings.Contains(err.Error(), "Not this one.") {
		t.Error(err)
	}
}
