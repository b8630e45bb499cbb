package boundaries

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/paulmach/orb"

	"quadrille/ask"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/job/names"
	"quadrille/cmd/internal/testfile"
	"quadrille/tiles/build"
)

// Reading a layer back does not allocate a buffer for each property.
func TestKeptPropertiesTakeLittleMemory(t *testing.T) {
	const properties = 2000
	feature := build.Feature{ID: "a", Geometry: orb.Polygon{{{0, 0}, {1, 0}, {1, 1}, {0, 0}}}}
	for i := range properties {
		feature.Properties = append(feature.Properties, build.Property{Name: fmt.Sprint("p", i), Value: int64(i)})
	}
	dir := t.TempDir()
	if err := writeLayer(dir, &build.Layer{Type: "ward", Features: []build.Feature{feature}}, layerHead{}); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := layer{typ: "ward"}
	_, err := got.readKept(t.Context(), Input{
		Type:  "ward",
		Input: job.Input{Path: filepath.Join(dir, layersDir, "ward"+layerSuffix)},
	}, &vertexCount{}, &jobtest.Recorder{})
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]build.Feature{feature}, got.features); d != "" {
		t.Error(d)
	}
	if took := (after.TotalAlloc - before.TotalAlloc) / properties; took > 16<<10 {
		t.Errorf("%d bytes for each property", took)
	}
}

// A user's own layer keeps its properties in the records, including lists, objects and large
// numbers, also after the layer was kept. Dropped properties are counted and reported.
func TestPropertiesOfOwnLayers(t *testing.T) {
	ctx, c := t.Context(), jobtest.Catalog(t)
	path := filepath.Join(t.TempDir(), "wards.geojson")
	const square = `"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]]]}`
	text := `{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"name":"A","big":12345678901234567890123,"exact":9007199254740993,"far":-9223372036854775809,
"f":1e20,"null":null,"tags":[ "a", 1, null,{"x": 0.10 } ],"more":{"bbox":[1],"a":{"geometry":{"b":"<\ufeff` + "\xff" +
		`"}}},"nan":NaN,"within":[1e999],
"long":"` + strings.Repeat("x", 5000) + `","longer":"` + strings.Repeat("x", 80_000) + `","list":[` + strings.Repeat("0,",
		3000) + `0],"postal":8001,"country":["CH"]},` + square + `},
{"type":"Feature","properties":{"name":"B","endless":1e999},` + strings.ReplaceAll(square, "[1,", "[2,") + `}]}`
	testfile.Write(t, path, text)
	const record = `{"type":"ward","id":"12345678901234567890123","name":"A","bbox":[0,0,1,1],"map_color":1,"big":12345678901234567890123,"country":["CH"],"exact":9007199254740993,"f":100000000000000000000,"far":-9223372036854775809,` +
		`"more":{"bbox":[1],"a":{"geometry":{"b":"\u003c\ufeffÿ"}}},"postal":8001,"tags":["a",1,null,{"x":0.10}]}`
	check := func(inputs []Input) *jobtest.Recorder {
		t.Helper()
		rep := &jobtest.Recorder{}
		if _, err := Ingest(ctx, c, inputs, job.Options{Reporter: rep}); err != nil {
			t.Fatal(err)
		}
		r, _ := jobtest.Open(t, c, ask.Boundaries)
		got, err := r.Region(ctx, "ward", "12345678901234567890123", false)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(record, string(got)); d != "" {
			t.Error(d)
		}
		var fields []string
		for _, f := range r.Types()[0].Schema {
			fields = append(fields, fmt.Sprint(f.Name, " ", f.Kind))
		}
		if d := cmp.Diff([]string{"big number", "country texts", "exact number", "f number", "far number", "id text", "map_color number",
			"more any", "name text", "postal number", "tags any", "type text"}, fields); d != "" {
			t.Error(d)
		}
		return rep
	}
	rep := check([]Input{layerInput("ward", path, "big")})
	want := []string{path + `: is not UTF-8 and is read as windows-1252, such as ",\"a\":{\"geometry\":{\"b\":\"<\\ufeffÿ\"}}},\"nan\":NaN,\"within\":[1e99"; --encoding NAME of ingest boundaries, enrich and points says otherwise`,
		"warning: 6 properties of 2 features are not kept; the first is " + path + `:1: "nan: a number that no program reads"`,
		"ward: ids are made of big (1, such as 12345678901234567890123); names (1, such as b)",
		"ward: tiles have the properties exact, f, postal; --property NAME chooses, and fields= in an address any others"}
	if d := cmp.Diff(want, rep.Notes); d != "" {
		t.Error(d)
	}
	kept, err := KeepLayers(ctx, c, ask.Boundaries.Dataset, []Input{layerInput("county", "testdata/topology.json", "")})
	if err != nil {
		t.Fatal(err)
	}
	check(kept)
	if _, err := names.Ingest(ctx, c, job.Options{}); err != nil { // must accept any member of a record
		t.Error(err)
	}
}
