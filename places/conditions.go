package places

import (
	"strconv"

	"quadrille/feature"
)

// Filter selects the places of a query. The zero Filter selects all.
type Filter struct {
	Classes, Codes []string // GeoNames' feature classes and codes, in upper case
	Countries      []string // ISO 3166-1 alpha-2, in upper case
	MinPopulation  int64
}

// FeatureFilter returns the filter for a query, or nil for all places.
func (f Filter) FeatureFilter() (feature.Filter, error) {
	var terms []feature.Term
	for _, t := range []feature.Term{
		{Name: "class", Values: f.Classes},
		{Name: "code", Values: f.Codes},
		{Name: "country", Values: f.Countries},
	} {
		if len(t.Values) > 0 {
			terms = append(terms, t)
		}
	}
	if f.MinPopulation > 0 {
		terms = append(terms, feature.Term{
			Name:   "population",
			Op:     feature.OpGreaterOrEqual,
			Values: []string{strconv.FormatInt(f.MinPopulation, 10)},
		})
	}
	return feature.ParseFilter(schema, terms)
}
