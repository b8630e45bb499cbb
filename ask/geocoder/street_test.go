package geocoder

import (
	"slices"
	"testing"

	"quadrille/internal/must"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
)

// The town of an address is found without commas, in part only. What is no address finds nothing.
func TestAddressesWithoutCommas(t *testing.T) {
	at := func(id uint32, name, other, country, admin1 string, people int64) places.Place {
		return places.Place{ID: id, Name: name, AlternateNames: other, Country: country, Admin1: admin1, Population: people,
			Lat: 60 + float64(id)/10, Lon: 20}
	}
	more := append(slices.Clone(towns), at(20, "London", "", "GB", "", 8_900_000), at(21, "Berlin", "", "DE", "", 3_400_000),
		at(22, "Zürich", "", "CH", "", 340_000), at(23, "Tokyo", "東京都,東京", "JP", "", 8_300_000), at(24, "Roma", "", "IT", "", 2_300_000),
		at(25, "Street", "", "GB", "", 12_000), at(26, "New York City", "New York", "US", "", 8_000_000), at(27, "Main", "", "US", "", 20_000),
		at(28, "Frankfurt am Main", "", "DE", "", 650_000), at(29, "Dayton", "Day", "US", "", 140_000), at(30, "Hamlet", "", "US", "", 900),
		at(31, "Yokohama", "横浜市,横浜", "JP", "", 3_500_000),
		places.Place{ID: 32, Name: "Salem", Country: "US", Admin1: "OR", Population: 9_000, Lat: 44.9, Lon: -123})
	regions := []names.Feature{{Kind: names.Region, Type: "state", ID: "us-or2", Name: "Oregon", Country: "US", Code: "US-OR", Level: 1,
		Names: []search.Name{{Text: "OR", Lang: search.CodeLang}}}}
	s := serveFrom(t, openStore, more, append(regionNames(), regions...), boundarySet, placesSet, nameSet)
	for text, want := range map[string]string{
		"10 downing street london": "London", "downing street london": "London", "221b baker street london": "London",
		"10 Downing Street London SW1A 2AA": "London", "Friedrichstraße 43 Berlin": "Berlin", "Bahnhofstr 1 Zürich": "Zürich",
		"Musterstr. 5 80331 München": "Munich", "Kurfürstendamm 21 10719 Berlin": "Berlin", "Damrak 1 Berlin": "Berlin",
		"Straße des 17. Juni 135 Berlin": "Berlin", "Hauptstraße 12 Frankfurt am Main": "Frankfurt am Main",
		"350 Fifth Avenue New York 10118": "New York City", "5 rue de rivoli paris": "Paris", "12 avenue des champs élysées 75008 paris": "Paris",
		"Via Appia 10 Roma": "Roma", "100 Main St Salem OR 97301": "Salem", "100 Main St Salem OR": "Salem", "9 High Road Hamlet 28345": "Hamlet",
		"東京都渋谷区": "Tokyo", "渋谷区東京都": "Tokyo", "東京都新宿区西新宿2-8-1": "Tokyo", "神奈川県横浜市": "Yokohama",
		// None of these has a town, or they are no addresses.
		"10 downing street": "", "main street 5": "", "Friedrichstraße 43": "", "bahnhofstr 1": "", "baker street 221b": "", "main street": "",
		"5 via roma": "", "via roma 10": "", "12 rue de paris": "", "abbey road": "", "2 days in paris": "", "24 hours london": "",
		"terminator 2 judgment day": "", "room 12": "", "apollo 11": "", "chapter 3 verse 2": "", "hello world": "", "foo bar baz": "",
		"best pizza near me": "", "9 high road hamlet": "", "wall street crash": "", "渋谷区新宿区": "", "street": "Street", "berlin": "Berlin",
	} {
		found := must.Get(s.Search(t.Context(), Query{Text: text})).In(t)
		switch {
		case want == "" && len(found) > 0:
			t.Errorf("%q finds %s, want nothing", text, found[0].Label)
		case want != "" && (len(found) == 0 || found[0].Name != want):
			t.Errorf("%q finds %v, want %s", text, found, want)
		case want != "" && (found[0].Match.Kind == PartMatch) != (text != "street" && text != "berlin"):
			t.Errorf("%q: the match is %s", text, found[0].Match.Kind)
		}
	}
}
