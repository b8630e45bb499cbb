package places

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/quadkey"
)

// ofKinds is a filter by kinds, which the index can evaluate.
type ofKinds struct {
	terms []feature.Term
	ids   string
}

func (f *ofKinds) Match(_ context.Context, of *feature.Feature) (bool, error) {
	return strings.Contains(f.ids, of.ID), nil
}

func (f *ofKinds) Terms() ([]feature.Term, bool) { return f.terms, true }

func (f *ofKinds) String() string { return f.ids }

// TestKind tests that the index finds points by their kinds, although no answer shows the kind.
func TestKind(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	list := []Place{
		{
			ID:      1,
			Name:    "Zurich",
			Lat:     47.458,
			Lon:     8.548,
			Kind:    "large_airport/scheduled",
			Country: "CH",
			Weight:  500_000,
			Extra:   []byte(`,"type":"large_airport"`),
		},
		{ID: 2, Name: "Sion", Lat: 46.219, Lon: 7.326, Kind: "airport", Country: "CH"},
		{ID: 3, Name: "a field", Lat: 46.5, Lon: 7.5, Kind: "field-2", Country: "FR"},
		{ID: 4, Name: "a city", Lat: 46.6, Lon: 7.6, Class: "P", Code: "PPL", Country: "FR", Population: 50},
		{ID: 5, Name: "the unknown", Lat: 46.7, Lon: 7.7},
	}
	f := build(t, list)
	f.Kinds = func(t *feature.Term) ([]string, bool) { return slices.Clone(t.Values), t.Name == "kind" }
	kind := func(kinds ...string) feature.Term { return feature.Term{Name: "kind", Values: kinds} }
	for _, tt := range []struct {
		terms []feature.Term
		ids   string
	}{
		{[]feature.Term{kind("large_airport/scheduled", "field-2")}, "1,3"},
		{[]feature.Term{kind("airport"), {Name: "country", Values: []string{"CH"}}}, "2"},
		{[]feature.Term{kind("airport", "field-2"), {Name: "country", Values: []string{"FR"}}}, "3"},
		{[]feature.Term{kind("PPL")}, ""},
		{[]feature.Term{kind("large_airport")}, ""},
		{[]feature.Term{kind()}, ""},
		{[]feature.Term{kind("airport"), {Name: "code", Values: []string{"PPL"}}}, ""},
		{[]feature.Term{kind("airport"), {Name: "class", Values: []string{"P"}}}, ""},
		{[]feature.Term{{Name: "code", Values: []string{"airport"}}}, ""},
		{[]feature.Term{{Name: "code", Values: []string{"PPL"}}}, "4"},
	} {
		for _, q := range []feature.Query{
			{},
			{Near: feature.NearTo(47.458, 8.548, 0), Limit: 9},
			{In: feature.Box(quadkey.World), Order: feature.Order{Importance: true}, Limit: 9},
		} {
			q.Filter = &ofKinds{tt.terms, tt.ids}
			found := map[string]bool{}
			for of := range must.All(t, f.Features(t.Context(), &q)) {
				found[of.ID] = true
			}
			if len(found) != len(strings.FieldsFunc(tt.ids, func(r rune) bool { return r == ',' })) {
				t.Errorf("%+v: %v, want %s", tt.terms, found, tt.ids)
			}
		}
	}
	record, err := f.Place(t.Context(), 1)
	if want := `{"id":1,"name":"Zurich","country":"CH","type":"large_airport","lat":47.458,"lon":8.548,"country_name":"Switzerland"}`; err != nil || string(record) != want {
		t.Errorf("%s, %v", record, err)
	}
	counts := map[string]int64{}
	if err := f.Counts(t.Context(), quadkey.Tile{}, func(class string, n int64) { counts[class] = n }); err != nil ||
		fmt.Sprint(counts) != "map[:4 P:1]" {
		t.Error(counts, err)
	}
	var pen drawn
	must.Do(t, f.Draw(t.Context(), quadkey.Tile{}, nil, &pen))
	for _, shown := range pen.places {
		if shown.ID == 1 && shown.Code != "large_airport/scheduled" {
			t.Errorf("%+v", shown)
		}
	}

	for _, p := range []Place{
		{Kind: "Large"}, {Kind: "2nd"}, {Kind: "a b"}, {Kind: "ä"}, {Kind: "a\x00"}, {Kind: "a.b"}, {Kind: strings.Repeat("a", maxKind+1)},
		{Kind: "a", Class: "S"}, {Kind: "a", Code: "AIRP"},
	} {
		p.ID, p.Name = 1, "x"
		if err := p.Validate(); !errors.Is(err, ErrInvalidPlace) || !strings.Contains(err.Error(), "kind") {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if err := (&Place{ID: 1, Name: "x", Kind: "a" + strings.Repeat("_", maxKind-1)}).Validate(); err != nil {
		t.Error(err)
	}
}
