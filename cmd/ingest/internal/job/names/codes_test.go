package names

import (
	"os"
	"slices"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/airports"
	"quadrille/cmd/ingest/internal/job/boundaries"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/job/places"
	"quadrille/cmd/ingest/internal/job/stations"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/ingest/internal/source/geonames"
	"quadrille/cmd/ingest/internal/source/ourairports"
	"quadrille/cmd/internal/testfile"
	"quadrille/internal/testrace"
	"quadrille/places/names"
	"quadrille/places/search"
)

// Airports, stations and countries are found by each of their codes. A country that no layer draws
// is found at the position of its places.
func TestNamesOfCodes(t *testing.T) {
	c := jobtest.Catalog(t)
	rec := &jobtest.Recorder{}
	o := job.Options{Reporter: rec}
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(boundaries.Ingest(t.Context(), c, []boundaries.Input{
		{
			Type: "country",
			Input: jobtest.Input(testfile.WriteTemp(t, "country.geojson",
				jobtest.FeatureCollection(jobtest.Square("fr", "France", `,"iso_a2":"FR"`, 0, 0, 10)))),
			Told: columns.Told{ID: "id", Nameless: true},
		},
	}, o))
	country := func(code, three, name, id string) string {
		return code + "\t" + three + "\t\t\t" + name + "\t\t0\t443000\tNA\t\t\t\t\t\t\t\t" + id + "\t\t\n"
	}
	must(places.Ingest(t.Context(), c, []places.Input{
		{Input: job.Input{
			Path: testfile.WriteTemp(t, "places.txt",
				jobtest.RowBern+"\n2\tCapital\tCapital\t\t16\t-61.7\tP\tPPLC\tGP\t\t\t\t\t\t100\t\t\t\t2020-01-01\n"),
			Credit: job.GeoNames,
		}},
		{
			Input: job.Input{
				Path: testfile.WriteTemp(t, "countryInfo.txt",
					country("FR", "FRA", "French Republic", "9")+country("GP", "GLP", "Guadeloupe", "8")+country("BV", "BVT", "Bouvet Island", "7")),
				Credit: job.GeoNames,
			},
			Kind: geonames.KindCountries,
		},
	}, o))
	must(airports.Ingest(t.Context(), c,
		job.Input{Path: testfile.WriteTemp(t, "airports.csv", jobtest.AirportHeader+jobtest.AirportBern+jobtest.AirportSuva+
			`3,GP-0007,heliport,Roof,16,-61,,GP,,,no,,,TFGX,971,,,"TFXX, Old Roof"`+"\n"), Credit: job.OurAirports}, o))
	must(stations.Ingest(t.Context(), c, job.Input{
		Path:   testfile.WriteTemp(t, "isd-history.csv", jobtest.StationsHead+jobtest.RowZurich),
		Credit: job.NOAA,
	}, o))
	must(Ingest(t.Context(), c, o))
	for text, want := range map[string]string{
		"zzb":             "LSZZ",
		"lszz":            "LSZZ",
		"fj-0001":         "FJ-0001",
		"gp-0007":         "GP-0007",
		"tfgx":            "GP-0007",
		"971":             "GP-0007",
		"tfxx":            "GP-0007",
		"old roof":        "GP-0007",
		"tfgy":            "",
		"06660":           "06660099999",
		"06660099999":     "06660099999",
		"fra":             "fr",
		"french republic": "fr",
		"gp":              "gp",
		"glp":             "gp",
		"guadeloupe":      "gp",
		"bvt":             "",
	} {
		if f := searchNames(t, c, text); f.ID != want {
			t.Errorf("%s: %+v, want %q", text, f, want)
		}
	}
	if f := searchNames(t, c, "guadeloupe"); f.Kind != names.Region || f.Type != countryType || f.Lat != 16 || f.Lon != -61.7 ||
		f.Bounds != [4]float64{} || f.Population != 443000 {
		t.Errorf("%+v", f)
	}
	if !slices.ContainsFunc(rec.Notes, func(n string) bool { return strings.Contains(n, "not searched: ") && strings.HasSuffix(n, "BV") }) {
		t.Errorf("Bouvet Island is not told of: %q", rec.Notes)
	}
}

// TestRealCodesOfAirports searches for 200 real airports by their ident or GPS code, which is their
// only code.
func TestRealCodesOfAirports(t *testing.T) {
	testrace.SkipUnderRace(t, "indexing all airports takes long")
	file, err := os.Open(jobtest.RealAirports)
	if err != nil {
		t.Skip(err)
	}
	_ = file.Close()
	c := jobtest.Catalog(t)
	o := job.Options{Reporter: &jobtest.Recorder{}, MaxBad: 1}
	in := job.Input{Path: jobtest.RealAirports, Credit: job.OurAirports}
	if _, err := airports.Ingest(t.Context(), c, in, o); err != nil {
		t.Fatal(err)
	}
	if _, err := Ingest(t.Context(), c, o); err != nil {
		t.Fatal(err)
	}
	r, _ := jobtest.Open(t, c, ask.Names)
	f, err := in.Open(nil, "rows")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	row, found := 0, 0
	var missed []string
	for a, err := range ourairports.Read(f, jobtest.RealAirports) {
		if err != nil || a.Type == "closed" || a.IATA != "" || a.ICAO != "" {
			continue
		}
		if row++; row%300 != 0 || found+len(missed) == 200 {
			continue
		}
		code := a.Ident
		if a.GPS != "" {
			code = a.GPS
		}
		hits, err := r.Search(t.Context(), search.Query{Text: strings.ToLower(code)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(hits, func(h names.Hit) bool { return h.ID == a.Ident && h.Match.IsCode && h.Match.Kind == search.Exact }) {
			found++
		} else {
			missed = append(missed, code)
		}
	}
	if found != 200 {
		t.Errorf("%d are found, not %q", found, missed)
	}
}
