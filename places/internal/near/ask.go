package near

import (
	"math"
	"slices"

	"quadrille/feature"
)

// CheckQuery checks a query for a layer of package places or a subpackage, in which ranked answers
// are short.
func CheckQuery(of *feature.Info, q *feature.Query) error {
	if err := of.Check(q); err != nil {
		return err
	}
	if ranked := q.Near != nil || q.Order != (feature.Order{}); ranked && (q.Limit < 1 || q.Limit > MaxLimit+1) {
		return feature.BadQuery("limit %d: give 1 to %d", q.Limit, MaxLimit)
	}
	return nil
}

// CheckRing checks a ring. It returns the last rank by distance in the ring, and the cursor of the
// page: the beginning of the ring or, if that is farther, the given cursor.
func CheckRing(n *feature.Near, after Cursor) (last uint64, first Cursor, err error) {
	if last, err = CheckCircle(n.Lat, n.Lon, n.MaxM); err != nil {
		return 0, first, err
	}
	// In this form the condition also refuses NaN.
	if least := n.MinM; !(least >= 0) || math.IsInf(least, 0) || n.MaxM > 0 && least > n.MaxM {
		return 0, first, feature.BadQuery("smallest radius %v: give metres, at most the radius", least)
	}
	if after != (Cursor{}) && !isDistance(after.Rank) {
		return 0, first, BadCursor()
	}
	// Ids start at 1, so no point at exactly this distance is left out.
	if first.Rank = DistanceRank(n.MinM); after.Rank >= first.Rank {
		first = after
	}
	return last, first, nil
}

// CountriesOf returns the countries with these codes, in the stored form.
func CountriesOf(texts []string) (list Countries) {
	for _, s := range texts {
		if s != "" && ValidCountry(s) {
			list = append(list, Country([]byte(s)))
		}
	}
	return list.sorted()
}

func (l Countries) sorted() Countries {
	slices.SortFunc(l, Country.Compare)
	return slices.Compact(l)
}

// UseTerms passes the terms of a filter to an index. use takes a term if the index has its
// property, and reports whether any point can fulfil it. rest is the filter if the index did not
// take all of it, and nil otherwise. possible is false if no point can pass.
func UseTerms(of feature.Filter, use func(t *feature.Term) (used, possible bool)) (rest feature.Filter, possible bool) {
	if of == nil {
		return nil, true
	}
	terms, all := of.Terms()
	for i := range terms {
		used, possible := use(&terms[i])
		if !possible {
			return nil, false
		}
		all = all && used
	}
	if all {
		return nil, true
	}
	return of, true
}
