package geocoder

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/places/names"
	"quadrille/places/search"
)

func TestLocalize(t *testing.T) {
	german := func(typ, id, name string) names.Feature {
		return names.Feature{Kind: names.Region, Type: typ, ID: id, Name: id, Names: []search.Name{{Text: name, Lang: "de"}}}
	}
	store := buildtest.NewStore(t)
	meta := must.Get(names.Build(t.Context(), store, buildtest.SeqOf([]names.Feature{
		german("country", "de", "Deutschland"),
		german("state", "de-by", "Bayern"),
	}), names.Options{})).In(t)
	var faults buildtest.Faults
	known := must.Get(names.Open(t.Context(), must.Get(faults.Store(store)).In(t), meta)).In(t)
	bavaria := func() *Result {
		return &Result{Feature: names.Feature{Kind: names.Region, Type: "state", ID: "de-by", Name: "Bavaria", Parents: []names.Parent{
			{Type: "country", ID: "de", Name: "Germany"}, {Type: "continent", ID: "eu", Name: "Europe"},
		}}}
	}
	for langs, want := range map[string][]string{
		"":      {"Bavaria", "Germany", "Europe"},
		"de":    {"Bayern", "Deutschland", "Europe"},
		"fr":    {"Bavaria", "Germany", "Europe"},
		"fr,de": {"Bayern", "Deutschland", "Europe"},
	} {
		r := bavaria()
		f := &finding{ctx: t.Context(), q: &Query{Langs: strings.Split(langs, ",")}, names: known}
		must.Do(t, f.localise(r))
		if got := []string{r.Name, r.Parents[0].Name, r.Parents[1].Name}; !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", langs, got, want)
		}
	}
	broken := errors.New("broken")
	faults.ReadErr = broken
	f := &finding{ctx: t.Context(), q: &Query{Langs: []string{"de"}}, names: known}
	if err := f.localise(bavaria()); !errors.Is(err, broken) {
		t.Error(err)
	}
	f.names = nil // no names are published
	if err := f.localise(bavaria()); err != nil {
		t.Error(err)
	}
}
