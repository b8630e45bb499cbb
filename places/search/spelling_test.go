package search

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode"

	"quadrille/cellstore"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
)

var spelled = []Entry{
	{ID: 1, Name: "Munich", Class: 'P', Code: "PPLA", Country: "DE", Population: 1_260_391, Names: []Name{{Text: "München", Lang: "de"}}},
	{ID: 2, Name: "Münchenstein", Class: 'P', Code: "PPL", Country: "CH", Population: 11_702},
	{ID: 3, Name: "Munchen", Class: 'P', Code: "PPL", Country: "US"},
	{ID: 4, Name: "Muenchen", Class: 'P', Code: "PPL", Country: "US"},
	{ID: 5, Name: "東京", Class: 'P', Code: "PPLC", Country: "JP", Population: 8_336_599, Names: []Name{{Text: "Tokyo"}, {Text: "トウキョウ"}}},
	{ID: 6, Name: "广州", Class: 'P', Code: "PPLA", Country: "CN", Population: 16_096_724, Names: []Name{{Text: "Guangzhou"}}},
	{ID: 7, Name: "서울", Class: 'P', Code: "PPLC", Country: "KR", Population: 10_349_312},
	{ID: 8, Name: "Новосибирск", Class: 'P', Code: "PPLA", Country: "RU", Population: 1_612_833},
	{ID: 9, Name: "کراچی", Class: 'P', Code: "PPLA", Country: "PK", Population: 11_624_219},
	{ID: 10, Name: "Beijing", Class: 'P', Code: "PPLC", Country: "CN", Population: 18_960_744},
	{ID: 11, Name: "Neuenburg", Class: 'P', Code: "PPL", Country: "DE", Population: 12_000},
	{ID: 12, Name: "부산", Class: 'P', Code: "PPLA", Country: "KR", Population: 3_678_555, Names: []Name{{Text: "Busan"}}},
	{ID: 13, Name: "حي ١٢", Class: 'P', Code: "PPL", Country: "EG"},
	{ID: 14, Name: "Ioannina", Class: 'P', Code: "PPLA", Country: "GR", Population: 65_574},
	{ID: 15, Name: "L'Aquila", Class: 'P', Code: "PPLA", Country: "IT", Admin1: "01", Population: 69_753},
	{ID: 16, Name: "Val-d'Or", Class: 'P', Code: "PPL", Country: "CA", Population: 32_752},
	{ID: 17, Name: "Cagayan de Oro", Class: 'P', Code: "PPLA2", Country: "PH", Population: 728_402, Names: []Name{{Text: "Valle de Oro"}}},
	{ID: 18, Name: "St. John's", Class: 'P', Code: "PPLA", Country: "CA", Population: 110_525},
	{ID: 19, Name: "Be’er Sheva", Class: 'P', Code: "PPLA", Country: "IL", Population: 186_600},
	{
		ID:         20,
		Name:       "New York City",
		Class:      'P',
		Code:       "PPL",
		Country:    "US",
		Population: 8_804_190,
		Names:      []Name{{Text: "New York"}, {Text: "N.Y.C."}},
	},
	{ID: 21, Name: "Hawaiʻi", Class: 'A', Code: "ADM1", Country: "US", Population: 1_360_301},
	{
		ID:         22,
		Name:       "United Arab Emirates",
		Class:      'A',
		Code:       "PCLI",
		Country:    "AE",
		Population: 9_630_959,
		Names:      []Name{{Text: "UAE", Short: true}},
	},
	{ID: 23, Name: "Upper Arab Estate", Class: 'P', Code: "PPL", Country: "US", Population: 900},
	{ID: 24, Name: "京都", Class: 'P', Code: "PPLA", Country: "JP", Population: 1_463_723},
	{ID: 25, Name: "Mexico City", Class: 'P', Code: "PPLC", Country: "MX", Population: 12_294_193, Names: []Name{{Text: "Distrito Capital"}}},
	{ID: 26, Name: "Washington, D.C.", Class: 'P', Code: "PPLC", Country: "US", Population: 601_723},
}

// TestSpellings tests that a search finds names that are typed in another script or spelling.
func TestSpellings(t *testing.T) {
	r := build(t, spelled, ContextName{Text: "Italy", Country: "IT"})
	for _, tc := range []struct{ text, want string }{
		{"munchen", "[1 2 3]"},
		{"muenchen", "[1 2 4 3]"},
		{"MÜNCHEN", "[1 2 3 4]"},
		{"München", "[1 2 3 4]"},
		{"Мюнхен", "[1 2 3]"}, // miunkhen: two extra letters and a replaced one
		{"東京", "[5]"},
		{"东京", "[5]"},
		{"とうきょう", "[5]"},
		{"トウ", "[5]"},
		{"廣州", "[6]"},
		{"広州", "[6]"},
		{"ㅅ", "[7]"},
		{"서우", "[7]"},
		{"서울", "[7]"},
		{"붓", "[12]"},
		{"부사", "[12]"},
		{"seoul", "[7]"},
		{"novosibirsk", "[8]"},
		{"كراچي", "[9]"},
		{"北京", "[10]"},
		{"neunburg", "[11]"},
		{"neuenburg", "[11]"},
		{"حى 12", "[13]"},
		{"Ιωάννινα", "[14]"}, // ioannina
		{"l aquila", "[15]"},
		{"L-Aquila", "[15]"},
		{"l aqu", "[15]"},
		{"laquila", "[15]"},
		{"l aquila italy", "[15]"},
		{"val d or", "[16]"},
		{"val-d-or", "[16]"},
		{"st john s", "[18]"},
		{"be er sheva", "[19]"},
		{"beer sheva", "[19]"},
		{"newyork", "[20]"},
		{"n.y.c.", "[20]"},
		{"nyc", "[]"}, // no name here is spelled so
		{"hawaii", "[21]"},
		{"hawai i", "[21]"},
		{"U.A.E.", "[22]"},
		{"u a e", "[22]"},
		{"京都府", "[24]"},
		{"東京都", "[5]"},
		{"서울시", "[7]"},
		{"Washington, D.C.", "[26]"},
	} {
		if got := fmt.Sprint(ids(find(t, r, Query{Text: tc.text}))); got != tc.want {
			t.Errorf("%q: %s, want %s", tc.text, got, tc.want)
		}
	}
	if m := find(t, r, Query{Text: "novosib"})[0].Match; m != (Match{Kind: Prefix, End: 7}) {
		t.Errorf("novosib marks %+v", m)
	}
}

// countingStore counts the seeks of its tables.
type countingStore struct {
	cellstore.Store
	seeks atomic.Int64
}

func (s *countingStore) Table(ctx context.Context, name string) (cellstore.Table, error) {
	t, err := s.Store.Table(ctx, name)
	return &countingTable{t, s}, err
}

type countingTable struct {
	cellstore.Table
	store *countingStore
}

func (t *countingTable) Get(ctx context.Context, key []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	t.store.seeks.Add(1)
	return t.Table.Get(ctx, key, sel, row)
}

func (t *countingTable) Next(ctx context.Context, from, to []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	t.store.seeks.Add(1)
	return t.Table.Next(ctx, from, to, sel, row)
}

func (t *countingTable) Scan(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
	t.store.seeks.Add(1)
	return t.Table.Scan(ctx, scan)
}

// Hostile texts take no more seeks than the documentation of Search says.
func TestSeeksAreBounded(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	store := buildtest.NewStore(t)
	entries := make([]Entry, 15_000)
	next := synthetic(len(entries))
	for i := range entries {
		next(i, &entries[i])
		entries[i].Names = append([]Name(nil), entries[i].Names...)
	}
	counting := &countingStore{Store: store}
	meta := buildIn(t, store, entries, fewContexts)
	inMemory := must.Get(Open(t.Context(), counting, meta)).In(t)
	meta.FoldBytes = 0
	r := must.Get(Open(t.Context(), counting, meta)).In(t)
	texts := []string{
		strings.Repeat("\u0301",
			100), "a" + strings.Repeat("\u0301", 90), "\u202emoor\u202c", "a\u200db\u200d", "👩\u200d👩\u200d👧", strings.Repeat("a ",
			100), strings.Repeat("berl ", 40),
		"1234567890123", "0", "'; DROP TABLE places; --", "<script>alert(1)</script>", strings.Repeat("x",
			MaxQueryChars), strings.Repeat("ба", 50), strings.Repeat("한", 60),
		"marburgstadtin kirchheimelen", "qarburgstodtin kurchhelmelen", "baberbourgburg cachendaden doelenfel gagorham",
		"ghijklmn opqrstuv wxyzabcd efghijkl", "Мюнхенград на Волге",
	}
	for _, script := range unicode.Scripts {
		for _, x := range script.R16[:min(1, len(script.R16))] {
			texts = append(texts, string(rune(x.Lo)), strings.Repeat(string(rune(x.Hi)), 9))
		}
	}
	var most int64
	for _, text := range texts {
		for _, q := range []Query{{Text: text}, {Text: text, Bias: true}, {Text: text, Countries: []string{"XX"}},
			{Text: text, WholeNames: true}} {
			for _, r := range []*Reader{inMemory, r} {
				counting.seeks.Store(0)
				if _, _, err := r.Search(t.Context(), q, nil); err != nil && len(Fold(nil, text)) > 0 {
					t.Fatalf("%q: %v", text, err)
				}
				if most = max(most, counting.seeks.Load()); counting.seeks.Load() > maxReads {
					t.Errorf("%+v took %d seeks", q, counting.seeks.Load())
				}
			}
		}
	}
	if most < typoReads {
		t.Errorf("the dearest text took %d seeks; a bound was never reached", most)
	}
	for _, text := range []string{strings.Repeat("\u0301", 5_000), strings.Repeat("word ", 1_000), "a\xed\xa0\x80b"} {
		counting.seeks.Store(0)
		if _, _, err := r.Search(t.Context(), Query{Text: text}, nil); err == nil || counting.seeks.Load() > 0 {
			t.Errorf("%.20q: %v, %d seeks", text, err, counting.seeks.Load())
		}
	}
}

// TestIsName tests that a search for a text that is known to be a name finds the same, in the same
// order, but for misspellings.
func TestIsName(t *testing.T) {
	r := build(t, slices.Concat(spelled, []Entry{
		{ID: 30, Name: "Vera Cruz", Class: 'P', Population: 40_000}, {ID: 31, Name: "Veracruz", Class: 'P', Population: 600_000},
		{ID: 32, Name: "Verakruz", Class: 'P', Population: 900},
	}), ContextName{Text: "Italy", Country: "IT"})
	misspelt := 0
	for _, text := range []string{
		"veracruz", "vera cruz", "verecruz", "munchen", "muenchn", "newyork", "laquila italy", "laquilla italy", "saint johns",
		"Мюнхен", "Новосибирк", "москва", "東京市", "va d or", "oro cagayan", "nowhere",
	} {
		want := find(t, r, Query{Text: text})
		n := len(want)
		want = slices.DeleteFunc(want, func(h Hit) bool { return h.Match.Kind == Typo })
		misspelt += n - len(want)
		if got := find(t, r, Query{Text: text, IsName: true}); !slices.Equal(got, want) {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
	if misspelt < 5 {
		t.Errorf("only %d misspellings were found", misspelt)
	}
}
