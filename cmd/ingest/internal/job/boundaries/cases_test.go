package boundaries

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/testfile"
	"quadrille/internal/testrace"
)

// TestBoundariesCases tests polygon files from users.
func TestBoundariesCases(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	const cases = "../../../../../../shared/cases/tiles/"
	if _, err := os.Stat(cases); err != nil {
		t.Skip("the cases are not there: ", err)
	}
	for name, want := range map[string]struct {
		regions int64
		apart   string
	}{
		"one_null_geometry_of_21.geojson": {20, ":1: no geometry"},
		"one_label_point_of_21.geojson":   {20, ":1: geometry is not a polygon: Point"},
		"empty_members.geojson":           {4, ""},
		"lines.geojsonl":                  {2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
			m, err := Ingest(t.Context(), c, []Input{layerInput("zone", cases+name, "id")}, job.Options{Reporter: rep})
			if err != nil || m.Records["zone"] != want.regions || rep.Counts != nil {
				t.Fatal(m.Records, rep.Counts, err)
			}
			var notes []string
			if want.apart != "" {
				notes = []string{"1 of 21 records are left out and not counted as bad, such as " + cases + name + want.apart}
			}
			if !slices.Equal(rep.Notes, notes) {
				t.Errorf("%q", rep.Notes)
			}
		})
	}
}

// Features without a geometry, or with one that is not a polygon, are counted separately from bad
// records, in every format. A file with a larger share of non-polygons than MaxBad is refused.
func TestBoundariesCountedApart(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	feature := func(geometry string) string {
		return `{"type":"Feature","properties":{"id":"` + fmt.Sprint(len(geometry)) + `"},"geometry":` + geometry + "}\n"
	}
	square := feature(`{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]]]}`)
	other := feature(`{"type":"MultiPolygon","coordinates":[[],[[[5,0],[6,0],[6,1],[5,1],[5,0]],[]]]}`)
	label, line := feature(`{"type":"Point","coordinates":[0.5,0.5]}`), feature(`{"type":"LineString","coordinates":[[0,0],[1,1]]}`)
	null, empty := feature(`null`), feature(`{"type":"GeometryCollection","geometries":[{"type":"Polygon","coordinates":[]}]}`)
	broken := feature(`{"type":"Polygon","coordinates":[[[0,0],[1,1000],[1,1],[0,0]]]}`)
	topology := func(geometries ...string) string {
		return `{"type":"Topology","objects":{"zone":{"type":"GeometryCollection","geometries":[` + strings.Join(geometries, ",") +
			`]}},"arcs":[[[0,0],[1,0],[1,1],[0,0]]]}`
	}
	triangle := `{"type":"Polygon","id":"a","arcs":[[0],[]]}`
	for name, tc := range map[string]struct {
		texts  []string
		maxBad float64
		want   map[string]int64
		err    string
	}{
		"none":           {[]string{square + other}, 0, nil, ""},
		"null":           {[]string{square + null}, 0, map[string]int64{source.ReasonNoGeometry: 1}, ""},
		"empty":          {[]string{square + empty + other + null}, 0, map[string]int64{source.ReasonNoGeometry: 2}, ""},
		"label and line": {[]string{square + label + line + other}, 0, map[string]int64{source.ReasonNotAPolygon: 2}, ""},
		"topology": {
			[]string{topology(triangle, `{"type":null}`, `{"type":"Point","coordinates":[0,0]}`, triangle)},
			0,
			map[string]int64{source.ReasonNoGeometry: 1, source.ReasonNotAPolygon: 1},
			"",
		},
		"beside damage": {
			[]string{square + null + broken + label + other},
			0.4,
			map[string]int64{source.ReasonNoGeometry: 1, source.ReasonNotAPolygon: 1, source.ReasonOutsideWorld: 1},
			"",
		},
		"damage": {
			[]string{square + null + broken + other},
			0.3,
			nil,
			"1 of 3 records are bad (33.3%; --max-bad tolerates 30%), such as FILE0:3: coordinate outside",
		},
		"nothing left": {
			[]string{null + label + empty},
			0.5,
			nil,
			"FILE0: no polygon in it can be used as a zone: 3 of 3 records are bad (100%; --max-bad tolerates 50%), such as FILE0:1: no geometry",
		},
		"points": {
			[]string{square + other + square + other, square + label + line},
			0.5,
			nil,
			"FILE1: most of it is not made of polygons: 2 of 3 records are bad (66.7%; --max-bad tolerates 50%), such as " +
				"FILE1:2: geometry is not a polygon: Point",
		},
		"points, told": {[]string{square + label + line}, 0.7, map[string]int64{source.ReasonNotAPolygon: 2}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var inputs []Input
			for i, text := range tc.texts {
				path := testfile.WriteTemp(t, "a.json", text)
				inputs = append(inputs, layerInput("zone", path, ""))
				tc.err = strings.ReplaceAll(tc.err, fmt.Sprint("FILE", i), path)
			}
			m, err := Ingest(t.Context(), jobtest.Catalog(t), inputs, job.Options{MaxBad: tc.maxBad})
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Fatalf("%v; want %q", err, tc.err)
			}
			if tc.err == "" && !maps.Equal(m.Bad, tc.want) {
				t.Errorf("%v", m.Bad)
			}
		})
	}
}

func TestTilesEntered(t *testing.T) {
	const tile = 360.0 / 8192
	for name, tc := range map[string]struct {
		ring        orb.Ring
		least, most int64
	}{
		"within a tile":           {orb.Ring{{0.01, 0.01}, {0.02, 0.01}, {0.02, 0.02}, {0.01, 0.01}}, 0, 0},
		"around 250 by 250":       {orb.Ring{{0, 0}, {250 * tile, 0}, {250 * tile, 250 * tile}, {0, 250 * tile}, {0, 0}}, 1000, 1010},
		"far north":               {orb.Ring{{0, 60}, {0, 60 + 100*tile}, {0, 60}}, 420, 435},
		"over the antimeridian":   {orb.Ring{{179.99, 0.01}, {-179.99, 0.01}, {179.99, 0.02}, {179.99, 0.01}}, 2, 2},
		"beyond the last of them": {orb.Ring{{0, 89}, {0, 90}, {0, 89}}, 0, 0},
	} {
		if n := tilesEntered(tc.ring); n < tc.least || n > tc.most {
			t.Errorf("%s: %d", name, n)
		}
	}
}
