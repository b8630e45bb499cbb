package names

import (
	"strings"
	"testing"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/boundaries"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/job/places"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/ingest/internal/source/geonames"
	"quadrille/cmd/internal/testfile"
	"quadrille/places/names"
)

// Divisions known only to the gazetteer are regions at the position of their largest place,
// unless they are places themselves or a layer has their country's divisions.
func TestNamesOfDivisions(t *testing.T) {
	row := func(id, name, class, code, country, admin1, people string) string {
		return strings.Join([]string{id, name, "", "", "48.1", "11.5", class, code, country, "", admin1, "", "", "", people, "", "",
			"", "2020-01-01"}, "\t") + "\n"
	}
	c := jobtest.Catalog(t)
	o := job.Options{}
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	file := func(name, text string, kind geonames.Kind) places.Input {
		return places.Input{Input: job.Input{Path: testfile.WriteTemp(t, name, text)}, Kind: kind}
	}
	must(places.Ingest(t.Context(), c, []places.Input{
		file("places.txt", row("1", "Munich", "P", "PPLA", "DE", "02", "1260391")+row("2", "Augsburg", "P", "PPL", "DE", "02", "259196")+
			row("3", "Portland", "P", "PPL", "US", "OR", "650000")+row("4", "Toronto", "P", "PPLA", "CA", "08", "2600000")+row("5",
			"Province of Ontario", "A", "ADM1", "CA", "08", "1")+
			row("6", "Hamlet", "P", "PPL", "DE", "15", "20"), geonames.KindPlaces),
		file("admin1CodesASCII.txt",
			"DE.02\tBavaria\tBavaria\t2951839\nDE.15\tThuringia\t\t\nUS.OR\tOregon\tOregon\t5744337\nCA.08\tOntario\tOntario\t5\n",
			geonames.KindAdmin1),
		file("alternateNames.txt", "1\t2951839\tru\tБавария\t1\t\t\t\t\t\n", geonames.KindAlternates),
	}, o))
	must(Ingest(t.Context(), c, o)) // without boundaries
	for _, text := range []string{"bavaria", "Bayern", "DE-BY", "Бавария"} {
		f := searchNames(t, c, text)
		if f.Kind != names.Region || f.Type != names.Admin1Type || f.ID != "DE.02" || f.Name != "Bavaria" || f.Code != "DE-BY" ||
			f.Level != 1 || f.Lat != 48.1 || f.Bounds != [4]float64{} ||
			len(f.Parents) != 1 || f.Parents[0] != (names.Parent{Type: "country", ID: "de", Name: "Germany"}) {
			t.Errorf("%s: %+v", text, f)
		}
	}
	must(boundaries.Ingest(t.Context(), c, []boundaries.Input{
		{
			Type: "country",
			Input: jobtest.Input(testfile.WriteTemp(t, "country.geojson",
				jobtest.FeatureCollection(jobtest.Square("d", "Deutschland", `,"iso_a2":"DE"`, 0, 40, 20)))),
			Told: columns.Told{ID: "id", Nameless: true},
		},
		{
			Type: "state",
			Input: jobtest.Input(testfile.WriteTemp(t, "state.geojson",
				jobtest.FeatureCollection(jobtest.Square("us-wa", "Washington", `,"iso_3166_2":"US-WA"`, 30, 40, 1)))),
			Told: columns.Told{ID: "id", Nameless: true},
		},
		{
			Type: "county",
			Input: jobtest.Input(testfile.WriteTemp(t, "county.geojson",
				jobtest.FeatureCollection(jobtest.Square("53033", "King", `,"iso_3166_2":"US-WA"`, 30.2, 40.2, 0.1)))),
			Told: columns.Told{ID: "id", Nameless: true},
		},
	}, o))
	must(Ingest(t.Context(), c, o))
	for text, want := range map[string]string{"bavaria": "DE.02", "oregon": "", "ontario": "", "thuringia": ""} {
		if f := searchNames(t, c, text); f.ID != want || want != "" && f.Parents[0].Name != "Deutschland" {
			t.Errorf("%s: %+v, want %q", text, f, want)
		}
	}
	// A county's record has the code of the state around it, and the county has none of its own.
	if f := searchNames(t, c, "king county"); f.ID != "53033" || f.Code != "" || f.Parents[0].ID != "us-wa" {
		t.Errorf("%+v", f)
	}
	if f := searchNames(t, c, "US-WA"); f.ID != "us-wa" || f.Code != "US-WA" {
		t.Errorf("%+v", f)
	}
}

// A division that consists of several states is a region. A drawn state has the known names of
// its code or of one of its names.
func TestNamesOfPartsAndStates(t *testing.T) {
	c := jobtest.Catalog(t)
	town := func(id, lon, country, admin1 string) string {
		return strings.Join([]string{
			id,
			"Town" + id,
			"",
			"",
			"48.5",
			lon,
			"P",
			"PPL",
			country,
			"",
			admin1,
			"",
			"",
			"",
			"5000",
			"",
			"",
			"",
			"2020-01-01",
		}, "\t") + "\n"
	}
	input := func(name, text string, kind geonames.Kind) places.Input {
		return places.Input{Input: job.Input{Path: testfile.WriteTemp(t, name, text)}, Kind: kind}
	}
	if _, err := places.Ingest(t.Context(), c, []places.Input{
		input("places.txt", town("1", "2.5", "FR", "11")+town("2", "3.5", "FR", "11")+town("3", "4.5", "FR", "44")+town("4", "7.5",
			"DE", "07"), geonames.KindPlaces),
		input("admin1CodesASCII.txt",
			"FR.11\tÎle-de-France\tIle-de-France\t0\nFR.44\tGrand Est\tGrand Est\t0\nDE.07\tNorth Rhine-Westphalia\t\t0\n", geonames.KindAdmin1),
	}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := boundaries.Ingest(t.Context(), c, []boundaries.Input{
		{
			Type: "country",
			Input: jobtest.Input(testfile.WriteTemp(t, "country.geojson",
				jobtest.FeatureCollection(jobtest.Square("th", "Thailand", `,"iso_a2":"TH"`, 30, 40, 1),
					jobtest.Square("fr", "France", `,"iso_a2":"FR"`, 2, 48, 3)))),
			Told: columns.Told{ID: "id", Nameless: true},
		},
		{Type: "state",
			Input: jobtest.Input(testfile.WriteTemp(t, "state.geojson",
				jobtest.FeatureCollection(jobtest.Square("fra-1", "Essonne", `,"iso_a2":"FR"`, 2, 48, 1),
					jobtest.Square("fra-2", "Yvelines", `,"iso_a2":"FR"`, 3, 48, 1),
					jobtest.Square("fra-3", "Marne", `,"iso_a2":"FR"`, 4, 48, 1),
					jobtest.Square("deu-1", "Nordrhein-Westfalen", `,"iso_a2":"DE"`, 7, 48, 1),
					jobtest.Square("cn-15", "Inner Mongol", `,"iso_3166_2":"CN-NM"`, 9, 48, 1)))),
			Told: columns.Told{ID: "id", Nameless: true}},
	}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Ingest(t.Context(), c, job.Options{}); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"ile de france": "FR.11", "FR-IDF": "FR.11", "grand est": "", "nrw": "deu-1", "DE-NW": "deu-1", "Nei Mongol": "cn-15",
		"Siam": "th", "ไทย": "th", "République française": "fr",
	} {
		if f := searchNames(t, c, text); f.ID != want {
			t.Errorf("%s: %+v, want %q", text, f, want)
		}
	}
}
