package places

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/quadkey"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var zurich = Place{
	ID: 2657896, Name: "Zürich", ASCIIName: "Zuerich", AlternateNames: "Turicum,Zurich", Lat: 47.36667, Lon: 8.55, Class: "P", Code: "PPLA",
	Country: "CH", Admin1: "ZH", Admin2: "112", Population: 341730, TimeZone: "Europe/Zurich", Modified: date("2023-05-01"),
	Extra: []byte(`,"sister":"Kunming"`),
}

func fullSource() Source {
	return Source{
		Places: buildtest.SeqOf([]Place{
			zurich,
			{ID: 2658434, Name: "Schweiz", Class: "A", Code: "PCLI", Country: "CH", Lat: 47, Lon: 8, Population: 8484130},
			{ID: 9, Name: "Old Confederacy", Class: "A", Code: "PCLH", Country: "CH", Lat: 47, Lon: 8},
			{ID: 10, Name: "Kanton Bern", ASCIIName: "Bern", Class: "A", Code: "ADM1", Country: "CH", Admin1: "BE", Lat: 47, Lon: 7.5},
			{ID: 11, Name: "Bern-Mittelland", Class: "A", Code: "ADM2", Country: "CH", Admin1: "BE", Admin2: "246", Lat: 47, Lon: 7.5},
			{ID: 12, Name: "Vaduz", Class: "P", Code: "PPLC", Country: "LI", Lat: 47.1, Lon: 9.5},
			{ID: 13, Name: "Nowhere", Country: "QQ"},
		}),
		Names: buildtest.SeqOf([]AlternateName{
			{PlaceID: 2657896, Lang: "de", Name: "Zürich"},
			{PlaceID: 2657896, Lang: "fr", Name: "Zurich"},
			{PlaceID: 2657896, Lang: "fr", Name: "Zurich sur Limmat", Preferred: true},
			{PlaceID: 2657896, Lang: "la", Name: "Turicum", Historic: true},
			{PlaceID: 2657896, Lang: "de", Name: "Züri", Colloquial: true, Preferred: true},
			{PlaceID: 2657896, Lang: "", Name: "Zuri\"ch"},
			{PlaceID: 2657896, Lang: "zh", Name: "苏黎世"},
			{PlaceID: 2657896, Lang: "zh-Hant", Name: "蘇黎世"},
			{PlaceID: 2657896, Lang: "iata", Name: "ZRH"},
			{PlaceID: 2657896, Lang: "iata", Name: "OLD", Historic: true},
			{PlaceID: 2657896, Lang: "unlc", Name: "CHZRH"},
			{PlaceID: 2657896, Lang: "wkdt", Name: "Q72"},
			{PlaceID: 2657896, Lang: "link", Name: "https://example.org/Zurich"},
			{PlaceID: 2657896, Lang: "post", Name: "8001"},
			{PlaceID: 2658434, Lang: "en", Name: "Swiss Confederation", Preferred: true},
			{PlaceID: 2658434, Lang: "en", Name: "Switzerland", Preferred: true, Short: true},
			{PlaceID: 77, Lang: "en", Name: "Atlantis"},
		}),
		Parents: buildtest.SeqOf([]Parent{{2658434, 2657896, "ADM"}, {10, 2657896, ""}, {10, 2657896, "tourism"}, {1, 77, ""}}),
		Admin5:  buildtest.SeqOf([]Admin5{{2657896, "261"}, {77, "x"}}),
		Gazetteer: Gazetteer{
			Countries: []Country{{
				Code:       "LI",
				Name:       "Liechtenstein",
				ISO3:       "LIE",
				AreaKM2:    160.5,
				Languages:  []string{"de-LI"},
				Neighbours: []string{"CH", "AT"},
			}},
			Admin1: []Division{{Code: "CH.ZH", Name: "Zurich", ASCIIName: "Zurich", ID: 2657895}},
			Admin2: []Division{{Code: "CH.ZH.112", Name: "Zürich District"}},
			Features: []Feature{
				{Code: "P.PPLC", Name: "capital", Description: "of a country"},
				{Code: "P.PPLC", Name: "again"},
				{Code: "A.PCLI", Name: "country"},
			},
		},
	}
}

func buildSource(t testing.TB, src Source, opts BuildOptions) (*Finder, Stats, cellstore.Store) {
	t.Helper()
	store := buildtest.NewStore(t)
	meta, stats := must.Two(Build(t.Context(), store, src, opts)).In(t)
	f := must.Get(Open(t.Context(), store, meta)).In(t)
	return f, stats, store
}

func TestFullRecord(t *testing.T) {
	f, stats, _ := buildSource(t, fullSource(), BuildOptions{})
	got := must.Get(f.Place(t.Context(), zurich.ID)).In(t)
	const members = `"id":2657896,"name":"Zürich","country":"CH","class":"P","code":"PPLA","population":341730,"admin1":"ZH",` +
		`"admin1_name":"Zurich","timezone":"Europe/Zurich","sister":"Kunming","lat":47.36667,"lon":8.55`
	const want = `{` + members + `,"ascii_name":"Zuerich","alternate_names":["Turicum","Zurich"],"country_name":"Schweiz","admin2":"112",` +
		`"admin2_name":"Zürich District","admin5":"261","modified":"2023-05-01","parents":[2658434,10],` +
		`"names":{"de":"Zürich","fr":"Zurich sur Limmat","zh":"苏黎世","zh-Hant":"蘇黎世"},` +
		`"codes":{"iata":"ZRH","unlc":"CHZRH"},"wikidata":"Q72","alternates":[{"name":"Zürich","lang":"de"},{"name":"Zurich","lang":"fr"},` +
		`{"name":"Zurich sur Limmat","lang":"fr","preferred":true},{"name":"Turicum","lang":"la","historic":true},` +
		`{"name":"Züri","lang":"de","preferred":true,"colloquial":true},{"name":"Zuri\"ch"},{"name":"苏黎世","lang":"zh"},` +
		`{"name":"蘇黎世","lang":"zh-Hant"},{"name":"ZRH","lang":"iata"},{"name":"OLD","lang":"iata","historic":true},` +
		`{"name":"CHZRH","lang":"unlc"},{"name":"Q72","lang":"wkdt"},{"name":"https://example.org/Zurich","lang":"link"},{"name":"8001","lang":"post"}]}`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
	one := Hit{Code: "left", JSON: []byte("left")}
	if err := f.Hit(t.Context(), zurich.ID, &one); err != nil || string(one.JSON) != members {
		t.Errorf("%s, %v", one.JSON, err)
	}
	if err := f.Hit(t.Context(), 77, &Hit{}); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	var record Record
	if err := f.Record(t.Context(), 77, &record); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if err := f.Record(t.Context(), zurich.ID,
		&record); err != nil || record.ASCIIName != "Zuerich" || record.Admin2Name != "Zürich District" ||
		record.Elevation != nil || len(record.AlternateNames) != 2 || len(record.Alternates) != 14 || !record.Alternates[3].Historic {
		t.Errorf("%+v, %v", record, err)
	}
	hits, _, err := f.Nearby(t.Context(), NearbyQuery{Lat: 47.36667, Lon: 8.55, Limit: 1}, nil)
	if err != nil || string(hits[0].JSON) != members {
		t.Errorf("%s, %v", hits[0].JSON, err)
	}
	// Nearby and Hit return the same fields.
	hits[0].DistanceM = 0
	if d := cmp.Diff(hits[0], one); d != "" {
		t.Error(d)
	}
	one.JSON = nil
	if d := cmp.Diff(record.Hit, one); d != "" {
		t.Error(d)
	}
	want2 := Stats{Read: 7, Stored: 7, Names: 16, NamesDropped: 1, Parents: 3, ParentsDropped: 1, Admin5: 1, Admin5Dropped: 1}
	if d := cmp.Diff(want2, stats); d != "" {
		t.Error(d)
	}
}

// TestDivisions tests that the codes of divisions come from the record, even if other parts of a
// place look like codes.
func TestDivisions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune(`ab",:\é`)))
		odd := rapid.SampledFrom([]string{"", `,"admin2":"x"`, "A"})
		p := Place{ID: 1, Name: "P" + odd.Draw(rt, "name"), AlternateNames: odd.Draw(rt, "names"), Country: "US",
			Admin2: text.Draw(rt, "admin2"), Admin3: text.Draw(rt, "admin3"), TimeZone: odd.Draw(rt, "zone")}
		name := AlternateName{PlaceID: 1, Lang: rapid.SampledFrom([]string{"de", "admin2", "admin3"}).Draw(rt, "lang"), Name: "N"}
		f, _, _ := buildSource(t, Source{
			Places: buildtest.SeqOf([]Place{p}),
			Names:  buildtest.SeqOf([]AlternateName{{PlaceID: 1, Lang: "aa", Name: "A"}, name}),
		}, BuildOptions{NoNames: true})
		var record Record
		admin2, admin3, err := f.DivisionCodes(t.Context(), 1)
		if err != nil || f.Record(t.Context(), 1, &record) != nil || admin2 != record.Admin2 || admin3 != record.Admin3 {
			rt.Fatalf("%q, %q, want %q, %q, %v", admin2, admin3, record.Admin2, record.Admin3, err)
		}
		if _, _, err := f.DivisionCodes(t.Context(), 2); !errors.Is(err, ErrNotFound) {
			rt.Fatal(err)
		}
	})
}

func TestNameIn(t *testing.T) {
	f, _, _ := buildSource(t, fullSource(), BuildOptions{})
	for _, tt := range []struct {
		id         uint32
		lang, want string
	}{
		{zurich.ID, "de", "Zürich"}, {zurich.ID, "fr", "Zurich sur Limmat"}, {zurich.ID, "fr-CA", "Zurich sur Limmat"},
		{zurich.ID, "zh-Hant", "蘇黎世"}, {zurich.ID, "zh-Hant-HK", "蘇黎世"}, {zurich.ID, "zh-Hans", "苏黎世"},
		{zurich.ID, "zh-TW", "蘇黎世"}, {zurich.ID, "zh-mo", "蘇黎世"}, {zurich.ID, "zh-CN", "苏黎世"}, {zurich.ID, "deu",
			"Zürich"}, {zurich.ID, "de-Cyrl", ""},
		{zurich.ID, "ZH-hant-hk", "蘇黎世"}, {zurich.ID, "DE", "Zürich"}, {2658434, "EN-us", "Switzerland"}, {zurich.ID, "EN",
			"Zürich"}, {zurich.ID, "-", ""},
		{zurich.ID, "en", "Zürich"}, {zurich.ID, "en-GB", "Zürich"}, {zurich.ID, "la", ""}, {zurich.ID, "iata", ""},
		{2658434, "en", "Switzerland"}, {2658434, "de", ""}, {77, "de", ""},
	} {
		name, ok, err := f.NameIn(t.Context(), tt.id, tt.lang)
		if err != nil || ok != (tt.want != "") || name != tt.want {
			t.Errorf("%d in %s: %q, %v, %v", tt.id, tt.lang, name, ok, err)
		}
	}
	if _, _, err := f.NameIn(t.Context(), 77, "en"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	for _, lang := range []string{"", "d e", strings.Repeat("x", maxLang+1), "-\xff"} {
		if _, _, err := f.NameIn(t.Context(), 1, lang); !errors.Is(err, ErrQuery) {
			t.Errorf("%q: %v", lang, err)
		}
	}
}

// TestNameInLatin tests that a name without Latin letters has them in a language that is written in them.
func TestNameInLatin(t *testing.T) {
	names := []AlternateName{{PlaceID: 2, Lang: "de", Name: "Peking"}}
	f, _, _ := buildSource(t, Source{Names: buildtest.SeqOf(names), Places: buildtest.SeqOf([]Place{
		{ID: 1, Name: "Старо Нагоричане"}, {ID: 2, Name: "北京", ASCIIName: "Beijing"}, {ID: 3, Name: "東京"}, {ID: 4, Name: "Κολωνία, Köln"},
	})}, BuildOptions{NoNames: true})
	for _, tt := range []struct {
		id         uint32
		lang, want string
	}{
		{1, "en", "Staro Nagorichane"}, {1, "de-CH", "Staro Nagorichane"}, {1, "ru", ""}, {1, "sr-Latn", "Staro Nagorichane"}, {1, "sr", ""},
		{2, "en-GB", "Beijing"}, {2, "fr", "Beijing"}, {2, "de", "Peking"}, {2, "ja", ""},
		{3, "en", "東京"}, {3, "fr", ""}, {4, "en", "Κολωνία, Köln"}, {4, "fr", ""},
	} {
		name, ok, err := f.NameIn(t.Context(), tt.id, tt.lang)
		if err != nil || ok != (tt.want != "") || name != tt.want {
			t.Errorf("%d in %s: %q, %v, %v", tt.id, tt.lang, name, ok, err)
		}
	}
}

func TestGazetteer(t *testing.T) {
	f, _, _ := buildSource(t, fullSource(), BuildOptions{})
	want := []Country{
		{Code: "CH", Name: "Schweiz", ID: 2658434, Population: 8484130},
		{Code: "LI", Name: "Liechtenstein", ISO3: "LIE", AreaKM2: 160.5, Languages: []string{"de-LI"}, Neighbours: []string{"CH", "AT"}},
	}
	if d := cmp.Diff(want, f.Countries()); d != "" {
		t.Error(d)
	}
	if c, err := f.Country(t.Context(), "li"); err != nil || c.ISO3 != "LIE" {
		t.Error(c, err)
	}
	for code, want := range map[string]Division{
		"CH.ZH":     {Code: "CH.ZH", Name: "Zurich", ASCIIName: "Zurich", ID: 2657895},
		"CH.BE":     {Code: "CH.BE", Name: "Kanton Bern", ASCIIName: "Bern", ID: 10},
		"CH.ZH.112": {Code: "CH.ZH.112", Name: "Zürich District"},
		"CH.BE.246": {Code: "CH.BE.246", Name: "Bern-Mittelland", ID: 11},
	} {
		if got, err := f.Division(t.Context(), code); err != nil || got != want {
			t.Errorf("%s: %+v, %v", code, got, err)
		}
	}
	if got, err := f.Feature(t.Context(), "p.pplc"); err != nil || got != (Feature{"P.PPLC", "capital", "of a country"}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, fail := range []func() error{
		func() error { _, err := f.Country(t.Context(), "QQ"); return err },
		func() error { _, err := f.Country(t.Context(), ""); return err },
		func() error { _, err := f.Division(t.Context(), "CH.XX"); return err },
		func() error { _, err := f.Division(t.Context(), "CH.XX.1"); return err },
		func() error { _, err := f.Division(t.Context(), strings.Repeat(".", 100_000)); return err },
		func() error { _, err := f.Feature(t.Context(), "P.QQ"); return err },
	} {
		if err := fail(); !errors.Is(err, ErrNoCode) || errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
	}
	// A country that the input does not name has its English name, if there is one.
	f = build(t, []Place{{ID: 1, Name: "x", Country: "FR"}, {ID: 2, Name: "y", Country: "ZZ"}, {ID: 3, Name: "Kosovo", Country: "XK"}})
	if got := f.Countries(); len(got) != 2 || got[0].Name != "France" || got[1].Name != "Kosovo" {
		t.Errorf("%+v", got)
	}
}

// A country keeps its names, whether it is a place or only in the gazetteer.
func TestCountryNames(t *testing.T) {
	src := fullSource()
	src.Gazetteer.Countries[0].ID = 3042058
	names := src.Names
	src.Names = func(yield func(AlternateName, error) bool) {
		for n, err := range names {
			if !yield(n, err) {
				return
			}
		}
		for _, n := range []AlternateName{
			{PlaceID: 3042058, Lang: "de", Name: "Liechtenstein", Preferred: true}, {PlaceID: 3042058, Lang: "ru", Name: "Лихтенштейн"},
			{PlaceID: 2657895, Lang: "de", Name: "Kanton Zürich"}, {
				PlaceID: 3042058,
				Lang:    "link",
				Name:    "https://example.org",
			}, {PlaceID: 3042058, Name: "FL", Short: true, Historic: true},
		} {
			if !yield(n, nil) {
				return
			}
		}
	}
	f, stats, _ := buildSource(t, src, BuildOptions{})
	if stats.NamesDropped != 1 {
		t.Errorf("%d names were left out", stats.NamesDropped)
	}
	for code, want := range map[string][]AlternateName{
		"li": {
			{Lang: "de", Name: "Liechtenstein", Preferred: true},
			{Lang: "ru", Name: "Лихтенштейн"},
			{Name: "FL", Short: true, Historic: true},
		},
		"CH": {{Lang: "en", Name: "Swiss Confederation", Preferred: true}, {Lang: "en", Name: "Switzerland", Preferred: true, Short: true}},
		"FR": nil,
		"":   nil,
	} {
		got, err := f.CountryNames(t.Context(), code)
		if err != nil || cmp.Diff(got, want) != "" {
			t.Errorf("%s: %s, %v", code, cmp.Diff(got, want), err)
		}
	}
	got, err := f.DivisionNames(t.Context(), "CH.ZH")
	if want := (AlternateName{Lang: "de", Name: "Kanton Zürich"}); err != nil || !slices.Contains(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if list := f.Divisions(); len(list) != 2 || list[0].Code != "CH.BE" || list[1].Code != "CH.ZH" {
		t.Errorf("%+v", list)
	}
}

func TestOtherSequencesAreChecked(t *testing.T) {
	long := strings.Repeat("x", maxAlternate+1)
	broken := errors.New("broken")
	for name, change := range map[string]func(*Source){
		"no places":            func(s *Source) { s.Places = nil },
		"name of place 0":      func(s *Source) { s.Names = buildtest.SeqOf([]AlternateName{{Name: "x"}}) },
		"empty name":           func(s *Source) { s.Names = buildtest.SeqOf([]AlternateName{{PlaceID: 1}}) },
		"long name":            func(s *Source) { s.Names = buildtest.SeqOf([]AlternateName{{PlaceID: 1, Name: long}}) },
		"name not UTF-8":       func(s *Source) { s.Names = buildtest.SeqOf([]AlternateName{{PlaceID: 1, Name: "\xff"}}) },
		"language":             func(s *Source) { s.Names = buildtest.SeqOf([]AlternateName{{PlaceID: 1, Name: "x", Lang: "d\"e"}}) },
		"parent 0":             func(s *Source) { s.Parents = buildtest.SeqOf([]Parent{{0, 1, ""}}) },
		"child 0":              func(s *Source) { s.Parents = buildtest.SeqOf([]Parent{{1, 0, ""}}) },
		"its own parent":       func(s *Source) { s.Parents = buildtest.SeqOf([]Parent{{1, 1, ""}}) },
		"admin5 of place 0":    func(s *Source) { s.Admin5 = buildtest.SeqOf([]Admin5{{0, "x"}}) },
		"empty admin5":         func(s *Source) { s.Admin5 = buildtest.SeqOf([]Admin5{{1, ""}}) },
		"country code":         func(s *Source) { s.Gazetteer.Countries = []Country{{Code: "CHE", Name: "x"}} },
		"country without name": func(s *Source) { s.Gazetteer.Countries = []Country{{Code: "CH"}} },
		"country area":         func(s *Source) { s.Gazetteer.Countries = []Country{{Code: "CH", Name: "x", AreaKM2: -1}} },
		"country's text":       func(s *Source) { s.Gazetteer.Countries = []Country{{Code: "CH", Name: "x", Phone: "\xff"}} },
		"country's list": func(s *Source) {
			s.Gazetteer.Countries = []Country{{Code: "CH", Name: "x", Languages: []string{"\xff"}}}
		},
		"division code":           func(s *Source) { s.Gazetteer.Admin1 = []Division{{Code: "CH", Name: "x"}} },
		"division of 4 levels":    func(s *Source) { s.Gazetteer.Admin2 = []Division{{Code: "CH.1.2.3", Name: "x"}} },
		"division without name":   func(s *Source) { s.Gazetteer.Admin1 = []Division{{Code: "CH.ZH"}} },
		"division of other level": func(s *Source) { s.Gazetteer.Admin1 = []Division{{Code: "CH.ZH.112", Name: "x"}} },
		"feature code":            func(s *Source) { s.Gazetteer.Features = []Feature{{Code: "PPLC"}} },
		"feature text":            func(s *Source) { s.Gazetteer.Features = []Feature{{Code: "P.PPLC", Name: "\xff"}} },
		"extra without comma":     func(s *Source) { s.Places = buildtest.SeqOf([]Place{{ID: 1, Name: "x", Extra: []byte(`"a":1`)}}) },
		"extra that breaks out": func(s *Source) {
			s.Places = buildtest.SeqOf([]Place{{ID: 1, Name: "x", Extra: []byte(`,"a":1},{"b":2`)}})
		},
		"extra not UTF-8": func(s *Source) {
			s.Places = buildtest.SeqOf([]Place{{ID: 1, Name: "x", Extra: []byte(",\"a\":\"\xff\"")}})
		},
		"long extra": func(s *Source) {
			s.Places = buildtest.SeqOf([]Place{{ID: 1, Name: "x", Extra: []byte(`,"a":"` + long + `"`)}})
		},
		"error of names":   func(s *Source) { s.Names = failing[AlternateName](broken) },
		"error of parents": func(s *Source) { s.Parents = failing[Parent](broken) },
		"error of admin5":  func(s *Source) { s.Admin5 = failing[Admin5](broken) },
	} {
		src := Source{Places: buildtest.SeqOf([]Place{{ID: 1, Name: "x"}})}
		change(&src)
		_, _, err := Build(t.Context(), buildtest.NewStore(t), src, BuildOptions{})
		if want := map[bool]error{false: ErrInvalidPlace, true: broken}[strings.HasPrefix(name, "error")]; !errors.Is(err, want) &&
			name != "no places" || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func failing[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		yield(zero, err)
	}
}

// TestBoundsOfOnePlace tests that Build bounds the number and the bytes of the names of one place,
// and the number of its parents.
func TestBoundsOfOnePlace(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	var names []AlternateName
	for i := range maxAlternatesOf + 10 {
		names = append(names, AlternateName{PlaceID: 1, Lang: "de", Name: fmt.Sprint("n", i)},
			AlternateName{PlaceID: 2, Name: strings.Repeat("\x01", maxAlternate)})
	}
	var parents []Parent
	for i := range maxParentsOf + 10 {
		parents = append(parents, Parent{uint32(i + 10), 1, ""})
	}
	f, stats, _ := buildSource(t, Source{
		Places: buildtest.SeqOf([]Place{{ID: 1, Name: "x"}, {ID: 2, Name: "y", AlternateNames: strings.Repeat("\x01", maxAlternates)}}),
		Names:  buildtest.SeqOf(names), Parents: buildtest.SeqOf(parents),
	}, BuildOptions{})
	if stats.Names != maxAlternatesOf+maxAlternateBytes/maxAlternate || stats.Names+stats.NamesDropped != int64(len(names)) ||
		stats.Parents != maxParentsOf || stats.ParentsDropped != 10 {
		t.Errorf("%+v", stats)
	}
	for id := range uint32(2) {
		record, err := f.Place(t.Context(), id+1)
		if err != nil || !json.Valid(record) || len(record) > cellstore.DefaultLimits.ValueBytes {
			t.Errorf("place %d: %d bytes, %v", id+1, len(record), err)
		}
	}
}

// Attributes are joined to the same places in any order of the input, even if they do not fit in
// memory.
func TestJoinAgainstMaps(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	rng := rand.New(rand.NewPCG(5, 5))
	var list []Place
	var names []AlternateName
	var parents []Parent
	wantNames, wantParents := map[uint32]int{}, map[uint32]int{}
	for id := uint32(1); id <= 180; id++ {
		if id%3 > 0 {
			list = append(list, Place{ID: id, Name: "x", Lat: rng.Float64(), AlternateNames: strings.Repeat("filler,", 9000)})
		}
		for n := range rng.IntN(5) {
			names = append(names, AlternateName{PlaceID: id, Lang: "de", Name: fmt.Sprint(id, n, strings.Repeat("x", 4000))})
			wantNames[id]++
		}
		if rng.IntN(2) == 0 {
			parents = append(parents, Parent{id + 1000, id, ""})
			wantParents[id]++
		}
	}
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	rng.Shuffle(len(parents), func(i, j int) { parents[i], parents[j] = parents[j], parents[i] })
	dir := t.TempDir()
	f, stats, _ := buildSource(t, Source{
		Places:  buildtest.SeqOf(list),
		Names:   buildtest.SeqOf(names),
		Parents: buildtest.SeqOf(parents),
	}, BuildOptions{TempDir: dir, Memory: 1})
	if stats.Spilled == 0 {
		t.Error("all fitted in memory: this tests nothing")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for _, p := range list {
		record := must.Get(f.Place(t.Context(), p.ID)).In(t)
		var got struct {
			Alternates []struct{ Name string }
			Parents    []uint32
		}
		must.Do(t, json.Unmarshal(record, &got))
		if len(got.Alternates) != wantNames[p.ID] || len(got.Parents) != wantParents[p.ID] {
			t.Fatalf("place %d has %d names and %d parents, want %d and %d", p.ID, len(got.Alternates), len(got.Parents),
				wantNames[p.ID], wantParents[p.ID])
		}
		for _, n := range got.Alternates {
			if !strings.HasPrefix(n.Name, fmt.Sprint(p.ID)) {
				t.Fatalf("place %d has the name %.20s", p.ID, n.Name)
			}
		}
	}
}

// TestSaidRoundTrip tests that a record with arbitrary attributes is valid JSON and can be read
// back.
func TestSaidRoundTrip(t *testing.T) {
	text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.RuneFrom([]rune("\x00\"\\\u2028\x7f,ü"))))
	lang := rapid.SampledFrom([]string{"", "de", "zh-Hant", "en", "iata", "wkdt", "post"})
	rapid.Check(t, func(rt *rapid.T) {
		s := &attributes{admin5: "1"}
		var want []map[string]any
		for range rapid.IntRange(1, 8).Draw(rt, "names") {
			a := AlternateName{PlaceID: 1,
				Lang:      lang.Draw(rt, "lang"),
				Name:      "n" + text.Draw(rt, "name"),
				Preferred: rapid.Bool().Draw(rt, "preferred"),
				Short:     rapid.Bool().Draw(rt, "short"), Colloquial: rapid.Bool().Draw(rt, "colloquial"), Historic: rapid.Bool().Draw(rt, "historic")}
			if a.Validate() != nil {
				rt.Skip()
			}
			var n alternate
			must.Do(rt, n.parse(string(appendAlternate(nil, &a))))
			s.addName(n)
			m := map[string]any{"name": a.Name}
			if a.Lang != "" {
				m["lang"] = a.Lang
			}
			for name, set := range map[string]bool{"preferred": a.Preferred, "short": a.Short, "colloquial": a.Colloquial, "historic": a.Historic} {
				if set {
					m[name] = true
				}
			}
			want = append(want, m)
		}
		s.chooseNames("P")
		var got struct {
			Names      map[string]string
			Alternates []map[string]any
		}
		record := append(s.appendTo([]byte(`{"id":1`)), '}')
		if err := json.Unmarshal(record, &got); err != nil {
			rt.Fatalf("%v in %s", err, record)
		}
		if d := cmp.Diff(want, got.Alternates); d != "" {
			rt.Fatal(d)
		}
		shown := map[string]bool{}
		for _, m := range want {
			if l, _ := m["lang"].(string); !notNames[l] && m["historic"] == nil && m["colloquial"] == nil {
				shown[l] = true
			}
		}
		if len(shown) != len(got.Names) {
			rt.Fatalf("%v shown, want %v", got.Names, shown)
		}
	})
}

// Two kinds of places share a store. Each has tables, members and weights of its own.
func TestPrefix(t *testing.T) {
	store := buildtest.NewStore(t)
	must.Two(Build(t.Context(), store, source([]Place{bern}), BuildOptions{NoNames: true})).In(t)
	list := []Place{
		{
			ID:      1,
			Name:    "Zurich",
			Lat:     47.458,
			Lon:     8.548,
			Class:   "S",
			Code:    "LARGE",
			Country: "CH",
			Weight:  500_000,
			Extra:   []byte(`,"iata":"ZRH"`),
		},
		{ID: 2, Name: "Sion", Lat: 46.219, Lon: 7.326, Class: "S", Code: "MEDIUM", Country: "CH", Weight: 6000},
		{ID: 3, Name: "a field", Lat: 46.5, Lon: 7.5, Class: "S", Code: "SMALL", Country: "CH", Weight: 1},
	}
	meta, _ := must.Two(Build(t.Context(), store, source(list), BuildOptions{Prefix: "airport_", NoNames: true})).In(t)
	names := must.Get(store.Tables(t.Context())).In(t)
	if got := fmt.Sprint(names); !strings.HasPrefix(got,
		"[airport_codes airport_index airport_info airport_nearest airport_rollup airport_tiles gazetteer place_index place_info") {
		t.Error(got)
	}
	if d := cmp.Diff(map[string]int64{"high": 1, "medium": 1, "low": 1}, meta.Tiers); d != "" {
		t.Error(d)
	}
	f := must.Get(Open(t.Context(), store, meta)).In(t)
	hits, _, err := f.Within(t.Context(), WithinQuery{Box: quadkey.World}, nil)
	if err != nil || fmt.Sprint(hitIDs(hits)) != "[1 2 3]" {
		t.Error(hitIDs(hits), err)
	}
	// Places that pass a filter are ordered by weight.
	if hits, _, err = f.Within(t.Context(), WithinQuery{Box: quadkey.World, Classes: []string{"S"}}, nil); err != nil ||
		fmt.Sprint(hitIDs(hits)) != "[1 2 3]" || meta.Unweighted {
		t.Error(hitIDs(hits), err, meta.Unweighted)
	}
	if !strings.Contains(string(hits[0].JSON), `"code":"LARGE","map_population":500000,"iata":"ZRH","lat":`) {
		t.Errorf("%s", hits[0].JSON)
	}
	tile := tileGeoJSON(t, f, quadkey.Tile{})
	if list := features(t, tile); len(list) != 1 || list[0].Properties["iata"] != "ZRH" {
		t.Errorf("%s", tile)
	}
}
