package servertest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/buildtest"
)

// Server is a service with a catalogue. Generations are published and replaced like in real
// service. Those that Publish makes are read with the injected faults of their data set.
type Server struct {
	T       testing.TB
	Catalog *dataset.Catalog
	Config  httpapi.Config
	Handler http.Handler

	Boundaries, Places, Addresses, Airports, TimeZones, Stations, Weather, Names buildtest.Faults

	rows      map[string]*Rows // of the next generations, by data set
	published map[string]*Rows // by the directory of a generation
}

// BuildDate is the date of every generation of a test.
var BuildDate = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// DefaultDatasets names the data sets that New publishes for most tests.
var DefaultDatasets = []string{ask.Boundaries.Name, ask.Places.Name, ask.Addresses.Name}

// New serves the named data sets of the small world. change may change the configuration.
func New(t testing.TB, change func(*httpapi.Config), published ...string) *Server {
	t.Helper()
	return serve(t, small(), change, published)
}

// serve returns a server of the named data sets with the given rows.
func serve(t testing.TB, rows map[string]*Rows, change func(*httpapi.Config), published []string) *Server {
	t.Helper()
	f := &Server{T: t, rows: maps.Clone(rows), published: map[string]*Rows{}}
	var err error
	if f.Catalog, err = dataset.Open(t.TempDir(), f.open); err != nil {
		t.Fatal(err)
	}
	f.Config = httpapi.Config{
		Sets:   ask.PublishedSets(f.Catalog.Generations),
		Config: web.Config{Version: "v1.2.3-test"}, ResponseCacheBytes: 1 << 20,
	}
	if change != nil {
		change(&f.Config)
	}
	t.Cleanup(func() {
		if err := f.Config.Sets.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, name := range published {
		f.Publish(name)
	}
	f.Poll()
	f.Serve()
	return f
}

// noStore replaces the store of a build whose rows already exist.
type noStore struct{ cellstore.Store }

func (noStore) Close() error { return nil }

func (f *Server) open(name, dir string, readOnly bool) (cellstore.Store, error) {
	rows := f.published[generationOf(dir)]
	if !readOnly || rows == nil {
		return noStore{}, nil
	}
	store, _, _, err := rows.open()
	if err != nil {
		return nil, err
	}
	return f.faults(name).Store(store)
}

// generationOf returns the directory of the generation, finished or not, to which a directory
// belongs.
func generationOf(dir string) string {
	return strings.TrimSuffix(filepath.Dir(dir), ".unfinished")
}

func (f *Server) faults(name string) *buildtest.Faults {
	switch name {
	case ask.Boundaries.Name:
		return &f.Boundaries
	case ask.Places.Name:
		return &f.Places
	case ask.Addresses.Name:
		return &f.Addresses
	case ask.Airports.Name:
		return &f.Airports
	case ask.TimeZones.Name:
		return &f.TimeZones
	case ask.Stations.Name:
		return &f.Stations
	case ask.Weather.Name:
		return &f.Weather
	}
	return &f.Names
}

// Serve makes a new handler from the current configuration.
func (f *Server) Serve() { f.Handler = httpapi.New(f.Config) }

// Publish makes a new generation current; Poll takes it into service.
func (f *Server) Publish(name string) { f.PublishAs(name, func(*dataset.Manifest) {}) }

// PublishAs does the same as Publish, with a changed manifest.
func (f *Server) PublishAs(name string, change func(*dataset.Manifest)) {
	f.T.Helper()
	b, err := f.Catalog.Begin(context.Background(), name)
	if err != nil {
		f.T.Fatal(err)
	}
	rows := f.rows[name]
	_, meta, sum, err := rows.open()
	if err != nil {
		f.T.Fatal(err)
	}
	f.published[strings.TrimSuffix(b.Dir(), ".unfinished")] = rows
	if err := os.WriteFile(filepath.Join(b.Dir(), "rows"), fmt.Appendf(nil, "%x", sum), 0o600); err != nil {
		f.T.Fatal(err)
	}
	m := dataset.Manifest{
		SchemaVersion: rows.Schema, Built: BuildDate, Records: map[string]int64{"rows": 7}, Meta: meta,
		Sources: []dataset.Source{{Name: name + " source", License: "CC0-1.0", Attribution: "© <" + name + "> people"}},
	}
	if name == ask.Places.Name {
		m.Bounds = []float64{-10, 35, 30, 60}
	}
	change(&m)
	if _, err := b.Publish(context.Background(), m); err != nil {
		f.T.Fatal(err)
	}
}

// PublishRows publishes other rows and takes them into service.
func (f *Server) PublishRows(rows ...*Rows) {
	f.T.Helper()
	for _, r := range rows {
		f.rows[r.Name] = r
		f.Publish(r.Name)
	}
	f.Poll()
}

// Poll takes published generations into service.
func (f *Server) Poll() {
	f.T.Helper()
	if err := f.Config.Sets.Poll(context.Background()); err != nil {
		f.T.Fatal(err)
	}
}

// Get sends a GET with headers given as name, value, ….
func (f *Server) Get(path string, headers ...string) *http.Response {
	return f.Do(http.MethodGet, path, headers...)
}

func (f *Server) Do(method, path string, headers ...string) *http.Response {
	f.T.Helper()
	r := httptest.NewRequest(method, path, nil)
	r.RemoteAddr = "1.2.0.7:4000"
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	// An endless answer, such as a stream, must let the test fail and not hang.
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	w := httptest.NewRecorder()
	f.Handler.ServeHTTP(w, r.WithContext(ctx))
	return w.Result()
}

func Body(t testing.TB, res *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// WantProblem checks that a response is a problem of the given kind and
// returns it.
func WantProblem(t testing.TB, res *http.Response, status int, typ string) web.Problem {
	t.Helper()
	text := Body(t, res)
	if res.StatusCode != status {
		t.Fatalf("status %d, want %d: %s", res.StatusCode, status, text)
	}
	if ct := res.Header.Get("Content-Type"); ct != "application/problem+json" {
		t.Fatalf("content type %q, want %q: %s", ct, "application/problem+json", text)
	}
	var p web.Problem
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if p.Type != typ || p.Status != status || p.Title == "" || !strings.HasSuffix(p.Detail, ".") {
		t.Fatalf("problem %+v, want type %s, status %d, a title and a sentence", p, typ, status)
	}
	return p
}

// ErrHidden is an error about damage whose text no client may see.
var ErrHidden = fmt.Errorf("secret: %w", cellstore.ErrCorrupt)
