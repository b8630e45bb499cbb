package boundaries

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/internal/testfile"
	"quadrille/feature"
	"quadrille/internal/testrace"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

func layerInput(typ, file, id string) Input {
	return Input{Type: typ, Input: jobtest.Input(file), Told: columns.Told{ID: id, Nameless: true}}
}

func TestBoundaries(t *testing.T) {
	ctx := context.Background()
	c := jobtest.Catalog(t)
	rep := &jobtest.Recorder{}
	m, err := Ingest(ctx, c, []Input{
		layerInput("ward", "testdata/squares.geojson", "code"),
		layerInput("county", "testdata/topology.json", ""),
	}, job.Options{Reporter: rep})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"reading ward", "reading county", "preparing borders", "arranging borders", "arranging zoom levels",
		"measuring tiles", "writing records", "placing labels", "building tiles", "publishing boundaries"}, rep.Stages); d != "" {
		t.Error(d)
	}
	notes := []string{
		"ward: ids are made of CODE (3, such as w-1, E); names (1, such as nord-ward)",
		"ward E (East ward): The island of it has the same id and is a part of it",
		"if these are several regions, name a property that tells them apart: --layer ward=FILE:PROPERTY",
		"county: ids are made of FIPS codes (2, such as 20173, 01001)",
		"ward: tiles have the properties CODE, old, pop, share, source_type; --property NAME chooses, and fields= in an address any others",
	}
	if len(rep.Manifests) != 1 || !slices.Equal(rep.Notes, notes) || rep.Counts != nil {
		t.Errorf("%+v", rep)
	}
	if m.Dataset != ask.Boundaries.Name || m.Generation != 1 || m.SchemaVersion != tiles.SchemaVersion ||
		!cmp.Equal(m.Records, map[string]int64{"ward": 3, "county": 2}) || m.Bad != nil || !cmp.Equal(m.Bounds, []float64{0, 0, 12, 21}) {
		t.Errorf("%+v", m)
	}
	if len(m.Sources) != 2 || m.Sources[0].File != "squares.geojson" || m.Sources[0].Name != "By hand" ||
		m.Sources[0].License != "CC0-1.0" || len(m.Sources[0].SHA256) != 64 || m.Sources[0].Modified.IsZero() {
		t.Errorf("%+v", m.Sources)
	}

	r, _ := jobtest.Open(t, c, ask.Boundaries)
	for _, tc := range []struct {
		lat, lon float64
		want     []tiles.Region
	}{
		{0.5, 0.5, []tiles.Region{{Type: "ward", ID: "w-1", Name: "West ward"}}},
		{0.5, 1.5, []tiles.Region{{Type: "ward", ID: "E", Name: "East ward"}}},
		{5.05, 5.05, []tiles.Region{{Type: "ward", ID: "E", Name: "East ward"}}},
		{1.5, 0.5, []tiles.Region{{Type: "ward", ID: "nord-ward", Name: "Nörd — wård"}}},
		{20.5, 10.5, []tiles.Region{{Type: "county", ID: "20173", Name: "Sedgwick"}}},
		{20.5, 11.5, []tiles.Region{{Type: "county", ID: "01001"}}},
		{40, 40, nil},
	} {
		got, err := r.At(ctx, tc.lat, tc.lon)
		if err != nil || !cmp.Equal(got, tc.want) {
			t.Errorf("at %v, %v: %+v, %v; want %+v", tc.lat, tc.lon, got, err, tc.want)
		}
	}
	for _, tc := range []struct{ typ, id, want string }{
		{
			"ward",
			"w-1",
			`{"type":"ward","id":"w-1","name":"West ward","bbox":[0,0,1,1],"map_color":0,"CODE":"W 1","old":true,"pop":12,"share":0.5,"source_type":"rural"}`,
		},
		{"ward", "e", `{"type":"ward","id":"E","name":"East ward","bbox":[1,0,5.1,5.1],"map_color":3,"CODE":"E"}`},
		{
			"county",
			"20173",
			`{"type":"county","id":"20173","name":"Sedgwick","bbox":[10,20,11,21],"map_color":3,"fips":"20173","state":"Kansas","iso_3166_2":"US-KS","country":"US"}`,
		},
		{
			"county",
			"01001",
			`{"type":"county","id":"01001","bbox":[11,20,12,21],"map_color":1,"fips":"01001","state":"Alabama","iso_3166_2":"US-AL","country":"US"}`,
		},
	} {
		got, err := r.Region(ctx, tc.typ, tc.id, false)
		if err != nil || string(got) != tc.want {
			t.Errorf("%s %s: %s, %v; want %s", tc.typ, tc.id, got, err, tc.want)
		}
	}
}

// The same input gives the same bytes.
func TestBoundariesAreReproducible(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	var files [2][]dataset.File
	for i := range files {
		m, err := Ingest(context.Background(), jobtest.Catalog(t), []Input{layerInput("ward", "testdata/squares.geojson", "CODE")}, job.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range m.Files {
			if strings.HasSuffix(f.Path, ".sst") {
				f.Path = ""
				files[i] = append(files[i], f)
			}
		}
	}
	if d := cmp.Diff(files[0], files[1]); d != "" || len(files[0]) == 0 {
		t.Errorf("%d tables: %s", len(files[0]), d)
	}
}

func TestFilesOfOneTypeAreOneLayer(t *testing.T) {
	c := jobtest.Catalog(t)
	m, err := Ingest(context.Background(), c, []Input{
		layerInput("zone", "testdata/squares.geojson", "CODE"),
		layerInput("zone", "testdata/topology.json", ""),
	}, job.Options{})
	if err == nil {
		t.Fatalf("%+v: a topology of several objects, none of them called zone, was taken", m)
	}
	if !strings.Contains(err.Error(), `["counties" "nation"]`) {
		t.Error(err)
	}
	other := testfile.WriteTemp(t, "more.geojson",
		`{"type":"Feature","properties":{"CODE":"X"},"geometry":{"type":"Polygon","coordinates":[[[50,0],[51,0],[51,1],[50,0]]]}}`)
	if m, err = Ingest(context.Background(), c, []Input{
		layerInput("zone", "testdata/squares.geojson", "CODE"),
		layerInput("zone", other, "CODE"),
	}, job.Options{}); err != nil || m.Records["zone"] != 4 || len(m.Sources) != 2 {
		t.Errorf("%+v, %v", m, err)
	}
}

// After any failure the published generation stays, and no other files do.
func TestFailureLeavesThePublishedGeneration(t *testing.T) {
	ctx := context.Background()
	c := jobtest.Catalog(t)
	good := layerInput("ward", "testdata/squares.geojson", "CODE")
	if _, err := Ingest(ctx, c, []Input{good}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	square := `{"type":"Feature","properties":{"a":1},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}`
	collection := func(features ...string) string {
		return `{"type":"FeatureCollection","features":[` + strings.Join(features, ",\n") + `]}`
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	many := make([]Input, build.MaxTypes+1)
	for i := range many {
		many[i] = layerInput("t"+string(rune('a'+i)), "testdata/squares.geojson", "")
	}
	for name, tc := range map[string]struct {
		ctx    context.Context
		inputs []Input
		maxBad float64
		want   string
	}{
		"no layers":        {ctx, nil, 0, "name at least one"},
		"no file":          {ctx, []Input{good, layerInput("x", "none.geojson", "")}, 0, "none.geojson"},
		"bad type":         {ctx, []Input{layerInput("X y", "testdata/squares.geojson", "")}, 0, "cannot name a region type"},
		"reserved type":    {ctx, []Input{layerInput("places", "testdata/squares.geojson", "")}, 0, "means something else"},
		"type of stations": {ctx, []Input{layerInput("stations", "testdata/squares.geojson", "")}, 0, "means something else"},
		"type of points":   {ctx, []Input{layerInput("points", "testdata/squares.geojson", "")}, 0, "means something else"},
		"too many types":   {ctx, many, 0, "more than 16"},
		"not JSON":         {ctx, []Input{good, layerInput("x", testfile.WriteTemp(t, "a.json", "<html>"), "")}, 0, "it is a page in HTML"},
		"truncated": {ctx, []Input{good, layerInput("x", testfile.WriteTemp(t, "a.json", collection(square)[:90]), "")},
			1, "truncated"},
		"no features": {ctx, []Input{layerInput("x", testfile.WriteTemp(t, "a.json", collection()), "")}, 1, "no polygon in it"},
		"only bad":    {ctx, []Input{layerInput("x", testfile.WriteTemp(t, "a.json", collection("null")), "")}, 1, "no polygon in it"},
		"one bad": {
			ctx,
			[]Input{good, layerInput("x", testfile.WriteTemp(t, "a.json", collection(square, "null")), "")},
			0.1,
			"1 of 6 records are bad (16.7%; --max-bad tolerates 10%), such as",
		},
		"bad id property": {
			ctx,
			[]Input{layerInput("x", testfile.WriteTemp(t, "a.json", collection(square)), "code")},
			0,
			`there is no column "code" for the id; there are "a"`,
		},
		"asked to stop": {cancelled, []Input{good}, 0, "context canceled"},
		"other projection": {
			ctx,
			[]Input{layerInput("x", testfile.WriteTemp(t, "a.json",
				`{"type":"FeatureCollection","crs":{"type":"name","properties":{"name":"EPSG:3857"}},"features":[]}`), "")},
			0,
			"EPSG:4326",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Ingest(tc.ctx, c, tc.inputs, job.Options{MaxBad: tc.maxBad})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v; want %q", err, tc.want)
			}
			infos, err := c.List(t.Context())
			if err != nil || len(infos) != 1 || infos[0].Generation != 1 || !infos[0].Current || infos[0].Err != nil {
				t.Fatalf("%+v, %v", infos, err)
			}
			if err := c.Verify(ctx, ask.Boundaries.Name, 1, nil); err != nil {
				t.Error(err)
			}
			left, _ := filepath.Glob(filepath.Join(c.Dir(), ask.Boundaries.Name, "g*"))
			if len(left) != 1 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	// Tolerated bad records are counted in the manifest.
	rep := &jobtest.Recorder{}
	m, err := Ingest(ctx, c, []Input{layerInput("x", testfile.WriteTemp(t, "a.json", collection(square, "null")), "")},
		job.Options{MaxBad: 0.5, Reporter: rep})
	want := map[string]int64{source.ReasonNotAFeature: 1}
	if err != nil || m.Generation < 2 || !cmp.Equal(m.Bad, want) || !cmp.Equal(rep.Counts, want) {
		t.Errorf("%+v, %v, %+v", m, err, rep)
	}
}

// A region that the file's precision has flattened is kept and reported.
func TestCollapsedRegion(t *testing.T) {
	rep := &jobtest.Recorder{}
	file := testfile.WriteTemp(t, "a.json",
		`{"type":"Topology","transform":{"scale":[0.01,0.01],"translate":[12,41]},"objects":{"countries":{"type":"GeometryCollection","geometries":[
{"type":"Polygon","id":"336","properties":{"name":"Vatican"},"arcs":[[0]]}]}},"arcs":[[[0,0],[0,1],[0,-1]]]}`)
	m, err := Ingest(context.Background(), jobtest.Catalog(t), []Input{layerInput("country", file, "")}, job.Options{Reporter: rep})
	if err != nil || m.Records["country"] != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	if len(rep.Notes) != 2 || !strings.HasSuffix(rep.Notes[0], "a.json:1 Vatican: "+source.RepairCollapsed) {
		t.Errorf("%q", rep.Notes)
	}
}

// If no region has a name under the usual property, names come from other common ones.
func TestLikelyNames(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	for properties, want := range map[string]struct{ name, column string }{
		`"GM_NAAM":"Reimerswaal","GM_CODE":"GM0703"`:                                       {"Reimerswaal", "GM_NAAM"},
		`"reg_name":"Sicilia","reg_istat_code":"06"`:                                       {"Sicilia", "reg_name"},
		`"NAME_0":"Japan","NAME_1":"Miyagi","NAME_2":"Tome","VARNAME_2":"","TYPE_2":"Shi"`: {"Tome", "NAME_2"},
		`"NL_NAME_1":"廣東","NAME_1":"Guangdong"`:                                            {"Guangdong", "NAME_1"},
		`"region name":"A","dept_region_name":"B"`:                                         {"A", "region name"},
		`"code":"7","surname":"A","name":"Usual"`:                                          {"Usual", ""},
		`"code":"7","surname":"A"`:                                                         {"", ""},
	} {
		path := testfile.WriteTemp(t, "in.geojson",
			`{"type":"Feature","properties":{`+properties+`},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]]]}}`)
		c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
		if _, err := Ingest(t.Context(), c, []Input{layerInput("zone", path, "")}, job.Options{Reporter: rep}); err != nil {
			t.Fatal(err)
		}
		r, _ := jobtest.Open(t, c, ask.Boundaries)
		l, err := r.Layer("zone")
		if err != nil {
			t.Fatal(err)
		}
		for f, err := range l.Features(t.Context(), &feature.Query{}) {
			if name := f.Properties.Text("name"); err != nil || name != want.name {
				t.Errorf("%s: %+v, %v", properties, f, err)
			}
		}
		told := slices.ContainsFunc(rep.Notes, func(n string) bool { return strings.HasPrefix(n, `zone: name from "`+want.column+`" (by its name)`) })
		if told != (want.column != "") {
			t.Errorf("%s: %q", properties, rep.Notes)
		}
	}
}
