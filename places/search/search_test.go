package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/places/internal/near"
	"quadrille/quadkey"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func memoryStore(t testing.TB) *pebblestore.Store {
	t.Helper()
	return must.Get(pebblestore.Open("store", &pebblestore.Options{FS: vfs.NewMem()})).In(t)
}

type fataler interface {
	Helper()
	Fatal(...any)
}

// membersOf returns the members of a place in the tests' finished answers.
func membersOf(id uint32, dst []byte) ([]byte, error) { return fmt.Appendf(dst, `"id":%d`, id), nil }

func buildIn(t testing.TB, store cellstore.Store, entries []Entry, contexts []ContextName) Meta {
	t.Helper()
	return buildSized(t, t.TempDir(), store, entries, contexts, usual)
}

func buildSized(t fataler, dir string, store cellstore.Store, entries []Entry, contexts []ContextName, sizes sizes) Meta {
	t.Helper()
	b := must.Get(NewBuilder(context.Background(), store, Options{TempDir: dir, Lookup: membersOf, ContextNames: contexts})).In(t)
	b.sizes = sizes
	defer b.Close()
	for i := range entries {
		must.Do(t, b.Add(&entries[i]))
	}
	meta := must.Get(b.Finish()).In(t)
	must.Do(t, b.Close())
	return meta
}

func build(t testing.TB, entries []Entry, contexts ...ContextName) *Reader {
	t.Helper()
	store := buildtest.NewStore(t)
	return must.Get(Open(t.Context(), store, buildIn(t, store, entries, contexts))).In(t)
}

func find(t testing.TB, r *Reader, q Query) []Hit {
	t.Helper()
	hits, _, err := r.Search(t.Context(), q, nil)
	if err != nil {
		t.Fatalf("%q: %v", q.Text, err)
	}
	return hits
}

func ids(hits []Hit) (out []uint32) {
	for _, h := range hits {
		out = append(out, h.ID)
	}
	return out
}

var few = []Entry{
	{ID: 1,
		Name:       "Zürich",
		ASCIIName:  "Zurich",
		Class:      'P',
		Code:       "PPLA",
		Country:    "CH",
		Admin1:     "ZH",
		Population: 341730,
		Lat:        473666700,
		Lon:        85500000,
		Names: []Name{
			{Text: "Zurigo", Lang: "it"},
			{Text: "Turicum", Lang: "la", Historic: true},
			{Text: "ZRH", Lang: "iata"},
			{Text: "http://x/Zuerich", Lang: "link"},
		}},
	{ID: 2, Name: "Zurich", Class: 'P', Code: "PPL", Country: "US", Admin1: "KS", Population: 99, Lat: 392330000, Lon: -994340000},
	{ID: 3, Name: "L'Aquila", Class: 'P', Code: "PPLA", Country: "IT", Population: 68503, Lat: 423500000, Lon: 133990000},
	{ID: 4, Name: "Springfield", Class: 'P', Code: "PPLA", Country: "US", Admin1: "IL", Population: 114000, Lat: 398000000, Lon: -896400000},
	{ID: 5, Name: "Springfield", Class: 'P', Code: "PPLA2", Country: "US", Admin1: "MO", Population: 169000, Lat: 372000000, Lon: -932900000},
	{
		ID:         6,
		Name:       "Frankfurt am Main",
		Class:      'P',
		Code:       "PPL",
		Country:    "DE",
		Admin1:     "05",
		Population: 650000,
		Lat:        501155200,
		Lon:        86841700,
	},
	{ID: 7, Name: "Saint Louis", Class: 'P', Code: "PPL", Country: "US", Admin1: "MO", Population: 300000},
	{ID: 8, Name: "Wrocław", Class: 'P', Code: "PPLA", Country: "PL", Population: 640000, Names: []Name{{Text: "Breslau", Lang: "de"}}},
	{ID: 9, Name: "Kleines Tal", Class: 'T', Code: "VAL", Country: "CH"},
	{ID: 10, Name: "北京", Class: 'P', Code: "PPLC", Country: "CN", Population: 18960744},
	{ID: 11, Name: "Straße \"<b>\"", Class: 'P', Code: "PPL"},
	{ID: 12, Name: "😀 Smile", Class: 'P', Code: "PPL"},
	{ID: 13, Name: "!!!"},
}

var fewContexts = []ContextName{
	{"Illinois", "US", "IL"}, {"Missouri", "US", "MO"}, {"United States", "US", ""}, {"Switzerland", "CH", ""}, {"Zürich", "CH",
		"ZH"}, {"Hesse", "DE", "05"},
}

func TestSearch(t *testing.T) {
	r := build(t, few, fewContexts...)
	for _, tc := range []struct {
		q    Query
		want string // ids
		m    string // match of the first
	}{
		{Query{Text: "zurich"}, "[1 2]", `"kind":"exact","highlight":[0,6]`},
		{Query{Text: "ZÜR"}, "[1 2]", `"kind":"prefix","highlight":[0,3]`},
		{Query{Text: "zuerich"}, "[1 2]", `"kind":"exact","highlight":[0,6]`},
		{Query{Text: "zurig"}, "[1 2]", `"kind":"prefix","name":"Zurigo","lang":"it","highlight":[0,5]`},
		{Query{Text: "turi"}, "[1 2]", `"kind":"prefix","historic":true`},
		{Query{Text: "zrh"}, "[1]", `"kind":"exact","name":"ZRH","lang":"iata","highlight":[0,3]`},
		{Query{Text: "zr"}, "[]", ``},
		{Query{Text: "http"}, "[]", ``},
		{Query{Text: "zurich", Countries: []string{"us"}}, "[2]", `"kind":"exact","highlight":[0,6]`},
		{Query{Text: "zurich kansas"}, "[]", ``},
		{Query{Text: "zurich ks"}, "[]", ``}, // no such division was given
		{Query{Text: "zurich, usa"}, "[2]", `"kind":"exact","highlight":[0,6]`},
		{Query{Text: "zurich switz"}, "[1]", `"kind":"exact","highlight":[0,6]`},
		{Query{Text: "laquila"}, "[3]", `"kind":"exact","highlight":[0,8]`},
		{Query{Text: "l'aq"}, "[3]", `"kind":"prefix","highlight":[0,4]`},
		{Query{Text: "aquila"}, "[3]", `"kind":"word","highlight":[2,8]`},
		{Query{Text: "springfield"}, "[5 4]", ``},
		{Query{Text: "springfield illinois"}, "[4]", `"kind":"exact","highlight":[0,11]`},
		{Query{Text: "springfield il"}, "[4]", ``},
		{Query{Text: "springfield illinois us"}, "[4]", ``},
		{Query{Text: "springfield illin"}, "[4]", ``},
		{Query{Text: "springfield us"}, "[5 4]", ``},
		{Query{Text: "springfield ch"}, "[]", ``},
		{Query{Text: "springfield", Lat: 39.8, Lon: -89.6, Bias: true}, "[4 5]", ``},
		{Query{Text: "frankfurt"}, "[6]", `"kind":"prefix","highlight":[0,9]`},
		{Query{Text: "am main"}, "[6]", `"kind":"word","highlight":[10,17]`},
		{Query{Text: "main frankfurt"}, "[6]", `"kind":"word","highlight":[0,9]`},
		{Query{Text: "frankfurt hesse"}, "[6]", `"kind":"prefix","highlight":[0,9]`},
		{Query{Text: "frankfrut"}, "[6]", `"kind":"typo","highlight":[0,9]`},
		{Query{Text: "frankfrut", NoTypos: true}, "[]", ``},
		{Query{Text: "zurch"}, "[1 2]", `"kind":"typo","highlight":[0,6]`},
		{Query{Text: "zuurc"}, "[]", ``},
		{Query{Text: "zuuurc"}, "[]", ``}, // two wrong letters need eight letters
		{Query{Text: "zch"}, "[]", ``},
		{Query{Text: "rankfurt"}, "[6]", `"kind":"typo","highlight":[0,9]`},
		{Query{Text: "frankfurtammain"}, "[6]", `"kind":"typo","highlight":[0,17]`},
		{Query{Text: "frankfurtam"}, "[6]", `"kind":"typo","highlight":[0,12]`},
		{Query{Text: "fankfrut"}, "[6]", `"kind":"typo","highlight":[0,9]`},
		{Query{Text: "fankfrut am mian"}, "[6]", ``},
		{Query{Text: "fnkfrtu"}, "[]", ``},
		{Query{Text: "st. l"}, "[7]", `"kind":"prefix","highlight":[0,7]`},
		{Query{Text: "saint louis"}, "[7]", `"kind":"exact","highlight":[0,11]`},
		{Query{Text: "bres"}, "[8]", `"kind":"prefix","name":"Breslau","lang":"de","highlight":[0,4]`},
		{Query{Text: "wroclaw"}, "[8]", `"kind":"exact","highlight":[0,7]`},
		{Query{Text: "tal"}, "[9]", `"kind":"word","highlight":[8,11]`},
		{Query{Text: "kleines", Classes: []string{"t"}}, "[9]", ``},
		{Query{Text: "kleines", Classes: []string{"P", "S"}}, "[]", ``},
		{Query{Text: "kleines", Codes: []string{"T.VAL"}}, "[9]", ``},
		{Query{Text: "kleines", Codes: []string{"VAL", "X"}}, "[9]", ``},
		{Query{Text: "kleines", Codes: []string{"S.VAL"}}, "[]", ``},
		{Query{Text: "kleines", WholeNames: true}, "[]", ``},
		{Query{Text: "kleines tal", WholeNames: true}, "[9]", ``},
		{Query{Text: "tal", WholeNames: true}, "[]", ``},
		{Query{Text: "北"}, "[10]", `"kind":"prefix","highlight":[0,1]`},
		{Query{Text: "strass"}, "[11]", `"kind":"prefix","highlight":[0,5]`},
		{Query{Text: "smile"}, "[12]", `"kind":"exact","highlight":[3,8]`},
		{Query{Text: "s", MinPopulation: 150000}, "[7 5]", ``},
		{Query{Text: "s", Limit: 1, Offset: 1}, "[5]", ``},
		{Query{Text: "s", Box: &quadkey.Box{West: -100, South: 30, East: -92, North: 40}}, "[5]", ``},
		{Query{Text: "nowhere"}, "[]", ``},
	} {
		hits := find(t, r, tc.q)
		if got := fmt.Sprint(ids(hits)); got != tc.want {
			t.Errorf("%+v found %s, want %s", tc.q, got, tc.want)
			continue
		}
		if tc.m == "" {
			continue
		}
		if got := string(AppendMatch(nil, &hits[0].Match)); got != `"match":{`+tc.m+"}" {
			t.Errorf("%+v matched %s, want %s", tc.q, got, tc.m)
		}
	}
}

func TestQueryErrors(t *testing.T) {
	r := build(t, few)
	for _, q := range []Query{
		{}, {Text: " - "}, {Text: strings.Repeat("x", MaxQueryChars+1)}, {Text: "a\xff"},
		{Text: "a", Limit: -1}, {Text: "a", Offset: -1}, {Text: "a", Limit: MaxResults + 1}, {Text: "a", Limit: 1, Offset: MaxResults},
		{Text: "a", Offset: math.MaxInt},
		{Text: "a", Countries: []string{"CHE"}}, {Text: "a", Countries: []string{"1\x00"}}, {Text: "a",
			Classes: []string{""}}, {Text: "a", Codes: []string{""}},
		{Text: "a", Codes: make([]string, MaxFilterValues+1)}, {Text: "a", MinPopulation: -1}, {Text: "a", Box: &quadkey.Box{South: 1}},
		{Text: "a", Bias: true, Lat: math.NaN()}, {Text: "a", Bias: true, Lon: 181},
	} {
		if _, _, err := r.Search(t.Context(), q, nil); !errors.Is(err, near.ErrQuery) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	for _, text := range []string{strings.Repeat("x", MaxQueryChars+1), strings.Repeat("ก", MaxQueryChars+1), "a\xff"} {
		if _, _, err := r.Complete(t.Context(), text, nil); !errors.Is(err, near.ErrQuery) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "-", "nothing like it", strings.Repeat("x", MaxQueryChars), strings.Repeat("ก", MaxQueryChars)} {
		if out, found, err := r.Complete(t.Context(), text, nil); len(out) > 0 || found || err != nil {
			t.Errorf("%q: %q, %v, %v", text, out, found, err)
		}
	}
}

// answerOf returns the expected answer of Complete for hits.
func answerOf(hits []Hit) string {
	out := []byte(`{"places":[`)
	for i := range hits {
		if i > 0 {
			out = append(out, ',')
		}
		out, _ = membersOf(hits[i].ID, append(out, '{'))
		out = append(AppendMatch(append(out, ','), &hits[i].Match), '}')
	}
	return string(append(out, "]}"...))
}

func TestComplete(t *testing.T) {
	var entries []Entry
	for i := range 20 {
		entries = append(entries, Entry{ID: uint32(i + 1), Name: fmt.Sprintf("Bad <%c>", 'A'+i), Class: 'P', Population: uint64(1000 * i)})
	}
	r := build(t, entries)
	out, found, err := r.Complete(t.Context(), "bad", []byte("before "))
	if err != nil || !found {
		t.Fatal(found, err)
	}
	const want = `before {"places":[{"id":20,"match":{"kind":"prefix","highlight":[0,3]}},{"id":19,`
	if !strings.HasPrefix(string(out), want) {
		t.Errorf("got %s", out)
	}
	if !json.Valid(out[len("before "):]) {
		t.Errorf("not JSON: %s", out)
	}
	if _, found, _ := r.Complete(t.Context(), "bád", nil); found {
		t.Error("an accent was ignored")
	}
}

func TestAccentsPreferTheirForm(t *testing.T) {
	r := build(t, []Entry{
		{ID: 1, Name: "Cote", Class: 'P', Population: 1500},
		{ID: 2, Name: "Côte", Class: 'P', Population: 1000},
		{ID: 3, Name: "Coté", Class: 'P', Population: 900, Names: []Name{{Text: "Ville", Lang: "fr"}}},
		{ID: 4, Name: "Ville", Class: 'P', Population: 1200},
	})
	for q, want := range map[string]string{"cote": "[1 2 3]", "CÔTE": "[2 1 3]", "co\u0302t": "[2 1 3]", "coté": "[3 1 2]"} {
		if got := fmt.Sprint(ids(find(t, r, Query{Text: q}))); got != want {
			t.Errorf("%q found %v, want %v", q, got, want)
		}
	}
	for lang, want := range map[string]string{"": "[4 3]", "de": "[4 3]"} {
		if got := fmt.Sprint(ids(find(t, r, Query{Text: "ville", Lang: lang}))); got != want {
			t.Errorf("lang %q: %v, want %v", lang, got, want)
		}
	}
	if hits := find(t, r, Query{Text: "ville", Lang: "fr"}); hits[1].Score <= find(t, r, Query{Text: "ville"})[1].Score {
		t.Error("a name in the language asked for counts no more than another")
	}
}

// A typing error is assumed if no name equals the text, but not if a filter drops the equal name.
func TestNoGuessForWhatIsDropped(t *testing.T) {
	r := build(t, []Entry{
		{ID: 1, Name: "Cayenne", Class: 'P', Code: "PPLC", Country: "GF", Population: 61550},
		{ID: 2, Name: "Mayenne", Class: 'P', Code: "PPLA3", Country: "FR", Population: 15583},
	})
	for _, tc := range []struct {
		text string
		want int
	}{{"cayenne", 0}, {"kayenne", 1}, {"mayenne", 1}} {
		b := Budget{Seeks: 1000, Names: 1000}
		if hits := find(t, r, Query{Text: tc.text, Countries: []string{"FR"}, Budget: &b}); len(hits) != tc.want ||
			b.FilterDropped != (tc.want == 0) {
			t.Errorf("%s: %+v, %v", tc.text, hits, b.FilterDropped)
		}
	}
}
