package hierarchy

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/quadkey"
)

// A great city reaches over places near it: the place nearest to the Eiffel Tower is the middle of
// Neuilly, and yet the tower is in Paris. The area of a town grows nearly in proportion to its
// population, so its radius grows with about the square root of that. A point is therefore in the
// town with the least distance divided by the root of its population, among the towns that reach
// it.
//
// That is wrong for a long town, and for a town with a remote centre, such as some ports. It is
// also wrong where a small town on the other side of a bay is not a part of the great one. A
// municipality's polygon is always better.
const (
	// greatPeople is the least population of a great city.
	greatPeople = 100_000
	// mostGreat bounds the great cities, some 2 MB. It keeps the most important ones. The world has
	// a tenth of that.
	mostGreat = 50_000
	greatPage = 1000
	// greatTime bounds the reading of them.
	greatTime = 30 * time.Second
	// rootOfPeople is the exponent with which the radius of a town grows with its population. It is
	// a little less than a half, because great cities are denser.
	rootOfPeople = 0.48
	// millionM is the reach of a town of a million people, in metres.
	millionM = 12_000
	// mostReachM bounds the reach of any town.
	mostReachM = 30_000
	// leastPeople is the population that a smaller town counts with, so that every town keeps some
	// ground.
	leastPeople = 10_000
)

// root returns the divisor of a distance from a town with the given population.
func root(people int64) float64 {
	return math.Pow(float64(max(people, leastPeople)), rootOfPeople)
}

var metresOfRoot = millionM / math.Pow(1e6, rootOfPeople)

// reachM returns the reach of a town, in metres.
func reachM(people int64) float64 { return min(root(people)*metresOfRoot, mostReachM) }

// greatCity is one of the cities that reach over other towns.
type greatCity struct {
	id              uint32
	lat, lon        float64
	root, reach     float64
	country, admin1 string
}

// greatCities has all great cities of a generation of places, by latitude.
type greatCities struct {
	generation uint64
	list       []greatCity
}

var greatFilter = sync.OnceValues(places.Filter{Classes: []string{"P"}, Codes: settlements, MinPopulation: greatPeople}.FeatureFilter)

// great returns all great cities. It reads them once per generation, for all callers that wait for them.
func (v *View) great(ctx context.Context) ([]greatCity, error) {
	generation := v.Generations.Places
	if all := v.Layers.greatOf(generation); all != nil {
		return all.list, nil
	}
	// The caller that reads waits for the end, because its view keeps the generation open.
	read, err, _ := v.Layers.readingGreat.Do(strconv.FormatUint(generation, 10), func() (any, error) {
		if all := v.Layers.greatOf(generation); all != nil { // read meanwhile
			return all, nil
		}
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), greatTime)
		defer cancel()
		all, err := v.readGreat(own, generation)
		if err == nil {
			older := &v.Layers.great[0] // beside new requests, long ones see the generation before
			if a, b := older.Load(), v.Layers.great[1].Load(); a != nil && (b == nil || b.generation < a.generation) {
				older = &v.Layers.great[1]
			}
			older.Store(all)
		}
		return all, err
	})
	if err != nil {
		return nil, err
	}
	return read.(*greatCities).list, nil //nolint:forcetypeassert // made above
}

// greatOf returns the great cities of a generation, or nil if they have not been read.
func (l *Layers) greatOf(generation uint64) *greatCities {
	for i := range l.great {
		if all := l.great[i].Load(); all != nil && all.generation == generation {
			return all
		}
	}
	return nil
}

func (v *View) readGreat(ctx context.Context, generation uint64) (*greatCities, error) {
	filter, err := greatFilter()
	if err != nil {
		return nil, err
	}
	q := feature.Query{
		In: feature.Box(quadkey.World), Filter: filter, Order: feature.Order{Importance: true}, Limit: greatPage, MaxExamined: math.MaxInt,
	}
	all := &greatCities{generation: generation}
	for more := true; more && len(all.list) < mostGreat; {
		read, last := 0, feature.Mark(nil)
		for f, err := range v.Places.Features(ctx, &q) {
			var h places.Hit
			if err == nil {
				err = h.FromFeature(f)
			}
			if err != nil {
				return nil, err
			}
			all.list = append(all.list, greatCity{h.ID, h.Lat, h.Lon, root(h.Population), reachM(h.Population), h.Country, h.Admin1})
			last = append(last[:0], f.Mark...)
			read++
		}
		q.After, more = slices.Clone(last), read == greatPage
	}
	slices.SortFunc(all.list, func(a, b greatCity) int { return cmp.Compare(a.lat, b.lat) })
	return all, nil
}

const metresPerDegree = quadkey.EarthRadius * math.Pi / 180

// over returns the great cities that reach a point and have a distance, divided by root, below
// share. The one with the least comes first. all are sorted by latitude.
func over(all []greatCity, lat, lon, share float64) (list []greatCity) {
	const north = mostReachM / metresPerDegree
	east := 360.0
	if furthest := math.Abs(lat) + north; furthest < 89 {
		east = north / math.Cos(furthest*math.Pi/180)
	}
	of := func(c *greatCity) float64 { return quadkey.Distance(lon, lat, c.lon, c.lat) / c.root }
	from, _ := slices.BinarySearchFunc(all, lat-north, func(c greatCity, lat float64) int { return cmp.Compare(c.lat, lat) })
	for i := from; i < len(all) && all[i].lat <= lat+north; i++ {
		c := &all[i]
		if apart := math.Abs(c.lon - lon); min(apart, 360-apart) > east {
			continue
		}
		if own := of(c); own < share && own*c.root <= c.reach {
			list = append(list, *c)
		}
	}
	slices.SortFunc(list, func(a, b greatCity) int { return cmp.Or(cmp.Compare(of(&a), of(&b)), cmp.Compare(a.id, b.id)) })
	return list
}

// reaching returns the great city that a point is in, or a town that claims the point before any
// great city. best is the place that otherwise describes the point. ok is false if best stays. The
// city must be in the country and division of best, by its row and by the map.
func (v *View) reaching(ctx context.Context, q *feature.Query, best *places.Hit, at []names.Parent) (city places.Hit,
	is Relation, ok bool, err error) {
	near := q.Near
	all, err := v.great(ctx)
	if err != nil {
		return city, SameCounty, false, err
	}
	share := best.DistanceM / root(best.Population)
	for _, c := range over(all, near.Lat, near.Lon, share) {
		if c.id == best.ID {
			break
		}
		if ok, err = v.ofDivision(ctx, c, best, &city); err != nil || !ok {
			if err != nil {
				return city, SameCounty, false, err
			}
			continue
		}
		if city.DistanceM = quadkey.Distance(near.Lon, near.Lat, city.Lon, city.Lat); near.MaxM > 0 && city.DistanceM > near.MaxM {
			continue
		}
		if is, err = v.Relate(ctx, &city, at); err != nil {
			return city, is, false, err
		}
		if is.AcrossBorder() {
			continue
		}
		if own, has, err := v.City(ctx, best); err != nil || has && own.ID == city.ID {
			return city, is, false, err // best is a part of the city, and more specific
		}
		return v.smaller(ctx, q, &city, is, at)
	}
	return city, SameCounty, false, nil
}

// ofDivision reads a great city, and reports whether it is in the country and first-level division
// of a place.
func (v *View) ofDivision(ctx context.Context, c greatCity, of, city *places.Hit) (bool, error) {
	if c.country != of.Country || c.admin1 != of.Admin1 {
		return false, nil
	}
	q := feature.Query{Near: feature.NearTo(c.lat, c.lon, 1), Filter: places.OnlyPopulated, Limit: fewNear}
	hits, err := places.CollectHits(nil, v.Places.Features(ctx, &q))
	i := slices.IndexFunc(hits, func(h places.Hit) bool { return h.ID == c.id })
	if err != nil || i < 0 {
		return false, err
	}
	*city = hits[i]
	return true, nil
}

// smaller returns the town that a point is in instead of a great city: one with a smaller distance
// divided by root. If there is none, it returns the city.
func (v *View) smaller(ctx context.Context, q *feature.Query, city *places.Hit, is Relation,
	at []names.Parent) (best places.Hit, of Relation, ok bool, err error) {
	best, of = *city, is
	share := city.DistanceM / root(city.Population)
	near, towns := *q.Near, *q
	near.MaxM = share * root(greatPeople)
	towns.Near, towns.Limit = &near, manyNear
	hits, err := places.CollectHits(nil, v.Places.Features(ctx, &towns))
	if err != nil {
		return best, of, false, err
	}
	for i := range hits {
		h := &hits[i]
		if own := h.DistanceM / root(h.Population); own < share && h.Country == city.Country && h.Admin1 == city.Admin1 {
			other, err := v.Relate(ctx, h, at)
			if err != nil {
				return best, of, false, err
			}
			if !other.AcrossBorder() {
				best, of, share = *h, other, own
			}
		}
	}
	return best, of, true, nil
}
