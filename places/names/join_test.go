package names_test

import (
	"fmt"
	"testing"

	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/places/names"
	"quadrille/places/search"
)

// TestJoin tests that Join of several indexes finds the same as one index of all features, in the
// same order and on every page.
func TestJoin(t *testing.T) {
	open := func(features ...names.Feature) *names.Reader {
		store := buildtest.NewStore(t)
		meta := must.Get(names.Build(t.Context(), store, buildtest.SeqOf(features), names.Options{TempDir: t.TempDir()})).In(t)
		return must.Get(names.Open(t.Context(), store, meta)).In(t)
	}
	towns := make([]names.Feature, 40)
	for i := range towns {
		towns[i] = names.Feature{
			Kind: names.Region, Type: "town", ID: fmt.Sprint("t", i), Name: fmt.Sprintf("New Sandhill %c", 'A'+i), Population: uint64(1+i*i) * 500,
			Lat: float64(i), Lon: 10, Names: []search.Name{{Text: fmt.Sprint("Neusandhügel ", i), Lang: "de"}},
		}
	}
	want, got := open(towns...), names.Join(open(towns[:7]...), open(towns[7:30]...), open(towns[30:]...))
	for _, q := range []search.Query{
		{Text: "sandhill"}, {Text: "new sandhill", Limit: 5, Offset: 3}, {Text: "neusandhügel", Limit: 40}, {Text: "sandhill",
			Limit: 30, Offset: 35},
		{Text: "sandhill", Offset: 60}, {Text: "sandhill k"}, {Text: "sndhill"}, {Text: "sandhill", Bias: true, Lat: 12, Lon: 10,
			Limit: 7}, {Text: "nowhere"}, {Text: "sandhill 7", Limit: 40}, {Text: "new sandhill b", Limit: 40},
	} {
		a, err := got.Search(t.Context(), q, nil)
		must.Do(t, err)
		b, err := want.Search(t.Context(), q, nil)
		must.Do(t, err)
		if ids(a) != ids(b) {
			t.Errorf("%+v: joined %s, as one %s", q, ids(a), ids(b))
		}
	}
	for _, id := range []string{"t3", "t12", "t39", "t40"} {
		f, ok, err := got.Feature(t.Context(), names.Number(names.Region, "town", id))
		if err != nil || ok != (id != "t40") || ok && f.ID != id {
			t.Errorf("%s: %+v %v %v", id, f, ok, err)
		}
		name, ok, err := got.NameIn(t.Context(), "town", id, "de")
		if err != nil || ok != (id != "t40") || ok && name != "Neusandhügel "+id[1:] {
			t.Errorf("%s: %s %v %v", id, name, ok, err)
		}
		n := 0
		if err := got.NamesOf(t.Context(), "town", id, func(_, _ string) { n++ }); err != nil || (n == 1) != (id != "t40") {
			t.Errorf("%s has %d names: %v", id, n, err)
		}
	}
}

func ids(hits []names.Hit) (s string) {
	for _, h := range hits {
		s += h.ID + " "
	}
	return s
}
