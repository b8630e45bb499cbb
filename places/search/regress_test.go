package search

import (
	"fmt"
	"strings"
	"testing"

	"quadrille/internal/buildtest"
	"quadrille/internal/must"
)

// A code counts as a whole name, even if a word of a name is the same.
func TestCodeThatIsAWord(t *testing.T) {
	r := build(t, []Entry{
		{ID: 1, Name: "Portland International Airport PDX", Class: 'S', Code: "AIRP", Names: []Name{{Text: "PDX", Lang: "iata"}}},
		{ID: 2, Name: "Pdxville", Class: 'P', Code: "PPL", Population: 40_000},
	})
	for text, want := range map[string]string{"pdx": "[1 2]", "pd": "[2 1]"} {
		if got := fmt.Sprint(ids(find(t, r, Query{Text: text}))); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestWholeNamesAreBounded tests that a search with WholeNames respects the bounds on the work of a
// search, too.
func TestWholeNamesAreBounded(t *testing.T) {
	var entries []Entry
	for i := range maxExamined + 100 {
		entries = append(entries, Entry{ID: uint32(i + 1), Name: fmt.Sprintf("n%d church", i)})
	}
	r := build(t, entries)
	s := newSearch(r)
	q := Query{Text: "church", WholeNames: true}
	f := must.Get(q.check()).In(t)
	must.Do(t, s.begin(t.Context(), &q, f))
	must.Do(t, s.run())
	if s.examined != maxExamined || len(s.found) != 0 {
		t.Errorf("%d examined, %d found", s.examined, len(s.found))
	}
}

// TestCodesLeaveRoomForNames tests that codes do not fill the lists of finished answers for shorter
// beginnings, so that names keep room there.
func TestCodesLeaveRoomForNames(t *testing.T) {
	var entries []Entry
	add := func(n int, e Entry) {
		for range n {
			e.ID = uint32(len(entries) + 1)
			entries = append(entries, e)
		}
	}
	add(10, Entry{Name: "x", Class: 'P', Population: 1e6, Names: []Name{{Text: "abc", Lang: "iata"}}})
	add(15, Entry{Name: "Abc", Class: 'P', Population: 1e4})
	for i := range 14 {
		add(1, Entry{Name: "Abd", Class: 'P', Population: uint64(9000 - 300*i)})
	}
	store := buildtest.NewStore(t)
	small := sizes{list: 12, rows: 2, scan: 2, reads: 100}
	meta := buildSized(t, t.TempDir(), store, entries, nil, small)
	r := must.Get(Open(t.Context(), store, meta)).In(t)
	r.sizes = small
	got := ids(find(t, r, Query{Text: "ab", Limit: 11}))
	want := []uint32{11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The typed beginning of a name does not count as a misspelling of another name, however important
// its place is.
func TestTypingIsNoMistake(t *testing.T) {
	r := build(t, []Entry{
		{ID: 1, Name: "Konotop", Class: 'P', Population: 92_000},
		{ID: 2, Name: "Koroto", Class: 'P', Population: 1 << 60},
	})
	for text, want := range map[string]string{"konot": "[1 2]", "konoto": "[1 2]", "konotop": "[1]", "korotp": "[2]"} {
		if got := fmt.Sprint(ids(find(t, r, Query{Text: text, Lat: -80, Bias: true}))); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// A name that several languages share counts in each of them.
func TestSharedNames(t *testing.T) {
	r := build(t, []Entry{
		{ID: 1, Name: "London", Class: 'P', Population: 100_000, Names: []Name{
			{Text: "Londres"}, {Text: "Londres", Lang: "es"}, {Text: "Londres", Lang: "fr", Preferred: true},
			{Text: "Londres", Lang: "pt", Historic: true}}},
		{ID: 2, Name: "Londres", Class: 'P', Population: 80_000},
	})
	for lang, want := range map[string]string{
		"": "2 1 fr", "es": "1 2 ", "ES": "1 2 ", "fr": "1 2 ", "pt": "2 1 fr", "e": "2 1 fr",
	} {
		hits := find(t, r, Query{Text: "londres", Lang: lang})
		if got := fmt.Sprint(hits[0].ID, hits[1].ID, " "+hits[1].Match.Lang); got != want {
			t.Errorf("%q: %s, want %s", lang, got, want)
		}
		if strings.EqualFold(lang, "es") && hits[0].Match.Lang != "es" {
			t.Errorf("%+v", hits[0].Match)
		}
	}
}

// Two names of a place have the same score for a text. The better known one is shown, even if only
// the other begins with the text. Finished answers and searches show the same name.
func TestNamesWorthAsMuch(t *testing.T) {
	for _, c := range []struct {
		text, name string
		other      []Name
		lang       string
		want       Match
	}{
		{"angel", "Los Angeles", []Name{{Text: "Angel City", Colloquial: true}}, "", Match{Kind: Word, Start: 4, End: 9}},
		{"saint", "A St", []Name{{Text: "Sainte", Historic: true}}, "", Match{Kind: Word, Start: 2, End: 4}},
		{"aepf", "Bad Äpfel", []Name{{Text: "Aepfeln", Historic: true}}, "", Match{Kind: Word, Start: 4, End: 7}},
		{"vill", "X", []Name{{Text: "La Ville", Preferred: true, Main: true}, {Text: "Villette", Historic: true}}, "",
			Match{Kind: Word, Name: "La Ville", Start: 3, End: 7}},
		// Letters of other scripts neither hide a name nor lower its score.
		{"ж sai", "X", []Name{{Text: "Ж Saintes", Short: true}, {Text: "Ж St", Main: true}}, "",
			Match{Kind: Prefix, Name: "Ж St", Start: 0, End: 4}},
		{"angel", "X", []Name{{Text: "Los Angeles", Lang: "es"}, {Text: "Angel City", Colloquial: true}}, "es",
			Match{Kind: Word, Name: "Los Angeles", Lang: "es", Start: 4, End: 9}},
	} {
		entries := []Entry{{ID: 1, Name: c.name, Names: c.other, Class: 'P', Population: 4_000}}
		for id := uint32(2); id <= 12; id++ {
			entries = append(entries, Entry{ID: id, Name: "Q " + c.text + "x", Class: 'P'})
		}
		r := build(t, entries)
		q := Query{Text: c.text, Lang: c.lang}
		hits := find(t, r, q)
		if hits[0].ID != 1 || hits[0].Match != c.want {
			t.Errorf("%+v finds %+v, want %+v", q, hits[0], c.want)
		}
		out, found, err := r.Complete(t.Context(), c.text, nil)
		if err != nil || !found || c.lang == "" && string(out) != answerOf(hits) {
			t.Errorf("%q is answered %s, %v, searched %s", c.text, out, err, answerOf(hits))
		}
	}
}

// TestInitialsBeginNoWord tests that single letters of a text count as initials, and not as the
// beginnings of longer words.
func TestInitialsBeginNoWord(t *testing.T) {
	r := build(t, []Entry{{ID: 1, Name: "A Ba"}, {ID: 2, Name: "C D East"}})
	for text, want := range map[string]string{"a b": "[]", "A.B.": "[]", "a ba": "[1]", "c d": "[2]", "C.D.": "[2]"} {
		if got := fmt.Sprint(ids(find(t, r, Query{Text: text}))); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
