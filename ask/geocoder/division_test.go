package geocoder

import (
	"testing"

	"quadrille/internal/testrace"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
)

// A division without an outline can be a result, surround a place by the place's row, and be a
// context.
func TestDivisionsWithoutOutline(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	towns := []places.Place{
		{ID: 1, Name: "Köln", Country: "DE", Admin1: "07", Lat: 50.93, Lon: 9.5, Population: 963_000},
		{ID: 2, Name: "Köln", Country: "DE", Admin1: "11", Lat: 54, Lon: 13.3, Population: 900_000},
		{ID: 3, Name: "London", Country: "CA", Admin1: "08", Lat: 60, Lon: -81.2, Population: 346_000},
		{ID: 4, Name: "London", Country: "GB", Admin1: "ENG", Lat: 51.5, Lon: -0.1, Population: 8_900_000},
		{ID: 5, Name: "North Rhine-Westphalia", Code: "ADM1", Country: "DE", Admin1: "07", Lat: 51, Lon: 7},
		{ID: 6, Name: "Ontario", Code: "ADM1", Country: "CA", Admin1: "08", Lat: 50, Lon: -85},
		{ID: 7, Name: "Cayenne", Country: "GF", Lat: 4.9, Lon: -52.3, Population: 61_000},
	}
	rows := towns[4:6]
	for i := range rows {
		rows[i].Class = "A"
	}
	s := serveFrom(t, openStore, towns, []names.Feature{
		{Kind: names.Region,
			Type:    names.Admin1Type,
			ID:      "DE.07",
			Name:    "North Rhine-Westphalia",
			Country: "DE",
			Code:    "DE-NW",
			Level:   1,
			Lat:     50.9,
			Lon:     7,
			Parents: []names.Parent{{Type: "country", ID: "de", Name: "Germany"}},
			Names:   []search.Name{{Text: "NRW"}, {Text: "Nordrhein-Westfalen", Lang: "de", Preferred: true}}},
		{Kind: names.Region, Type: "country", ID: "gf", Name: "French Guiana", Country: "GF", Lat: 4.9, Lon: -52.3},
	}, boundarySet, placesSet, nameSet)
	for _, c := range []struct{ text, lang, want string }{
		{"nrw", "", "region North Rhine-Westphalia, Germany"},
		{"köln nrw", "", "place Köln, North Rhine-Westphalia, Germany"},
		{"nrw köln", "", "place Köln, North Rhine-Westphalia, Germany"},
		{"Köln, Nordrhein-Westfalen", "", "place Köln, North Rhine-Westphalia, Germany"},
		{"Köln, NRW", "de", "place Köln, Nordrhein-Westfalen, Germany"},
		{"Köln, NRW, Germany", "", "place Köln, North Rhine-Westphalia, Germany"},
		{"London, ON", "", "place London, Ontario, Canada"},
		{"London, Ontario", "", "place London, Ontario, Canada"},
		{"Cayenne, French Guiana", "", "place Cayenne, French Guiana"},
		{"London, NRW", "", ""},
	} {
		got, err := s.Search(t.Context(), Query{Text: c.text, Langs: langsOf(c.lang)})
		first := ""
		if len(got) > 0 {
			first = string(got[0].Kind) + " " + got[0].Label
		}
		if err != nil || first != c.want {
			t.Errorf("%q: %q, %v; want %q", c.text, first, err, c.want)
		}
	}
}

func langsOf(lang string) []string {
	if lang == "" {
		return nil
	}
	return []string{lang}
}
