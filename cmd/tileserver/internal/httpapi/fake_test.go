package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/feature/layertest"
	"quadrille/internal/jsontext"
	"quadrille/ipgeo"
	"quadrille/places"
	"quadrille/places/search"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// The fakes below answer from what a test puts into them. Their catalogue is
// real, so that generations come and go as they do in service.

// stubStore stands for the store of a generation, which no fake reads.
type stubStore struct{ cellstore.Store }

func (stubStore) Close() error { return nil }

// fixture is a service over fakes.
type fixture struct {
	rows    string // what the generations hold
	t       testing.TB
	catalog *dataset.Catalog
	cfg     Config
	handler http.Handler

	bounds fakeBoundaries
	places fakePlaces
	ips    fakeAddresses
}

// built is the date of every generation of a test.
var built = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// newFixture serves the data sets named; change adapts the configuration.
func newFixture(t testing.TB, change func(*Config), published ...string) *fixture {
	t.Helper()
	f := &fixture{t: t}
	var err error
	f.catalog, err = dataset.Open(t.TempDir(), func(string, string, bool) (cellstore.Store, error) { return stubStore{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	f.bounds.types = []tiles.TypeMeta{
		{Name: "country", Byte: 1, Regions: 3, Bounds: [4]float64{-180, -90, 180, 83.6}, MaxZoom: 13, Fields: map[string]string{"id": "String", "name": "String"}},
		{Name: "state", Byte: 2, Regions: 2, Bounds: [4]float64{-125, 24, -66, 50}, MinZoom: 1, MaxZoom: 13, Fields: map[string]string{"id": "String"}},
	}
	f.cfg = Config{
		Sets: ask.Sets{
			Boundaries: dataset.NewLive(f.catalog, catalogue.Boundaries.Name, func(g *dataset.Generation) (ask.Boundaries, error) {
				return &boundBoundaries{&f.bounds, g.Manifest.Generation}, nil
			}),
			Places: dataset.NewLive(f.catalog, catalogue.Places.Name, func(g *dataset.Generation) (ask.Places, error) {
				return &boundPlaces{&layertest.Memory{About: feature.Info{Name: "places", Bounds: quadkey.World, Points: true}}, &f.places, g.Manifest.Generation}, nil
			}),
			Addresses: dataset.NewLive(f.catalog, catalogue.IP.Name, func(g *dataset.Generation) (ask.Addresses, error) { return &f.ips, nil }),
		},
		Config: web.Config{Version: "v1.2.3-test"}, ResponseCacheBytes: 1 << 20,
	}
	if change != nil {
		change(&f.cfg)
	}
	t.Cleanup(func() {
		for _, err := range []error{f.cfg.Boundaries.Close(), f.cfg.Places.Close(), f.cfg.Addresses.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	for _, name := range published {
		f.publish(name)
	}
	f.poll()
	f.handler = New(f.cfg)
	return f
}

// all names every data set.
var all = []string{catalogue.Boundaries.Name, catalogue.Places.Name, catalogue.IP.Name}

// publish makes a new generation current; poll takes it into service.
func (f *fixture) publish(name string) {
	f.t.Helper()
	b, err := f.catalog.Begin(context.Background(), name)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.Dir(), "rows"), []byte(f.rows), 0o600); err != nil {
		f.t.Fatal(err)
	}
	m := dataset.Manifest{
		SchemaVersion: 1, Built: built, Records: map[string]int64{"rows": 7}, Meta: json.RawMessage(`{}`),
		Sources: []dataset.Source{{Name: name + " source", License: "CC0-1.0", Attribution: "© <" + name + "> people"}},
	}
	if name == catalogue.Places.Name {
		m.Bounds = []float64{-10, 35, 30, 60}
	}
	if _, err := b.Publish(context.Background(), m); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) poll() {
	f.t.Helper()
	for _, err := range []error{
		f.cfg.Boundaries.Poll(context.Background()), f.cfg.Places.Poll(context.Background()), f.cfg.Addresses.Poll(context.Background()),
	} {
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

// get sends a GET with headers given as name, value, ….
func (f *fixture) get(path string, headers ...string) *http.Response {
	return f.do(http.MethodGet, path, headers...)
}

func (f *fixture) do(method, path string, headers ...string) *http.Response {
	f.t.Helper()
	r := httptest.NewRequest(method, path, nil)
	r.RemoteAddr = "198.51.100.7:4000"
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	// What answers without end, such as a stream, must fail a test and not hang it.
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r.WithContext(ctx))
	return w.Result()
}

func body(t testing.TB, res *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// wantProblem checks that a response is a problem of the given kind and
// returns it.
func wantProblem(t testing.TB, res *http.Response, status int, typ string) web.Problem {
	t.Helper()
	text := body(t, res)
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

type fakeBoundaries struct {
	types []tiles.TypeMeta
	// tile makes the body of a tile; nil makes one of the tile's address.
	tile func(ctx context.Context, generation uint64, t quadkey.Tile, layers []tiles.Selector) ([]byte, error)
	// labels makes the label layers of a tile; nil makes none.
	labels  func(t quadkey.Tile) []byte
	at      []tiles.Region
	matches []tiles.Match // the answer of Nearest
	radius  float64       // the last
	// regions are those of the layer of each type.
	regions map[string][]feature.Feature
	asked   []string      // types of the layers that were asked
	query   feature.Query // the last
	// where, if set, says what is at and around a point instead of at and
	// matches.
	where func(lat, lon float64) []tiles.Match
	// records are those of Region by type and id, before those it makes up.
	records map[string]string
	err     error
	reads   atomic.Int64
	absent  []string // ids of two letters that no region has
}

// boundBoundaries is the fake as one generation sees it.
type boundBoundaries struct {
	*fakeBoundaries
	generation uint64
}

func (f *boundBoundaries) Types() []tiles.TypeMeta { return f.types }

func (f *boundBoundaries) Extent(_ context.Context, layers []tiles.Selector, e *quadkey.Extent) error {
	for _, t := range f.types {
		if slices.ContainsFunc(layers, func(l tiles.Selector) bool { return l.Type == t.Name }) {
			e.Add(quadkey.Box{West: t.Bounds[0], South: t.Bounds[1], East: t.Bounds[2], North: t.Bounds[3]})
		}
	}
	return nil
}

func (f *boundBoundaries) append(ctx context.Context, dst []byte, t quadkey.Tile, layers []tiles.Selector, format string) ([]byte, error) {
	f.reads.Add(1)
	if f.err != nil {
		return dst, f.err
	}
	if f.tile != nil {
		b, err := f.tile(ctx, f.generation, t, layers)
		return append(dst, b...), err
	}
	return append(dst, format...), nil
}

func (f *boundBoundaries) AppendMVT(ctx context.Context, dst []byte, t quadkey.Tile, layers []tiles.Selector) ([]byte, error) {
	return f.append(ctx, dst, t, layers, fmt.Sprintf("mvt %s %v", t, layers))
}

func (f *boundBoundaries) AppendLabels(_ context.Context, dst []byte, t quadkey.Tile, _ []tiles.Selector) ([]byte, error) {
	if f.labels != nil {
		dst = append(dst, f.labels(t)...)
	}
	return dst, f.err
}

func (f *boundBoundaries) AppendGeoJSON(ctx context.Context, dst []byte, t quadkey.Tile, layers []tiles.Selector) ([]byte, error) {
	return f.append(ctx, dst, t, layers, fmt.Sprintf(`{"type":"Feature","id":"%s %v","geometry":null,"properties":{}}`, t, layers))
}

func (f *boundBoundaries) At(_ context.Context, lat, lon float64, types ...string) ([]tiles.Region, error) {
	f.reads.Add(1)
	if f.err != nil {
		return nil, f.err
	}
	at := f.at
	if f.where != nil {
		for _, m := range f.where(lat, lon) {
			if m.Kind == tiles.MatchInside {
				at = append(at, m.Region)
			}
		}
	}
	var found []tiles.Region
	for _, r := range at {
		if len(types) == 0 || slices.Contains(types, r.Type) {
			found = append(found, r)
		}
	}
	return found, nil
}

func (f *boundBoundaries) Layer(typ string) (feature.Layer, error) {
	return &fakeRegions{layertest.Memory{About: feature.Info{Name: typ, Bounds: quadkey.World}, List: f.regions[typ]}, f}, nil
}

// fakeRegions are regions as points with bounds.
type fakeRegions struct {
	layertest.Memory
	of *boundBoundaries
}

func (l *fakeRegions) Get(ctx context.Context, id string, _ time.Time, f *feature.Feature) error {
	record, err := l.of.Region(ctx, l.About.Name, id, true)
	if *f = (feature.Feature{ID: id, Geometry: feature.NoGeometry}); err == nil {
		if g, ok := feature.Member(record, "geometry"); ok {
			f.Geometry = feature.GeoJSON(g)
		}
	}
	return err
}

func (l *fakeRegions) Features(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	l.of.reads.Add(1)
	if l.of.err != nil {
		return feature.Fail(l.of.err)
	}
	l.of.asked, l.of.query = append(l.of.asked, l.About.Name), *q
	return l.Memory.Features(ctx, q)
}

func (f *boundBoundaries) Area(string, string) feature.Area { return fakeArea{f.err} }

// fakeArea holds no ground.
type fakeArea struct{ err error }

func (a fakeArea) Cover(context.Context, quadkey.Cell, func(*feature.Part) error) error { return a.err }

func (fakeArea) String() string { return "fake" }

func (f *boundBoundaries) Nearest(_ context.Context, lat, lon, radius float64, types ...string) ([]tiles.Match, error) {
	f.reads.Add(1)
	note(&f.radius, radius)
	matches := f.matches
	if f.where != nil {
		matches = slices.DeleteFunc(f.where(lat, lon), func(m tiles.Match) bool { return m.Distance > radius })
	}
	var found []tiles.Match
	for _, m := range matches {
		if len(types) == 0 || slices.Contains(types, m.Type) {
			found = append(found, m)
		}
	}
	return found, f.err
}

func (f *boundBoundaries) AppendCutout(ctx context.Context, dst []byte, typ, id string, b quadkey.Box) ([]byte, int, error) {
	if id == "none" {
		return dst, 13, nil
	}
	if _, err := f.Region(ctx, typ, id, false); err != nil {
		return dst, 0, err
	}
	return fmt.Appendf(dst, `{"type":"Feature","id":"%s:%s","properties":{"box":"%s"},"geometry":null}`, typ, id, b), 11, nil
}

func (f *boundBoundaries) Region(_ context.Context, typ, id string, geometry bool) ([]byte, error) {
	f.reads.Add(1)
	if f.err != nil {
		return nil, f.err
	}
	if record, ok := f.records[typ+"/"+id]; ok {
		return []byte(record), nil
	}
	if !slices.ContainsFunc(f.types, func(t tiles.TypeMeta) bool { return t.Name == typ }) {
		return nil, fmt.Errorf("secret path: %w", tiles.ErrUnknownType)
	}
	if len(id) != 2 || slices.Contains(f.absent, id) {
		return nil, fmt.Errorf("secret path: %w", tiles.ErrNotFound)
	}
	g := ""
	if geometry {
		g = `,"geometry":{"type":"Point","coordinates":[1,2]}`
	}
	return fmt.Appendf(nil, `{"type":%q,"id":%s%s}`, typ, jsontext.AppendString(nil, id), g), nil
}

type fakePlaces struct {
	hits      []places.Hit
	searchErr error         // of Search alone
	asked     feature.Query // the last of Features
	searched  search.Query  // the last
	tile      []fakePlace
	// gazetteer, if set, answers instead of hits.
	gazetteer *gazetteer
	// block, if set, holds up the reading of a record.
	block func()
	// completions are the stored answers by text.
	completions map[string]string
	// mark puts the generation into tiles.
	mark  bool
	err   error
	reads atomic.Int64
}

type fakePlace struct {
	id         uint32
	lon, lat   float64
	name, code string
	population int64
}

type boundPlaces struct {
	*layertest.Memory // of the gazetteer or of hits
	*fakePlaces
	generation uint64
}

func (f *boundPlaces) Get(ctx context.Context, id string, at time.Time, into *feature.Feature) error {
	return cmp.Or(f.err, f.now().Get(ctx, id, at, into))
}

// Features has the most populous for the most important.
func (f *boundPlaces) Features(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	f.reads.Add(1)
	note(&f.asked, *q)
	if f.err != nil {
		return feature.Fail(f.err)
	}
	all := *q
	all.Order.Importance = false
	return f.now().Features(ctx, &all)
}

// now has features of what there is now, the most populous first.
func (f *boundPlaces) now() *layertest.Memory {
	hits := f.hits
	if f.gazetteer != nil {
		hits = f.gazetteer.hits()
	}
	memory := &layertest.Memory{About: f.About}
	for i := range hits {
		memory.List = append(memory.List, featureOf(&hits[i]))
	}
	return memory
}

func (f *boundPlaces) Place(_ context.Context, id uint32) ([]byte, error) {
	f.reads.Add(1)
	if f.err != nil {
		return nil, f.err
	}
	if f.block != nil {
		f.block()
	}
	if f.gazetteer != nil {
		return f.gazetteer.record(id)
	}
	if id != 2988507 {
		return nil, places.ErrNotFound
	}
	return []byte(`{"id":2988507,"name":"Paris"}`), nil
}

func (f *boundPlaces) Tile(context.Context, quadkey.Tile) iter.Seq2[*feature.Feature, error] {
	f.reads.Add(1)
	return feature.Answer(func(fn func(*feature.Feature) error) error {
		for _, p := range f.tile {
			if err := fn(&feature.Feature{Number: uint64(p.id), Position: quadkey.Position{Lat: p.lat, Lon: p.lon}}); err != nil {
				return err
			}
		}
		if f.mark {
			if err := fn(&feature.Feature{Number: f.generation, Properties: feature.Compact(fmt.Appendf(nil, `"places":%d`, f.generation))}); err != nil {
				return err
			}
		}
		return f.err
	})
}

func (f *boundPlaces) Counts(_ context.Context, _ quadkey.Tile, fn func(string, int64)) error {
	fn("", 1)
	fn("P", 12)
	return nil
}

func (f *boundPlaces) TilePlaces(_ context.Context, _ quadkey.Tile, fn func(places.Shown) error) error {
	f.reads.Add(1)
	for _, p := range f.tile {
		if err := fn(places.Shown{ID: p.id, Lon: p.lon, Lat: p.lat, Name: p.name, Code: p.code, Population: p.population}); err != nil {
			return err
		}
	}
	return f.err
}

type fakeAddresses struct {
	err   error
	reads atomic.Int64
}

// All yields a range of Germany's and one of nobody's.
func (f *fakeAddresses) All(context.Context) iter.Seq2[*ipgeo.Result, error] {
	return func(yield func(*ipgeo.Result, error) bool) {
		f.reads.Add(1)
		if f.err != nil {
			yield(nil, f.err)
			return
		}
		for _, r := range []ipgeo.Result{
			{First: netip.MustParseAddr("1.0.0.0"), Last: netip.MustParseAddr("1.0.0.255"), Country: "DE"},
			{First: netip.MustParseAddr("2a00::"), Last: netip.MustParseAddr("2a00::ff")},
		} {
			if r.Addr = r.First; !yield(&r, nil) {
				return
			}
		}
	}
}

func (f *fakeAddresses) Lookup(_ context.Context, addr netip.Addr, res *ipgeo.Result) error {
	f.reads.Add(1)
	*res = ipgeo.Result{Addr: addr.Unmap()} // pooled ones hold what a real reader left
	switch {
	case f.err != nil:
		return f.err
	case addr.Is6() && !addr.Is4In6():
		return ipgeo.ErrNotFound
	}
	if b, ok := ipgeo.Special(addr.Unmap()); ok && !b.Global && b.Name != "Documentation (TEST-NET-2)" {
		return &ipgeo.ReservedError{Block: b}
	}
	res.Network = netip.MustParsePrefix("1.2.0.0/16")
	res.JSON = []byte(`"country":{"iso_code":"NL"},"traits":{"network":"1.2.0.0/16"}`)
	return nil
}

var noting sync.Mutex

// note keeps what a fake was asked last. The lines of a batch are answered by several
// goroutines.
func note[T any](dst *T, v T) {
	noting.Lock()
	defer noting.Unlock()
	*dst = v
}
