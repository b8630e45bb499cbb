package geocoder

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"quadrille/internal/testrace"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
)

func TestTyped(t *testing.T) {
	for text, want := range map[string]string{
		"Zürich":               "Zürich",
		"東京、日本":                "東京,日本",
		"上海，中国":                "上海,中国",
		"القاهرة، مصر":         "القاهرة, مصر",
		"Berlin；Germany":       "Berlin;Germany",
		"بغداد؛ العراق":        "بغداد; العراق",
		"ＰＡＲＩＳ　（ＦＲ）":           "PARIS (FR)",
		"１０１１５ Berlin":         "10115 Berlin",
		"٤٧٫٣٧، ٨٫٥٤":          "47.37, 8.54",
		"۴۷٫۳۷":                "47.37",
		"४७.३७, ८.५४":          "47.37, 8.54",
		"52.52\t13.405":        "52.52 13.405",
		" Paris\r\nFrance ":    "Paris  France",
		"−33.86, 151.21":       "-33.86, 151.21",
		"Aix–en‑Provence":      "Aix-en-Provence",
		"\ufeff\u200e52\u202c": "52",
		"北京。":                  "北京",
		"\u3000\u00a0\t":       "",
	} {
		if got := typed(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		once := typed(text)
		if !utf8.ValidString(text) {
			return
		}
		if typed(once) != once || len(once) > len(text) ||
			string(search.Fold(nil, once)) != string(search.Fold(nil, text)) && !strings.ContainsAny(text, "٫") {
			t.Fatalf("%q: %q, %q", text, once, typed(once))
		}
	})
}

func keyboards(t *testing.T) *Session {
	towns := []places.Place{
		{ID: 1, Name: "Paris", AlternateNames: "巴黎,パリ,ปารีส,ປາຣີ", Country: "FR", Code: "PPLC", Lat: 48.85, Lon: 2.35, Population: 2_100_000},
		{ID: 2, Name: "Paris", Country: "US", Lat: 33.66, Lon: -95.56, Population: 25_000},
		{ID: 3, Name: "L'Haÿ-les-Roses", Country: "FR", Lat: 48.78, Lon: 2.34, Population: 30_000},
		{ID: 4, Name: "O'Fallon", Country: "US", Lat: 45, Lon: -120, Population: 80_000},
		{ID: 5, Name: "O'Fallon", Country: "US", Lat: 39, Lon: -99, Population: 30_000},
		{ID: 6, Name: "Val-d'Oise", Country: "FR", Lat: 49, Lon: 2.1, Population: 3_000},
		{
			ID:             7,
			Name:           "Munich",
			AlternateNames: "München,慕尼黑,ミュンヘン,Monaco di Baviera",
			Country:        "DE",
			Lat:            48.14,
			Lon:            11.58,
			Population:     1_260_000,
		},
		{ID: 8, Name: "Springfield", Country: "US", Lat: 44.05, Lon: -123.02, Population: 61_000},
		{ID: 9, Name: "Springfield", Country: "US", Lat: 39.9, Lon: -100, Population: 160_000},
		{ID: 10, Name: "New Portland", Country: "US", Lat: 44.9, Lon: -70, Population: 700},
		{ID: 11, Name: "Biel", AlternateNames: "Bienne", Country: "DE", Lat: 48, Lon: 8, Population: 55_000},
		{ID: 12, Name: "Bienne", Country: "FR", Lat: 46.3, Lon: 5.6, Population: 90_000},
		{ID: 13, Name: "St. John's", Country: "US", Lat: 44, Lon: -68.5, Population: 9_000},
	}
	more := []names.Feature{
		{
			Kind:    names.Region,
			Type:    "country",
			ID:      "fr",
			Name:    "France",
			Country: "FR",
			Names:   []search.Name{{Text: "法国"}, {Text: "フランス"}, {Text: "ฝรั่งเศส"}},
		},
		{Kind: names.Region, Type: "country", ID: "de", Name: "Germany", Country: "DE", Names: []search.Name{{Text: "德国"}}},
		{
			Kind:    names.Region,
			Type:    "state",
			ID:      "de-by",
			Name:    "Bayern",
			Country: "DE",
			Names:   []search.Name{{Text: "巴伐利亚"}},
			Parents: []names.Parent{{Type: "country", ID: "de", Name: "Germany"}},
		},
		{
			Kind:       names.Region,
			Type:       "country",
			ID:         "us",
			Name:       "United States of America",
			Country:    "US",
			Population: 330e6,
			Names:      []search.Name{{Text: "U.S.A."}, {Text: "USA", Lang: search.CodeLang}, {Text: "US", Lang: search.CodeLang}},
		},
	}
	s := serveFrom(t, openStore, towns, more, boundarySet, placesSet, nameSet)
	return s
}

// TestKeyboards tests that a text has the same meaning whatever keyboard it was typed on: with
// separators and wide letters of other scripts, and without spaces.
func TestKeyboards(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	s := keyboards(t)
	const (
		paris, texas, hay, oregon, kansas = "Paris, France", "Paris, Texas, United States of America", "L'Haÿ-les-Roses, France", "O'Fallon, Oregon, United States of America", "O'Fallon, Kansas, United States of America"
		munich, usa                       = "Munich, Bayern, Germany", "United States of America"
	)
	for text, want := range map[string]string{
		"巴黎，法国":         paris,
		"巴黎、法国":         paris,
		"巴黎；法国":         paris,
		"ｐａｒｉｓ，　ｆｒａｎｃｅ": paris,
		"Paris; France": paris,
		"Paris،France":  paris,
		"Paris\tFrance": paris,
		"Paris \ufeff":  paris,
		"法国巴黎":          paris,
		"巴黎法国":          paris,
		"巴黎市法国":         paris,
		"法国巴黎市":         paris,
		"巴黎市":           paris,
		"フランスパリ":        paris,
		"ปารีสฝรั่งเศส": paris,
		"ปารีสประเทศฝรั่งเศส": paris,
		"德国巴伐利亚慕尼黑":           munich,
		"慕尼黑巴伐利亚德国":           munich,
		"德国 慕尼黑":              munich,
		"法国慕尼黑":               "", // there is no such place
		"l hay les roses":     hay,
		"l-hay-les-roses":     hay,
		"lhay les roses":      hay,
		"l hay france":        hay,
		"o fallon":            oregon,
		"o-fallon kansas":     kansas,
		"ofallon ks":          kansas,
		"val d oise":          "Val-d'Oise, France",
		"st john s maine":     "St. John's, Maine, United States of America",
		"U.S.A.":              usa,
		"u s a":               usa,
		"Paris, U.S.A.":       texas,
		"newportland":         "New Portland, Maine, United States of America",
		"por tland":           "",
		"Springfield/OR":      "Springfield, Oregon, United States of America",
		"Springfield-OR":      "Springfield, Oregon, United States of America",
		"Springfield|KS":      "Springfield, Kansas, United States of America",
		"Biel/Bienne":         "Biel, Germany",
		"Bienne/Biel":         "Biel, Germany",
		"Biel-Bienne":         "",
		"Springfield/XX":      "",
		"Xx/yy":               "",
		"91,0":                "",
		"４５．５， −１２２．５":        "45.5, -122.5, Oregon, United States of America",
		"@45.5,-122.5,15z":    "45.5, -122.5, Oregon, United States of America",
		"-122.5, 45.5":        "45.5, -122.5, Oregon, United States of America",
	} {
		got, err := s.Search(t.Context(), Query{Text: text})
		first := ""
		if len(got) > 0 {
			first = got[0].Label
		}
		if err != nil || first != want {
			t.Errorf("%q: %q, %v; want %q", text, first, err, want)
		}
	}
}

// TestOddTexts tests that a search for odd texts, such as single separators, marks and letters,
// either gives results or the error that there is no text.
func TestOddTexts(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	s := keyboards(t)
	texts := []string{
		strings.Repeat("\u0301", 90),
		strings.Repeat("\u0e31", 40),
		"\u20e3",
		"法",
		"法国法",
		strings.Repeat("法国", 10),
		strings.Repeat("a b ", 50),
		"a/",
		"/",
		"//",
		"-/-",
		"a/b/c",
		"@",
		"#map=",
	}
	for _, r := range otherCommas + otherSemicolons + ",;/|-–—−、。・()[]{}<>\"'`~!?@#$%^&*+=_\\:." {
		texts = append(texts, string(r), "paris"+string(r)+"france", string(r)+"paris"+string(r)+string(r))
	}
	for _, table := range unicode.Scripts {
		if len(table.R16) > 0 {
			texts = append(texts, string(rune(table.R16[len(table.R16)/2].Lo)))
		}
	}
	for _, text := range texts {
		if _, err := s.Search(t.Context(), Query{Text: text}); err != nil && !errors.Is(err, places.ErrQuery) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := s.Search(t.Context(), Query{Text: strings.Repeat("a", 10_000)}); !errors.Is(err, places.ErrQuery) {
		t.Error(err)
	}
}
