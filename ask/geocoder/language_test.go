package geocoder

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/internal/must"
	"quadrille/places/names"
)

// germanNames know the names of regions in German.
type germanNames struct {
	ask.Names
	of  map[string]string
	err error
}

func (n germanNames) NameIn(_ context.Context, typ, id, lang string) (string, bool, error) {
	name, ok := n.of[typ+" "+id]
	return name, ok && lang == "de", n.err
}

func TestLocalize(t *testing.T) {
	known := germanNames{of: map[string]string{"country de": "Deutschland", "state de-by": "Bayern"}}
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
	f := &finding{ctx: t.Context(), q: &Query{Langs: []string{"de"}}, names: germanNames{err: broken}}
	if err := f.localise(bavaria()); !errors.Is(err, broken) {
		t.Error(err)
	}
	f.names = nil // no names are published
	if err := f.localise(bavaria()); err != nil {
		t.Error(err)
	}
}
