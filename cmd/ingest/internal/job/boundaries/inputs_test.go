package boundaries

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/paulmach/orb"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/internal/testfile"
	"quadrille/internal/testrace"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// shapefileOf returns a zip of squares of one degree, side by side, with their names.
func shapefileOf(t *testing.T, names ...string) string {
	t.Helper()
	return shapesOf(t, "squares.zip", "CODE", names...)
}

// shapesOf does the same as shapefileOf, with a name for the file and for the column.
func shapesOf(t *testing.T, file, column string, names ...string) string {
	t.Helper()
	be, le := binary.BigEndian, binary.LittleEndian
	shp := bytes.Repeat([]byte{0}, 100)
	be.PutUint32(shp, 9994)
	le.PutUint32(shp[32:], 5)
	dbf := bytes.Repeat([]byte{0}, 64)
	dbf[0] = 3
	le.PutUint32(dbf[4:], uint32(len(names)))
	le.PutUint16(dbf[8:], 65)
	le.PutUint16(dbf[10:], 21)
	copy(dbf[32:], column)
	dbf[43], dbf[48] = 'C', 20
	dbf = append(dbf, 0x0D)
	for i, name := range names {
		x := float64(i)
		shp = be.AppendUint32(shp, uint32(i+1))
		shp = be.AppendUint32(shp, 64)
		shp = le.AppendUint32(shp, 5)
		shp = append(shp, make([]byte, 32)...)
		shp = le.AppendUint32(shp, 1)
		shp = le.AppendUint32(shp, 5)
		shp = le.AppendUint32(shp, 0)
		for _, v := range []float64{x, 0, x, 1, x + 1, 1, x + 1, 0, x, 0} {
			shp = le.AppendUint64(shp, math.Float64bits(v))
		}
		dbf = append(dbf, (" " + name + strings.Repeat(" ", 20))[:21]...)
	}
	be.PutUint32(shp[24:], uint32(len(shp)/2))
	return testfile.WriteTemp(t, file, testfile.Zip([2]string{"in/a.shp", string(shp)}, [2]string{"in/a.dbf", string(dbf)}))
}

func TestShapefileIsPublished(t *testing.T) {
	rep := &jobtest.Recorder{}
	path := shapefileOf(t, "A 1", "B 2")
	m, err := Ingest(t.Context(), jobtest.Catalog(t), []Input{layerInput("ward", path, "code")}, job.Options{Reporter: rep})
	if err != nil || m.Records["ward"] != 2 || len(m.Sources) != 1 || m.Sources[0].File != "squares.zip" ||
		len(m.Sources[0].SHA256) != 64 || m.Sources[0].License != "CC0-1.0" {
		t.Fatalf("%+v, %v", m, err)
	}
	if len(rep.Notes) != 3 || !strings.Contains(rep.Notes[0], "has no .prj") || !strings.Contains(rep.Notes[1], `no region has a name`) {
		t.Errorf("%q", rep.Notes)
	}
	_, err = Ingest(t.Context(), jobtest.Catalog(t), []Input{layerInput("ward", path+"#other", "")}, job.Options{})
	if err == nil || !strings.Contains(err.Error(), `without a shapefile "other"`) {
		t.Error(err)
	}
}

func layersOf(t *testing.T, m dataset.Manifest) []string {
	t.Helper()
	var meta tiles.Meta
	if err := json.Unmarshal(m.Meta, &meta); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range meta.Types {
		names = append(names, l.Name)
	}
	return names
}

func TestKeep(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	ctx, c := t.Context(), jobtest.Catalog(t)
	ward, county := layerInput("ward", "testdata/squares.geojson", "code"), layerInput("county", "testdata/topology.json", "")
	county.Credit = job.Credit{Name: "Counties", Attribution: "The counties", Version: "7"}
	inputs, err := KeepLayers(t.Context(), c, ask.Boundaries.Dataset, []Input{ward})
	if err != nil || len(inputs) != 1 {
		t.Fatalf("nothing published: %+v, %v", inputs, err)
	}
	first, err := Ingest(ctx, c, []Input{ward, county}, job.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// The test adds another layer, and then replaces a layer twice.
	later := layerInput("district", shapefileOf(t, "B", "C"), "code")
	more := layerInput("district", shapefileOf(t, "A"), "code")
	for _, named := range [][]Input{{more}, {county}, {later, county}} {
		inputs, err := KeepLayers(t.Context(), c, ask.Boundaries.Dataset, named)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Ingest(ctx, c, inputs, job.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"ward", "county", "district"}, layersOf(t, m)); d != "" {
			t.Error(d)
		}
		for _, s := range first.Sources {
			if !slices.ContainsFunc(m.SourcesOf(s.Layers...), s.Is) {
				t.Errorf("the credit of %s is lost: %+v", s.Name, m.Sources)
			}
		}
		if len(m.Sources) != 3 || m.Records["ward"] != first.Records["ward"] || m.Records["county"] != first.Records["county"] {
			t.Errorf("%+v", m)
		}
	}
	// A kept layer is the same as the original layer, byte for byte.
	again, err := KeepLayers(t.Context(), c, ask.Boundaries.Dataset, []Input{ward})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Ingest(ctx, c, again, job.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := Ingest(ctx, c, []Input{ward, county, later}, job.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tables := func(m dataset.Manifest) (files []string) {
		for _, f := range m.Files {
			if strings.HasSuffix(f.Path, ".sst") || strings.HasPrefix(f.Path, layersDir+"/w") {
				files = append(files, f.SHA256)
			}
		}
		return files
	}
	if d := cmp.Diff(tables(n), tables(m)); d != "" || len(tables(m)) < 3 {
		t.Errorf("%d files: %s", len(tables(m)), d)
	}

	path := filepath.Join(c.Dir(), ask.Boundaries.Name)
	damage := func(content string) {
		t.Helper()
		dirs, _ := filepath.Glob(filepath.Join(path, "g*"))
		slices.Sort(dirs)
		name := filepath.Join(dirs[len(dirs)-1], layersDir, "ward"+layerSuffix)
		if content == "" {
			err = os.Remove(name)
		} else {
			err = os.WriteFile(name, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	inputs, err = KeepLayers(t.Context(), c, ask.Boundaries.Dataset, []Input{county})
	if err != nil {
		t.Fatal(err)
	}
	damage("no longer a layer")
	if _, err := Ingest(ctx, c, inputs, job.Options{}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Error(err)
	}
	damage("")
	if _, err := Ingest(ctx, c, inputs, job.Options{}); err == nil || !strings.Contains(err.Error(), "pruned") {
		t.Error(err)
	}
	// A generation of an earlier version has no copies of its layers.
	c = jobtest.Catalog(t)
	if _, err := job.Publish(ctx, c, ask.Boundaries.Dataset, job.Options{}, func(*dataset.Build, *dataset.Manifest) (any, error) {
		return tiles.Meta{SchemaVersion: tiles.SchemaVersion, Types: []tiles.TypeMeta{{Name: "ward"}}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := KeepLayers(ctx, c, ask.Boundaries.Dataset, []Input{county}); err == nil ||
		!strings.Contains(err.Error(),
			"does not hold layer ward as it was read; publish it once from its file: ingest boundaries --keep --layer ward=FILE") {
		t.Error(err)
	}
}

func TestKeptLayerComesBack(t *testing.T) {
	want := build.Layer{Type: "ward", Features: []build.Feature{
		{ID: "a",
			Name: "Ä \"b\"",
			Properties: []build.Property{
				{Name: "s", Value: "x"},
				{Name: "i", Value: int64(1 << 60)},
				{Name: "f", Value: 0.1},
				{Name: "big", Value: 1e300},
				{Name: "b", Value: true},
			},
			Geometry: orb.MultiPolygon{{
				{{0, 0}, {1, 0}, {1, 1.0 / 3}, {0, 0}},
				{{0.1, 0.1}, {0.2, 0.1}, {0.2, 0.2}, {0.1, 0.1}},
			}, {{{180, 90}, {-180, 90}, {math.Pi, -90}, {180, 90}}}}},
		{ID: "b", Geometry: orb.Polygon{{{0, 0}, {1, 0}, {1, 1}, {0, 0}}}},
	}}
	sources := []dataset.Source{{Name: "S", Attribution: "©"}}
	dir := t.TempDir()
	if err := writeLayer(dir, &want, layerHead{Sources: sources}); err != nil {
		t.Fatal(err)
	}
	l, vertices := layer{typ: "ward"}, vertexCount{}
	path := filepath.Join(dir, layersDir, "ward"+layerSuffix)
	got, err := l.readKept(context.Background(), Input{Type: "ward", Input: job.Input{Path: path}}, &vertices, job.SilentReporter{})
	if err != nil || vertices.n != 16 {
		t.Fatal(vertices, err)
	}
	kept, _ := l.finish(job.SilentReporter{})
	if d := cmp.Diff(sources, got) + cmp.Diff(want, kept); d != "" {
		t.Error(d)
	}
	whole := testfile.Read(t, path)
	for n := 0; n < len(whole); n += 7 {
		testfile.Write(t, path, whole[:n])
		if _, err := (&layer{}).readKept(context.Background(), Input{Type: "ward", Input: job.Input{Path: path}}, &vertices,
			job.SilentReporter{}); err == nil {
			t.Errorf("%d of %d bytes are enough", n, len(whole))
		}
	}
}

// A layer that was published before its name was reserved stays, and no new layer gets the name.
func TestTakenName(t *testing.T) {
	ward, taken := layerInput("ward", "a.json", ""), layerInput("points", "b.json", "")
	if err := checkLayers([]Input{ward, taken}); err == nil || !strings.Contains(err.Error(), `"points" cannot name a region type`) {
		t.Error(err)
	}
	taken.kept = true
	if err := checkLayers([]Input{taken, ward}); err != nil {
		t.Error(err)
	}
}
