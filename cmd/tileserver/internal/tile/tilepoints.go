package tile

import (
	"context"
	"math"
	"sync"

	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/quadkey"
	"quadrille/tiles/mvt"
)

// placeFields describes the attributes of the places layer, for TileJSON.
var placeFields = map[string]string{
	"id":         "Number",
	"name":       "String",
	"code":       "String",
	"population": "Number",
}

// appendPointLayers appends the layers of points that a set has.
func appendPointLayers(ctx context.Context, dst []byte, v *view, set *layerSet, t quadkey.Tile) ([]byte, error) {
	if set.places {
		var err error
		if dst, err = appendPlacesLayer(ctx, dst, v, t); err != nil {
			return dst, err
		}
	}
	if set.airports {
		var err error
		if dst, err = appendAirportsLayer(ctx, dst, v, t); err != nil {
			return dst, err
		}
	}
	return appendCollections(ctx, dst, v, t)
}

// appendPlacesLayer appends the vector layer of the places in a tile.
func appendPlacesLayer(ctx context.Context, dst []byte, v *view, t quadkey.Tile) ([]byte, error) {
	finder, err := v.places.Get()
	if err != nil {
		return dst, err
	}
	return appendLayer(dst, placesLayer, t, func(l *pointLayer) error {
		return finder.TilePlaces(ctx, t, func(p places.Shown) error {
			l.begin(p.ID, p.Lon, p.Lat, p.Name)
			l.text("code", p.Code)
			if p.Population > 0 {
				l.TagInt("population", p.Population)
			}
			l.End()
			return nil
		})
	})
}

// pointLayer is a layer of points of one tile.
type pointLayer struct {
	mvt.Layer
	tile quadkey.Tile
}

var pointLayers = sync.Pool{New: func() any { return new(pointLayer) }}

// appendLayer appends a layer of points, which write writes.
func appendLayer(dst []byte, name string, t quadkey.Tile, write func(*pointLayer) error) ([]byte, error) {
	l := pointLayers.Get().(*pointLayer)
	defer pointLayers.Put(l)
	l.Reset(name)
	l.tile = t
	if err := write(l); err != nil {
		return dst, err
	}
	return l.AppendTo(dst), nil
}

// begin begins a point with the attributes that all have.
func (l *pointLayer) begin(id uint32, lon, lat float64, name string) {
	l.place(uint64(id), lon, lat)
	l.TagInt("id", int64(id))
	l.TagString("name", name)
}

// place begins a point without attributes.
func (l *pointLayer) place(id uint64, lon, lat float64) {
	x, y := quadkey.Project(lon, lat)
	n := float64(uint64(1) << l.tile.Z)
	l.Begin(id, mvt.Point)
	l.Point(mvt.XY{X: unit(x*n - float64(l.tile.X)), Y: unit(y*n - float64(l.tile.Y))})
}

// text adds an attribute that is not known of every point.
func (l *pointLayer) text(key, value string) {
	if value != "" {
		l.TagString(key, value)
	}
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

// appendAirportsLayer appends the vector layer of the airports in a tile.
func appendAirportsLayer(ctx context.Context, dst []byte, v *view, t quadkey.Tile) ([]byte, error) {
	finder, err := v.airports.Get()
	if err != nil {
		return dst, err
	}
	return appendLayer(dst, airportsLayer, t, func(l *pointLayer) error {
		return finder.TileAirports(ctx, t, func(a airports.Shown) error {
			l.begin(a.ID, a.Lon, a.Lat, a.Name)
			l.TagString("type", a.Type)
			l.text("iata", a.IATA)
			l.text("icao", a.ICAO)
			l.TagBool("scheduled", a.Scheduled)
			l.TagInt("rank", int64(a.Rank()))
			l.End()
			return nil
		})
	})
}
