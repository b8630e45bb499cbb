package tile

import (
	"context"
	"math"
	"sync"

	"quadrille/cmd/tileserver/internal/datasets"
	"quadrille/places/airports"
	"quadrille/quadkey"
	"quadrille/tiles/mvt"
)

var placeLayers = sync.Pool{New: func() any { return new(mvt.Layer) }}

// placeFields describes the attributes of the places layer, for TileJSON.
var placeFields = map[string]string{
	"id":         "Number",
	"name":       "String",
	"code":       "String",
	"population": "Number",
}

// appendPlacesLayer appends the vector layer of the places in a tile.
func appendPlacesLayer(ctx context.Context, dst []byte, p datasets.Places, t quadkey.Tile) ([]byte, error) {
	l := placeLayers.Get().(*mvt.Layer)
	defer placeLayers.Put(l)
	l.Reset(placesLayer)
	n := float64(uint64(1) << t.Z)
	err := p.TilePlaces(ctx, t, func(id uint32, lon, lat float64, name, code string, population int64) error {
		x, y := quadkey.Project(lon, lat)
		l.Begin(uint64(id), mvt.Point)
		l.TagInt("id", int64(id))
		l.TagString("name", name)
		if code != "" {
			l.TagString("code", code)
		}
		if population > 0 {
			l.TagInt("population", population)
		}
		l.Point(mvt.XY{X: unit(x*n - float64(t.X)), Y: unit(y*n - float64(t.Y))})
		l.End()
		return nil
	})
	if err != nil {
		return dst, err
	}
	return l.AppendTo(dst), nil
}

// unit turns a fraction of a tile into its integer coordinate. Points belong
// to one tile only, so the coordinate never reaches the far edge, not even for
// those beyond the edge of the grid, which live in its last row.
func unit(f float64) int32 {
	return int32(min(max(math.Floor(f*mvt.Extent), 0), mvt.Extent-1))
}

// airportFields describes the attributes of the airports layer, for TileJSON.
var airportFields = map[string]string{
	"id":        "Number",
	"name":      "String",
	"type":      "String",
	"iata":      "String",
	"icao":      "String",
	"scheduled": "Boolean",
	"rank":      "Number",
}

// encodedBool are the value messages of booleans in a vector tile: field 7, a
// varint.
var encodedBool = map[bool][]byte{false: {7 << 3, 0}, true: {7 << 3, 1}}

// appendAirportsLayer appends the vector layer of the airports in a tile.
func appendAirportsLayer(ctx context.Context, dst []byte, v *view, t quadkey.Tile) ([]byte, error) {
	finder, err := v.airports.Get()
	if err != nil {
		return dst, err
	}
	l := placeLayers.Get().(*mvt.Layer)
	defer placeLayers.Put(l)
	l.Reset(airportsLayer)
	n := float64(uint64(1) << t.Z)
	err = finder.TileAirports(ctx, t, func(a airports.Shown) error {
		x, y := quadkey.Project(a.Lon, a.Lat)
		l.Begin(uint64(a.ID), mvt.Point)
		l.TagInt("id", int64(a.ID))
		l.TagString("name", a.Name)
		l.TagString("type", a.Type)
		if a.IATA != "" {
			l.TagString("iata", a.IATA)
		}
		if a.ICAO != "" {
			l.TagString("icao", a.ICAO)
		}
		l.TagValue("scheduled", encodedBool[a.Scheduled])
		l.TagInt("rank", int64(a.Rank()))
		l.Point(mvt.XY{X: unit(x*n - float64(t.X)), Y: unit(y*n - float64(t.Y))})
		l.End()
		return nil
	})
	if err != nil {
		return dst, err
	}
	return l.AppendTo(dst), nil
}
