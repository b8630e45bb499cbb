// Package datasets is what the rooms of endpoints ask of the data sets: an interface
// for each, and the pin that holds one generation of it for as long as a request
// runs, so that an answer never mixes two.
package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/web"
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

// Names of the data sets, as ingest publishes them.
const (
	BoundariesDataset = "boundaries"
	PlacesDataset     = "places"
	AddressesDataset  = "ip"
	AirportsDataset   = "airports"
	TimeZonesDataset  = "timezones"
)

// OpenBoundaries makes the reader of a generation of boundaries; those below do
// the same for theirs. They are for dataset.NewLive.
func OpenBoundaries(g *dataset.Generation) (Boundaries, error) {
	meta, err := metaOf[tiles.Meta](g, tiles.SchemaVersion)
	if err != nil {
		return nil, err
	}
	return tiles.Open(context.Background(), g.Store, meta)
}

// OpenPlaces makes the reader of a generation of places.
func OpenPlaces(g *dataset.Generation) (Places, error) {
	meta, err := metaOf[places.Meta](g, places.SchemaVersion)
	if err != nil {
		return nil, err
	}
	return places.Open(context.Background(), g.Store, meta)
}

// OpenAddresses makes the reader of a generation of IP ranges: of its index where
// it has one, which is faster, else of its table.
func OpenAddresses(g *dataset.Generation) (Addresses, error) {
	meta, err := metaOf[ipgeo.Meta](g, ipgeo.Layout)
	if err != nil {
		return nil, err
	}
	table, err := ipgeo.Open(context.Background(), g.Store, meta)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(g.Dir, ipgeo.IndexName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return table, nil
	}
	index, err := ipgeo.OpenIndex(path)
	if err != nil {
		return nil, err
	}
	return watchedIndex{index, g}, nil
}

// OpenAddressTable makes the reader of a generation of IP ranges that asks its
// table, whatever else there is.
func OpenAddressTable(g *dataset.Generation) (Addresses, error) {
	meta, err := metaOf[ipgeo.Meta](g, ipgeo.Layout)
	if err != nil {
		return nil, err
	}
	return ipgeo.Open(context.Background(), g.Store, meta)
}

// watchedIndex has its generation looked at when a lookup fails. Stores do so
// by themselves.
type watchedIndex struct {
	*ipgeo.Index
	generation *dataset.Generation
}

func (w watchedIndex) Lookup(ctx context.Context, addr netip.Addr, res *ipgeo.Result) error {
	// What res holds is read later, from the mapped file too: a page that the
	// disk does not give must end that answer and not the process.
	debug.SetPanicOnFault(true)
	err := w.Index.Lookup(ctx, addr, res)
	if err != nil && errors.Is(err, cellstore.ErrCorrupt) {
		w.generation.Suspect(err)
	}
	return err
}

// OpenAirports makes the reader of a generation of airports.
func OpenAirports(g *dataset.Generation) (Airports, error) {
	meta, err := metaOf[airports.Meta](g, airports.SchemaVersion)
	if err != nil {
		return nil, err
	}
	return airports.Open(context.Background(), g.Store, meta)
}

// OpenTimeZones makes the reader of a generation of time zones.
func OpenTimeZones(g *dataset.Generation) (TimeZones, error) {
	meta, err := metaOf[zones.Meta](g, zones.SchemaVersion)
	if err != nil {
		return nil, err
	}
	return zones.Open(context.Background(), g.Store, meta)
}

// metaOf takes what a domain package wants back out of a manifest.
func metaOf[M any](g *dataset.Generation, newest int) (meta M, err error) {
	if err := g.Manifest.CheckSchema(newest); err != nil {
		return meta, err
	}
	if err := json.Unmarshal(g.Manifest.Meta, &meta); err != nil {
		return meta, fmt.Errorf("the manifest's meta cannot be read, ingest the data again: %w", err)
	}
	return meta, nil
}

// CheckTypes refuses region types that are not published.
func CheckTypes(b Boundaries, types []string) error {
	for _, t := range types {
		if !slices.ContainsFunc(b.Types(), func(m tiles.TypeMeta) bool { return m.Name == t }) {
			return UnknownType(b, "types")
		}
	}
	return nil
}

// UnknownType says which region types there are.
func UnknownType(b Boundaries, parameter string) error {
	var names []string
	for _, t := range b.Types() {
		names = append(names, t.Name)
	}
	return web.Refuse(tiles.ErrUnknownType, parameter, "Use one of the published region types: "+strings.Join(names, ", ")+".")
}

// Inside turns the lack of something that the same generation has named into
// what it is: damage.
func Inside(err error) error {
	if errors.Is(err, places.ErrNotFound) || errors.Is(err, stations.ErrNotFound) {
		return fmt.Errorf("%w: what was found has no record: %s", cellstore.ErrCorrupt, err.Error())
	}
	return err
}

// Stations is what the handlers ask of a generation of weather stations.
// *stations.Finder answers it.
type Stations interface {
	Nearest(ctx context.Context, lat, lon float64) (stations.Near, error)
	Nearby(ctx context.Context, q stations.NearbyQuery, dst []stations.Hit) ([]stations.Hit, error)
	Within(ctx context.Context, q stations.WithinQuery, dst []stations.Hit) (hits []stations.Hit, next string, err error)
	Record(ctx context.Context, id stations.ID, dst []byte) ([]byte, error)
	Tiles(ctx context.Context, id stations.ID) ([]quadkey.Tile, error)
}

// StationsDataset is the name of the data set, as ingest publishes it.
const StationsDataset = "stations"

// OpenStations makes the reader of a generation of weather stations.
func OpenStations(g *dataset.Generation) (Stations, error) {
	meta, err := metaOf[stations.Meta](g, stations.SchemaVersion)
	if err != nil {
		return nil, err
	}
	return stations.Open(context.Background(), g.Store, meta)
}

// Weather is what the handlers ask of a generation of observations.
// *stations.Weather answers it.
type Weather interface {
	Span() (first, last time.Time)
	Observations(ctx context.Context, q stations.ObservationQuery, dst []stations.Observation) (page []stations.Observation, next string, err error)
	Tile(ctx context.Context, t quadkey.Tile, at time.Time, dst *stations.TileWeather) error
}

// WeatherDataset is the name of the data set, as ingest publishes it.
const WeatherDataset = "weather"

// OpenWeather makes the reader of a generation of observations.
func OpenWeather(g *dataset.Generation) (Weather, error) {
	meta, err := metaOf[stations.WeatherMeta](g, stations.SchemaVersion)
	if err != nil {
		return nil, err
	}
	return stations.OpenWeather(context.Background(), g.Store, meta)
}
