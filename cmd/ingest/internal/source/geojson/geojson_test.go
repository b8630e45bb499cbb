package geojson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/paulmach/orb"
	orbjson "github.com/paulmach/orb/geojson"
	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/ingest/internal/source/jsonscan"
	"quadrille/cmd/ingest/internal/source/sourcetest"
)

// result is everything that is read from a file.
type result struct {
	features []source.Feature
	bad      []source.BadRecord
	err      error
}

func read(text string) (r result) {
	features, bad, err := sourcetest.All(polygons(iotest.HalfReader(strings.NewReader(text)), "x.geojson"))
	for _, b := range bad {
		r.bad = append(r.bad, *b)
	}
	r.features, r.err = features, err
	return r
}

// polygons reads the features that are polygons, with their values, like a job.
func polygons(r io.Reader, name string) iter.Seq2[source.Feature, error] {
	return func(yield func(source.Feature, error) bool) {
		values := jsonscan.New(nil)
		var said geojson.Said
		for f, err := range geojson.Read(r, name, &said) {
			if err == nil {
				var reason, detail string
				if f.Geometry, f.Repair, reason, detail = source.PolygonsOf(f.Geometry); reason != "" {
					err = &source.BadRecord{Source: name, Line: f.Line, Reason: reason, Detail: detail}
				}
				f.Properties, f.Members = values.Decode(f.Members, &f.Lost), nil
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

const square = `[[0,0],[1,0],[1,1],[0,1],[0,0]]`

var squareRing = orb.Ring{{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}}

func collection(features ...string) string {
	return `{"type":"FeatureCollection","features":[` + strings.Join(features, ",\n") + `]}`
}

func feature(geometry string) string {
	return `{"type":"Feature","properties":{},"geometry":` + geometry + `}`
}

func TestGeometries(t *testing.T) {
	for name, tc := range map[string]struct {
		geometry string
		want     orb.Geometry
	}{
		"polygon":      {`{"type":"Polygon","coordinates":[` + square + `]}`, orb.Polygon{squareRing}},
		"type last":    {`{"coordinates":[` + square + `],"type":"Polygon"}`, orb.Polygon{squareRing}},
		"hole":         {`{"type":"Polygon","coordinates":[` + square + `,` + square + `]}`, orb.Polygon{squareRing, squareRing}},
		"multi of one": {`{"type":"MultiPolygon","coordinates":[[` + square + `]]}`, orb.Polygon{squareRing}},
		"multi": {
			`{"type":"MultiPolygon","coordinates":[[` + square + `,` + square + `],[` + square + `]]}`,
			orb.MultiPolygon{{squareRing, squareRing}, {squareRing}},
		},
		"heights and measures": {`{"type":"Polygon","coordinates":[[[0,0,7],[1,0,7,8],[1,1,null],[0,1,7],[0,0,7]]]}`, nil},
		"heights":              {`{"type":"Polygon","coordinates":[[[0,0,7],[1,0,7,8],[1,1,7],[0,1,7],[0,0,7]]]}`, orb.Polygon{squareRing}},
		"not closed":           {`{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}`, orb.Polygon{squareRing}},
		"a ring without area":  {`{"type":"Polygon","coordinates":[` + square + `,[[0,0],[1,0],[0,0]]]}`, orb.Polygon{squareRing}},
		"an island without area": {
			`{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[0,0]],` + square + `],[` + square + `]]}`,
			orb.Polygon{squareRing},
		},
		"empty members": {
			`{"type":"MultiPolygon","coordinates":[[],[` + square + `,[]],[[]],[` + square + `]]}`,
			orb.MultiPolygon{{squareRing}, {squareRing}},
		},
		"collection": {
			`{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]},{"type":"Polygon","coordinates":[` +
				square + `]},{"type":"GeometryCollection","geometries":[{"type":"MultiPolygon","coordinates":[[` + square + `]]}]},null]}`,
			orb.MultiPolygon{{squareRing}, {squareRing}},
		},
		"beyond by rounding": {
			`{"type":"Polygon","coordinates":[[[180.0000003,90.0002],[1,0],[-180.001,-90.001],[180.0000003,90.0002]]]}`,
			orb.Polygon{{{180, 90}, {1, 0}, {-180, -90}, {180, 90}}},
		},
		"unwrapped": {
			`{"type":"Polygon","coordinates":[[[170,0],[190,0],[190,10],[170,10],[170,0]]]}`,
			orb.Polygon{{{170, 0}, {190, 0}, {190, 10}, {170, 10}, {170, 0}}},
		},
	} {
		r := read(collection(feature(tc.geometry)))
		if tc.want == nil {
			if r.err != nil || len(r.bad) != 1 {
				t.Errorf("%s: %+v", name, r)
			}
			continue
		}
		if r.err != nil || len(r.bad) > 0 || len(r.features) != 1 || !orb.Equal(r.features[0].Geometry, tc.want) ||
			reflect.TypeOf(r.features[0].Geometry) != reflect.TypeOf(tc.want) {
			t.Errorf("%s: got %+v, want %v", name, r, tc.want)
		}
	}
}

func TestBadRecords(t *testing.T) {
	polygon := func(coordinates string) string { return `{"type":"Polygon","coordinates":` + coordinates + `}` }
	for _, tc := range []struct{ feature, reason, detail string }{
		{`null`, source.ReasonNotAFeature, "null"},
		{`[1,2]`, source.ReasonNotAFeature, "array"},
		{`{"type":"Polygon","coordinates":[` + square + `]}`, source.ReasonNotAFeature, `type "Polygon"`},
		{`{"type":"Feature"}`, source.ReasonNoGeometry, ""},
		{feature(`null`), source.ReasonNoGeometry, ""},
		{feature(`"POLYGON((0 0))"`), source.ReasonDamaged, "geometry is string"},
		{feature(`{}`), source.ReasonDamaged, "geometry without a type"},
		{feature(`{"type":"polygon","coordinates":[` + square + `]}`), source.ReasonUnknownKind, `"polygon"`},
		{feature(`{"type":"Polygon"}`), source.ReasonDamaged, "Polygon without coordinates"},
		{feature(polygon(`[]`)), source.ReasonNoGeometry, "empty"},
		{feature(polygon(`[[]]`)), source.ReasonNoGeometry, "empty"},
		{feature(`{"type":"Point","coordinates":[1,2]}`), source.ReasonNotAPolygon, "Point"},
		{feature(`{"type":"LineString","coordinates":` + square + `}`), source.ReasonNotAPolygon, "LineString"},
		{feature(`{"type":"GeometryCollection","geometries":[]}`), source.ReasonNoGeometry, "empty"},
		{feature(polygon(`[[],` + square + `]`)), source.ReasonNoArea, ""},
		{feature(`{"type":"MultiPolygon","coordinates":[[],[[]]]}`), source.ReasonNoGeometry, "empty"},
		{feature(polygon(`[[[],[0,0],[1,1],[1,0],[0,0]]]`)), source.ReasonWrongNesting, "empty array"},
		{
			feature(`{"type":"GeometryCollection","geometries":[{"type":"LineString","coordinates":` + square + `},null]}`),
			source.ReasonNotAPolygon,
			"LineString",
		},
		{feature(polygon(square)), source.ReasonWrongNesting, "Polygon of depth 2"},
		{feature(polygon(`[[` + square + `]]`)), source.ReasonWrongNesting, "Polygon of depth 4"},
		{feature(`{"type":"MultiPolygon","coordinates":[` + square + `]}`), source.ReasonWrongNesting, "MultiPolygon of depth 3"},
		{feature(polygon(`[` + square + `,[0,0]]`)), source.ReasonWrongNesting, "arrays of different depth"},
		{feature(polygon(`[[[0,0],1,[1,1]]]`)), source.ReasonWrongNesting, "number beside array"},
		{feature(polygon(`[[[0,[0]],[1,1]]]`)), source.ReasonWrongNesting, "number beside array"},
		{feature(polygon(`[[[0],[1,1],[1,0],[0]]]`)), source.ReasonWrongNesting, "position of one number"},
		{feature(polygon(`"0,0 1,1"`)), source.ReasonWrongNesting, "string"},
		{feature(polygon(`[[[0,0],[1,1],[1,null],[0,0]]]`)), source.ReasonNotANumber, "null"},
		{feature(polygon(`[[["0","0"],["1","1"],["1","0"],["0","0"]]]`)), source.ReasonNotANumber, "string"},
		{feature(polygon(`[[[0,0],[NaN,1],[1,0],[0,0]]]`)), source.ReasonNotANumber, "[NaN, 1]"},
		{feature(polygon(`[[[0,0],[1e999,1],[1,0],[0,0]]]`)), source.ReasonNotANumber, "[+Inf, 1]"},
		{feature(polygon(`[[[0,0],[500000,4649776],[1,0],[0,0]]]`)), source.ReasonOutsideWorld, "[500000, 4649776]"},
		{feature(polygon(`[[[0,0],[1,91],[1,0],[0,0]]]`)), source.ReasonOutsideWorld, "[1, 91]"},
		{feature(polygon(`[[[0,0],[1,0],[0,0]]]`)), source.ReasonNoArea, ""},
		{
			feature(`{"type":"GeometryCollection","geometries":[` + polygon(`[`+square+`]`) + `,` + polygon(`[[[0,0],[1,91],[1,0],[0,0]]]`) + `]}`),
			source.ReasonOutsideWorld,
			"[1, 91]",
		},
	} {
		good := feature(polygon(`[` + square + `]`))
		r := read(collection(good, tc.feature, good))
		want := []source.BadRecord{{Source: "x.geojson", Line: 2, Reason: tc.reason, Detail: tc.detail}}
		if r.err != nil || len(r.features) != 2 || !cmp.Equal(r.bad, want) {
			t.Errorf("%s:\n%+v", tc.feature, r)
		} else if r.features[1].Line != 3 {
			t.Errorf("%s: the next feature is said to be in line %d", tc.feature, r.features[1].Line)
		}
	}
}

func TestDocuments(t *testing.T) {
	polygon := `{"type":"Polygon","coordinates":[` + square + `]}`
	for _, tc := range []struct {
		text, err string
		features  int
	}{
		{collection(), "", 0},
		{collection(feature(polygon), feature(polygon)), "", 2},
		{`{"features":[` + feature(polygon) + `],"type":"FeatureCollection"}`, "", 1},
		{
			`{"type":"FeatureCollection","crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:OGC:1.3:CRS84"}},"features":[` +
				feature(polygon) + `]}`,
			"",
			1,
		},
		{`{"type":"FeatureCollection","crs":null,"name":"x","bbox":[1,2,3,4],"features":[` + feature(polygon) + `]}`, "", 1},
		{feature(polygon), "", 1},
		{polygon, "", 1},
		{`{"coordinates":[` + square + `],"type":"Polygon"}`, "", 1},
		{`{"type":"GeometryCollection","geometries":[` + polygon + `]}`, "", 1},
		{`{"type":"FeatureCollection","crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::3857"}},"features":[]}`, "EPSG:4326", 0},
		{``, "is empty", 0},
		{" \n", "is empty", 0},
		{`[]`, "not GeoJSON", 0},
		{`<html>`, "not GeoJSON", 0},
		{`{"type":"FeatureCollection"}`, "without features", 0},
		{`{"type":"FeatureCollection","features":null}`, "null where array should be", 0},
		{`{"type":"Topology","objects":{},"arcs":[]}`, "is TopoJSON", 0},
		{`{"objects":{},"arcs":[],"type":"Topology"}`, "is TopoJSON", 0},
		{collection(feature(polygon)) + collection(feature(polygon)), "", 2},
		{feature(polygon) + "\n" + feature(polygon) + "\n", "", 2},
		{"\x1e" + feature(polygon) + "\n\x1e" + polygon + "\n", "", 2},
		{feature(polygon) + "\n[]", "not GeoJSON: array at line 2", 1},
		{collection(feature(polygon)) + "x", "not GeoJSON", 1},
		{collection(feature(polygon))[:150], "truncated", 0},
		{strings.Repeat(`{"a":`, 1000), "nested deeper", 0},
	} {
		r := read(tc.text)
		if len(r.features) != tc.features || len(r.bad) != 0 || (r.err == nil) != (tc.err == "") ||
			r.err != nil && !strings.Contains(r.err.Error(), tc.err) {
			t.Errorf("%.80s\ngot %+v, want %d features and error %q", tc.text, r, tc.features, tc.err)
		}
		if r.err != nil && !strings.HasPrefix(r.err.Error(), "x.geojson: ") {
			t.Errorf("the error does not name the file: %v", r.err)
		}
	}
}

func TestEveryTruncationIsAnError(t *testing.T) {
	text := collection(`{"type":"Feature","id":"a","properties":{"n":-1.5e2,"s":"é"},"geometry":{"type":"Polygon","coordinates":[` + square + `]}}`)
	for n := range len(text) {
		if r := read(text[:n]); r.err == nil {
			t.Errorf("no error for %q", text[:n])
		}
	}
}

func TestIDsAndProperties(t *testing.T) {
	r := read(collection(
		`{"type":"Feature","id":20173,"properties":{"s":"x","i":9007199254740993,"f":1.5,"e":1e3,"t":true,"n":null,"a":[1],"o":{"s":1},"huge":123456789012345678901,"big":"`+strings.Repeat("x", 70000)+`"},"geometry":{"type":"Polygon","coordinates":[`+square+`]}}`,
		`{"type":"Feature","id":"0123","properties":null,"geometry":{"type":"Polygon","coordinates":[`+square+`]}}`,
		`{"type":"Feature","id":null,"properties":[],"geometry":{"type":"Polygon","coordinates":[`+square+`]}}`,
	))
	if r.err != nil || len(r.features) != 3 {
		t.Fatalf("%+v", r)
	}
	want := map[string]any{
		"s":    "x",
		"i":    int64(9007199254740993),
		"f":    1.5,
		"e":    1000.0,
		"t":    true,
		"a":    json.RawMessage(`[1]`),
		"o":    json.RawMessage(`{"s":1}`),
		"huge": json.RawMessage("123456789012345678901"),
	}
	if d := cmp.Diff(want, r.features[0].Properties); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(source.Lost{Count: 1, First: "big: it is longer than 65536 bytes"}, r.features[0].Lost); d != "" {
		t.Error(d)
	}
	if got := []string{r.features[0].ID, r.features[1].ID, r.features[2].ID}; !cmp.Equal(got, []string{"20173", "0123", ""}) {
		t.Error(got)
	}
}

// TestPropertiesBeforeOthers tests that the properties of a single feature stay unchanged while
// members after them are read.
func TestPropertiesBeforeOthers(t *testing.T) {
	other := `{"type":"Feature","properties":{"c":"zzzzzzzz","d":[9,9,9,9]},"geometry":null}`
	r := read(`{"type":"Feature","properties":{"a":"first","b":[1,2,3]},"geometry":{"type":"Polygon","coordinates":[` + square + `]},
"crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:OGC:1.3:CRS84"}},"features":[` + other + `]}`)
	want := map[string]any{"a": "first", "b": json.RawMessage(`[1,2,3]`)}
	if len(r.features) != 1 || r.err != nil || !cmp.Equal(r.features[0].Properties, want) {
		t.Errorf("%+v", r)
	}
}

func TestStoppingEarly(t *testing.T) {
	text := collection(feature(`null`), feature(`null`), feature(`null`))
	n := 0
	for range polygons(strings.NewReader(text), "x") {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Fatal(n)
	}
}

func TestReadErrorsPass(t *testing.T) {
	text := collection(feature(`{"type":"Polygon","coordinates":[` + square + `]}`))
	for _, err := range polygons(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(text))), "x") {
		if !errors.Is(err, iotest.ErrTimeout) {
			t.Fatal(err)
		}
	}
}

// Random collections are read with the same result as by the standard library and orb.
func TestAgreesWithOrb(t *testing.T) {
	coordinate := func(limit float64) *rapid.Generator[float64] {
		return rapid.Custom(func(t *rapid.T) float64 {
			return math.Round(rapid.Float64Range(-limit, limit).Draw(t, "x")*1e7) / 1e7
		})
	}
	ring := rapid.Custom(func(t *rapid.T) orb.Ring {
		n := rapid.IntRange(3, 9).Draw(t, "n")
		r := make(orb.Ring, n, n+1)
		for i := range r {
			r[i] = orb.Point{coordinate(180).Draw(t, "lon"), coordinate(90).Draw(t, "lat")}
		}
		r[0][0] = math.Copysign(r[0][0], 1)
		return append(r, r[0])
	})
	polygon := rapid.Custom(func(t *rapid.T) orb.Polygon {
		return rapid.SliceOfN(ring, 1, 3).Draw(t, "rings")
	})
	rapid.Check(t, func(t *rapid.T) {
		fc := orbjson.NewFeatureCollection()
		var want []source.Feature
		for i := range rapid.IntRange(0, 5).Draw(t, "features") {
			polygons := rapid.SliceOfN(polygon, 1, 4).Draw(t, "polygons")
			f := orbjson.NewFeature(source.JoinPolygons(polygons))
			f.ID = fmt.Sprint(i)
			f.Properties["name"] = rapid.String().Draw(t, "name")
			f.Properties["flag"] = rapid.Bool().Draw(t, "flag")
			fc.Append(f)
			want = append(want, source.Feature{
				ID:         fmt.Sprint(i),
				Properties: map[string]any{"name": f.Properties["name"], "flag": f.Properties["flag"]},
				Geometry:   f.Geometry,
				Line:       1,
			})
		}
		text, err := json.Marshal(fc)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "indent") {
			var b bytes.Buffer
			json.Indent(&b, text, " ", "\t")
			text = b.Bytes()
			for i := range want {
				want[i].Line = 0
			}
		}
		r := read(string(text))
		if r.err != nil || len(r.bad) > 0 {
			t.Fatalf("%v %v\n%s", r.err, r.bad, text)
		}
		for i := range r.features {
			if i < len(want) && want[i].Line == 0 {
				r.features[i].Line = 0
			}
		}
		if d := cmp.Diff(want, r.features); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(collection(feature(`{"type":"Polygon","coordinates":[` + square + `]}`)))
	f.Add(collection(feature(`{"coordinates":[[`+square+`]],"type":"MultiPolygon"}`), feature(`null`)))
	f.Add(collection(feature(`{"type":"GeometryCollection","geometries":[{"type":"Polygon","coordinates":[` + square + `]},{}]}`)))
	f.Add(`{"type":"Polygon","coordinates":[[[0,0],[1,NaN],[1e999,1],[0,0]]]}`)
	f.Add(`{"type":"Topology"}`)
	f.Add(`{"numberMatched":33,"numberReturned":1e99,"links":[{"rel":"next"}],"properties":{"exceededTransferLimit":true},"exceededTransferLimit":true,` + collection(feature(`null`))[1:])
	f.Add("\x1e" + feature(`null`) + "\n\x1e" + feature(`{"type":"MultiPolygon","coordinates":[[],[[]],[`+square+`,[]]]}`))
	f.Fuzz(func(t *testing.T, text string) {
		r := read(text)
		for _, f := range r.features {
			checkFeature(t, f)
		}
		if r.err != nil {
			return
		}
		values := json.NewDecoder(strings.NewReader(strings.ReplaceAll(text, "\x1e", " ")))
		var err error
		for err == nil {
			err = values.Decode(new(any))
		}
		if !errors.Is(err, io.EOF) && !strings.ContainsAny(text, "NI") {
			t.Fatalf("no error for text that is not JSON: %q", text)
		}
	})
}

// checkFeature checks the promises of source.PolygonsOf.
func checkFeature(t *testing.T, f source.Feature) {
	t.Helper()
	polygons, ok := f.Geometry.(orb.MultiPolygon)
	if p, single := f.Geometry.(orb.Polygon); single {
		polygons, ok = orb.MultiPolygon{p}, true
	}
	if !ok || len(polygons) == 0 || f.Line < 1 {
		t.Fatalf("%#v", f)
	}
	for _, p := range polygons {
		if len(p) == 0 {
			t.Fatal("polygon without rings")
		}
		for _, r := range p {
			if len(r) < 4 || r[0] != r[len(r)-1] {
				t.Fatalf("ring %v", r)
			}
			for _, v := range r {
				if !(math.Abs(v[0]) <= 360 && math.Abs(v[1]) <= 90) {
					t.Fatalf("vertex %v", v)
				}
			}
		}
	}
}

const shared = "../../../../../../shared/data/natural-earth"

// The counts of features and vertices agree with those in the data set's own notes.
func TestNaturalEarth(t *testing.T) {
	if _, err := os.Stat(shared); err != nil {
		t.Skip("no shared data: ", err)
	}
	for _, tc := range []struct {
		file               string
		features, vertices int
		bad                map[string]int
	}{
		{"110m/ne_110m_admin_0_countries", 177, 10654, nil},
		{"110m/ne_110m_populated_places_simple", 0, 0, map[string]int{source.ReasonNotAPolygon: 243}},
		{"110m/ne_110m_lakes", 25, 489, nil},
		{"50m/ne_50m_admin_0_countries", 242, 99613, nil},
		{"50m/ne_50m_ocean", 1, 60784, nil},
		{"10m/ne_10m_time_zones", 120, 155007, nil},
		{"10m/ne_10m_admin_2_counties", 3224, 147648, nil},
	} {
		t.Run(filepath.Base(tc.file), func(t *testing.T) {
			f, err := source.Open(filepath.Join(shared, tc.file+".geojson.gz"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			bad := map[string]int{}
			features, vertices := 0, 0
			for feature, err := range polygons(f, tc.file) {
				var b *source.BadRecord
				if errors.As(err, &b) {
					bad[b.Reason]++
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				checkFeature(t, feature)
				if features++; feature.Line != features+2 {
					t.Fatalf("feature %d is said to be in line %d", features, feature.Line)
				}
				switch g := feature.Geometry.(type) {
				case orb.Polygon:
					vertices += count(g)
				case orb.MultiPolygon:
					for _, p := range g {
						vertices += count(p)
					}
				}
			}
			if features != tc.features || vertices != tc.vertices || len(bad) != len(tc.bad) ||
				bad[source.ReasonNotAPolygon] != tc.bad[source.ReasonNotAPolygon] {
				t.Errorf("%d features, %d vertices, bad %v; want %d, %d, %v", features, vertices, bad, tc.features, tc.vertices, tc.bad)
			}
		})
	}
}

func count(p orb.Polygon) (n int) {
	for _, r := range p {
		n += len(r)
	}
	return n
}

// An open ring is closed, with a note.
func TestOpenRings(t *testing.T) {
	open, closed := `[[0,0],[1,0],[1,1],[0,1]]`, `[[5,5],[6,5],[6,6],[5,5]]`
	for text, want := range map[string]string{
		`{"type":"Polygon","coordinates":[` + closed + `]}`: "",
		`{"type":"Polygon","coordinates":[` + open +
			`]}`: source.RepairClosed,
		`{"type":"MultiPolygon","coordinates":[[` + closed + `],[` + open + `,` + open +
			`]]}`: source.RepairClosed,
		`{"type":"GeometryCollection","geometries":[{"type":"Polygon","coordinates":[` + open +
			`]},{"type":"Point","coordinates":[0,0]}]}`: source.RepairClosed,
	} {
		n := 0
		for f, err := range polygons(strings.NewReader(text), "x") {
			if n++; err != nil || f.Repair != want {
				t.Errorf("%s: %q, %v; want %q", text, f.Repair, err, want)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d features", text, n)
		}
	}
}

// TestLongLine reads a file in which one line has a feature of 17 MiB, like a whole ocean.
func TestLongLine(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"type":"FeatureCollection","features":[{"type":"Feature","properties":{},"geometry":{"type":"Polygon","coordinates":[[`)
	n := 0
	for ; b.Len() < 17<<20; n++ {
		sin, cos := math.Sincos(float64(n) / 1e6)
		fmt.Fprintf(&b, "[%v,%v],", 100*cos, 80*sin)
	}
	b.WriteString(`[100,0]]]}}]}`)
	for f, err := range polygons(strings.NewReader(b.String()), "x") {
		if p, ok := f.Geometry.(orb.Polygon); err != nil || !ok || len(p[0]) != n+1 {
			t.Fatalf("%T, %v; want %d vertices", f.Geometry, err, n+1)
		}
	}
}
