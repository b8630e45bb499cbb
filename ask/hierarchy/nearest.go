package hierarchy

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/tiles"
)

// Nearest returns the places that describe a point. The first describes it best: a place of the
// point's own municipality if there is one, or else the great city that reaches it, or else the
// result of prefer. The others follow by distance. The result first is the relation of the first
// place to the point. at are the regions at the point. q is the query for places near it. found has
// the places that are already known, nearest first. Nearest does not change found.
func (v *View) Nearest(ctx context.Context, q feature.Query, at []names.Parent, found ...places.Hit) (hits []places.Hit,
	first Relation, err error) {
	limit := max(q.Limit, 1)
	if len(at) > 0 && v.IsMunicipal(at[0].Type) {
		hits, err = v.inMunicipality(ctx, q, &at[0], limit)
		return hits, SameCounty, err
	}
	q.Limit = limit
	if hits = found[:min(len(found), limit)]; len(hits) < limit {
		hits, err = places.CollectHits(make([]places.Hit, 0, min(limit, fewNear)), v.Places.Features(ctx, &q))
	}
	if err != nil || len(hits) == 0 {
		return hits, SameCounty, err
	}
	best := hits[0]
	if len(at) > 0 {
		if best, first, err = v.prefer(ctx, q, &hits[0], at); err != nil {
			return hits, first, err
		}
	} else {
		first = SameCounty
	}
	if !first.AcrossBorder() {
		city, is, ok, err := v.reaching(ctx, &q, &best, at)
		if err != nil {
			return hits, first, err
		}
		if ok {
			best, first = city, is
		}
	}
	if best.ID == hits[0].ID {
		return hits, first, nil
	}
	list := []places.Hit{best}
	for i := 0; len(list) < limit && i < len(hits); i++ {
		if hits[i].ID != best.ID {
			list = append(list, hits[i])
		}
	}
	return list, first, nil
}

// prefer returns the place that describes a point. The parameter at has the regions at the point,
// and nearest is the nearest place, which q has found. A place in the point's country replaces it if
// that place is at most twice as far away. A place in the point's state replaces this one by the
// same rule, and then a place in the point's county. A place that another country claims counts as a
// place of another county, because the country in its row may be wrong.
func (v *View) prefer(ctx context.Context, q feature.Query, nearest *places.Hit, at []names.Parent) (best places.Hit,
	is Relation, err error) {
	best = *nearest
	is, err = v.Relate(ctx, &best, at)
	for reach := 0.0; err == nil && is > SameCounty && 2*best.DistanceM > reach; {
		reach = 2 * best.DistanceM
		near, wide := *q.Near, q
		if near.MaxM == 0 || near.MaxM > reach {
			near.MaxM = reach
		}
		wide.Near, wide.Limit = &near, manyNear
		more, err := places.CollectHits(nil, v.Places.Features(ctx, &wide))
		if err != nil {
			return best, is, err
		}
		for i := range more {
			other, err := v.Relate(ctx, &more[i], at)
			if err != nil {
				return best, is, err
			}
			if max(other, SameCounty) < max(is, SameCounty) {
				best, is = more[i], other
			}
		}
	}
	return best, is, err
}

// Relation is how a place is related to a point.
type Relation int

// SameRegions is a place in the same regions. SameCounty is a place in the same country, state and
// county, as far as these are known. ClaimedElsewhere is near on the map, but of another country by
// its row. All other relations are apart: an address of the point must not use such a place.
const (
	SameRegions Relation = iota
	SameCounty
	ClaimedElsewhere
	apartCounty
	apartState
	apartCountry
)

// AcrossBorder reports whether the place is in another country, state or county.
func (r Relation) AcrossBorder() bool { return r >= apartCounty }

// InSameRegion reports, as far as is known, whether the place is in the point's own region of a
// type, and in all regions that hold that region.
func (r Relation) InSameRegion(typ string) bool { return r < apart(typ) }

// Relate returns the relation of a place to a point, of which the parameter at has the regions. The
// place's row decides. The map decides instead if the row is inconclusive, or if the place lies on
// the map in another country than in its row.
func (v *View) Relate(ctx context.Context, p *places.Hit, at []names.Parent) (Relation, error) {
	return v.relate(ctx, p, at, true)
}

// RelateByRow does the same as Relate, for questions whose answer depends on the country, such as
// the time: a place that two countries claim is in the country of its row.
func (v *View) RelateByRow(ctx context.Context, p *places.Hit, at []names.Parent) (Relation, error) {
	return v.relate(ctx, p, at, false)
}

func (v *View) relate(ctx context.Context, p *places.Hit, at []names.Parent, claims bool) (Relation, error) {
	if len(at) == 0 {
		return SameCounty, nil
	}
	all, err := v.states(ctx)
	if err != nil {
		return SameCounty, err
	}
	is := SameCounty
	if v.comparable(p.Country, at, all) {
		is = SameRegions
	}
	var of []string                         // types to look up on the map
	claimed := false                        // by another country, so codes of divisions are not comparable
	for _, r := range slices.Backward(at) { // the largest exclude the most
		var known verdict
		switch {
		case claimed && (r.Type == State || r.Type == County):
		case r.Type == Country:
			if v.CountryByMap {
				break
			}
			var vague bool
			if known, claimed, vague, err = v.ofCountry(ctx, r.ID, p, claims); err != nil {
				return is, err
			}
			switch {
			case claimed:
				is = ClaimedElsewhere
			case vague:
				is = SameCounty
			}
		case r.Type == State:
			known = v.inState(all, &r, p)
		case r.Type == County:
			row, err := v.divisions(ctx, p.ID)
			if err != nil {
				return is, err
			}
			known = inCounty(r.ID, p.Country, row.admin2)
		default:
			continue
		}
		switch known {
		case no:
			return apart(r.Type), nil
		case unknown:
			of = append(of, r.Type)
		}
	}
	if len(of) == 0 {
		return is, nil
	}
	in, err := v.Boundaries.At(ctx, p.Lat, p.Lon, of...)
	if err != nil {
		return is, err
	}
	for _, r := range slices.Backward(at) {
		if !slices.Contains(of, r.Type) {
			continue
		}
		switch j := slices.IndexFunc(in, func(o tiles.Region) bool { return o.Type == r.Type }); {
		case j < 0:
			is = max(is, SameCounty)
		case !feature.SameRegionID(in[j].ID, r.ID):
			return apart(r.Type), nil
		}
	}
	return is, nil
}

// ofCountry decides by a place's row whether the place is in a country of the map. If the map may
// assign the place's country to another one, known is unknown and vague is true. The same holds for
// a claimed place.
func (v *View) ofCountry(ctx context.Context, id string, p *places.Hit, claims bool) (known verdict, claimed, vague bool, err error) {
	if known = inCountry(id, p); known == yes || p.Country == "" {
		return known, false, false, nil
	}
	name, err := v.drawn(ctx, p.Country)
	switch {
	case err != nil:
		return known, false, false, err
	case name == "":
		return unknown, false, known == no, nil
	case known == unknown:
		return unknown, false, true, nil
	case !claims:
		return known, false, false, nil
	}
	if claimed, err = v.claimed(ctx, p); claimed {
		known = unknown
	}
	return known, claimed, claimed, err
}

// claimed reports whether a place lies so far outside of the region of its row's country that the
// map must assign it to another country, as with Simferopol. Coarse maps draw borders at most
// coarseM from their true place.
func (v *View) claimed(ctx context.Context, p *places.Hit) (bool, error) {
	known := &v.Layers.claimed
	if is, ok := known.get(v, p.ID); ok {
		return is, nil
	}
	in, err := v.Boundaries.At(ctx, p.Lat, p.Lon, Country)
	if err != nil {
		return false, err
	}
	own := func(id string) bool { return strings.EqualFold(id, p.Country) }
	is := len(in) > 0 && !slices.ContainsFunc(in, func(r tiles.Region) bool { return own(r.ID) })
	if is {
		near, err := (&row{View: v, Hit: p}).near(ctx, Country)
		if err != nil {
			return false, err
		}
		is = !slices.ContainsFunc(near, func(r names.Parent) bool { return own(r.ID) })
	}
	known.put(v, p.ID, is)
	return is, nil
}

// apart returns the relation to a place that is in another region of a type.
func apart(typ string) Relation {
	switch typ {
	case Country:
		return apartCountry
	case State:
		return apartState
	}
	return apartCounty
}

// comparable reports whether a place of the point's country, state and county is certainly in all
// regions of the point: no other type of region is drawn there, or could be around the place alone.
func (v *View) comparable(country string, at []names.Parent, all *states) bool {
	for _, layer := range v.layers().names {
		has := index(at, layer) >= 0
		switch {
		case !addressed(layer):
		case layer == Country && has, layer == State && (has || !all.drawn(country)),
			layer == County && (has || !all.drawn(country) && all.counties):
		default:
			return false
		}
	}
	return true
}

// inMunicipality returns the places in a municipality, the one with its name first. The nearest
// centre may be in another municipality.
func (v *View) inMunicipality(ctx context.Context, q feature.Query, own *names.Parent, limit int) ([]places.Hit, error) {
	q.Limit = max(limit, fewNear)
	hits, err := places.CollectHits(nil, v.Places.Features(ctx, &q))
	if err != nil {
		return nil, err
	}
	inside := hits[:0]
	for i := range hits {
		in, err := v.Boundaries.At(ctx, hits[i].Lat, hits[i].Lon, own.Type)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(in, func(r tiles.Region) bool { return feature.SameRegionID(r.ID, own.ID) }) {
			inside = append(inside, hits[i])
		}
	}
	if i := slices.IndexFunc(inside, func(h places.Hit) bool { return h.Name == own.Name }); i > 0 {
		named := inside[i]
		copy(inside[1:], inside[:i])
		inside[0] = named
	}
	return inside[:min(len(inside), limit)], nil
}

// section is the code of a part of a city. settlements are the codes of places that may be the
// city.
const section = "PPLX"

var settlements = []string{"PPL", "PPLA", "PPLA2", "PPLA3", "PPLA4", "PPLA5", "PPLC", "PPLG", "PPLL", "PPLS"}

// city computes the result of City for a section.
func (v *View) city(ctx context.Context, p *places.Hit) (city places.Hit, ok bool, err error) {
	of, err := v.divisions(ctx, p.ID)
	if err != nil {
		return city, false, err
	}
	f := places.Filter{Codes: settlements, MinPopulation: max(p.Population, 1)}
	if p.Country != "" {
		f.Countries = []string{p.Country}
	}
	q := feature.Query{Near: feature.NearTo(p.Lat, p.Lon, cityM), Limit: manyNear}
	if q.Filter, err = f.FeatureFilter(); err != nil {
		return city, false, err
	}
	hits, err := places.CollectHits(nil, v.Places.Features(ctx, &q))
	if err != nil {
		return city, false, err
	}
	slices.SortStableFunc(hits, func(a, b places.Hit) int { return cmp.Compare(b.Population, a.Population) })
	for i := range hits[:min(len(hits), fewNear)] {
		h := &hits[i]
		if h.Admin1 != p.Admin1 {
			continue
		}
		other, err := v.divisions(ctx, h.ID)
		if err != nil {
			return city, false, err
		}
		several := other.admin2 == "" && h.DistanceM <= reachM(h.Population) // it spans several divisions
		if several || other.admin2 == of.admin2 && (of.admin3 == "" || other.admin3 == of.admin3) {
			h.JSON = nil // it may be cached
			return *h, true, nil
		}
	}
	return city, false, nil
}
