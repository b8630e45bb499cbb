// Package pointinfo answers all questions about one point: the regions that hold it, its time zone
// and what clocks show there, and the nearest place, airport and weather station.
//
//	v := views.Take(time.Now())
//	defer v.Release()
//	local := localtime.ViewOf(v)
//	var a pointinfo.Answer
//	err := a.Ask(ctx, &local, pointinfo.Query{Lat: 47.37, Lon: 8.54, At: v.At})
//
// Positions are degrees and distances metres.
package pointinfo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"quadrille/ask"
	"quadrille/ask/hierarchy"
	"quadrille/ask/localtime"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/places/stations"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// Query is a query about a point. Fields are required unless their comments say otherwise.
type Query struct {
	Lat, Lon float64   // degrees
	At       time.Time // of the local time
	Types    []string  // types of the regions in the answer; none means all types
	Lang     string    // ISO 639 code of the names of regions and of the place; "" means the usual ones
}

// Answer is everything about a point. Its memory is reused by the next Ask, and parts of it may
// belong to the view. So do not read it after the next Ask on it or with the same view, nor after
// the view has been released. It belongs to one goroutine. Its zero value is ready for use.
type Answer struct {
	Cell quadkey.Cell // the cell of the point
	// Regions hold the point, in the order of ask.Ground.At: localtime.MatchInside. They have names
	// in Query.Lang where there are any.
	Regions []tiles.Region
	// Zone is the time zone, and how it was found. Its ID is "" if none is known.
	Zone localtime.LocalZone
	// Place is the nearest populated place, or one of the point's own country, state or county that
	// is hardly farther: see [hierarchy.View.NearestFound]. It is nil if there is none. PlaceName is its
	// name in Query.Lang, or "" if it has none or Lang is "". Place and all the fields below are of
	// localtime.MatchNearest.
	Place     *places.Hit
	PlaceName string
	// Airport is the nearest airport for travellers, not a pad on the roof of a hospital. It is nil
	// if there is none.
	Airport *places.Hit
	Station *stations.Hit // the nearest weather station, nil for none
	// Missing lists the data sets that are not published, by the names of package ask.
	Missing []string

	areas    bool // layers other than regions were searched
	place    places.Hit
	station  stations.Hit
	wanted   []tiles.Region
	nearby   []places.Hit
	airports []places.Hit
	near     feature.Near
	query    feature.Query
}

// sets is the number of data sets of an answer.
const sets = 5

// Ask computes the answer about a point. The error matches quadkey.ErrCoordinate if there is no
// such point. It matches tiles.ErrUnknownType if a type of regions is not published, and
// ask.ErrMissing if no data set is published. Other errors are those of the data sets: one that
// cannot be read may hold the answer. After an error the content of a is undefined.
func (a *Answer) Ask(ctx context.Context, v *localtime.View, q Query) (err error) {
	*a = Answer{Missing: a.Missing[:0], wanted: a.wanted, nearby: a.nearby, airports: a.airports, station: stations.Hit{JSON: a.station.JSON}}
	if a.Cell, err = quadkey.CellOf(q.Lon, q.Lat); err != nil {
		return err
	}
	regions, err := a.findRegions(ctx, v, &q)
	if err != nil {
		return err
	}
	if _, _, err = reader(a, &v.TimeZones, ask.TimeZonesName); err != nil {
		return err
	}
	if a.Zone, err = v.ZoneAt(ctx, q.Lat, q.Lon, localtime.ZoneReachM, q.At, regions); err != nil {
		return err
	}
	if err := a.findPlace(ctx, v, &q, regions); err != nil {
		return err
	}
	if err := a.findAirport(ctx, v, &q); err != nil {
		return err
	}
	if err := a.findStation(ctx, v, &q); err != nil {
		return err
	}
	if len(a.Missing) == sets && !a.areas {
		return ask.ErrMissing
	}
	return a.nameRegions(ctx, v, q.Lang)
}

// nameRegions sets the names of the regions in a language. It comes last, because the usual names
// of time zone regions identify their zones.
func (a *Answer) nameRegions(ctx context.Context, v *localtime.View, lang string) error {
	if lang == "" {
		return nil
	}
	from, published, err := v.Names.GetIfPublished()
	if !published {
		return err
	}
	a.Regions = slices.Clone(a.Regions)
	for i := range a.Regions {
		r := &a.Regions[i]
		name, ok, err := from.NameIn(ctx, r.Type, r.ID, lang)
		if err != nil {
			return ask.NotFoundAsDamage(err)
		}
		if ok {
			r.Name = name
		}
	}
	return nil
}

// LacksRegions reports whether no data set could find what holds the point.
func (a *Answer) LacksRegions() bool { return a.Lacks(ask.BoundariesName) && !a.areas }

// Lacks reports whether a data set is not published.
func (a *Answer) Lacks(name string) bool { return slices.Contains(a.Missing, name) }

// reader returns a data set's reader, or notes that it is missing.
func reader[T any](a *Answer, set *ask.Pinned[T], name string) (T, bool, error) {
	r, ok, err := set.GetIfPublished()
	if err == nil && !ok {
		a.Missing = append(a.Missing, name)
	}
	return r, ok, err
}

// findRegions finds the requested areas and returns all regions.
func (a *Answer) findRegions(ctx context.Context, v *localtime.View, q *Query) (found []tiles.Region, err error) {
	b, ok, err := reader(a, &v.Boundaries.Pinned, ask.BoundariesName)
	if err != nil {
		return nil, err
	}
	areas, types := v.SplitTypes(q.Types)
	if a.areas = len(areas) > 0; ok {
		for _, typ := range types {
			if err := b.Check(typ); err != nil {
				return nil, fmt.Errorf("about: %w", err)
			}
		}
		if found, err = b.At(ctx, q.Lat, q.Lon); err != nil {
			return nil, err
		}
	}
	if a.Regions = found; len(q.Types) > 0 || types != nil {
		a.wanted = a.wanted[:0]
		for i := range found {
			if slices.Contains(types, found[i].Type) {
				a.wanted = append(a.wanted, found[i])
			}
		}
		a.Regions = a.wanted
	}
	if a.areas {
		others, err := v.AreasAt(ctx, q.Lat, q.Lon, areas...)
		if err != nil {
			return nil, err
		}
		a.Regions = append(slices.Clip(a.Regions), others...)
	}
	return found, nil
}

func (a *Answer) findPlace(ctx context.Context, v *localtime.View, q *Query, regions []tiles.Region) error {
	finder, ok, err := reader(a, &v.Places, ask.PlacesName)
	if !ok {
		return err
	}
	near := a.nearest(q, places.OnlyPopulated)
	hits, known := v.NearestFound(q.Lat, q.Lon)
	if !known {
		if hits, err = places.CollectHits(a.nearby, finder.Features(ctx, near)); err != nil {
			return err
		}
		a.nearby = hits
	}
	h, _ := hierarchy.ViewOf(v.View) // the zones of the map and of places are known by now
	if hits, _, err = h.Nearest(ctx, *near, hierarchy.AddressRegions(h.Parents(regions)), hits...); err != nil || len(hits) == 0 {
		return err
	}
	a.place = hits[0]
	a.Place = &a.place
	if q.Lang != "" {
		if a.PlaceName, _, err = finder.NameIn(ctx, a.place.ID, q.Lang); err != nil {
			return ask.NotFoundAsDamage(err)
		}
	}
	return nil
}

// nearest returns the query for the nearest feature of a layer, in memory of the answer.
func (a *Answer) nearest(q *Query, f feature.Filter) *feature.Query {
	a.near = feature.Near{Position: quadkey.Position{Lat: q.Lat, Lon: q.Lon}}
	a.query = feature.Query{Near: &a.near, Filter: f, Limit: 1}
	return &a.query
}

func (a *Answer) findAirport(ctx context.Context, v *localtime.View, q *Query) error {
	r, ok, err := reader(a, &v.Airports, ask.AirportsName)
	if !ok {
		return err
	}
	hits, err := places.CollectHits(a.airports, r.Features(ctx, a.nearest(q, airports.ForTravellers)))
	if err != nil {
		return err
	}
	if a.airports = hits; len(hits) > 0 {
		a.Airport = &hits[0]
	}
	return nil
}

func (a *Answer) findStation(ctx context.Context, v *localtime.View, q *Query) error {
	r, ok, err := reader(a, &v.Stations, ask.StationsName)
	if !ok {
		return err
	}
	near, err := r.Nearest(ctx, q.Lat, q.Lon)
	if errors.Is(err, stations.ErrNotFound) {
		return nil // none at all
	}
	if err != nil {
		return err
	}
	s := &a.station
	s.ID, s.Lat, s.Lon, s.DistanceM = near.ID, near.Lat, near.Lon, near.DistanceM
	if s.JSON, err = r.Record(ctx, near.ID, s.JSON[:0]); err != nil {
		return ask.NotFoundAsDamage(err)
	}
	a.Station = s
	return nil
}
