package servertest

import (
	"context"
	"slices"
	"strings"

	named "quadrille/places/names"
	"quadrille/places/search"
)

// Names are the features that have names besides places.
type Names []named.Feature

func (n Names) Search(_ context.Context, q search.Query, dst []named.Hit) ([]named.Hit, error) {
	text := simpleFold(strings.TrimSpace(q.Text))
	for _, f := range n {
		fold := simpleFold(f.Name)
		if !strings.HasPrefix(fold, text) || q.Whole && fold != text || q.Box != nil && !q.Box.Contains(f.Lon, f.Lat) ||
			len(q.Countries) > 0 && !slices.Contains(q.Countries, f.Country) {
			continue
		}
		if dst = append(dst, named.Hit{Feature: f, Match: search.Match{End: len(text), Kind: search.Prefix}, Score: -1}); len(dst) == q.Limit {
			break
		}
	}
	return dst, nil
}

func (n Names) Feature(_ context.Context, number uint64) (named.Feature, bool, error) {
	for _, f := range n {
		if named.Number(f.Kind, f.Type, f.ID) == number {
			return f, true, nil
		}
	}
	return named.Feature{}, false, nil
}

func (Names) NameIn(_ context.Context, typ, id, lang string) (string, bool, error) {
	lang, _, _ = strings.Cut(lang, "-")
	name, ok := map[string]string{"de": "Schweiz", "es": "Suiza"}[lang]
	if typ == "country" && id == "ch" && ok {
		return name, true, nil
	}
	return "", false, nil
}

func (Names) Drawn(string) []string { return nil }

func (Names) Division(string) string { return "" }

func (Names) State(string) (string, bool) { return "", false }

func (Names) NamesOf(_ context.Context, typ, id string, fn func(lang, name string)) error {
	if typ == "country" && id == "ch" {
		fn("de", "Schweiz")
		fn("es", "Suiza")
	}
	return nil
}
