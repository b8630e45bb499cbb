package geocoder

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/places"
	"quadrille/places/names"
)

// counter counts the seeks of all tables in the stores that it opens, and the rows of names read.
type counter struct{ seeks, rows atomic.Int64 }

func (c *counter) open(kind, dir string, readOnly bool) (cellstore.Store, error) {
	s, err := openStore(kind, dir, readOnly)
	return &countedStore{s, c}, err
}

type countedStore struct {
	cellstore.Store
	*counter
}

func (s *countedStore) Table(ctx context.Context, name string) (cellstore.Table, error) {
	t, err := s.Store.Table(ctx, name)
	return &countedTable{t, s.counter, name == "place_names"}, err
}

type countedTable struct {
	cellstore.Table
	*counter
	names bool
}

func (t *countedTable) Get(ctx context.Context, key []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	t.seeks.Add(1)
	return t.Table.Get(ctx, key, sel, row)
}

func (t *countedTable) Next(ctx context.Context, from, to []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	t.seeks.Add(1)
	return t.Table.Next(ctx, from, to, sel, row)
}

func (t *countedTable) NextEach(ctx context.Context, from, to []byte, families []string, rows []cellstore.Row) error {
	t.seeks.Add(int64(len(families)))
	return t.Table.NextEach(ctx, from, to, families, rows)
}

func (t *countedTable) Scan(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
	t.seeks.Add(int64(max(len(scan.Ranges), 1)))
	return func(yield func(*cellstore.Row, error) bool) {
		for row, err := range t.Table.Scan(ctx, scan) {
			if t.names {
				t.rows.Add(1)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// crowd returns a world with very many similar names, which is the most expensive world to search.
func crowd(n int) (towns []places.Place, regions []names.Feature) {
	rng := rand.New(rand.NewPCG(19, 1))
	syllables := strings.Fields("ba ber bo burg ca chen da den do el en fa ga ha heim in ka la ma na or pa ra sa stadt ta va wa ya zu")
	word := func() string {
		var b strings.Builder
		for range 2 + rng.IntN(4) {
			b.WriteString(syllables[rng.IntN(len(syllables))])
		}
		return b.String()
	}
	for i := range n {
		name := word()
		if i%3 == 0 {
			name += " " + word()
		}
		towns = append(towns, places.Place{
			ID:         uint32(i + 1),
			Name:       name,
			Country:    "US",
			Lat:        26 + 22*rng.Float64(),
			Lon:        -124 + 57*rng.Float64(),
			Population: int64(rng.IntN(1e6)),
		})
		us := names.Parent{Type: "country", ID: "us", Name: "United States"}
		regions = append(regions, names.Feature{
			Kind:    names.Region,
			Type:    "county",
			ID:      fmt.Sprint(i),
			Name:    word(),
			Country: "US",
			Level:   2,
			Parents: []names.Parent{us},
			Lat:     40,
			Lon:     -100,
		})
	}
	return towns, regions
}

// spent returns how many seeks of its budget a search takes. Those that are made in memory count.
func spent(t *testing.T, s *Session, text string, limit int) int {
	t.Helper()
	f := must.Get(s.begin(t.Context(), &Query{Text: typed(text), Limit: limit})).In(t)
	must.Do(t, f.search())
	return maxSeeks - f.budget.Seeks
}

// No text makes a search exceed the documented number of seeks and names.
func TestWorkIsBounded(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	var c counter
	towns, regions := crowd(6_000)
	s := serveFrom(t, c.open, towns, regions, boundarySet, placesSet, nameSet)
	name := func(i int) string { return towns[i].Name }
	texts := []string{
		"a", "b", "ba", "s", "\u4e2d", "\u0e2b", strings.Repeat("a ", 100), strings.Repeat("ba ", 60), strings.Repeat("ba,",
			60), strings.Repeat("b c d ", 30),
		"oregon texas kansas maine", "or or or or or or", "ba be bo ca da el en fa ga ha in", "baden, baden, baden, baden, us",
		name(0) + " us", "us " + name(1),
		"'; DROP TABLE places; --", "<script>alert(1)</script>", strings.Repeat("x", 200), strings.Repeat("\u0431\u0430",
			50), strings.Repeat("\ud55c", 60), "a\u200db\u200d",
		"qarburgstodtin kurchhelmelen", "ghijklmn opqrstuv wxyzabcd efghijkl",
		"\u041c\u044e\u043d\u0445\u0435\u043d\u0433\u0440\u0430\u0434 \u043d\u0430 \u0412\u043e\u043b\u0433\u0435",
		"qqheimstadt airport", "G8HF+7X " + name(7) + "q oregn", "int airport base",
	}
	rng := rand.New(rand.NewPCG(3, 4))
	misspelt := 60
	if testing.Short() {
		misspelt = 12
	}
	for i := range misspelt {
		a, b := []byte(name(rng.IntN(len(towns)))), []byte(name(rng.IntN(len(towns))))
		a[rng.IntN(len(a))], b[rng.IntN(len(b))] = 'q', 'x'
		texts = append(texts, string(a), string(a)+" "+string(b), string(a)+", "+string(b)+" "+string(a)+" us"[:i%4])
	}
	var mostSeeks, mostRows int64
	mostSpent := 0
	for _, text := range texts {
		mostSpent = max(mostSpent, spent(t, s, text, 10))
		for _, q := range []Query{
			{Text: text}, {Text: text, Limit: 100, Langs: []string{"zh-Hant-TW"}}, {Text: text, Limit: 50, Bias: true, Lat: 40,
				Lon: -100}, {Text: text, Countries: []string{"XX"}}, {Text: text, Kinds: []names.Kind{names.Airport}},
		} {
			c.seeks.Store(0)
			c.rows.Store(0)
			if _, err := s.Search(t.Context(), q); err != nil {
				t.Fatalf("%.60q: %v", text, err)
			}
			seeks, rows := c.seeks.Load(), c.rows.Load()
			mostSeeks, mostRows = max(mostSeeks, seeks), max(mostRows, rows)
			if seeks > maxSeeks || rows > maxNames {
				t.Errorf("%+v takes %d seeks and reads %d names", q, seeks, rows)
			}
		}
	}
	t.Logf("the dearest text takes %d seeks, or %d with those in memory, and reads %d names", mostSeeks, mostSpent, mostRows)
	if mostSpent < maxSeeks/2 {
		t.Errorf("the dearest text takes %d seeks; no bound was reached", mostSpent)
	}
	for _, text := range []string{strings.Repeat("word ", 1_000), strings.Repeat("\u0301", 5_000), "a\xed\xa0\x80b"} {
		c.seeks.Store(0)
		if _, err := s.Search(t.Context(), Query{Text: text}); err == nil || c.seeks.Load() > 0 {
			t.Errorf("%.20q: %v, %d seeks", text, err, c.seeks.Load())
		}
	}
}

// If the budget ends early, the results found so far remain.
func TestSpentBudgetAnswersWhatItFound(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	f := must.Get(whole(t).begin(t.Context(), &Query{Text: "portland", Limit: 10})).In(t)
	f.budget.Seeks = 8
	must.Do(t, f.find())
	if f.budget.Seeks < 0 || !slices.ContainsFunc(f.found, func(r Result) bool { return r.Name == "Portland" }) {
		t.Errorf("%d seeks left, found %+v", f.budget.Seeks, f.found)
	}
	f.budget.Seeks = 0
	if err := f.label(); err != nil || len(f.found) != 0 {
		t.Errorf("%v, %d results without their regions", err, len(f.found))
	}
}

// TestNamesTakeFewSeeks tests that no data set searches for misspellings of a text that is the whole
// name of a place.
func TestNamesTakeFewSeeks(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	var c counter
	towns, regions := crowd(2_000)
	s := serveFrom(t, c.open, towns, regions, boundarySet, placesSet, nameSet)
	var most, misspelt int
	for i := range 50 {
		if name := towns[i].Name; !strings.Contains(name, " ") {
			c.seeks.Store(0)
			most = max(most, spent(t, s, name, 1), int(c.seeks.Load()))
			misspelt = max(misspelt, spent(t, s, name+"q", 1))
		}
	}
	t.Logf("the dearest name takes %d seeks, and the dearest misspelling %d", most, misspelt)
	if most > 80 || misspelt < 2*most {
		t.Errorf("the dearest name takes %d seeks, the dearest misspelling %d", most, misspelt)
	}
}
