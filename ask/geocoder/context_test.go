package geocoder

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
)

// A town with a misspelled name is found without its code and with the code behind a comma.
// Completing the code takes no budget from the forgiving search.
func TestMisspelledWithCode(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	towns, regions := crowd(6_000)
	s := serveFrom(t, openStore, towns, regions, boundarySet, placesSet, nameSet)
	finds := func(text, id string) bool {
		found := must.Get(s.Search(t.Context(), Query{Text: text})).In(t)
		return slices.ContainsFunc(found, func(r Result) bool { return r.Kind == Place && r.ID == id })
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for tried := 0; tried < 60; {
		town := &towns[rng.IntN(len(towns))]
		letters := []byte(town.Name)
		i := 1 + rng.IntN(len(letters)-1)
		letters[i-1], letters[i] = letters[i], letters[i-1]
		text, id := string(letters), itoa(town.ID)
		if !finds(text, id) {
			continue
		}
		tried++
		for _, code := range []string{"US", "us", "Us", "USA"} {
			if !finds(text+", "+code, id) {
				t.Errorf("%q finds %s, and not with %s", text, town.Name, code)
			}
		}
	}
}

// The beginning of a country or state behind a comma adds the results there. A complete code comes
// first, and in capitals it is the only reading.
func TestTypedRegion(t *testing.T) {
	// Lyons is in Rice County, Kansas, as is a large Orleans; a small Rice is in Oregon.
	more := append(slices.Clone(towns), places.Place{ID: 11, Name: "Lyons", Country: "US", Lat: 38.35, Lon: -98.2},
		places.Place{ID: 12, Name: "Orleans", Country: "US", Population: 3_000_000, Lat: 38.36, Lon: -98.21},
		places.Place{ID: 13, Name: "Rice", Country: "US", Admin1: "OR", Population: 500, Lat: 45.4, Lon: -122.5})
	s := serveFrom(t, openStore, more,
		[]names.Feature{{
			Kind: names.Region, Type: "state", ID: "us-ri", Name: "Rhode Island", Country: "US", Level: 1,
			Names: []search.Name{{Text: "RI", Lang: search.CodeLang}},
		}}, boundarySet, placesSet, nameSet)
	portland, maine := "Portland, Oregon, United States of America", "Portland, Maine, United States of America"
	texas, rice, lyons := "Paris, Texas, United States of America", "Rice, Oregon, United States of America", "Lyons, Kansas, United States of America"
	for text, want := range map[string][]string{
		"portland, o":      {portland},
		"Portland, Or":     {portland},
		"portland, OR":     {portland},
		"portlnad, OR":     {portland},
		"portlnad, or":     {portland},
		"portlnad, or, us": {portland},
		"portlnad, OR, US": {portland},
		"portland, u":      {portland, maine},
		"portland, US":     {portland, maine},
		"portlnad, ME":     {maine},
		"portland, m":      {maine},
		"munihc, DE":       {"Munich, Bayern, Germany"},
		"munich, ge":       {"Munich, Bayern, Germany"},
		"portland, TX":     nil,
		"portland, tx":     nil,
		"portland, FR":     nil,
		"paris, OR":        nil,
		"paris, ME":        nil,
		"xyzzy, FR":        {"France"},
		"oregno, PO":       nil,
		"oregno, port":     {portland},
		"paris, te":        {texas}, "paris, t": {texas}, "paris, T": {texas},
		"Rice, OR":   {rice},
		"rice, or":   {rice},
		"rice, o":    {rice},
		"lyons, r":   {lyons},
		"lyons, ri":  nil,
		"lyons, RI":  nil,
		"lyons, ric": {lyons},
	} {
		for _, limit := range []int{1, 10} {
			found, err := s.Search(t.Context(), Query{Text: text, Limit: limit, Kinds: []names.Kind{Place, names.Region}})
			var got []string
			for _, r := range found {
				got = append(got, r.Label)
			}
			if err != nil || !slices.Equal(got, want[:min(len(want), limit)]) {
				t.Errorf("%q: %s, %v; want %s", text, strings.Join(got, "; "), err, strings.Join(want, "; "))
			}
		}
	}
}

// The beginning of a country counts in the languages of the query, too. With letters that few
// languages use it counts in any language.
func TestTypedInLanguages(t *testing.T) {
	s := serve(t, boundarySet, placesSet, nameSet)
	for _, c := range []struct {
		text, lang string
		found      bool
	}{
		{"München, A", "fr", true},
		{"münchen, a", "ru", false},
		{"münchen, g", "", true},
		{"Мюнхен, Г", "", true},
		{"Мюнхен, Г", "fr", true},
		{"Мюнхен, Ге", "ru", true},
		{"Мюнхен, Ф", "", false},
		{"Portland, Г", "", false},
	} {
		q := Query{Text: c.text, NoTypos: true}
		if c.lang != "" {
			q.Langs = []string{c.lang}
		}
		found := must.Get(s.Search(t.Context(), q)).In(t)
		if is := len(found) > 0 && found[0].ID == "5"; is != c.found || !is && len(found) > 0 {
			t.Errorf("%q in %q: %v", c.text, c.lang, found)
		}
	}
}
