package boundaries

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	orbmvt "github.com/paulmach/orb/encoding/mvt"

	"quadrille/ask"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/internal/testfile"
	"quadrille/quadkey"
	"quadrille/tiles"
)

const (
	lineA  = `{"type":"Feature","properties":{"name":"A"},"geometry":{"type":"LineString","coordinates":[[1,1],[20,10],[30,5]]}}`
	lineB  = `{"type":"Feature","properties":{"name":"B"},"geometry":{"type":"MultiLineString","coordinates":[[[170,1],[-170,10]],[[5,5]]]}}`
	square = `{"type":"Feature","properties":{"name":"S"},"geometry":{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]]]}}`
)

func collection(t *testing.T, name string, features ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	testfile.Write(t, path, `{"type":"FeatureCollection","features":[`+strings.Join(features, ",\n")+`]}`)
	return path
}

// A layer of lines is published together with a layer of polygons, and is kept unchanged.
func TestLines(t *testing.T) {
	ctx, c := t.Context(), jobtest.Catalog(t)
	path := collection(t, "rivers.geojson", lineA, lineB)
	inputs := []Input{layerInput("ward", "testdata/squares.geojson", "code"), layerInput("river", path, "")}
	var before []byte
	for i := range 2 {
		rep := &jobtest.Recorder{}
		m, err := Ingest(ctx, c, inputs, job.Options{Reporter: rep})
		if err != nil {
			t.Fatal(err)
		}
		if m.Records["river"] != 2 {
			t.Errorf("want 2 rivers: %v", m.Records)
		}
		if note := path + ": river is a layer of lines: vector tiles have them in river_line, and no question finds them at a place"; i == 0 && !slices.Contains(rep.Notes, note) {
			t.Errorf("want the note %q: %q", note, rep.Notes)
		}
		r, _ := jobtest.Open(t, c, ask.Boundaries)
		tile, err := r.AppendMVT(ctx, nil, quadkey.Tile{}, []tiles.Selector{{Type: "river"}})
		if err != nil {
			t.Fatal(err)
		}
		layers, err := orbmvt.Unmarshal(tile)
		if err != nil || len(layers) != 1 || layers[0].Name != "river_line" || len(layers[0].Features) != 2 {
			t.Fatalf("want two lines in river_line: %+v, %v", layers, err)
		}
		if i > 0 && string(tile) != string(before) {
			t.Error("the tile of the kept layer is another")
		}
		before = tile
		if at, err := r.At(ctx, 1, 1, "river"); err != nil || len(at) > 0 {
			t.Errorf("want no answer of a line: %v, %v", at, err)
		}
		if inputs, err = KeepLayers(ctx, c, ask.Boundaries.Dataset, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// A layer has either lines or polygons. A stray line among polygons is counted.
func TestLinesMixed(t *testing.T) {
	c := jobtest.Catalog(t)
	for _, f := range []struct {
		features []string
		want     string
	}{
		{[]string{lineA, square}, "a polygon in a layer of lines: give lines and polygons a type each"},
		{[]string{strings.ReplaceAll(lineA, "[20,10]", "[20,1000]")}, "coordinate outside the world"},
		{[]string{strings.ReplaceAll(lineA, ",[20,10],[30,5]", "")}, "no geometry"},
	} {
		path := collection(t, "mixed.geojson", f.features...)
		if _, err := Ingest(t.Context(), c, []Input{layerInput("river", path, "")}, job.Options{}); err == nil ||
			!strings.Contains(err.Error(), f.want) {
			t.Errorf("%v, want %s", err, f.want)
		}
	}
	m, err := Ingest(t.Context(), c, []Input{layerInput("ward", collection(t, "stray.geojson", square, lineA), "")}, job.Options{})
	if err != nil || m.Bad["geometry is not a polygon"] != 1 || m.Records["ward"] != 1 {
		t.Errorf("want one ward and one bad record: %v, %v, %v", m.Records, m.Bad, err)
	}
}
