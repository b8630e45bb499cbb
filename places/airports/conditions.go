package airports

import (
	"slices"

	"quadrille/feature"
	"quadrille/places"
)

// Filter selects the airports that a search finds. The zero Filter selects all that are not closed.
type Filter struct {
	Types     []string // of Types; empty: all but Closed
	Countries []string // ISO 3166-1 alpha-2, in upper case; empty: all
	Scheduled bool     // only those with scheduled service
	Closed    bool     // closed ones too
}

// ForTravellers is the filter for airports for travellers: those of the three sizes. The nearest of them
// to a point is found by two reads.
var ForTravellers = forTravellers()

func forTravellers() feature.Filter {
	f, err := Filter{Types: []string{Large, Medium, Small}}.FeatureFilter()
	if err != nil {
		panic(err)
	}
	return f
}

// FeatureFilter returns the filter for a query, or nil for all airports.
func (f Filter) FeatureFilter() (feature.Filter, error) {
	types := slices.Clone(f.Types)
	switch {
	case len(types) == 0 && !f.Closed:
		types = slices.DeleteFunc(Types(), func(t string) bool { return t == Closed })
	case len(types) > 0 && f.Closed && !slices.Contains(types, Closed):
		types = append(types, Closed)
	}
	var terms []feature.Term
	if len(types) > 0 {
		terms = append(terms, feature.Term{Name: "type", Values: types})
	}
	if f.Scheduled {
		terms = append(terms, feature.Term{Name: "scheduled", Values: []string{"true"}})
	}
	if len(f.Countries) > 0 {
		terms = append(terms, feature.Term{Name: "country", Values: f.Countries})
	}
	of, err := feature.ParseFilter(schema, terms)
	if of == nil || err != nil {
		return nil, err
	}
	return places.Kinds(kindsOf).PrepareFilter(of), nil
}
