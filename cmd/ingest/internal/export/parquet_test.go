package export_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/export"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geoparquet"
	"quadrille/feature"
	"quadrille/feature/layertest"
	"quadrille/quadkey"
)

// failer is a test, or a case of a test by rapid.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// readFeatures reads the features of a file, and returns the reader's notes.
func readFeatures(t failer, path string, o geoparquet.Options) (list []source.Feature, notes []string) {
	t.Helper()
	f, err := geoparquet.Open([]string{path}, o)
	if err != nil {
		t.Fatal(err)
	}
	for got, err := range f.Features(context.Background()) {
		if bad := (*source.BadRecord)(nil); err != nil && (!errors.As(err, &bad) || bad.Reason != "no geometry") {
			t.Fatal(err)
		}
		if got.Lost.Count > 0 {
			t.Fatalf("lost: %v", got.Lost)
		}
		got.Members = slices.Clone(got.Members)
		for i := range got.Members {
			got.Members[i].Value = bytes.Clone(got.Members[i].Value)
		}
		list = append(list, got)
	}
	notes = f.Notes()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return list, notes
}

// values decodes the members of a feature without its id.
func values(t failer, f *source.Feature) map[string]any {
	all := map[string]any{}
	for _, m := range f.Members {
		var v any
		if err := json.Unmarshal(m.Value, &v); err != nil {
			t.Fatal(err)
		}
		all[m.Name] = v
	}
	delete(all, "id")
	return all
}

// layerOf draws a layer, with the properties that are expected of each feature.
func layerOf(t *rapid.T) (layer *layertest.Memory, open bool, want []map[string]any) {
	const own = "id geometry bbox"
	open = rapid.Bool().Draw(t, "open")
	kinds := []feature.Kind{feature.Text, feature.Number, feature.Integer, feature.Boolean, feature.Time, feature.Texts, feature.Any, feature.RegionID}
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"name", "id", "bbox", "geometry", "p.id", "a.b", "Ä ö", "list", "price", "since"}),
		0, 8, rapid.ID).Draw(t, "names")
	slices.Sort(names)
	layer = &layertest.Memory{LayerInfo: feature.Info{Name: "toys"}}
	for _, name := range names {
		layer.LayerInfo.Schema = append(layer.LayerInfo.Schema, feature.Field{Name: name, Kind: rapid.SampledFrom(kinds).Draw(t, name)})
	}
	for i := range rapid.IntRange(0, 20).Draw(t, "features") {
		f := feature.Feature{ID: fmt.Sprint("toy-", i, rapid.String().Draw(t, "id"))}
		f.Lat, f.Lon = rapid.Float64Range(-90, 90).Draw(t, "lat"), rapid.Float64Range(-180, 180).Draw(t, "lon")
		f.Geometry = rapid.SampledFrom([]feature.Geometry{
			{}, {}, feature.NoGeometry, feature.OrbGeometry(orb.LineString{{1, 2}, {3.3, -4}}), feature.OrbGeometry(orb.MultiPoint{{1, 2}}),
			feature.GeoJSONGeometry([]byte(`{"type":"MultiPolygon","coordinates":[[[[179,-17],[180,-17],[180,-16],[179,-17]]],[[[-180,-17],[-179.5,-17],[-180,-16],[-180,-17]]]]}`)),
		}).Draw(t, "geometry")
		object, all := map[string]any{}, map[string]any{}
		for _, c := range layer.LayerInfo.Schema {
			v := valueOf(t, c.Kind)
			if v == nil && rapid.Bool().Draw(t, "absent") {
				continue
			}
			name := c.Name
			if strings.Contains(own, name) || strings.HasPrefix(name, "p.") {
				name = "p." + name
			}
			if object[c.Name] = v; v != nil && (open || c.Name != "id") {
				all[name] = v
			}
		}
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		compact, err := feature.AppendProperties(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		f.Properties = feature.CompactProperties(compact[1 : len(compact)-1])
		layer.List, want = append(layer.List, f), append(want, all)
	}
	return layer, open, want
}

// valueOf draws a value of a kind in the types of encoding/json, or nil.
func valueOf(t *rapid.T, k feature.Kind) any {
	if rapid.IntRange(0, 3).Draw(t, "null") == 0 {
		return nil
	}
	switch k {
	case feature.Number:
		return rapid.Float64Range(-1e300, 1e300).Draw(t, "number")
	case feature.Integer:
		return float64(rapid.Int64Range(-1<<53, 1<<53).Draw(t, "integer"))
	case feature.Boolean:
		return rapid.Bool().Draw(t, "boolean")
	case feature.Time:
		return time.UnixMicro(rapid.Int64Range(-1e15, 1e16).Draw(t, "time")).UTC().Format(time.RFC3339Nano)
	case feature.Texts:
		list := []any{}
		for _, text := range rapid.SliceOfN(rapid.String(), 0, 4).Draw(t, "texts") {
			list = append(list, text)
		}
		return list
	case feature.Any:
		return rapid.SampledFrom([]any{true, 1.5, "x", []any{"a", 1.0, nil}, map[string]any{"a": map[string]any{"b": "ü"}}}).Draw(t, "any")
	}
	return rapid.String().Draw(t, "text")
}

// What is exported is read again: ids, properties, geometries, whatever the layer.
func TestFeaturesAreReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	rapid.Check(t, func(t *rapid.T) {
		layer, open, want := layerOf(t)
		var of feature.Layer = layer
		if rapid.Bool().Draw(t, "decoded") {
			of = feature.DecodedLayer(of)
		}
		stats, err := export.WriteFeatures(context.Background(), []export.FeatureLayer{{Layer: of, Name: "toys", Open: open}}, path,
			export.FeatureOptions{Memory: 1 << 20})
		if err != nil || stats.Features != int64(len(layer.List)) || stats.Notes != nil {
			t.Fatalf("%+v: %v", stats, err)
		}
		got, _ := readFeatures(t, path, geoparquet.Options{})
		if len(got) != len(layer.List) {
			t.Fatalf("%d features, want %d", len(got), len(layer.List))
		}
		last := quadkey.PointKey(0)
		for i := range got {
			at := slices.IndexFunc(layer.List, func(f feature.Feature) bool { return f.ID == got[i].ID })
			if at < 0 {
				t.Fatalf("there is no feature %q", got[i].ID)
			}
			f := &layer.List[at]
			if d := cmp.Diff(want[at], values(t, &got[i])); d != "" {
				t.Fatalf("%q: %s", f.ID, d)
			}
			shape, err := f.Orb()
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(shape, got[i].Geometry); d != "" {
				t.Fatalf("%q: %s", f.ID, d)
			}
			key, err := quadkey.PointKeyOf(f.Lon, f.Lat)
			if err != nil || key < last {
				t.Fatalf("%q is at %d behind %d: %v", f.ID, key, last, err)
			}
			last = key
		}
	})
}

// Numbers that no column of the file can hold are told.
func TestLostValuesAreTold(t *testing.T) {
	layer := &layertest.Memory{
		LayerInfo: feature.Info{Name: "toys", AllPoints: true, Schema: feature.Schema{
			{Name: "big", Kind: feature.Number}, {Name: "since", Kind: feature.Time}, {Name: "wide", Kind: feature.Number},
		}},
		List: []feature.Feature{{ID: "fine", Properties: feature.CompactProperties([]byte(`"since":"2026-01-31T12:00:00.123456789Z"`))}, {ID: "a", Properties: feature.CompactProperties([]byte(`"big":9007199254740993,"since":"soon","wide":1e999`))},
			{ID: "b", Properties: feature.PropertiesOf(feature.Property{Name: "wide", Value: feature.NumberValue(math.NaN())})}},
	}
	path := filepath.Join(t.TempDir(), "a.parquet")
	stats, err := export.WriteFeatures(t.Context(), []export.FeatureLayer{{Layer: layer, Name: "toys"}}, path, export.FeatureOptions{Memory: 1 << 30})
	want := []string{
		"in 1 rows the column big cannot hold the value, which is null or rounded",
		"in 2 rows the column since cannot hold the value, which is null or rounded",
		"in 2 rows the column wide cannot hold the value, which is null or rounded",
	}
	if err != nil || !slices.Equal(stats.Notes, want) {
		t.Errorf("%q: %v", stats.Notes, err)
	}
	got, _ := readFeatures(t, path, geoparquet.Options{})
	if d := cmp.Diff([]map[string]any{{"since": "2026-01-31T12:00:00.123456Z"}, {"big": 9007199254740992.0}, {}},
		[]map[string]any{values(t, &got[0]), values(t, &got[1]), values(t, &got[2])}); d != "" {
		t.Error(d)
	}
}

// Numbers with more digits than a double has are told, however many they have. Other spellings are not.
func TestRoundedNumbersAreTold(t *testing.T) {
	for text, told := range map[string]bool{
		"12345678901234567891": true, "0.12345678901234567891": true, "-98765432109876543210.5": true, "1e-400": true,
		"0": false, "-0.0": false, "1.50": false, "100000000000000000000": false, "1e300": false, "0.1000": false,
		"0.10000000000000001": false, "0.30000000000000004": false, "9007199254740992": false, "1152921504606846976": false, "5e-324": false,
	} {
		layer := &layertest.Memory{
			LayerInfo: feature.Info{Name: "toys", AllPoints: true, Schema: feature.Schema{{Name: "n", Kind: feature.Number}}},
			List:      []feature.Feature{{ID: "a", Properties: feature.CompactProperties([]byte(`"n":` + text))}},
		}
		stats, err := export.WriteFeatures(t.Context(), []export.FeatureLayer{{Layer: layer, Name: "toys"}},
			filepath.Join(t.TempDir(), "a.PARQUET"), export.FeatureOptions{Memory: 1 << 20})
		if err != nil || (len(stats.Notes) == 1) != told {
			t.Errorf("%s: %q %v", text, stats.Notes, err)
		}
	}
}

// Row groups are bounded, and readers skip those outside a box by their statistics.
func TestRowGroupsOfFeatures(t *testing.T) {
	layer := &layertest.Memory{LayerInfo: feature.Info{Name: "toys", AllPoints: true}}
	for i := range 120_000 {
		layer.List = append(layer.List, feature.Feature{ID: fmt.Sprint(i), Position: quadkey.Position{Lat: 1, Lon: float64(i) / 1000}})
	}
	path := filepath.Join(t.TempDir(), "a.parquet")
	if _, err := export.WriteFeatures(t.Context(), []export.FeatureLayer{{Layer: layer, Name: "toys"}}, path, export.FeatureOptions{Memory: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	got, notes := readFeatures(t, path, geoparquet.Options{Bounds: &orb.Bound{Min: orb.Point{60, 0}, Max: orb.Point{61, 2}}})
	if len(got) != 50_000 || len(notes) != 1 || !strings.Contains(notes[0], "2 of 3 row groups") {
		t.Errorf("%d features: %q", len(got), notes)
	}
}

// A failing layer leaves the old file.
func TestFailedExportOfFeatures(t *testing.T) {
	r, _ := open(t)
	l, err := r.Layer("country")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.parquet")
	layers := []export.FeatureLayer{{Layer: l, Name: "country"}, {Layer: l, Name: "country:no", ID: "no"}}
	for range 2 {
		if _, err := export.WriteFeatures(t.Context(), layers[:1], path, export.FeatureOptions{Memory: 1 << 28}); err != nil {
			t.Fatal(err)
		}
		was, _ := readFeatures(t, path, geoparquet.Options{})
		if _, err := export.WriteFeatures(t.Context(), layers, path, export.FeatureOptions{Memory: 1 << 28}); !errors.Is(err, feature.ErrNotFound) {
			t.Errorf("a region that is not there: %v", err)
		}
		if is, _ := readFeatures(t, path, geoparquet.Options{}); len(was) < 2 || len(is) != len(was) {
			t.Errorf("%d features, and then %d", len(was), len(is))
		}
		if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
			t.Errorf("%v %v", files, err)
		}
	}
}

// TestFeaturesInPython needs python3 with pyarrow and, for more judges, duckdb with its extension
// spatial and geopandas. QUADRILLE_PYTHON may name an interpreter that has them.
func TestFeaturesInPython(t *testing.T) {
	python := os.Getenv("QUADRILLE_PYTHON")
	if python == "" {
		python = "python3"
	}
	if err := exec.CommandContext(t.Context(), python, "-c", "import pyarrow").Run(); err != nil {
		t.Skip("python3 finds no pyarrow; QUADRILLE_PYTHON may name one that does")
	}
	dir := t.TempDir()
	r, _ := open(t)
	var layers []export.FeatureLayer
	for _, of := range r.Types() {
		l, err := r.Layer(of.Name)
		if err != nil {
			t.Fatal(err)
		}
		layers = append(layers, export.FeatureLayer{Layer: l, Name: of.Name})
	}
	compareFeatures(t, python, dir, layers)
	rapid.Check(t, func(rt *rapid.T) {
		if t.Failed() || rapid.IntRange(0, 9).Draw(rt, "seldom") > 0 {
			return // a process takes a second
		}
		layer, open, _ := layerOf(rt)
		compareFeatures(t, python, dir, []export.FeatureLayer{{Layer: layer, Name: "toys", Open: open}})
	})
}

// compareFeatures exports layers, and has a program of others compare them with what our reader finds.
func compareFeatures(t *testing.T, python, dir string, layers []export.FeatureLayer) {
	t.Helper()
	path, list := filepath.Join(dir, "a.parquet"), filepath.Join(dir, "want.ndjson")
	if _, err := export.WriteFeatures(t.Context(), layers, path, export.FeatureOptions{Memory: 1 << 28}); err != nil {
		t.Fatal(err)
	}
	got, _ := readFeatures(t, path, geoparquet.Options{})
	var want bytes.Buffer
	for i := range got {
		line := map[string]any{"id": got[i].ID, "properties": values(t, &got[i])}
		if got[i].Geometry != nil {
			shape, err := wkb.Marshal(got[i].Geometry)
			if err != nil {
				t.Fatal(err)
			}
			b := got[i].Geometry.Bound()
			line["wkb"], line["box"] = hex.EncodeToString(shape), [4]float64{b.Min[0], b.Min[1], b.Max[0], b.Max[1]}
		}
		if err := json.NewEncoder(&want).Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(list, want.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), python, "testdata/parquet.py", path, list).CombinedOutput()
	if t.Logf("%s", out); err != nil {
		t.Errorf("%v", err)
	}
}
