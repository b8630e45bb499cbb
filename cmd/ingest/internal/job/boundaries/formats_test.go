package boundaries

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/internal/testfile"
)

// A single page of a service is refused; all pages together are published. The parts of a
// geometry collection are reported.
func TestPagesOfRegions(t *testing.T) {
	page := func(name, before string, numbers ...int) Input {
		var features []string
		for _, n := range numbers {
			features = append(features, gridded("", fmt.Sprintf(`"name":"N%d"`, n), float64(n), 10))
		}
		return layerInput("ward",
			testfile.WriteTemp(t, name, `{"type":"FeatureCollection",`+before+`"features":[`+strings.Join(features, ",")+`]}`), "")
	}
	first, last := page("a.json", `"exceededTransferLimit":true,`, 1, 2), page("b.json", "", 3)
	other := layerInput("lake", last.Path, "")
	for name, tc := range map[string]struct {
		inputs    []Input
		err, note string
	}{
		"one page": {
			[]Input{first},
			"a.json: is one page of several, says its exceededTransferLimit; fetch all pages and give them together: --layer " +
				"ward=PAGE1 --layer ward=PAGE2; if nothing is missing, remove what says so from the file",
			"",
		},
		"of another layer": {[]Input{first, other}, "--layer ward=PAGE1 --layer ward=PAGE2", ""},
		"both": {
			[]Input{first, other, last},
			"",
			"a.json: is one page of several, says its exceededTransferLimit; with the last page 3 features were read; whether " +
				"all pages between are there is not known",
		},
		"one geometry": {[]Input{layerInput("ward", testfile.WriteTemp(t, "g.json", `{"type":"GeometryCollection","geometries":[
			{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]},{"type":"Polygon","coordinates":[[[3,0],[4,0],[4,1],[3,0]]]}]}`), "")},
			"", "g.json: is a GeometryCollection without attributes: its 2 geometries are one feature; to make a feature of " +
				"each: ogr2ogr -explodecollections out.geojson "},
	} {
		rep := &jobtest.Recorder{}
		_, _, err := readLayers(t.Context(), tc.inputs, job.NewTally(0), job.Options{Reporter: rep})
		if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: %v", name, err)
		}
		if tc.note != "" && !slices.ContainsFunc(rep.Notes, func(n string) bool { return strings.Contains(n, tc.note) }) {
			t.Errorf("%s: %q", name, rep.Notes)
		}
	}
}
