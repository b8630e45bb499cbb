package httpapi

import (
	"context"
	"net/netip"
	"time"

	"quadrille/cellstore/dataset"
	"quadrille/ipgeo"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/places/search"
	"quadrille/places/stations"
	"quadrille/places/zones"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// Boundaries is what the handlers ask of a generation of boundaries.
// *tiles.Reader answers it.
type Boundaries interface {
	Types() []tiles.TypeMeta
	AppendMVT(ctx context.Context, dst []byte, t quadkey.Tile, layers []tiles.Selector) ([]byte, error)
	AppendGeoJSON(ctx context.Context, dst []byte, t quadkey.Tile, layers []tiles.Selector) ([]byte, error)
	AppendLabels(ctx context.Context, dst []byte, t quadkey.Tile, layers []tiles.Selector) ([]byte, error)
	At(ctx context.Context, lat, lon float64, types ...string) ([]tiles.Region, error)
	Nearest(ctx context.Context, lat, lon, radius float64, types ...string) ([]tiles.Match, error)
	Within(ctx context.Context, q tiles.WithinQuery) (page []tiles.Overlap, next string, err error)
	AppendCutout(ctx context.Context, dst []byte, typ, id string, b quadkey.Box) (out []byte, zoom int, err error)
	Region(ctx context.Context, typ, id string, geometry bool) ([]byte, error)
}

// Places is what the handlers ask of a generation of places. *places.Finder
// answers it.
type Places interface {
	Nearby(ctx context.Context, q places.NearbyQuery, dst []places.Hit) (hits []places.Hit, next string, err error)
	Within(ctx context.Context, q places.WithinQuery, dst []places.Hit) (hits []places.Hit, next string, err error)
	Search(ctx context.Context, q search.Query, dst []search.Hit) (hits []search.Hit, total int, err error)
	Complete(ctx context.Context, text string, dst []byte) (out []byte, found bool, err error)
	Place(ctx context.Context, id uint32) ([]byte, error)
	Members(ctx context.Context, id uint32, dst []byte) ([]byte, error)
	NameIn(ctx context.Context, id uint32, lang string) (string, bool, error)
	Country(ctx context.Context, code string) (places.Country, error)
	Division(ctx context.Context, code string) (places.Division, error)
	Feature(ctx context.Context, code string) (places.Feature, error)
	AppendTileGeoJSON(ctx context.Context, dst []byte, t quadkey.Tile) ([]byte, error)
	TilePlaces(ctx context.Context, t quadkey.Tile, fn places.PlaceFunc) error
	Counts(ctx context.Context, t quadkey.Tile, fn func(class string, count int64)) error
}

// Airports is what the handlers ask of a generation of airports.
// *airports.Finder answers it.
type Airports interface {
	Lookup(ctx context.Context, code string, r *airports.Record) error
	Nearby(ctx context.Context, q airports.NearbyQuery, dst []places.Hit) (hits []places.Hit, next string, err error)
	Within(ctx context.Context, q airports.WithinQuery, dst []places.Hit) (hits []places.Hit, next string, err error)
	AppendTileGeoJSON(ctx context.Context, dst []byte, t quadkey.Tile) ([]byte, error)
	TileAirports(ctx context.Context, t quadkey.Tile, fn func(airports.Shown) error) error
}

// TimeZones is what the handlers ask of a generation of time zones.
// *zones.Reader answers it.
type TimeZones interface {
	Offset(ctx context.Context, zone string, at time.Time) (zones.Offset, error)
	Year(ctx context.Context, zone string, year int) (jan, jul, raw int, err error)
	CountryZone(ctx context.Context, code string) (string, error)
}

// Addresses is what the handlers ask of a generation of IP ranges.
// *ipgeo.Reader and *ipgeo.Index answer it.
type Addresses interface {
	Lookup(ctx context.Context, addr netip.Addr, res *ipgeo.Result) error
}

// What the catalogue opens answers the handlers.
var (
	_ Boundaries = (*tiles.Reader)(nil)
	_ Places     = (*places.Finder)(nil)
	_ Airports   = (*airports.Finder)(nil)
	_ TimeZones  = (*zones.Reader)(nil)
	_ Addresses  = ipgeo.Lookuper(nil)
	_ Stations   = (*stations.Finder)(nil)
	_ Weather    = (*stations.Weather)(nil)
)

// appendStatus adds the state of a data set, if it is configured.
func appendStatus[T any](all []dataset.Status, live *dataset.Live[T]) []dataset.Status {
	if live == nil {
		return all
	}
	return append(all, live.Status())
}
