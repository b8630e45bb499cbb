package geonames

import (
	"context"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/places"
)

// nearbyRows is how many places are answered when maxRows is not given.
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
	return g.nearby(ctx, places.NearbyQuery{Classes: classes, Codes: codes}, "en")
}

// findNearbyPlaceName answers /findNearbyPlaceNameJSON: the nearest populated
// places.
func (g *request) findNearbyPlaceName(ctx context.Context) error {
	return g.nearby(ctx, places.NearbyQuery{Classes: []string{"P"}}, "en")
}

func (g *request) nearby(ctx context.Context, q places.NearbyQuery, lang string) error {
	var radius float64
	var err error
	if q.Lat, q.Lon, radius, err = g.params.around(maxGeonamesRadius); err != nil {
		return err
	}
	// The engine takes 0 for no bound.
	q.RadiusM = max(radius*1000, 0.001)
	if q.Limit, err = g.params.rows(nearbyRows); err != nil {
		return err
	}
	if q.MinPopulation, err = g.params.minPopulation(); err != nil {
		return err
	}
	if q.Countries, err = g.params.codes("country", 2, 2, false); err != nil {
		return err
	}
	finder, err := g.view.Places.Get()
	if err != nil {
		return err
	}
	if g.params.flag("localCountry") {
		at, err := g.countryAt(ctx, q.Lat, q.Lon, 0)
		if err != nil {
			return err
		}
		if at.Code != "" {
			q.Countries = []string{at.Code}
		}
	}
	var hits []places.Hit
	if q.Limit > 0 {
		memory := listing.NearbyHits.Get().(*[]places.Hit)
		defer listing.NearbyHits.Put(memory)
		if hits, _, err = finder.Nearby(ctx, q, (*memory)[:0]); err != nil {
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
	finder ask.Places
	style  style
	lang   string
}

func (l *toponymList) begin() {
	l.g.name("geonames")
	l.g.b = append(l.g.b, '[')
}

// add writes a place that was found. The longer styles read its record.
func (l *toponymList) add(ctx context.Context, h *places.Hit) error {
	r := places.Record{Hit: *h}
	if l.style >= styleLong {
		if err := l.finder.Record(ctx, h.ID, &r); err != nil {
			return ask.Inside(err)
		}
	}
	return l.write(ctx, &r, h.DistanceM)
}

func (l *toponymList) write(ctx context.Context, r *places.Record, distance float64) error {
	if l.g.b[len(l.g.b)-1] != '[' {
		l.g.b = append(l.g.b, ',')
	}
	return l.g.toponym(ctx, l.finder, &toponym{Record: *r, distance: distance, style: l.style, lang: l.lang})
}

func (l *toponymList) end() { l.g.b = append(l.g.b, ']') }
