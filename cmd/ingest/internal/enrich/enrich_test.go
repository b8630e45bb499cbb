package enrich_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"quadrille/ask"
	asked "quadrille/ask/enrich"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/enrich"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/internal/testfile"
	"quadrille/internal/buildtest"
	"quadrille/internal/smallworld"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// newPlan returns a plan of the regions of the small world, and their reader.
func newPlan(t testing.TB) (*asked.Plan, *tiles.Reader) { return planOf(t, smallworld.Layers()) }

func planOf(t testing.TB, layers []build.Layer) (*asked.Plan, *tiles.Reader) {
	store := buildtest.NewStore(t)
	meta, _, err := build.Run(t.Context(), store, layers, build.Options{})
	if err != nil {
		t.Fatal(err)
	}
	reader, err := tiles.Open(t.Context(), store, meta)
	if err != nil {
		t.Fatal(err)
	}
	v := ask.NewViews(ask.Sets{Boundaries: dataset.NewFixedLive(reader, dataset.Manifest{Dataset: ask.BoundariesName})}).Take(time.Now())
	t.Cleanup(v.Release)
	regions, err := asked.Regions(v)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := asked.New(regions)
	if err != nil {
		t.Fatal(err)
	}
	return plan, reader
}

// table returns a table of random points, with a few rows that have none.
func table(rows int) string {
	r := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	b.WriteString("row,lat,lon,note\n")
	for i := range rows {
		lat := strconv.FormatFloat(40+10*r.Float64(), 'f', 4, 64)
		if r.IntN(100) == 0 {
			lat = ""
		}
		fmt.Fprintf(&b, "%d,%s,%.4f,\"%s\"\n", i, lat, 5+8*r.Float64(), strings.Repeat("x,", r.IntN(4)))
	}
	return b.String()
}

// Rows of many chunks come out in their order, with the regions of their points.
func TestOrder(t *testing.T) {
	plan, reader := newPlan(t)
	const count = 150_000
	in := testfile.WriteTemp(t, "in.csv", table(count))
	out := filepath.Join(t.TempDir(), "out.csv")
	stats, err := enrich.Run(t.Context(), enrich.LocalPlan(plan), enrich.Options{In: in, Out: out, Format: enrich.CSV, NeedsPosition: true}, job.Options{})
	if err != nil || stats.Rows != count || stats.NoPosition == 0 {
		t.Fatal(stats, err)
	}
	given := strings.Split(string(testfile.Read(t, in)), "\n")
	got := strings.Split(string(testfile.Read(t, out)), "\n")
	if len(got) != len(given) || got[0] != "row,lat,lon,note,country,country_id,state,state_id" {
		t.Fatalf("%d lines of %d, and the header %s", len(got), len(given), got[0])
	}
	for i := 1; i < len(given)-1; i++ {
		cells := strings.SplitN(given[i], ",", 4)
		want := strings.TrimSuffix(given[i], `""`) // needs no quotes
		names := map[string]tiles.Region{}
		if cells[1] != "" && i%37 == 0 {
			lat, _ := strconv.ParseFloat(cells[1], 64)
			lon, _ := strconv.ParseFloat(cells[2], 64)
			found, err := reader.At(t.Context(), lat, lon)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range found {
				names[r.Type] = r
			}
		}
		for _, typ := range []string{"country", "state"} {
			want += "," + names[typ].Name + "," + names[typ].ID
		}
		if i%37 == 0 && got[i] != want || !strings.HasPrefix(got[i], strings.TrimSuffix(given[i], `""`)+",") {
			t.Fatalf("line %d: %s, want %s", i, got[i], want)
		}
	}
}

// failing is a writer that fails after some bytes.
type failing struct{ left int }

var errFull = errors.New("no space left")

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// Whatever stops a run is its error, and no file is left.
func TestStops(t *testing.T) {
	plan, _ := newPlan(t)
	in := testfile.WriteTemp(t, "in.csv", table(200_000))
	o := enrich.Options{In: in, Out: "-", Stdout: &failing{1 << 20}, Format: enrich.CSV, NeedsPosition: true}
	if _, err := enrich.Run(t.Context(), enrich.LocalPlan(plan), o, job.Options{}); !errors.Is(err, errFull) {
		t.Errorf("full: %v", err)
	}
	dir := t.TempDir()
	o.Out = filepath.Join(dir, "out.csv")
	testfile.Write(t, o.Out, "before")
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := enrich.Run(ctx, enrich.LocalPlan(plan), o, job.Options{Reporter: &stopper{stop: cancel}}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	bad := testfile.WriteTemp(t, "bad.csv", table(70_000)+strings.Repeat("1,2,3\n", 10_000))
	o.In = bad
	var many *job.TooManyBadError
	if _, err := enrich.Run(t.Context(), enrich.LocalPlan(plan), o, job.Options{MaxBad: 0.01}); !errors.As(err, &many) {
		t.Errorf("bad rows: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || !bytes.Equal(testfile.Read(t, o.Out), []byte("before")) {
		t.Errorf("left: %v, %v", left, err)
	}
}

// stopper stops a run after its first progress.
type stopper struct {
	job.SilentReporter
	stop  func()
	calls int
}

func (s *stopper) Progress(job.Progress) {
	if s.calls++; s.calls == 3 {
		s.stop()
	}
}

// Ten thousand columns are written as they were read.
func TestManyColumns(t *testing.T) {
	plan, _ := newPlan(t)
	var header, row []string
	for i := range 10_000 {
		header, row = append(header, "c"+strconv.Itoa(i)), append(row, strconv.Itoa(i))
	}
	text := strings.Join(header, ",") + ",lat,lon\n" + strings.Repeat(strings.Join(row, ",")+",46.2,8.8\n", 200)
	in := testfile.WriteTemp(t, "in.csv", text)
	var out bytes.Buffer
	o := enrich.Options{In: in, Out: "-", Stdout: &out, Format: enrich.CSV, NeedsPosition: true}
	if _, err := enrich.Run(t.Context(), enrich.LocalPlan(plan), o, job.Options{}); err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(text, ",lat,lon\n", ",lat,lon,country,country_id,state,state_id\n")
	if want = strings.ReplaceAll(want, "46.2,8.8\n", "46.2,8.8,Switzerland,ch,Ticino,ch-ti\n"); out.String() != want {
		t.Errorf("%d bytes, want %d", out.Len(), len(want))
	}
}

// largest is a writer that knows the largest write, and what it got in all.
type largest struct {
	bytes.Buffer
	most int
}

func (l *largest) Write(b []byte) (int, error) {
	l.most = max(l.most, len(b))
	return l.Buffer.Write(b)
}

// What is kept of the output at once is bounded, however long names of columns and added cells are.
func TestLargeCells(t *testing.T) {
	layers := smallworld.Layers()
	for i := range layers[0].Features {
		layers[0].Features[i].Name = strings.Repeat("x", 60_000)
	}
	wide, _ := planOf(t, layers)
	narrow, _ := newPlan(t)
	for name, tc := range map[string]struct {
		plan   *asked.Plan
		column string
		format enrich.Format
	}{
		"keys":  {narrow, strings.Repeat("y", 100_000), enrich.NDJSON},
		"cells": {wide, "y", enrich.CSV},
	} {
		const rows = 400
		in := testfile.WriteTemp(t, "in.csv", "lat,lon,"+tc.column+"\n"+strings.Repeat("46.2,8.8,1\n", rows))
		var out largest
		o := enrich.Options{In: in, Out: "-", Stdout: &out, Format: tc.format, NeedsPosition: true}
		if _, err := enrich.Run(t.Context(), enrich.LocalPlan(tc.plan), o, job.Options{}); err != nil {
			t.Fatal(name, err)
		}
		if out.Len() < 20<<20 || out.most > 10<<20 {
			t.Errorf("%s: %d bytes, and %d at once", name, out.Len(), out.most)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if lines = lines[len(lines)-rows:]; strings.Count(out.String(), "\n") > rows+1 || lines[0] != lines[rows-1] || !strings.Contains(lines[0], "ch") {
			t.Errorf("%s: rows differ", name)
		}
	}
}

// shapefile writes a shapefile of points with a column name.
func shapefile(t testing.TB, dir string, names []string, points []orb.Point) string {
	shp := slices.Repeat([]byte{0}, 100)
	binary.BigEndian.PutUint32(shp, 9994)
	binary.LittleEndian.PutUint32(shp[28:], 1000)
	shp[32] = 1 // points
	dbf := append([]byte{3, 126, 1, 1, byte(len(names)), 0, 0, 0, 65, 0, 11, 0}, make([]byte, 20)...)
	dbf = append(append(dbf, "NAME\x00\x00\x00\x00\x00\x00\x00C\x00\x00\x00\x00\x0a"...), make([]byte, 15)...)
	dbf = append(dbf, '\r')
	for i, p := range points {
		shp = binary.BigEndian.AppendUint32(shp, uint32(i+1))
		if math.IsNaN(p[0]) { // a null shape
			shp = append(shp, 0, 0, 0, 2, 0, 0, 0, 0)
		} else {
			shp = binary.LittleEndian.AppendUint32(binary.BigEndian.AppendUint32(shp, 10), 1)
			shp = binary.LittleEndian.AppendUint64(shp, math.Float64bits(p[0]))
			shp = binary.LittleEndian.AppendUint64(shp, math.Float64bits(p[1]))
		}
		dbf = fmt.Appendf(dbf, " %-10s", names[i])
	}
	binary.BigEndian.PutUint32(shp[24:], uint32(len(shp)/2))
	testfile.Write(t, filepath.Join(dir, "in.dbf"), dbf)
	return testfile.Write(t, filepath.Join(dir, "in.shp"), shp)
}

// notes is a Reporter that keeps the notes.
type notes struct {
	job.SilentReporter
	all []string
}

func (n *notes) Note(text string) { n.all = append(n.all, text) }

// Features whose geometry cannot be used stay, as rows of tables do, and are counted.
func TestUnusableGeometry(t *testing.T) {
	plan, _ := newPlan(t)
	in := testfile.WriteTemp(t, "in.geojson", `{"type":"FeatureCollection","features":[
{"type":"Feature","id":1,"properties":{"a":"good"},"geometry":{"type":"Point","coordinates":[8.8,46.2]}},
{"type":"Feature","id":2,"properties":{"a":"null"},"geometry":null},
{"type":"Feature","id":3,"properties":{"a":"none"}},
{"type":"Feature","id":4,"properties":{"a":"empty"},"geometry":{"type":"Point","coordinates":[]}},
{"type":"Feature","id":5,"properties":{"a":"nulls"},"geometry":{"type":"Point","coordinates":[null,null]}},
{"type":"Feature","id":6,"properties":{"a":"nested"},"geometry":{"type":"Point","coordinates":[[8.8,46.2]]}},
{"type":"Feature","id":7,"properties":{"a":"kind"},"geometry":{"type":"Circle","coordinates":[8.8,46.2]}},
{"type":"Feature","id":8,"properties":{"a":"NaN"},"geometry":{"type":"Polygon","coordinates":[[[0,0],[NaN,1],[1,1],[0,0]]]}},
{"type":"Feature","id":9,"properties":{"a":"polygon","last":1},"geometry":{"type":"Polygon","coordinates":[[[0,0],[0,1],[1,1],[0,0]]]}},
{"type":"Thing","properties":{"a":"no feature"}}]}`)
	for format, want := range map[enrich.Format][]string{
		enrich.CSV:     {"a,last,id,lat,lon,country,country_id,state,state_id", "nested,,6,,,,,,", "kind,,7,,,,,,", "polygon,1,9,,,,,,"},
		enrich.NDJSON:  {`{"a":"nulls","id":"5","country":null,"country_id":null,"state":null,"state_id":null}`},
		enrich.GeoJSON: {`{"type":"Feature","id":"7","geometry":null,"properties":{"a":"kind","country":null`, `"id":"9","geometry":{"type":"Polygon"`},
	} {
		for _, needs := range []bool{true, false} {
			var out bytes.Buffer
			said := &notes{}
			o := enrich.Options{In: in, Out: "-", Stdout: &out, Format: format, NeedsPosition: needs}
			stats, err := enrich.Run(t.Context(), enrich.LocalPlan(plan), o, job.Options{MaxBad: .5, Reporter: said})
			if err != nil || stats.Rows != 9 || stats.LeftOut != 1 || needs && stats.NoPosition != 8 {
				t.Errorf("%s: %+v, %v", format, stats, err)
			}
			for _, w := range want {
				if !strings.Contains(out.String(), w) {
					t.Errorf("%s: no %s in\n%s", format, w, out.String())
				}
			}
			all := strings.Join(said.all, "\n")
			for _, w := range []string{
				`coordinate is not a number, in line 6 (null)`, `coordinates nested wrongly for the geometry's type, in line 7 (Point of depth 2)`,
				`geometry is of a kind that is not read, in line 8 ("Circle")`,
			} {
				if !strings.Contains(all, w) && !strings.Contains(all, strings.ReplaceAll(w, "(null)", "(null), 9 (Polygon)")) {
					t.Errorf("%s, %v: not said: %s in\n%s", format, needs, w, all)
				}
			}
			if lost := strings.Contains(all, "no geometry in the output"); lost != (format == enrich.GeoJSON || !needs) {
				t.Errorf("%s, %v: said\n%s", format, needs, all)
			}
		}
	}
	shp := shapefile(t, t.TempDir(), []string{"one", "two"}, []orb.Point{{math.NaN(), 0}, {8.8, 46.2}})
	var out bytes.Buffer
	o := enrich.Options{In: shp, Out: "-", Stdout: &out, Format: enrich.CSV, NeedsPosition: true}
	stats, err := enrich.Run(t.Context(), enrich.LocalPlan(plan), o, job.Options{})
	if err != nil || stats.Rows != 2 || stats.NoPosition != 1 || !strings.Contains(out.String(), "\none,,,,,,\ntwo,46.2,8.8,") {
		t.Errorf("%+v, %v: %s", stats, err, out.String())
	}
}

// No object has a key twice: columns without a name and properties of one name are told apart, which is said.
func TestDistinctKeys(t *testing.T) {
	plan, _ := newPlan(t)
	for name, tc := range map[string]struct {
		file, content string
		format        enrich.Format
		want, said    string
	}{
		"columns": {
			"in.csv", "lat,,column_2,lon,,column_5,column_5_\n46.2,a,b,8.8,c,d,e\n", enrich.NDJSON,
			`{"lat":"46.2","column_2_":"a","column_2":"b","lon":"8.8","column_5__":"c","column_5":"d","column_5_":"e",`,
			`in.csv: columns without a name are called "column_2_", "column_5__"`,
		},
		"unnamed in a table": {"in.csv", "lat,,lon\n46.2,a,8.8\n", enrich.CSV, "lat,,lon,country", ""},
		"properties": {
			"in.geojson", `{"type":"Feature","properties":{"a":1,"b":2,"a":3,"a":null,"c":4},"geometry":null}`, enrich.NDJSON,
			`{"a":null,"b":2,"c":4,`, `1 row has several properties of one name: the last one counts, in line 1 ("a")`,
		},
		"in cells": {
			"in.geojson", `{"type":"Feature","properties":{"a":1,"b":2,"a":3},"geometry":null}`, enrich.CSV,
			"a,b,lat,lon,country,country_id,state,state_id\n3,2,", `1 row has several properties of one name: the last one counts, in line 1 ("a")`,
		},
	} {
		var out bytes.Buffer
		said := &notes{}
		o := enrich.Options{In: testfile.WriteTemp(t, tc.file, tc.content), Out: "-", Stdout: &out, Format: tc.format, NeedsPosition: true}
		if _, err := enrich.Run(t.Context(), enrich.LocalPlan(plan), o, job.Options{Reporter: said}); err != nil {
			t.Fatal(name, err)
		}
		if !strings.HasPrefix(out.String(), tc.want) {
			t.Errorf("%s: %s, want %s", name, out.String(), tc.want)
		}
		if all := strings.Join(said.all, "\n"); !strings.Contains(all, tc.said) || tc.said == "" && strings.Contains(all, "called") {
			t.Errorf("%s: said %s", name, all)
		}
	}
}

// Properties that rows share or not are found, however many there are in all.
func TestManyProperties(t *testing.T) {
	plan, _ := newPlan(t)
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, `{"type":"Feature","id":"%d","properties":{"%s%d":"","a":"\u00e9","id":%d},"geometry":{"type":"Point","coordinates":[8.8,46.2]}}`+"\n",
			i, strings.Repeat("n", 1000), i, -i)
	}
	var out bytes.Buffer
	o := enrich.Options{In: testfile.WriteTemp(t, "in.geojsonl", b.String()), Out: "-", Stdout: &out, Format: enrich.NDJSON, NeedsPosition: true}
	if _, err := enrich.Run(t.Context(), enrich.LocalPlan(plan), o, job.Options{}); err != nil {
		t.Fatal(err)
	}
	i := 0
	for line := range strings.Lines(out.String()) {
		want := fmt.Sprintf(`{"%s%d":"","a":"\u00e9","id":%d,"lat":46.2,"lon":8.8,"country":"Switzerland"`, strings.Repeat("n", 1000), i, -i)
		if i++; !strings.HasPrefix(line, want) {
			t.Fatalf("%s, want %s", line, want)
		}
	}
	if i != 5000 {
		t.Errorf("%d rows", i)
	}
}

// It is said which added columns have nothing at all.
func TestEmptyColumns(t *testing.T) {
	plan, _ := newPlan(t)
	for rows, want := range map[string]string{
		"45.81,9.08\n1,1\n": `these added columns are empty in all rows: "state", "state_id"`, "46.2,8.8\n1,1\n": "", "": "",
	} {
		said := &notes{}
		o := enrich.Options{In: testfile.WriteTemp(t, "in.csv", "lat,lon\n"+rows), Out: "-", Stdout: io.Discard, Format: enrich.CSV, NeedsPosition: true}
		if _, err := enrich.Run(t.Context(), enrich.LocalPlan(plan), o, job.Options{Reporter: said}); err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(said.all, "\n"); !strings.Contains(all, want) || want == "" && strings.Contains(all, "empty in all") {
			t.Errorf("%q: said %s", rows, all)
		}
	}
}

// The output does not take the place of a part of the input.
func TestPartsStay(t *testing.T) {
	plan, _ := newPlan(t)
	dir := t.TempDir()
	in := shapefile(t, dir, []string{"one", "two"}, []orb.Point{{8.8, 46.2}, {8.9, 46.2}})
	before := testfile.Read(t, filepath.Join(dir, "in.dbf"))
	link := filepath.Join(dir, "link.csv")
	if err := os.Symlink("in.dbf", link); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{filepath.Join(dir, "in.dbf"), link} {
		o := enrich.Options{In: in, Out: out, Format: enrich.CSV, NeedsPosition: true}
		if _, err := enrich.Run(t.Context(), enrich.LocalPlan(plan), o, job.Options{}); err == nil || !strings.Contains(err.Error(), "is a file that is read") {
			t.Errorf("%s: %v", out, err)
		}
	}
	if !bytes.Equal(before, testfile.Read(t, filepath.Join(dir, "in.dbf"))) {
		t.Error("the input has changed")
	}
	o := enrich.Options{In: in, Out: filepath.Join(dir, "in.csv"), Format: enrich.CSV, NeedsPosition: true}
	if _, err := enrich.Run(t.Context(), enrich.LocalPlan(plan), o, job.Options{}); err != nil {
		t.Fatal(err)
	}
	const want = "NAME,lat,lon,country,country_id,state,state_id\none,46.2,8.8,Switzerland,ch,Ticino,ch-ti\n"
	if got := string(testfile.Read(t, o.Out)); !strings.HasPrefix(got, want) {
		t.Error(got)
	}
}

// If something that was read cannot be closed, the file does not get its name.
func TestCloseFails(t *testing.T) {
	plan, _ := newPlan(t)
	in := testfile.WriteTemp(t, "in.csv", table(10))
	broken := errors.New("broken")
	o := enrich.Options{In: in, Out: filepath.Join(t.TempDir(), "out.csv"), Format: enrich.CSV, Close: func() error { return broken }}
	if _, err := enrich.Run(t.Context(), enrich.LocalPlan(plan), o, job.Options{}); !errors.Is(err, broken) {
		t.Error(err)
	}
	if _, err := os.Stat(o.Out); !errors.Is(err, os.ErrNotExist) {
		t.Error("the file is there", err)
	}
}

// TestIndentedGeoJSON tests that each line of the output is JSON, whatever the values of the source are: over
// several lines, no numbers, or no JSON at all.
func TestIndentedGeoJSON(t *testing.T) {
	plan, _ := newPlan(t)
	in := testfile.WriteTemp(t, "in.geojson", `{"type": "FeatureCollection", "features": [
		{"type": "Feature", "properties": {
			"tags": [
				"a\nb",
				{"deep": [1,
				 2]}
			],
			"level": NaN,
			"depths": [1, NaN]
		}, "geometry": {"type": "Point", "coordinates": [8.8, 46.2]}},
		{"type": "Feature", "properties": {"tags": null}, "geometry": {"type": "LineString", "coordinates": [[8.8, 46.2], [NaN, 46.2]]}},
		{"type": "Feature", "properties": {"tags": null}, "geometry": {"type": "Point", "coordinates": [1e999, 46.2]}}
	]}`)
	for _, format := range []enrich.Format{enrich.NDJSON, enrich.GeoJSON, enrich.CSV} {
		var out bytes.Buffer
		o := enrich.Options{In: in, Out: "-", Stdout: &out, Format: format, NeedsPosition: true}
		if _, err := enrich.Run(t.Context(), enrich.LocalPlan(plan), o, job.Options{MaxBad: 1}); err != nil {
			t.Fatal(format, err)
		}
		if !strings.Contains(out.String(), "Switzerland") {
			t.Errorf("%s: %s", format, out.String())
		}
		if format == enrich.CSV {
			continue
		}
		for line := range strings.Lines(out.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%s: %s", format, line)
			}
		}
		if !strings.Contains(out.String(), `"tags":["a\nb",{"deep":[1,2]}]`) {
			t.Errorf("%s: %s", format, out.String())
		}
	}
}

// BenchmarkFeatures measures the features per second that become rows of a table.
func BenchmarkFeatures(b *testing.B) {
	plan, _ := newPlan(b)
	var text strings.Builder
	for i := range b.N {
		fmt.Fprintf(&text, `{"type":"Feature","id":%d,"properties":{"a":"first","b":"second","c":%d,"d":"a longer text of some words","e":null,"f":true},`+
			`"geometry":{"type":"Point","coordinates":[8.8,46.2]}}`+"\n", i, i)
	}
	in := testfile.WriteTemp(b, "in.geojsonl", text.String())
	o := enrich.Options{In: in, Out: filepath.Join(b.TempDir(), "out.csv"), Format: enrich.CSV, NeedsPosition: true}
	b.ResetTimer()
	if _, err := enrich.Run(b.Context(), enrich.LocalPlan(plan), o, job.Options{}); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "features/s")
}

// BenchmarkRun measures the rows of a table per second, with the regions of the small world.
func BenchmarkRun(b *testing.B) {
	plan, _ := newPlan(b)
	in := testfile.WriteTemp(b, "in.csv", table(b.N))
	o := enrich.Options{In: in, Out: filepath.Join(b.TempDir(), "out.csv"), Format: enrich.CSV, NeedsPosition: true}
	b.ResetTimer()
	if _, err := enrich.Run(b.Context(), enrich.LocalPlan(plan), o, job.Options{}); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
