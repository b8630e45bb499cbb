package names_test

import (
	"errors"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/places/names"
	"quadrille/places/search"
)

func TestSearch(t *testing.T) {
	store := buildtest.NewStore(t)
	us := names.Parent{Type: "country", ID: "us", Name: "United States"}
	meta := must.Get(names.Build(t.Context(), store, buildtest.SeqOf([]names.Feature{
		{Kind: names.Region, Type: "country", ID: "us", Name: "United States", Country: "US", Population: 300e6, Lat: 40, Lon: -100,
			Names: []search.Name{{Text: "US", Lang: search.CodeLang}, {Text: "Vereinigte Staaten", Lang: "de"}}},
		{Kind: names.Region, Type: "country", ID: "fr", Name: "France", Country: "FR", Population: 66e6, Lat: 47, Lon: 2},
		{Kind: names.Region, Type: "state", ID: "us-ks", Name: "Kansas", Country: "US", Population: 3e6, Lat: 38, Lon: -98, Level: 1,
			Parents: []names.Parent{us}, Names: []search.Name{{Text: "KS", Lang: search.CodeLang}}},
		{
			Kind:       names.Region,
			Type:       "county",
			ID:         "1",
			Name:       "Arkansas",
			Country:    "US",
			Population: 1e4,
			Lat:        34,
			Lon:        -91,
			Level:      2,
			Parents:    []names.Parent{us},
		},
		{Kind: names.Airport,
			Type:    "large_airport",
			ID:      "LFPG",
			Name:    "Charles de Gaulle International Airport",
			Country: "FR",
			Code:    "CDG",
			Lat:     49,
			Lon:     2.5,
			Names:   []search.Name{{Text: "CDG", Lang: search.CodeLang}}},
	}), names.Options{TempDir: t.TempDir()})).In(t)
	if meta.Features[names.Region] != 4 || meta.Features[names.Airport] != 1 {
		t.Errorf("%+v", meta)
	}
	r := must.Get(names.Open(t.Context(), store, meta)).In(t)
	for id, number := range map[string]uint64{
		"us-ks": names.Number(names.Region, "state", "us-ks"),
		"LFPG":  names.Number(names.Airport, "closed", "LFPG"),
		"":      names.Number(names.Region, "county", "us-ks"),
	} {
		if f, ok, err := r.Feature(t.Context(), number); err != nil || ok != (id != "") || f.ID != id || number >= 1<<52 {
			t.Errorf("%s by its number: %v %+v %v", id, ok, f, err)
		}
	}
	for text, want := range map[string]string{
		"france":            "fr",
		"fra":               "fr",
		"kansas":            "us-ks",
		"ks":                "us-ks",
		"us":                "us",
		"united sta":        "us",
		"vereinigte":        "us",
		"arkansas":          "1",
		"kansass":           "us-ks",
		"charles de gaulle": "LFPG", "gaulle": "LFPG", "cdg": "LFPG",
	} {
		hits, err := r.Search(t.Context(), search.Query{Text: text}, nil)
		if err != nil || len(hits) == 0 || hits[0].ID != want {
			t.Errorf("%s: %+v, want %s: %v", text, hits, want, err)
		}
	}
	hits, err := r.Search(t.Context(), search.Query{Text: "Kansas"}, nil)
	if err != nil || len(hits) == 0 || len(hits[0].Parents) != 1 || hits[0].Parents[0] != us || hits[0].Kind != names.Region ||
		hits[0].Lat != 38 {
		t.Errorf("%+v: %v", hits, err)
	}
	if hits, err := r.Search(t.Context(), search.Query{Text: "k"}, nil); err != nil || len(hits) != 1 { // a code matches only in full
		t.Errorf("%+v: %v", hits, err)
	}
}

func TestNameIn(t *testing.T) {
	store := buildtest.NewStore(t)
	meta := must.Get(names.Build(t.Context(), store, buildtest.SeqOf([]names.Feature{
		{Kind: names.Region, Type: "state", ID: "de", Name: "Delaware", Names: []search.Name{{Text: "Délaware", Lang: "fr"}}},
		{Kind: names.Region, Type: "country", ID: "de", Name: "Germany", Names: []search.Name{
			{Text: "BRD", Lang: "de", Short: true}, {Text: "Bundesrepublik", Lang: "de"}, {Text: "Deutschland", Lang: "de", Preferred: true},
			{Text: "Deutsches Reich", Lang: "la", Historic: true}, {Text: "DE", Lang: search.CodeLang}, {Text: "RFA",
				Lang: "fr", Short: true},
			{Text: "德国", Lang: "zh"}, {Text: "德國", Lang: "zh-hant"}, {Text: "Schland", Lang: "gsw", Colloquial: true},
		}},
		{Kind: names.Airport, Type: "large_airport", ID: "EDDM", Name: "Munich", Names: []search.Name{{Text: "München", Lang: "de"}}},
	}), names.Options{TempDir: t.TempDir()})).In(t)
	r := must.Get(names.Open(t.Context(), store, meta)).In(t)
	for _, tc := range []struct{ typ, id, lang, want string }{
		{"country", "de", "de", "Deutschland"},
		{"country", "de", "DE-at", "Deutschland"},
		{"country", "de", "fr", "RFA"},
		{"country", "de", "zh-CN", "德国"},
		{"country", "de", "zh-Hant-TW", "德國"},
		{"country", "de", "la", ""},
		{"country", "de", "gsw", ""},
		{"country", "de", search.CodeLang, ""},
		{"country", "de", "", ""},
		{"country", "d", "e\x00de", ""},
		{"state", "de", "fr", "Délaware"},
		{"state", "de", "de", ""},
		{"large_airport", "EDDM", "de", ""},
	} {
		name, ok, err := r.NameIn(t.Context(), tc.typ, tc.id, tc.lang)
		if err != nil || name != tc.want || ok != (tc.want != "") {
			t.Errorf("%+v: %q, %v, %v", tc, name, ok, err)
		}
	}
	for _, tc := range []struct{ typ, id, want string }{
		{
			"country",
			"de",
			"de Deutschland, fr RFA, zh 德国, zh-hant 德國, ",
		}, {"state", "de", "fr Délaware, "}, {"country", "d", ""}, {"count", "ry", ""}, {"large_airport", "EDDM", ""},
	} {
		got := ""
		if err := r.NamesOf(t.Context(), tc.typ, tc.id, func(lang, name string) { got += lang + " " + name + ", " }); err != nil ||
			got != tc.want {
			t.Errorf("%s %s: %q, %v", tc.typ, tc.id, got, err)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	for _, f := range []names.Feature{{}, {Kind: "town", ID: "1", Name: "x"}, {Kind: names.Region, Name: "x"}, {Kind: names.Region, ID: "x"}} {
		if _, err := names.Build(t.Context(), buildtest.NewStore(t), buildtest.SeqOf([]names.Feature{f}),
			names.Options{TempDir: t.TempDir()}); !errors.Is(err, names.ErrFeature) {
			t.Errorf("%+v: %v", f, err)
		}
	}
	_, err := names.Open(t.Context(), buildtest.NewStore(t), names.Meta{SchemaVersion: names.SchemaVersion + 1})
	if !errors.Is(err, cellstore.ErrNewer) {
		t.Error(err)
	}
	if _, err = names.Open(t.Context(), buildtest.NewStore(t), names.Meta{SchemaVersion: names.SchemaVersion - 1}); !errors.Is(err,
		cellstore.ErrOlder) {
		t.Error(err)
	}
}

// Clients keep the numbers of regions and airports: they must never change, and be exact
// in JavaScript.
func TestNumbersStay(t *testing.T) {
	for _, c := range []struct {
		kind    names.Kind
		typ, id string
		want    uint64
	}{
		{names.Airport, "large_airport", "LSZH", 1723162648297788},
		{names.Region, "country", "de", 4357290270552639},
	} {
		if got := names.Number(c.kind, c.typ, c.id); got != c.want || got >= 1<<53 {
			t.Errorf("%s %s %s: %d, want %d", c.kind, c.typ, c.id, got, c.want)
		}
	}
}

// TestNumberOfSpellings tests that Number is the same for all spellings of a region's id, so that
// boundaries and names of two generations fit together. In contrast, the codes of divisions and
// airports count exactly as they are spelled.
func TestNumberOfSpellings(t *testing.T) {
	for _, ids := range [][2]string{{"E06000001", "e06000001"}, {"KEN.1.1_1", "ken-1-1-1"}} {
		if names.Number(names.Region, "ward", ids[0]) != names.Number(names.Region, "ward", ids[1]) {
			t.Errorf("%q are two regions", ids)
		}
	}
	for _, typ := range []names.Kind{names.Airport, names.Point} {
		if names.Number(typ, "", "A.1") == names.Number(typ, "", "a-1") {
			t.Errorf("of %s A.1 and a-1 are one", typ)
		}
	}
	if names.Number(names.Region, names.Admin1Type, "DE.02") == names.Number(names.Region, names.Admin1Type, "de-02") {
		t.Error("a gazetteer's code is folded")
	}
}
