// Package station answers with weather stations, and with what they observed.
package station

import (
	"context"
	"sync"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/places/stations"
)

// Room answers with weather stations and what they observed.
type Room struct {
	*web.Kit
	stations *dataset.Live[ask.Stations]
	weather  *dataset.Live[ask.Weather]
}

func New(k *web.Kit, stations *dataset.Live[ask.Stations], weather *dataset.Live[ask.Weather]) *Room {
	return &Room{k, stations, weather}
}

// stationHits is reused memory for the hits of one answer.
var stationHits = sync.Pool{New: func() any { return new([]stations.Hit) }}

// getNearestStation answers GET /stations/nearest?lat=&lon=: the nearest
// station there has ever been, one read for which and one for its record.
func (s *Room) getNearestStation(c echo.Context, q *endpoint.Params) error {
	lat, lon := endpoint.Position(q)
	form := web.FormOf(c.Request(), endpoint.Format.Of(q))
	if q.Err != nil {
		return q.Err
	}
	return s.answerFromStations(c, form, true, func(ctx context.Context, f ask.Stations, out *web.Scratch) error {
		near, err := f.Nearest(ctx, lat, lon)
		if err != nil {
			return err
		}
		hit := stations.Hit{ID: near.ID, Lat: near.Lat, Lon: near.Lon, DistanceM: near.DistanceM}
		if hit.JSON, err = f.Record(ctx, near.ID, nil); err != nil {
			return err
		}
		p := listing.Page{Body: out.Body, Form: form}
		if form != web.FormGeoJSON {
			p.Body = append(p.Body, `{"station":`...)
		}
		if appendStation(&p, &hit, true); form != web.FormGeoJSON {
			p.Body = append(p.Body, '}')
		}
		out.Body = p.Body
		return nil
	})
}

// answerFromStations does what all answers from one generation of stations
// share. byAccept says that the Accept header may choose the form.
func (s *Room) answerFromStations(c echo.Context, form web.Form, byAccept bool, fill func(context.Context, ask.Stations, *web.Scratch) error) error {
	p := ask.Pin(s.stations)
	defer p.Release()
	f, err := p.Get()
	if err != nil {
		return err
	}
	return s.Reply(c, web.Answer{Form: form, ByAccept: byAccept}, []uint64{p.ID}, func(ctx context.Context, out *web.Scratch) error {
		return fill(ctx, f, out)
	})
}

// getNearbyStations answers GET /stations/nearby: the k nearest stations that
// pass the filters, ordered by distance and then by id.
func (s *Room) getNearbyStations(c echo.Context, q *endpoint.Params) error {
	query := stations.NearbyQuery{}
	query.Lat, query.Lon = endpoint.Position(q)
	query.RadiusM = endpoint.Radius.Of(q)
	query.Limit = int(listing.Limit.Of(q))
	query.At = dayParam.Of(q)
	query.Country = endpoint.Country.Of(q)
	form := web.FormOf(c.Request(), endpoint.Format.Of(q))
	if q.Err != nil {
		return q.Err
	}
	return s.answerFromStations(c, form, true, func(ctx context.Context, f ask.Stations, out *web.Scratch) error {
		memory := stationHits.Get().(*[]stations.Hit)
		defer stationHits.Put(memory)
		hits, err := f.Nearby(ctx, query, (*memory)[:0])
		if err != nil {
			return err
		}
		*memory = hits
		out.Body = appendStations(append(out.Body, '{'), form, hits, true, "")
		return nil
	})
}

// getStationsWithin answers GET /stations/within?bbox=: a page of the stations
// in the box.
func (s *Room) getStationsWithin(c echo.Context, q *endpoint.Params) error {
	query := stations.WithinQuery{}
	query.Box = endpoint.BBox.Of(q)
	query.Limit = int(listing.Limit.Of(q))
	query.At = dayParam.Of(q)
	query.Country = endpoint.Country.Of(q)
	query.Cursor = endpoint.Cursor.Of(q)
	form := web.FormOf(c.Request(), endpoint.Format.Of(q))
	if q.Err != nil {
		return q.Err
	}
	return s.answerFromStations(c, form, true, func(ctx context.Context, f ask.Stations, out *web.Scratch) error {
		memory := stationHits.Get().(*[]stations.Hit)
		defer stationHits.Put(memory)
		hits, next, err := f.Within(ctx, query, (*memory)[:0])
		if err != nil {
			return err
		}
		*memory = hits
		out.Body = listing.AppendBounds(append(out.Body, '{'), [4]float64{query.Box.West, query.Box.South, query.Box.East, query.Box.North})
		out.Body = appendStations(append(out.Body, ','), form, hits, false, next)
		return nil
	})
}

// appendStations writes the rest of an object: "stations":[…], or a
// FeatureCollection, and "next".
func appendStations(dst []byte, form web.Form, hits []stations.Hit, near bool, next string) []byte {
	p := listing.Begin(dst, form, "stations")
	for i := range hits {
		appendStation(&p, &hits[i], near)
	}
	return p.End(next)
}

// appendStation writes a station, with its distance where it has one.
func appendStation(p *listing.Page, h *stations.Hit, near bool) {
	var id [len(h.ID) + 2]byte
	p.Open(append(append(append(id[:0], '"'), h.ID[:]...), '"'), h.Lon, h.Lat)
	if p.Body = append(p.Body, h.JSON...); near {
		p.Body = listing.AppendDistance(p.Body, h.DistanceM)
	}
	p.Shut()
}

// stationID reads the id in a path.
func stationID(c echo.Context) (stations.ID, error) {
	values, err := endpoint.PathParams(c)
	if err != nil {
		return stations.ID{}, err
	}
	id, err := stations.ParseID(values[0])
	if err != nil {
		return stations.ID{}, endpoint.Refuse(endpoint.ErrParameter, "id", "Give the USAF and WBAN numbers of a station, such as 066600-99999.")
	}
	return id, nil
}

// getStation answers GET /stations/{id}: the record of a station.
func (s *Room) getStation(c echo.Context, _ *endpoint.Params) error {
	if endpoint.RunsOn(c) {
		return endpoint.ErrNoRoute
	}
	id, err := stationID(c)
	if err != nil {
		return err
	}
	return s.answerFromStations(c, web.FormJSON, false, func(ctx context.Context, f ask.Stations, out *web.Scratch) error {
		if out.Body, err = f.Record(ctx, id, append(out.Body, '{')); err != nil {
			return err
		}
		out.Body = append(out.Body, '}')
		return nil
	})
}

// getStationTiles answers GET /stations/{id}/tiles: the tiles in which a
// station may be the nearest.
func (s *Room) getStationTiles(c echo.Context, _ *endpoint.Params) error {
	id, err := stationID(c)
	if err != nil {
		return err
	}
	return s.answerFromStations(c, web.FormJSON, false, func(ctx context.Context, f ask.Stations, out *web.Scratch) error {
		tiles, err := f.Tiles(ctx, id)
		if err != nil {
			return err
		}
		p := listing.Begin(append(append(append(out.Body, `{"id":"`...), id[:]...), `",`...), web.FormJSON, "tiles")
		for _, t := range tiles {
			p.Next()
			p.Body = append(append(append(p.Body, '"'), t.String()...), '"')
		}
		out.Body = p.End("")
		return nil
	})
}
