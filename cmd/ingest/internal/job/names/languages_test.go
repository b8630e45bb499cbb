package names

import (
	"slices"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/boundaries"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/job/places"
	"quadrille/cmd/ingest/internal/source/geonames"
	"quadrille/cmd/internal/testfile"
	"quadrille/places/names"
	"quadrille/places/search"
)

// Regions are found by the names in their records, and countries by those in the places.
func TestNamesInLanguages(t *testing.T) {
	square := func(properties string, west, size string) string {
		e := map[string]string{"0": "10", "10": "20"}[west]
		return `{"type":"Feature","properties":{` + properties + `},"geometry":{"type":"Polygon","coordinates":[[[` +
			west + `,40],[` + e + `,40],[` + e + `,` + size + `],[` + west + `,` + size + `],[` + west + `,40]]]}}`
	}
	collection := func(features ...string) string {
		return `{"type":"FeatureCollection","features":[` + strings.Join(features, ",") + `]}`
	}
	countries := testfile.WriteTemp(t, "countries.geojson", collection(
		square(`"NAME":"Germany","ISO_A2":"DE","ISO_A3":"DEU","NAME_LONG":"Germany at Large","FORMAL_EN":"Federal Republic of Germany","NAME_FR":"Allemagne","NAME_EN":"Germany","NAME_ALT":"Allemania|Almania","ABBREV":"Ger.","NAME_LEN":7`, "0", "50"),
		square(`"NAME":"Japan","ISO_A2":"JP","ISO_A3":"JPN"`, "10", "50")))
	lands := testfile.WriteTemp(t, "lands.geojson", collection(
		square(`"name":"Bavaria","name:de":"Bayern","name:zh-Hant":"巴伐利亞","alt_name":"Baiern;Freistaat Bayern","old_name":"Kurbayern","population":"x"`, "0", "45")))
	c := jobtest.Catalog(t)
	if _, err := boundaries.Ingest(t.Context(), c, []boundaries.Input{
		{Type: "country", Input: job.Input{Path: countries}}, {Type: "land", Input: job.Input{Path: lands}},
	}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	country := func(code, name, id string) string {
		return code + strings.Repeat("\t", 4) + name + strings.Repeat("\t", 12) + id + "\t\t\n"
	}
	if _, err := places.Ingest(t.Context(), c, []places.Input{
		{Input: job.Input{Path: testfile.WriteTemp(t, "places.txt", jobtest.RowBern)}, Kind: geonames.KindPlaces},
		{
			Input: job.Input{Path: testfile.WriteTemp(t, "countryInfo.txt",
				country("JP", "Japan", "1861060")+country("DE", "Germany", "2921044"))},
			Kind: geonames.KindCountries,
		},
		{
			Input: job.Input{Path: testfile.WriteTemp(t, "alternateNames.txt",
				"1\t1861060\tja\t日本国\t\t\t\t\n2\t1861060\tja\t日本\t1\t\t\t\n3\t2921044\tde\tDeutschland\t1\t\t\t\n4\t99\tde\tNirgends\t\t\t\t\n")},
			Kind: geonames.KindAlternates,
		},
	}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Ingest(t.Context(), c, job.Options{}); err != nil {
		t.Fatal(err)
	}
	r, _ := jobtest.Open(t, c, ask.Names)
	for text, want := range map[string]string{
		"Germany":          "de",
		"deutschland":      "de",
		"allemagne":        "de",
		"almania":          "de",
		"federal republic": "de",
		"germany at large": "de",
		"ger.":             "de",
		"日本":               "jp",
		"日本国":              "jp",
		"bayern":           "bavaria",
		"freistaat":        "bavaria",
		"巴伐利亞":             "bavaria",
		"kurbayern":        "bavaria",
		"deu":              "de",
		"nirgends":         "",
	} {
		hits, err := r.Search(t.Context(), search.Query{Text: text, NoTypos: true}, nil)
		if err != nil || (want == "") != (len(hits) == 0) || want != "" && hits[0].ID != want {
			t.Errorf("%s: %+v, want %s: %v", text, hits, want, err)
		}
	}
	for _, tc := range []struct{ typ, id, lang, want string }{
		{"country", "de", "de", "Deutschland"}, {"country", "de", "fr", "Allemagne"}, {"country", "jp", "ja", "日本"},
		{"land", "bavaria", "de", "Bayern"}, {"land", "bavaria", "zh-Hant", "巴伐利亞"}, {"land", "bavaria", "fr", ""},
	} {
		if got, _, err := r.NameIn(t.Context(), tc.typ, tc.id, tc.lang); err != nil || got != tc.want {
			t.Errorf("%+v: %q, %v", tc, got, err)
		}
	}
}

func TestOtherNamesAreBounded(t *testing.T) {
	f := names.Feature{Kind: names.Region, Type: "land", ID: "x", Name: "X"}
	record := `{"name":"X","name_alt":"` + strings.Repeat("a|", 3*maxOtherNames) + strings.Repeat("b", 5) +
		`","alt_name":["no text"],"name:de":"X","name_fr":" ","short_name":"X"`
	for i := range 2 * maxOtherNames {
		record += `,"name:a` + string(rune('a'+i/26%26)) + string(rune('a'+i%26)) + `":"n"`
	}
	if err := (&namer{}).otherNames(&f, []byte(record+`}`)); err != nil {
		t.Fatal(err)
	}
	if len(f.Names) != maxOtherNames || slices.ContainsFunc(f.Names, func(n search.Name) bool { return n.Text == "" }) {
		t.Errorf("%d names: %+v", len(f.Names), f.Names[:5])
	}
	if err := (&namer{}).otherNames(&f, []byte(`{`)); err == nil {
		t.Error("a damaged record is taken")
	}
}
