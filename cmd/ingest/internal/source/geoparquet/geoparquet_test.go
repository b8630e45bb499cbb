package geoparquet

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/sourcetest"
	"quadrille/cmd/internal/testfile"
)

// shop is a row of a file of points, in the shape that Overture gives to places.
type shop struct {
	ID       string    `parquet:"id"`
	Geometry []byte    `parquet:"geometry,optional"`
	BBox     *box      `parquet:"bbox,optional"`
	Names    *names    `parquet:"names,optional"`
	Staff    *int32    `parquet:"staff,optional"`
	Big      uint64    `parquet:"big"`
	Price    *float64  `parquet:"price,optional"`
	Ratio    float32   `parquet:"ratio"`
	Open     bool      `parquet:"open"`
	Day      int32     `parquet:"day,date"`
	At       time.Time `parquet:"at,timestamp(microsecond)"`
	Local    int64     `parquet:"local,timestamp(millisecond:local)"`
	Sum      int64     `parquet:"sum,decimal(2:18)"`
	Key      [16]byte  `parquet:"key,uuid"`
	Tags     []string  `parquet:"tags,list"`
	Sources  []origin  `parquet:"sources,list"`
	Raw      string    `parquet:"raw,json"`
}

type box struct {
	XMin float32 `parquet:"xmin"`
	YMin float32 `parquet:"ymin"`
	XMax float32 `parquet:"xmax"`
	YMax float32 `parquet:"ymax"`
}

type names struct {
	Primary *string           `parquet:"primary,optional"`
	Common  map[string]string `parquet:"common"`
}

type origin struct {
	Dataset string   `parquet:"dataset"`
	Weight  *float64 `parquet:"weight,optional"`
}

const geo = `{"version":"1.1.0","primary_column":"geometry","columns":{"geometry":{"encoding":"WKB","geometry_types":[]%s}}}`

// fileOf writes rows to a Parquet file.
func fileOf[T any](t testing.TB, rows []T, options ...parquet.WriterOption) string {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, options...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return testfile.WriteTemp(t, "rows.parquet", b.Bytes())
}

func withGeo(members string) parquet.WriterOption {
	return parquet.KeyValueMetadata("geo", fmt.Sprintf(geo, members))
}

// read reads the features of files.
func read(t testing.TB, o Options, paths ...string) ([]source.Feature, []*source.BadRecord, *File, error) {
	f, err := Open(paths, o)
	if err != nil {
		return nil, nil, nil, err
	}
	features, bad, err := sourcetest.All(sourcetest.Decoded(f.Features(t.Context())))
	return features, bad, f, errIn(err, f.Close())
}

func errIn(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func at(lon, lat float64) []byte {
	b, err := wkb.Marshal(orb.Point{lon, lat}, binary.LittleEndian)
	if err != nil {
		panic(err)
	}
	return b
}

// shops draws rows, and returns the features that they are.
func shops(t *rapid.T) (rows []shop, want []source.Feature) {
	text := rapid.StringN(0, 12, 40)
	for i := range rapid.IntRange(0, 700).Draw(t, "rows") {
		one := func(n int) bool { return (i+rapid.IntRange(0, 3).Draw(t, "null"))%n == 0 }
		s := shop{
			ID: fmt.Sprint("s", i), Big: math.MaxUint64 - uint64(i), Ratio: float32(i) / 3, Open: i%3 == 0, Day: int32(i*37 - 5000),
			At: time.UnixMicro(int64(i) * 1e12).UTC(), Local: int64(i) * 1e9, Sum: int64(i-300) * 7, Key: [16]byte{1, byte(i)},
			Raw: fmt.Sprintf(`{"n":%d}`, i),
		}
		f := source.Feature{ID: s.ID, Line: i + 1, Properties: map[string]any{
			"id": s.ID, "open": s.Open, "raw": json.RawMessage(s.Raw),
			"day": time.Unix(int64(s.Day)*86400, 0).UTC().Format(time.DateOnly), "at": s.At.Format(time.RFC3339Nano),
			"local": time.UnixMilli(s.Local).UTC().Format("2006-01-02T15:04:05.999"), "big": json.RawMessage(fmt.Sprint(s.Big)),
			"key": fmt.Sprintf("01%02x0000-0000-0000-0000-000000000000", byte(i)), "tags": json.RawMessage("[]"), "sources": json.RawMessage("[]"),
		}}
		number := func(text string) any {
			if n, err := strconv.ParseInt(text, 10, 64); err == nil {
				return n
			}
			n, _ := strconv.ParseFloat(text, 64)
			return n
		}
		f.Properties["ratio"] = number(strconv.FormatFloat(float64(s.Ratio), 'g', -1, 32))
		f.Properties["sum"] = number(new(big.Rat).SetFrac64(s.Sum, 100).FloatString(2))
		if !one(5) {
			p := orb.Point{rapid.Float64Range(-180, 180).Draw(t, "lon"), rapid.Float64Range(-90, 90).Draw(t, "lat")}
			s.Geometry, f.Geometry = at(p[0], p[1]), p
			s.BBox = &box{float32(p[0]), float32(p[1]), float32(p[0]), float32(p[1])}
		}
		if !one(4) {
			s.Names = &names{Common: map[string]string{}}
			if !one(3) {
				name := text.Draw(t, "name")
				s.Names.Primary = &name
				f.Properties["name"] = name
			}
			for _, language := range []string{"de", "fr"}[:i%3] {
				s.Names.Common[language] = language + s.ID
				f.Properties["name:"+language] = language + s.ID
			}
		}
		if !one(3) {
			n, p := int32(i), float64(i)+0.25
			s.Staff, s.Price = &n, &p
			f.Properties["staff"], f.Properties["price"] = int64(n), p
		}
		if n := i % 4; n > 0 {
			s.Tags = rapid.SliceOfN(text, n, n).Draw(t, "tags")
			list, _ := json.Marshal(s.Tags)
			f.Properties["tags"] = canonical(list)
			w := 0.5
			s.Sources = []origin{{"a", &w}, {"b", nil}}[:1+i%2]
			list = []byte(`[{"dataset":"a","weight":0.5},{"dataset":"b"}]`)
			if i%2 == 0 {
				list = []byte(`[{"dataset":"a","weight":0.5}]`)
			}
			f.Properties["sources"] = canonical(list)
		}
		rows, want = append(rows, s), append(want, f)
	}
	return rows, want
}

// canonical returns JSON in one spelling.
func canonical(text []byte) json.RawMessage {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return json.RawMessage(err.Error())
	}
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}

// Whatever the rows, the compression, the version and the size of pages: features are the rows.
func TestFeatures(t *testing.T) {
	codecs := []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Brotli, &parquet.Zstd, &parquet.Lz4Raw}
	rapid.Check(t, func(r *rapid.T) {
		rows, want := shops(r)
		path := fileOf(t, rows, withGeo(""), parquet.Compression(rapid.SampledFrom(codecs).Draw(r, "codec")),
			parquet.DataPageVersion(rapid.IntRange(1, 2).Draw(r, "version")), parquet.PageBufferSize(rapid.SampledFrom([]int{200, 5000, 1 << 20}).Draw(r, "page")),
			parquet.MaxRowsPerRowGroup(rapid.SampledFrom([]int64{50, 300, 1 << 20}).Draw(r, "group")),
			parquet.DefaultEncodingFor(parquet.ByteArray, rapid.SampledFrom(byteEncodings).Draw(r, "texts")),
			parquet.DefaultEncodingFor(parquet.Int64, rapid.SampledFrom(intEncodings).Draw(r, "numbers")))
		f, err := Open([]string{path}, Options{Want: source.WantPoints})
		if err != nil {
			r.Fatal(err)
		}
		i := 0
		for feature, err := range sourcetest.Decoded(f.Features(t.Context())) {
			if missing := i < len(want) && want[i].Geometry == nil; (err != nil) != missing {
				r.Fatalf("row %d: %v", i+1, err)
			}
			for _, list := range []string{"tags", "sources"} {
				if text, is := feature.Properties[list].(json.RawMessage); is {
					feature.Properties[list] = canonical(text)
				}
			}
			if i == len(want) || !cmp.Equal(feature, want[i]) {
				r.Fatalf("row %d: %s", i+1, cmp.Diff(want[min(i, len(want)-1)], feature))
			}
			i++
		}
		if i != len(want) || f.Progress() != int64(len(want)) || f.Size != int64(len(want)) || f.Records {
			r.Fatalf("%d of %d rows, progress %d of %d", i, len(want), f.Progress(), f.Size)
		}
		if columns := f.Columns(); !slices.Equal(columns, []string{
			"id", "name", "staff", "big", "price", "ratio", "open", "day", "at", "local", "sum", "key", "tags", "sources", "raw",
		}) {
			r.Errorf("columns: %q", columns)
		}
		if !slices.Equal(f.Times, []string{"local"}) {
			r.Errorf("times without a zone: %q", f.Times)
		}
	})
}

var (
	byteEncodings = []encoding.Encoding{&parquet.Plain, &parquet.RLEDictionary, &parquet.DeltaLengthByteArray, &parquet.DeltaByteArray}
	intEncodings  = []encoding.Encoding{&parquet.Plain, &parquet.RLEDictionary, &parquet.DeltaBinaryPacked}
)

// Lists of positions are geometries, by the levels of their values.
func TestNative(t *testing.T) {
	type position struct {
		repetition int
		x          float64 // NaN: an empty list
	}
	for name, tc := range map[string]struct {
		kind   string
		row    []position
		want   orb.Geometry
		reason string
	}{
		"point":            {"point", []position{{0, 1}}, orb.Point{1, 2}, ""},
		"no point":         {"point", []position{{0, math.NaN()}}, nil, source.ReasonNoGeometry},
		"line":             {"linestring", []position{{0, 1}, {1, 3}}, orb.LineString{{1, 2}, {3, 4}}, ""},
		"points":           {"multipoint", []position{{0, 1}, {1, 3}}, orb.MultiPoint{{1, 2}, {3, 4}}, ""},
		"lines":            {"multilinestring", []position{{0, 1}, {2, 3}, {1, 5}}, orb.MultiLineString{{{1, 2}, {3, 4}}, {{5, 6}}}, ""},
		"polygon":          {"polygon", []position{{0, 1}, {2, 3}, {1, 5}}, orb.Polygon{{{1, 2}, {3, 4}}, {{5, 6}}}, ""},
		"polygon of none":  {"polygon", []position{{0, math.NaN()}}, nil, source.ReasonNoGeometry},
		"polygon of a gap": {"polygon", []position{{0, 1}, {1, math.NaN()}}, orb.Polygon{{{1, 2}}, {}}, ""},
		"polygons": {
			"multipolygon",
			[]position{{0, 1}, {3, 3}, {2, 5}, {1, 7}, {3, 9}},
			orb.MultiPolygon{{{{1, 2}, {3, 4}}, {{5, 6}}}, {{{7, 8}, {9, 10}}}},
			"",
		},
	} {
		g := geometry{kind: tc.kind, x: &leaf{}, y: &leaf{}}
		for _, p := range tc.row {
			x, y := parquet.DoubleValue(p.x), parquet.DoubleValue(p.x+1)
			if math.IsNaN(p.x) {
				x, y = parquet.NullValue(), parquet.NullValue()
			}
			g.x.row, g.y.row = append(g.x.row, x.Level(p.repetition, 4, 0)), append(g.y.row, y.Level(p.repetition, 4, 0))
		}
		got, reason, _ := g.read()
		if reason != tc.reason || !cmp.Equal(got, tc.want) {
			t.Errorf("%s: %v %q, want %v", name, got, reason, tc.want)
		}
	}
}

// The system is that of the metadata or of the type, and is judged as in other formats.
func TestSystems(t *testing.T) {
	type row struct {
		Geometry []byte `parquet:"geometry"`
	}
	rows := []row{{at(8, 47)}}
	for name, tc := range map[string]struct{ members, note, err string }{
		"none":       {"", "", ""},
		"CRS84":      {`,"crs":{"type":"GeographicCRS","name":"x","id":{"authority":"OGC","code":"CRS84"}}`, "", ""},
		"ETRS89":     {`,"crs":{"type":"GeographicCRS","name":"ETRS89","id":{"authority":"EPSG","code":4258}}`, "taken as WGS84", ""},
		"by name":    {`,"crs":{"type":"GeographicCRS","name":"WGS 84"}`, "", ""},
		"metres":     {`,"crs":{"type":"ProjectedCRS","name":"UTM","id":{"authority":"EPSG","code":32632}}`, "", "ogr2ogr -t_srs EPSG:4326 out.parquet"},
		"unknown":    {`,"crs":null`, "", "ogr2ogr -a_srs EPSG:4326 out.parquet"},
		"compound":   {`,"crs":{"type":"CompoundCRS","name":"x","components":[{"type":"GeographicCRS","name":"WGS 84"},{}]}`, "", ""},
		"no system":  {`,"crs":{"type":"ProjectedCRS","name":"WGS 84"}`, "", "convert them"},
		"arcs":       {`,"edges":"spherical"`, "read as straight lines", ""},
		"other":      {`,"encoding":"geoarrow"`, "", "which is not read; write it anew in WKB"},
		"not a list": {`,"encoding":"point"`, "", "which is not read; write it anew in WKB"},
	} {
		path := fileOf(t, rows, withGeo(tc.members))
		_, _, f, err := read(t, Options{Want: source.WantPolygons}, path)
		if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(err.Error(), path)) {
			t.Errorf("%s: %v, want %q", name, err, tc.err)
		}
		if err == nil && (tc.note == "") != (len(f.Notes()) == 0) || f != nil && !strings.Contains(strings.Join(f.Notes(), "; "), tc.note) {
			t.Errorf("%s: notes %q, want %q", name, f.Notes(), tc.note)
		}
	}
}

// Row groups that are outside the bounds are not read, across the antimeridian too.
func TestBounds(t *testing.T) {
	var rows []shop
	for i := range 360 {
		lon := float32(i) - 179.5
		rows = append(rows, shop{ID: fmt.Sprint(i), Geometry: at(float64(lon), 0), BBox: &box{lon, 0, lon, 0}})
	}
	path := fileOf(t, rows, withGeo(""), parquet.MaxRowsPerRowGroup(10))
	for name, tc := range map[string]struct {
		bound orb.Bound
		read  int
		first string
	}{
		"all":        {orb.Bound{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}}, 360, "0"},
		"some":       {orb.Bound{Min: orb.Point{-9, -1}, Max: orb.Point{12, 1}}, 30, "170"},
		"across 180": {orb.Bound{Min: orb.Point{175, -1}, Max: orb.Point{-175, 1}}, 20, "0"},
		"north":      {orb.Bound{Min: orb.Point{-180, 10}, Max: orb.Point{180, 20}}, 0, ""},
	} {
		features, _, f, err := read(t, Options{Want: source.WantPoints, Bounds: &tc.bound}, path)
		if err != nil || len(features) != tc.read || f.Progress() != 360 || tc.read > 0 && features[0].ID != tc.first {
			t.Errorf("%s: %d features, progress %d, %v", name, len(features), f.Progress(), err)
			continue
		}
		if tc.read > 0 {
			if n, err := strconv.Atoi(features[0].ID); err != nil || features[0].Line != n+1 {
				t.Errorf("%s: first in line %d", name, features[0].Line)
			}
		}
		if skipped := fmt.Sprintf("%d of 36 row groups", 36-tc.read/10); (tc.read < 360) != strings.Contains(strings.Join(f.Notes(), ""), skipped) {
			t.Errorf("%s: %q", name, f.Notes())
		}
	}
}

// Several files are one, and folders are properties.
func TestFolders(t *testing.T) {
	type row struct {
		ID   int64   `parquet:"id"`
		Lat  float64 `parquet:"lat"`
		Name string  `parquet:"name"`
	}
	dir := t.TempDir()
	var paths []string
	for i, folder := range []string{"year=2024/kind=a%20b/code=07", "year=2025/kind=" + noValue + "/code=11"} {
		path := filepath.Join(dir, filepath.FromSlash(folder), "x.parquet")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		testfile.Write(t, path, testfile.Read(t, fileOf(t, []row{{int64(i), 47, "x"}, {int64(i + 10), 48, "y"}})))
		paths = append(paths, path)
	}
	features, _, f, err := read(t, Options{Want: source.WantPoints, Root: dir}, paths...)
	if err != nil || !f.Records {
		t.Fatal(err)
	}
	want := []source.Feature{
		{ID: "0", Line: 1, Properties: map[string]any{"year": int64(2024), "kind": "a b", "code": "07", "id": int64(0), "lat": int64(47), "name": "x"}},
		{ID: "10", Line: 2, Properties: map[string]any{"year": int64(2024), "kind": "a b", "code": "07", "id": int64(10), "lat": int64(48), "name": "y"}},
		{ID: "1", Line: 3, Properties: map[string]any{"year": int64(2025), "code": "11", "id": int64(1), "lat": int64(47), "name": "x"}},
		{ID: "11", Line: 4, Properties: map[string]any{"year": int64(2025), "code": "11", "id": int64(11), "lat": int64(48), "name": "y"}},
	}
	if d := cmp.Diff(want, features); d != "" {
		t.Error(d)
	}
	if columns := f.Columns(); !slices.Equal(columns, []string{"year", "kind", "code", "id", "lat", "name"}) {
		t.Error(columns)
	}
	mixed := fileOf(t, []shop{{ID: "a", Geometry: at(8, 47)}}, withGeo(""))
	if _, err := Open([]string{paths[0], mixed}, Options{Want: source.WantPoints}); err == nil || !strings.Contains(err.Error(), "only some of the files have geometries") {
		t.Error(err)
	}
}

// Real files by other writers have the features that their authors counted.
func TestForeignWriters(t *testing.T) {
	const dir = "../../../../../../shared/data/files/"
	text, err := os.ReadFile(dir + "answers.json")
	if err != nil {
		t.Skip("no files of foreign writers:", err)
	}
	type answer struct {
		File, Run string
		Count     int
		Features  []struct {
			ID, Name string
			At       []float64
			Props    map[string]any
		}
		Refuse []string
	}
	// Some of the other rows have another shape.
	var rows []json.RawMessage
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, row := range rows {
		var a answer
		if json.Unmarshal(row, &a) != nil || !strings.HasPrefix(a.File, "parquet/") && !strings.HasPrefix(a.File, "overture/") {
			continue
		}
		tried++
		names, root, err := source.Expand(dir+a.File, func(name string) bool { return strings.HasSuffix(name, ".parquet") })
		if err != nil {
			t.Fatal(err)
		}
		if names == nil {
			names = []string{dir + a.File}
		}
		features, bad, _, err := read(t, Options{Want: source.Want(strings.Replace(a.Run, "boundaries", "polygons", 1)), Root: root}, names...)
		if len(a.Refuse) > 0 {
			if err == nil {
				t.Errorf("%s is read", a.File)
			}
			continue
		}
		if err != nil || len(bad) > 0 || a.Count > 0 && !strings.HasPrefix(a.File, "overture/theme=divisions/type=division_area") && len(features) != a.Count {
			t.Errorf("%s: %d features, want %d; bad: %v, %v", a.File, len(features), a.Count, bad, err)
			continue
		}
		for _, want := range a.Features {
			i := slices.IndexFunc(features, func(f source.Feature) bool {
				return f.ID == want.ID || f.Properties["county_code"] == want.ID
			})
			if i < 0 {
				t.Errorf("%s: no feature %s", a.File, want.ID)
				continue
			}
			f := features[i]
			if name, has := f.Properties["name"]; want.Name != "" && has && name != want.Name {
				t.Errorf("%s: %s is called %v, want %s", a.File, want.ID, name, want.Name)
			}
			if p, is := f.Geometry.(orb.Point); is && len(want.At) == 2 && (math.Abs(p[0]-want.At[0]) > 1e-6 || math.Abs(p[1]-want.At[1]) > 1e-6) {
				t.Errorf("%s: %s is at %v, want %v", a.File, want.ID, p, want.At)
			}
			for name, v := range want.Props {
				got := fmt.Sprint(f.Properties[name])
				if want := fmt.Sprint(v); got != want && got+"T00:00:00Z" != want {
					t.Errorf("%s: %s: %s is %s, want %s", a.File, want, name, got, want)
				}
			}
		}
	}
	t.Logf("%d answers", tried)
}

// manyShops writes a file of 400,000 rows.
func manyShops(t *testing.T) string {
	rows := make([]shop, 400_000)
	for i := range rows {
		rows[i] = shop{ID: fmt.Sprint("shop ", i*7919), Geometry: at(float64(i%360)-180, float64(i%180)-90), Tags: []string{"a", fmt.Sprint(i)}}
	}
	return fileOf(t, rows, withGeo(""), parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(100_000))
}

// A file of many rows is read in the memory of a few pages.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes a large file")
	}
	path := manyShops(t)
	f, err := Open([]string{path}, Options{Want: source.WantPoints})
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	most, n := uint64(0), 0
	for _, err := range f.Features(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%20_000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc-min(before.HeapAlloc, now.HeapAlloc))
		}
	}
	if n != 400_000 || most > 64<<20 {
		t.Errorf("%d rows, %d MiB", n, most>>20)
	}
}

func BenchmarkRead(b *testing.B) {
	rows := make([]shop, 100_000)
	name := "Shop"
	for i := range rows {
		rows[i] = shop{ID: fmt.Sprint("shop ", i), Geometry: at(float64(i%360)-180, 47), Names: &names{Primary: &name}, Sources: []origin{{Dataset: "a"}}}
	}
	path := fileOf(b, rows, withGeo(""), parquet.Compression(&parquet.Zstd))
	b.ReportAllocs()
	for b.Loop() {
		f, err := Open([]string{path}, Options{Want: source.WantPoints})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for _, err := range f.Features(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != len(rows) {
			b.Fatal(n)
		}
	}
	b.ReportMetric(float64(b.N*len(rows))/b.Elapsed().Seconds(), "rows/s")
}
