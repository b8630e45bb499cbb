//go:build !race

package httpapi_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/quota"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/must"
	"quadrille/places"
)

// work counts the reads of a store, and their rows and bytes.
type work struct{ reads, rows, bytes atomic.Int64 }

func (w *work) reset() { w.reads.Store(0); w.rows.Store(0); w.bytes.Store(0) }

// micros estimates the processor time of the work and of an answer. BenchmarkDearest measured with
// real data: 5 µs for a seek, 3 ns for each byte read and 30 ns for each byte written. A skipped
// row takes 0.1 µs, but counts as 1 µs, because the sets of these tests are small.
func (w *work) micros(answer int) int64 {
	return 5*w.reads.Load() + w.rows.Load() + (3*w.bytes.Load()+30*int64(answer))/1000
}

// lightMicros bounds the work of a light request.
const lightMicros = 20_000

type countedStore struct {
	cellstore.Store
	work *work
}

func (s countedStore) Table(ctx context.Context, name string) (cellstore.Table, error) {
	t, err := s.Store.Table(ctx, name)
	return countedTable{t, s.work}, err
}

type countedTable struct {
	cellstore.Table
	work *work
}

func (t countedTable) row(r *cellstore.Row) {
	t.work.rows.Add(1)
	for i := range r.Cells {
		t.work.bytes.Add(int64(len(r.Cells[i].Value)))
	}
}

func (t countedTable) one(row *cellstore.Row, found bool, err error) (bool, error) {
	t.work.reads.Add(1)
	if found {
		t.row(row)
	}
	return found, err
}

func (t countedTable) Get(ctx context.Context, key []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	found, err := t.Table.Get(ctx, key, sel, row)
	return t.one(row, found, err)
}

func (t countedTable) Next(ctx context.Context, from, to []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	found, err := t.Table.Next(ctx, from, to, sel, row)
	return t.one(row, found, err)
}

func (t countedTable) Prev(ctx context.Context, from, downTo []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	found, err := t.Table.Prev(ctx, from, downTo, sel, row)
	return t.one(row, found, err)
}

func (t countedTable) NextEach(ctx context.Context, from, to []byte, families []string, rows []cellstore.Row) error {
	err := t.Table.NextEach(ctx, from, to, families, rows)
	t.work.reads.Add(int64(len(families)))
	for i := range rows {
		t.row(&rows[i])
	}
	return err
}

func (t countedTable) MultiGet(ctx context.Context, keys [][]byte, sel *cellstore.Selection) iter.Seq2[*cellstore.Row, error] {
	t.work.reads.Add(int64(len(keys)))
	return t.each(t.Table.MultiGet(ctx, keys, sel))
}

func (t countedTable) Scan(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
	t.work.reads.Add(1)
	return t.each(t.Table.Scan(ctx, scan))
}

func (t countedTable) each(rows iter.Seq2[*cellstore.Row, error]) iter.Seq2[*cellstore.Row, error] {
	return func(yield func(*cellstore.Row, error) bool) {
		for r, err := range rows {
			if err == nil {
				t.row(r)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// dearPlaces is the number of places in the world of these tests: more than the conditions of a
// GeoNames search may examine.
const dearPlaces = 24_000

// dearWorld is a server with all data sets that counts its reads.
type dearWorld struct {
	*servertest.Server
	server *httpapi.Server
	router *echo.Echo
	work   work
	fill   *strings.Replacer
}

// newDearWorld returns a server with the data in a directory, or with invented data if dir is "".
func newDearWorld(t testing.TB, dir string) *dearWorld {
	t.Helper()
	w := &dearWorld{}
	madeUp := dir == ""
	if madeUp {
		dir = t.TempDir()
	}
	c, err := dataset.Open(dir, func(name, dir string, readOnly bool) (cellstore.Store, error) {
		s, err := toyworld.Open(name, dir, readOnly)
		if err != nil || !readOnly {
			return s, err
		}
		return countedStore{s, &w.work}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Server = &servertest.Server{T: t, Catalog: c}
	w.Config.Sets = ask.PublishedSets(c.Generations)
	w.Config.Addresses, w.Config.Names = ask.Addresses.Live(c.Generations), nil // from its index
	w.Config.Collections = &ask.Collections{}
	servertest.NewGuarded(t, false, quota.Limits{})(&w.Config)
	servertest.OpenDearMaps(t, &w.Config)
	shops := ask.CollectionOf(toyworld.ShopsCollection).Live(c.Generations)
	w.Config.Collections.Add(toyworld.ShopsCollection, shops)
	if madeUp {
		for _, d := range append(slices.Clone(ask.Datasets), ask.CollectionOf(toyworld.ShopsCollection).Dataset) {
			if ask.IsPoints(d.Name) {
				must.Do(t, toyworld.PublishShopsAs(context.Background(), c, d, dearPlaces))
			}
		}
		for _, publish := range []func(context.Context, *dataset.Catalog) error{
			toyworld.PublishBoundaries,
			toyworld.PublishAddresses,
			toyworld.PublishAirports,
			toyworld.PublishTimeZones,
			publishMany,
		} {
			if err := publish(context.Background(), c); err != nil {
				t.Fatal(err)
			}
		}
		for _, rows := range servertest.StationRows() {
			rows.PublishInto(t, c)
		}
	}
	for _, live := range []interface {
		Poll(context.Context) error
		Close() error
	}{&w.Config.Sets, shops} {
		t.Cleanup(func() {
			if err := live.Close(); err != nil {
				t.Error(err)
			}
		})
		if err := live.Poll(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	w.server = httpapi.Compose(&w.Config, httpapi.Faces())
	w.Handler = w.server.Handler()
	w.router = w.Handler.(*echo.Echo)
	var tiles struct{ Tiles []string }
	var found struct{ Places []struct{ ID int } }
	var clusters struct {
		Features []struct {
			Properties struct {
				ID string `json:"cluster_id"`
			}
		}
	}
	for path, into := range map[string]any{
		"/tiles/points:shops/0/0/0.geojson":   &clusters,
		"/tiles/all.json?pinned=true":         &tiles,
		"/places/nearby?lat=52&lon=5&limit=1": &found,
	} {
		if err := json.Unmarshal([]byte(servertest.Body(t, w.ask(path))), into); err != nil {
			t.Fatal(path, err)
		}
	}
	_, rest, _ := strings.Cut(tiles.Tiles[0], "/g/")
	generations, _, _ := strings.Cut(rest, "/")
	cluster := ""
	for _, f := range clusters.Features {
		cluster = cmp.Or(cluster, f.Properties.ID)
	}
	words := []string{
		"{key}",
		servertest.TestKey,
		"{pinned}",
		"/g/" + generations,
		"{place}",
		fmt.Sprint(found.Places[0].ID),
		"{cluster}",
		cluster,
	}
	if madeUp {
		words = append(words, "{region}", "wl", "{airport}", "WLD", "{station}", "066600-99999", "{address}", toyworld.Address(31).String())
	} else {
		words = append(words, "{region}", "ca", "{airport}", "AMS", "{station}", "062400-99999", "{address}", "8.8.8.8")
	}
	w.fill = strings.NewReplacer(words...)
	return w
}

// manyPlaces yields n invented places. Their countries, divisions and classes are of different
// frequencies, so that a condition has few, many or very many places.
func manyPlaces(n int) iter.Seq2[places.Place, error] {
	countries := []string{"CN", "US", "IN", "NO", "MX", "DE", "GB", "NL", "CH", "LI"}
	codes := [][2]string{{"P", "PPL"}, {"H", "STM"}, {"T", "MT"}, {"S", "SCH"}, {"P", "PPLC"}, {"A", "ADM2"}, {"L", "PRK"}}
	words := []string{"Green", "Stone", "North", "Long", "Old", "Red", "Lake", "Mill", "Bridge", "Saint", "King", "New"}
	return func(yield func(places.Place, error) bool) {
		r := rand.New(rand.NewPCG(7, 7))
		often := func(n int) int { return int(float64(n) * r.Float64() * r.Float64()) } // the first most often
		for i := range n {
			code := codes[often(len(codes))]
			p := places.Place{
				ID: uint32(1 + i*37), Lon: r.Float64()*360 - 180, Lat: r.Float64()*150 - 70,
				Country: countries[often(len(countries))], Admin1: fmt.Sprintf("%02d", 1+often(30)),
				Class: code[0], Code: code[1], TimeZone: "Etc/UTC",
			}
			p.Name = words[r.IntN(len(words))] + " " + words[r.IntN(len(words))] + " " + words[r.IntN(len(words))]
			if r.IntN(2) == 0 {
				p.Admin2 = fmt.Sprintf("%s%d", p.Admin1, 100+often(20))
			}
			if p.Class == "P" && r.IntN(4) == 0 {
				p.Population = int64(100 / (1e-5 + r.Float64()))
			}
			if !yield(p, nil) {
				return
			}
		}
	}
}

func publishMany(ctx context.Context, c *dataset.Catalog) error {
	b, err := c.Begin(ctx, ask.Places.Name)
	if err != nil {
		return err
	}
	meta, _, err := places.Build(ctx, b.Store(), places.Source{Places: manyPlaces(dearPlaces)}, places.BuildOptions{})
	if err != nil {
		return err
	}
	m := dataset.Manifest{SchemaVersion: places.SchemaVersion, Built: servertest.BuildDate}
	if m.Meta, err = json.Marshal(meta); err != nil {
		return err
	}
	_, err = b.Publish(ctx, m)
	return err
}

// ask sends a request with the key that the server requires.
func (w *dearWorld) ask(path string) *http.Response {
	if path, body, ok := strings.Cut(path, " | Body: "); ok {
		return w.SendTo(http.MethodPost, path, strings.NewReader(body), "X-Api-Key", servertest.TestKey)
	}
	return w.Get(path, "X-Api-Key", servertest.TestKey)
}

func TestCosts(t *testing.T) {
	w := newDearWorld(t, "")
	t.Run("Classes", func(t *testing.T) { testClasses(t, w) })
	t.Run("GeonamesWork", func(t *testing.T) { testGeonamesWork(t, w) })
	t.Run("GeonamesConditions", func(t *testing.T) { testGeonamesConditions(t, w) })
}

// testClasses tests that every route has a cost class. While no heavy request may begin, only light
// requests get an answer.
func testClasses(t *testing.T, w *dearWorld) {
	all := w.server.Endpoints()
	for of := range dearest {
		if !slices.ContainsFunc(all, func(e endpoint.Endpoint) bool { return e.Method()+" "+e.Path == of }) {
			t.Errorf("dearest_test.go has requests to %s, which is no endpoint", of)
		}
	}
	for i := range all {
		e := &all[i]
		if e.Handle == nil || e.Hidden && e.Tag != "" || e.Method() != http.MethodGet && e.Method() != http.MethodPost {
			continue
		}
		path, class, questions := e.Path, e.Cost, dearestOf(e)
		if class == endpoint.Streamed && len(questions) == 0 { // methods besides GET are no questions
			continue
		}
		if len(questions) == 0 && e.Example.Request == "" {
			t.Errorf("%s (%s) is not asked anything: add its dearest questions to dearest_test.go", path, e.ID)
		}
		if questions == nil {
			questions = []string{e.Example.Request}
		}
		refusals := 0
		for _, q := range questions {
			q = w.fill.Replace(q)
			w.work.reset()
			free := w.ask(q)
			text := servertest.Body(t, free)
			written := len(text)
			if strings.HasSuffix(q, "/openapi.json") {
				written = 0 // it is made before the first request
			}
			dear := w.work.micros(written)
			if free.StatusCode >= http.StatusInternalServerError ||
				free.StatusCode == http.StatusBadRequest && free.Header.Get("Content-Type") == "application/problem+json" {
				t.Errorf("%s: %d %.200s", q, free.StatusCode, text)
			}
			unfill := servertest.FillHeavy(w.server)
			w.work.reset()
			full := w.ask(q)
			text = servertest.Body(t, full)
			if written > 0 {
				written = len(text)
			}
			left := w.work.micros(written)
			unfill()
			if full.StatusCode == http.StatusServiceUnavailable {
				refusals++
			}
			if left > lightMicros {
				t.Errorf("%s is answered %d beside heavy requests, at %d µs: %d reads, %d rows, %d bytes of %d read", q, full.StatusCode,
					left, w.work.reads.Load(), w.work.rows.Load(), len(text), w.work.bytes.Load())
			}
			t.Logf("%7d µs, %7d beside heavy ones (%d)  %s", dear, left, full.StatusCode, q)
		}
		if class == endpoint.Heavy && refusals < len(questions) ||
			(class == endpoint.Light || class == endpoint.Vital) && refusals > 0 ||
			class == endpoint.Mixed && (refusals == 0 || refusals == len(questions)) {
			t.Errorf("%s: %d of %d questions take a heavy place, its class is %d", path, refusals, len(questions), class)
		}
	}
}

// gnDearest returns GeoNames searches with each of their conditions.
func gnDearest() []string {
	return slices.DeleteFunc(slices.Clone(dearest["GET /searchJSON"]), func(q string) bool { return !strings.HasPrefix(q, "/searchJSON") })
}

// testGeonamesWork tests that a search examines only a bounded number of places, whatever its
// conditions.
func testGeonamesWork(t *testing.T, w *dearWorld) {
	for i, q := range gnDearest() {
		if testing.Short() && i%3 != 0 {
			continue
		}
		w.work.reset()
		if res := w.ask(q); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", q, res.StatusCode)
		}
		if reads, rows := w.work.reads.Load(), w.work.rows.Load(); reads > 10_000 || rows > 250_000 {
			t.Errorf("%s: %d reads and %d rows", q, reads, rows)
		}
	}
}

// testGeonamesConditions tests that a search finds the places that meet its conditions, in the
// order of all places.
func testGeonamesConditions(t *testing.T, w *dearWorld) {
	type entry struct {
		ID                      int
		Country, Admin1, Admin2 string
	}
	read := func(path string, into any) {
		t.Helper()
		if text := servertest.Body(t, w.ask(path)); json.Unmarshal([]byte(text), into) != nil {
			t.Fatalf("%s: %.200s", path, text)
		}
	}
	var list []entry
	for cursor := ""; ; {
		var page struct {
			Places []entry
			Next   string
		}
		read("/places/within?bbox=-180,-90,180,90&limit=1000"+cursor, &page)
		if list = append(list, page.Places...); page.Next == "" {
			break
		}
		cursor = "&cursor=" + page.Next
	}
	if len(list) != dearPlaces {
		t.Fatalf("%d places", len(list))
	}
	first := list[0]
	for i := range list { // only records have it
		if e := &list[i]; e.Country == first.Country && e.Admin1 == first.Admin1 {
			read(fmt.Sprint("/places/", e.ID), e)
		}
	}
	i := slices.IndexFunc(list, func(e entry) bool { return e.Admin2 != "" })
	if i < 0 {
		t.Fatal("no place has a code of the second level")
	}
	admin2 := list[i].Admin2
	for query, meets := range map[string]func(e entry) bool{
		"adminCode1=" + first.Admin1: func(e entry) bool { return e.Admin1 == first.Admin1 },
		"country=" + first.Country + "&adminCode1=" +
			first.Admin1: func(e entry) bool { return e.Country == first.Country && e.Admin1 == first.Admin1 },
		"country=" + first.Country + "&adminCode1=" + first.Admin1 + "&adminCode2=" +
			admin2: func(e entry) bool { return e.Country == first.Country && e.Admin2 == admin2 },
		"country=" + first.Country + "&adminCode1=" + first.Admin1 + "&adminCode2=" + admin2 +
			"&style=FULL": func(e entry) bool { return e.Country == first.Country && e.Admin2 == admin2 },
	} {
		var want []int
		for _, e := range list {
			if meets(e) {
				want = append(want, e.ID)
			}
		}
		starts := []int{0, 2, 150}
		if testing.Short() {
			starts = starts[1:2]
		}
		for _, start := range starts {
			var doc struct {
				TotalResultsCount int
				Geonames          []struct{ GeonameID int }
			}
			read(fmt.Sprintf("/searchJSON?%s&startRow=%d&maxRows=100", query, start), &doc)
			rows := want[min(start, len(want)):]
			rows = rows[:min(len(rows), 100)]
			var got []int
			for _, g := range doc.Geonames {
				got = append(got, g.GeonameID)
			}
			if !slices.Equal(got, rows) || doc.TotalResultsCount < len(got) || len(want) <= 1000 && doc.TotalResultsCount != len(want) {
				t.Errorf("%s from %d: %d rows of %d, want %d of %d", query, start, len(got), doc.TotalResultsCount, len(rows), len(want))
			}
		}
	}
}

// BenchmarkDearest reports the processor time of the most expensive requests of every route,
// without cached answers. It uses the data that ingest has published in the directory
// QUADRILLE_DATA.
func BenchmarkDearest(b *testing.B) {
	dir := os.Getenv("QUADRILLE_DATA")
	if _, err := fs.Stat(os.DirFS(filepath.Clean(dir)), "."); dir == "" || err != nil {
		b.Skip("set QUADRILLE_DATA to a directory that ingest has published data in")
	}
	w := newDearWorld(b, dir)
	all := w.server.Endpoints()
	for i := range all {
		for _, q := range dearestOf(&all[i]) {
			for _, coding := range []string{"identity", "br"} {
				b.Run(coding+strings.ReplaceAll(q, "/", "|"), func(b *testing.B) {
					r := httptest.NewRequest(http.MethodGet, w.fill.Replace(q), nil)
					r.Header["X-Api-Key"], r.Header["Accept-Encoding"] = []string{servertest.TestKey}, []string{coding}
					out := &servertest.DiscardWriter{Headers: http.Header{}}
					w.work.reset()
					start := processorTime(b)
					for b.Loop() {
						clear(out.Headers)
						w.Handler.ServeHTTP(out, r)
					}
					n := float64(b.N)
					b.ReportMetric(float64(processorTime(b)-start)/1e6/n, "cpu-ms/op")
					b.ReportMetric(float64(w.work.reads.Load())/n, "reads/op")
					b.ReportMetric(float64(w.work.rows.Load())/n, "rows/op")
					b.ReportMetric(float64(out.Bytes)/n, "B/answer")
				})
			}
		}
	}
}

// processorTime returns the processor time that the process has used.
func processorTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
