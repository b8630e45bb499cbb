// Package point answers with everything about one point: regions, local time and the
// nearest place, airport and weather station.
package point

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/ask/hierarchy"
	"quadrille/ask/localtime"
	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/problems"
	"quadrille/cmd/tileserver/internal/timezone"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/places/stations"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// Room answers with everything about a point.
type Room struct {
	*web.Kit
	sets  *hierarchy.Sets
	batch web.BatchLimits
}

func New(k *web.Kit, sets *hierarchy.Sets, batch web.BatchLimits) *Room {
	return &Room{Kit: k, sets: sets, batch: batch}
}

// read reads the question about a point. fixed says that it names the instant.
func (s *Room) read(q *endpoint.Params, v *localtime.View) (p point, fixed bool) {
	p = point{view: v}
	p.lat, p.lon = endpoint.Position(q)
	p.types = listing.Types.Of(q)
	p.lang = endpoint.Lang.Of(q)
	p.at = endpoint.At.Of(q)
	if fixed = !p.at.IsZero(); !fixed {
		p.at = s.Clock()
	}
	return p, fixed
}

// postAt answers POST /at: a point in each line of its body.
func (s *Room) postAt(c echo.Context, q *endpoint.Params) error {
	v := localtime.Pin(s.sets)
	defer v.Release()
	// A view remembers what it found last, so that each goroutine has one of its own.
	views := sync.Pool{New: func() any { own := v; return &own }}
	return s.AnswerLines(c, q, &web.Questions{
		BatchLimits: s.batch, Points: true, Check: func(q *endpoint.Params) { s.read(q, &v) },
		Answer: func(ctx context.Context, q *endpoint.Params, dst []byte) ([]byte, error) {
			own := views.Get().(*localtime.View)
			defer views.Put(own)
			p, _ := s.read(q, own)
			if q.Err != nil {
				return dst, q.Err
			}
			p.dst = dst
			err := p.write(ctx)
			return p.dst, err
		},
	})
}

// getAt answers GET /at?lat=&lon=: everything about a point in one call – the
// regions that hold it, its time zone and local time, and the nearest place,
// airport and weather station, each with how it matched. What is not published
// is left out and named in "missing"; a time zone that is not known is left out.
//
// The answer is about an instant. With at= it depends on nothing else and may
// be kept; without, the instant is now, and it must not be.
func (s *Room) getAt(c echo.Context, q *endpoint.Params) error {
	v := localtime.Pin(s.sets)
	defer v.Release()
	p, fixed := s.read(q, &v)
	if q.Err != nil {
		return q.Err
	}
	var from []uint64
	if fixed {
		from = v.IDs()
	}
	return s.Reply(c, web.Answer{Form: web.FormJSON}, from, func(ctx context.Context, out *web.Scratch) error {
		p.dst = out.Body
		err := p.write(ctx)
		out.Body = p.dst
		return err
	})
}

// point is the answer about a point being written.
type point struct {
	view     *localtime.View
	lat, lon float64
	at       time.Time
	types    []string
	lang     string
	dst      []byte
	missing  []string
}

func (p *point) write(ctx context.Context) error {
	cell, err := quadkey.CellOf(p.lon, p.lat)
	if err != nil {
		return err // the parameters were checked
	}
	p.dst = strconv.AppendFloat(append(p.dst, `{"lat":`...), p.lat, 'f', -1, 64)
	p.dst = strconv.AppendFloat(append(p.dst, `,"lon":`...), p.lon, 'f', -1, 64)
	p.dst = cell.Tile().AppendQuadkey(append(p.dst, `,"quadkey":"`...))
	p.dst = p.at.AppendFormat(append(p.dst, `","at":"`...), time.RFC3339)
	p.dst = append(p.dst, '"')
	regions, err := p.regions(ctx)
	if err != nil {
		return err
	}
	if err := p.zone(ctx, regions); err != nil {
		return err
	}
	if err := p.place(ctx, regions); err != nil {
		return err
	}
	if err := p.airport(ctx); err != nil {
		return err
	}
	if err := p.station(ctx); err != nil {
		return err
	}
	if len(p.missing) == pointDatasets {
		return ask.ErrMissing
	}
	p.end()
	return nil
}

// pointDatasets is how many data sets an answer is made from.
const pointDatasets = 5

// end names what is missing and closes the answer.
func (p *point) end() {
	for i, name := range p.missing {
		if i == 0 {
			p.dst = append(p.dst, `,"missing":[`...)
		} else {
			p.dst = append(p.dst, ',')
		}
		p.dst = jsontext.AppendString(p.dst, name)
	}
	if len(p.missing) > 0 {
		p.dst = append(p.dst, ']')
	}
	p.dst = append(p.dst, '}')
}

// reader returns a data set's reader, or notes that it is missing.
func reader[T any](p *point, set *ask.Pinned[T], name string) (T, bool, error) {
	v, ok, err := set.Have()
	if err == nil && !ok {
		p.missing = append(p.missing, name)
	}
	return v, ok, err
}

// regions writes the regions that were asked for and returns all of them.
func (p *point) regions(ctx context.Context) ([]tiles.Region, error) {
	b, ok, err := reader(p, &p.view.Boundaries, catalogue.Boundaries.Name)
	if !ok {
		return nil, err
	}
	if err := problems.CheckTypes(b, p.types); err != nil {
		return nil, err
	}
	found, err := b.At(ctx, p.lat, p.lon)
	if err != nil {
		return nil, err
	}
	list := listing.Begin(append(p.dst, ','), web.FormJSON, "regions")
	for i := range found {
		if len(p.types) > 0 && !slices.Contains(p.types, found[i].Type) {
			continue
		}
		list.Next()
		list.Body = append(listing.AppendRegion(list.Body, &found[i]), `,"match":"`+localtime.MatchInside+`"}`...)
	}
	p.dst = append(list.Body, ']')
	return found, nil
}

func (p *point) zone(ctx context.Context, regions []tiles.Region) error {
	if _, _, err := reader(p, &p.view.TimeZones, catalogue.TimeZones.Name); err != nil {
		return err
	}
	z, err := p.view.ZoneAt(ctx, p.lat, p.lon, localtime.ZoneReach, p.at, regions)
	if err != nil || z.ID == "" {
		return err
	}
	p.dst = timezone.Append(append(p.dst, `,"timezone":`...), &z, p.at)
	return nil
}

// place writes the nearest place, or one of the point's own regions that is hardly farther.
func (p *point) place(ctx context.Context, regions []tiles.Region) error {
	finder, ok, err := reader(p, &p.view.Places, catalogue.Places.Name)
	if !ok {
		return err
	}
	q := places.NearbyQuery{Lat: p.lat, Lon: p.lon, Limit: 1, Classes: []string{"P"}, Only: true}
	hits, known := p.view.Nearest(p.lat, p.lon)
	if !known {
		memory := listing.NearbyHits.Get().(*[]places.Hit)
		defer listing.NearbyHits.Put(memory)
		if hits, _, err = finder.Nearby(ctx, q, (*memory)[:0]); err != nil {
			return err
		}
		*memory = hits
	}
	v, _ := p.view.View() // regions has told an error of the map
	if hits, _, err = v.Nearest(ctx, q, hierarchy.Around(v.Parents(regions)), hits...); err != nil || len(hits) == 0 {
		return err
	}
	own := hits[0]
	name := ""
	if p.lang != "" {
		if name, _, err = finder.NameIn(ctx, own.ID, p.lang); err != nil {
			return ask.Inside(err)
		}
	}
	p.dst = places.AppendNamed(append(p.dst, `,"place":{`...), own.JSON, name)
	p.distance(own.DistanceM)
	return nil
}

// nearestAirport asks for the nearest airport as travellers understand it: not
// for the pad on the roof of a hospital.
func nearestAirport(lat, lon float64) airports.NearbyQuery {
	return airports.NearbyQuery{Lat: lat, Lon: lon, Limit: 1, Only: true, Filter: airports.Filter{
		Types: []string{airports.Large, airports.Medium, airports.Small},
	}}
}

func (p *point) airport(ctx context.Context) error {
	r, ok, err := reader(p, &p.view.Airports, catalogue.Airports.Name)
	if !ok {
		return err
	}
	memory := listing.NearbyHits.Get().(*[]places.Hit)
	defer listing.NearbyHits.Put(memory)
	hits, _, err := r.Nearby(ctx, nearestAirport(p.lat, p.lon), (*memory)[:0])
	if err != nil {
		return err
	}
	*memory = hits
	if len(hits) == 0 {
		return nil
	}
	p.dst = append(append(p.dst, `,"airport":{`...), hits[0].JSON...)
	p.distance(hits[0].DistanceM)
	return nil
}

func (p *point) station(ctx context.Context) error {
	r, ok, err := reader(p, &p.view.Stations, catalogue.Stations.Name)
	if !ok {
		return err
	}
	near, err := r.Nearest(ctx, p.lat, p.lon)
	if errors.Is(err, stations.ErrNotFound) {
		return nil // none at all
	}
	if err != nil {
		return err
	}
	p.dst, err = r.Record(ctx, near.ID, append(p.dst, `,"station":{`...))
	if err != nil {
		return ask.Inside(err)
	}
	p.distance(near.DistanceM)
	return nil
}

// distance closes an object that is the nearest to the point.
func (p *point) distance(metres float64) {
	p.dst = append(listing.AppendDistance(p.dst, metres), `,"match":"`+localtime.MatchNearest+`"}`...)
}
