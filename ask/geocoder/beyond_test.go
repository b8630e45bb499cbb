package geocoder

import (
	"testing"

	"quadrille/internal/must"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
	"quadrille/quadkey"
)

// The name of a continent never means something smaller, even if that has the name, too.
func TestBeyond(t *testing.T) {
	for text, want := range map[string]bool{
		"Africa":         true,
		"EUROPE":         true,
		"Südamerika":     true,
		"south  america": true,
		"EU":             true,
		"eu":             false,
		"America":        false,
		"Eugene":         false,
		"":               false,
	} {
		if got := largest(text); got != want {
			t.Errorf("%q is larger than countries: %v", text, got)
		}
	}
	exact, prefix := &search.Match{Kind: search.Exact}, &search.Match{Kind: search.Prefix}
	f := finding{found: []Result{
		{Feature: names.Feature{Kind: Place, ID: "a town"}, Match: exact, Place: places.Hit{Class: "P"}},
		{Feature: names.Feature{Kind: Place, ID: "1"}, Match: exact, Place: places.Hit{Class: "L"}},
		{Feature: names.Feature{Kind: names.Zone, ID: "Europe/Paris"}, Match: prefix},
		{Feature: names.Feature{Kind: names.Region, Type: "state", ID: "a state", Level: 1}, Match: exact},
		{Feature: names.Feature{Kind: names.Region, Type: "continent", ID: "2", Level: 1}, Match: exact},
		{Feature: names.Feature{Kind: names.Region, Type: "country", ID: "3"}, Match: exact},
		{Feature: names.Feature{Kind: names.Region, Type: "country", ID: "South Africa"}, Match: prefix},
	}}
	f.beyond()
	got := ""
	for _, r := range f.found {
		got += r.ID
	}
	if got != "123" {
		t.Errorf("left are %s", got)
	}
}

// A continent that no layer draws is named all the same, and never a town of its name. A search
// within countries or a box finds no continent, but it finds a town of that name.
func TestBeyondWithin(t *testing.T) {
	town := []places.Place{{ID: 1, Name: "Asia", Country: "US", Lat: 40, Lon: -100, Population: 900}}
	s := serveFrom(t, openStore, town, nil, boundarySet, placesSet, nameSet)
	for want, queries := range map[int][]Query{
		0: {{Text: "Asia", Countries: []string{"PE"}}, {Text: "Eurasia"}, {Text: "Asia", Kinds: []names.Kind{names.Airport}}},
		1: {{Text: "Asia", Countries: []string{"US"}}, {Text: "Asia", Box: &quadkey.Box{South: 39, West: -101, North: 41, East: -99}}},
	} {
		for _, q := range queries {
			if found, err := s.Search(t.Context(), q); err != nil || len(found) != want {
				t.Errorf("%+v: %d results, %v, want %d", q, len(found), err, want)
			}
		}
	}
	for text, want := range map[string]string{"asia": "Asia", "Südamerika": "South America", "antarctica": "Antarctica"} {
		found := must.Get(s.Search(t.Context(), Query{Text: text})).In(t)
		if len(found) != 1 || found[0].Type != "continent" || found[0].Label != want || found[0].Bounds != [4]float64{} {
			t.Errorf("%s: %+v", text, found)
		}
	}
}

// A sea with all words of the text comes before a town whose name begins with them, unless the text
// has no sea word.
func TestPreferSeas(t *testing.T) {
	for text, want := range map[string]string{"pacific ocean": "sea", "pacific oc": "sea", "Pacific": "town", "pacific o": "town"} {
		f := finding{q: &Query{Text: text}, found: []Result{
			{Feature: names.Feature{Kind: Place, ID: "town"}, Match: &search.Match{Kind: search.Prefix}, Score: 900},
			{Feature: names.Feature{Kind: names.Region, Type: "marine", ID: "sea"}, Match: &search.Match{Kind: search.Word}, Score: 100},
		}}
		f.q.Limit = 1
		f.preferSeas()
		f.order()
		if f.found[0].ID != want {
			t.Errorf("%s is a %s", text, f.found[0].ID)
		}
	}
}

func TestInitials(t *testing.T) {
	for text, want := range map[string]string{
		"L.A.":      "la",
		"l.a":       "la",
		"U.S.A.":    "usa",
		"LA":        "",
		"St. Louis": "",
		"L.":        "",
		"":          "",
		"é.a.":      "",
	} {
		if got := initialled(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for name, want := range map[string]bool{
		"Los Angeles":    true,
		"Laos":           false,
		"Louisiana":      false,
		"Land of Apples": true,
		"Los":            false,
		"":               false,
	} {
		if got := initials("la", name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestOfficial(t *testing.T) {
	for text, want := range map[string]string{
		"Democratic Socialist Republic of Sri Lanka": "Sri Lanka",
		"Eastern Republic of Uruguay":                "Uruguay",
		"the State of Eritrea":                       "Eritrea",
		"Union of the Comoros":                       "Comoros",
		"Republic of":                                "", "Uruguay": "", "Big Republic of Uruguay": "", "Eastern Uruguay": "", "": "",
	} {
		if got := official(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestRules tests which texts after a comma consist of generic words. Such words belong to the name
// before the comma, unless they are a name themselves.
func TestRules(t *testing.T) {
	for text, want := range map[string]bool{
		"Republic of":                    true,
		"The Democratic Republic of the": true,
		"Plurinational State":            true,
		"united states":                  false,
		"Federal":                        false,
	} {
		if got := rules(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
