package boundaries

import (
	"slices"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/internal/testfile"
	"quadrille/tiles"
)

// A polygon that encloses nothing is a bad record, two regions merged into one are reported, and
// a code for "no id" is not an id. A ring whose first two points nearly coincide is a ring.
func TestWhatIsLostIsSeen(t *testing.T) {
	path := testfile.WriteTemp(t, "zones.geojson", jobtest.FeatureCollection(
		`{"type":"Feature","properties":{"id":"shell","name":"Shell"},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1e-13,0],[4,0],[4,4],[0,4],[0,0]]]}}`,
		`{"type":"Feature","properties":{"id":"small","name":"Small"},"geometry":{"type":"Polygon","coordinates":[[[8,47],[8.0000001,47],[8.0000001,47.0000001],[8,47.0000001],[8,47]]]}}`,
		`{"type":"Feature","properties":{"id":"flat","name":"Flat"},"geometry":{"type":"Polygon","coordinates":[[[30,50],[32,50],[34,50],[30,50]]]}}`,
		jobtest.Square("001", "Adams", "", 20, 20, 1), jobtest.Square("001", "Autauga", "", 22, 20, 1),
		jobtest.Square("-99", "Nowhere", "", 24, 20, 1), jobtest.Square("-99", "Elsewhere", "", 26, 20, 1)))
	c, rep, most := jobtest.Catalog(t), &jobtest.Recorder{}, 0.2
	m, err := Ingest(t.Context(), c, []Input{layerInput("zone", path, "id")}, job.Options{Reporter: rep, MaxBad: most})
	if err != nil {
		t.Fatal(err)
	}
	if m.Records["zone"] != 5 || len(m.Bad) != 1 {
		t.Errorf("%+v, %+v", m.Records, m.Bad)
	}
	all := strings.Join(rep.Notes, "\n")
	for _, want := range []string{"zone 001 (Adams): Autauga has the same id", "--layer zone=FILE:PROPERTY"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing in %s", want, all)
		}
	}
	r, _ := jobtest.Open(t, c, ask.Boundaries)
	for _, at := range []struct {
		lat, lon float64
		want     string
	}{{2, 2, "shell"}, {20.5, 20.5, "001"}, {20.5, 22.5, "001"}, {20.5, 24.5, "nowhere"}, {20.5, 26.5, "elsewhere"}} {
		regions, err := r.At(t.Context(), at.lat, at.lon, "zone")
		if err != nil || !slices.ContainsFunc(regions, func(r tiles.Region) bool { return r.ID == at.want }) {
			t.Errorf("%v: %+v, %v", at, regions, err)
		}
	}
}
