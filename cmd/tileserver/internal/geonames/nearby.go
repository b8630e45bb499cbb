package geonames

import (
	"context"
	"sync"

	"quadrille/ask"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/places"
)

// nearbyRows is the number of places in an answer if maxRows is not given.
const nearbyRows = 10

// findNearby answers /findNearbyJSON: the places of any class nearest to a
// point.
func (g *request) findNearby(ctx context.Context) error {
	classes, err := g.params.codes("featureClass", 1, 1, false)
	if err != nil {
		return err
	}
	codes, err := g.params.codes("featureCode", 1, 10, true)
	if err != nil {
		return err
	}
	return g.nearby(ctx, places.Filter{Classes: classes, Codes: codes}, "en")
}

// findNearbyPlaceName answers /findNearbyPlaceNameJSON: the nearest populated
// places.
func (g *request) findNearbyPlaceName(ctx context.Context) error {
	return g.nearby(ctx, places.Filter{Classes: []string{"P"}}, "en")
}

// hitsMemory has memory that is reused for the hits of one answer.
var hitsMemory = sync.Pool{New: func() any { return new([]places.Hit) }}

func (g *request) nearby(ctx context.Context, f places.Filter, lang string) error {
	lat, lon, radius, err := g.params.around(maxGeonamesRadius)
	if err != nil {
		return err
	}
	// For the engine 0 means no bound.
	q := feature.Query{Near: feature.NearTo(lat, lon, max(radius*1000, 0.001))}
	if q.Limit, err = g.params.rows(nearbyRows); err != nil {
		return err
	}
	if f.MinPopulation, err = g.params.minPopulation(); err != nil {
		return err
	}
	if f.Countries, err = g.params.codes("country", 2, 2, false); err != nil {
		return err
	}
	finder, err := g.view.Places.Get()
	if err != nil {
		return err
	}
	if g.params.flag("localCountry") {
		at, err := g.countryAt(ctx, lat, lon, 0)
		if err != nil {
			return err
		}
		if at.Code != "" {
			f.Countries = []string{at.Code}
		}
	}
	if q.Filter, err = f.FeatureFilter(); err != nil {
		return err
	}
	var hits []places.Hit
	if q.Limit > 0 {
		memory := hitsMemory.Get().(*[]places.Hit)
		defer hitsMemory.Put(memory)
		if hits, err = places.CollectHits(*memory, finder.Features(ctx, &q)); err != nil {
			return err
		}
		*memory = hits
	}
	list := toponymList{g: g, finder: finder, style: g.params.style(), lang: g.params.language(lang)}
	g.open()
	list.begin()
	for i := range hits {
		if err := list.add(ctx, &hits[i]); err != nil {
			return err
		}
	}
	list.end()
	g.close()
	return nil
}

// toponymList writes the member geonames.
type toponymList struct {
	g      *request
	finder *places.Finder
	style  style
	lang   string
}

func (l *toponymList) begin() {
	l.g.name("geonames")
	l.g.b = append(l.g.b, '[')
}

// add writes a place from the answer of the query. The longer styles need its record.
func (l *toponymList) add(ctx context.Context, h *places.Hit) error {
	r := places.Record{Hit: *h}
	if l.style >= styleLong {
		if err := l.finder.Record(ctx, h.ID, &r); err != nil {
			return ask.NotFoundAsDamage(err)
		}
	}
	return l.write(ctx, &r, h.DistanceM)
}

func (l *toponymList) write(ctx context.Context, r *places.Record, distance float64) error {
	l.g.b = jsontext.Next(l.g.b)
	return l.g.toponym(ctx, l.finder, &toponym{Record: *r, distance: distance, style: l.style, lang: l.lang})
}

func (l *toponymList) end() { l.g.b = append(l.g.b, ']') }
