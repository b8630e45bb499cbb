package names

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/boundaries"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/job/places"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/ingest/internal/source/geonames"
	"quadrille/cmd/internal/testfile"
	"quadrille/places/names"
)

// The facts of a region come from its source. Facts from its places are separate: their population,
// and the codes that they use for the region.
func TestNamesOfFacts(t *testing.T) {
	c := jobtest.Catalog(t)
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(boundaries.Ingest(t.Context(), c, []boundaries.Input{
		{Type: "country", Input: jobtest.Input(testfile.WriteTemp(t, "country.geojson", jobtest.FeatureCollection(
			jobtest.Square("fr", "France", `,"iso_a2":"FR"`, 0, 0, 10), jobtest.Square("br", "Brazil", `,"iso_a2":"BR"`, 10, 0, 10),
			jobtest.Square("va", "Vatican", `,"iso_a2":"VA"`, 1, 1, 1)))),
			Told: columns.Told{ID: "id", Nameless: true}},
		{Type: "state", Input: jobtest.Input(testfile.WriteTemp(t, "state.geojson", jobtest.FeatureCollection(
			jobtest.Square("fra-1", "Tarn", `,"iso_a2":"FR"`, 0, 0, 3), jobtest.Square("fra-2", "Gers", `,"iso_a2":"FR"`, 3, 0, 3),
			jobtest.Square("fra-3", "Guyane", `,"iso_a2":"FR"`, 6, 0, 3)))),
			Told: columns.Told{ID: "id", Nameless: true}},
		{Type: "land", Input: jobtest.Input(testfile.WriteTemp(t, "land.geojson", jobtest.FeatureCollection(
			jobtest.Square("a", "A", `,"pop_est":387890`, 0, 0, 1), jobtest.Square("b", "B", `,"population":"191377"`, 1, 0, 1),
			jobtest.Square("c", "C", `,"population":-99`, 2, 0, 1), jobtest.Square("d", "D", `,"population":1.5`, 3, 0, 1)))),
			Told: columns.Told{ID: "id", Nameless: true}},
	}, job.Options{}))
	rows := ""
	for i, p := range []struct {
		lon             float64
		country, admin1 string
		people          int
	}{
		{0.5, "FR", "76", 1000}, {0.6, "FR", "76", 1000}, {4, "FR", "76", 1000}, {6.5, "GF", "01", 9000}, {7, "GF", "02", 9000},
		{10.5, "GF", "01", 600},  // few are drawn in Brazil
		{10.01, "FR", "76", 600}, // at a coarse border
	} {
		rows += fmt.Sprintf("%d\tPlace %d\t\t\t0.5\t%g\tP\tPPL\t%s\t\t%s\t\t\t\t%d\t\t\t\t2024-01-01\n", i+1, i+1, p.lon, p.country,
			p.admin1, p.people)
	}
	must(places.Ingest(t.Context(), c, []places.Input{
		{Input: job.Input{Path: testfile.WriteTemp(t, "places.txt", rows)}, Kind: geonames.KindPlaces},
		{
			Input: job.Input{Path: testfile.WriteTemp(t, "countryInfo.txt",
				"FR\t\t\t\tFrance\t\t\t66987244"+strings.Repeat("\t", 9)+"3017382\t\t\n")},
			Kind: geonames.KindCountries,
		},
	}, job.Options{}))
	must(Ingest(t.Context(), c, job.Options{}))
	r, g := jobtest.Open(t, c, ask.Names)
	var meta names.Meta
	must(meta, json.Unmarshal(g.Manifest.Meta, &meta))
	for _, want := range []names.Feature{
		{Type: "country", ID: "fr", Population: 66987244, PlacesPopulation: 21000},
		{Type: "country", ID: "br", PlacesPopulation: 1200},
		{Type: "state", ID: "fra-1", PlacesPopulation: 2000},
		{Type: "state", ID: "fra-2", PlacesPopulation: 1000},
		{Type: "land", ID: "a", Population: 387890, PlacesPopulation: 2000}, {Type: "land", ID: "b", Population: 191377}, {Type: "land",
			ID: "c"}, {Type: "land", ID: "d"},
		{Type: "state", ID: "fra-3", PlacesPopulation: 18000},
	} {
		f, ok, err := r.Feature(t.Context(), names.Number(names.Region, want.Type, want.ID))
		if err != nil || !ok || f.Population != want.Population || f.PlacesPopulation != want.PlacesPopulation {
			t.Errorf("%+v, want %+v, %v", f, want, err)
		}
		if want.Type == "state" && (len(f.Parents) != 1 || f.Parents[0].ID != "fr") {
			t.Errorf("%s is in %v", f.Name, f.Parents)
		}
	}
	if got := r.SourceCountryCodes("FR"); !slices.Equal(got, []string{"GF"}) || len(meta.SourceCountryCodes) != 1 {
		t.Errorf("%v", meta.SourceCountryCodes)
	}
	if want := map[string]string{"fra-1": "FR.76", "fra-2": "FR.76"}; !maps.Equal(meta.Admin1Codes, want) {
		t.Errorf("%v, want %v", meta.Admin1Codes, want)
	}
	if id, known := r.StateID("FR.76"); id != "" || !known {
		t.Errorf("%q, %v", id, known)
	}
}
