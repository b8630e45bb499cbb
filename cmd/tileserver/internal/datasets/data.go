// Package datasets is what the rooms of endpoints ask of the data sets: an interface
// for each, and the pin that holds one generation of it for as long as a request
// runs, so that an answer never mixes two.
package datasets

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/ipgeo"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/places/names"
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
	Extent(ctx context.Context, layers []tiles.Selector, e *quadkey.Extent) error
	AppendMVT(ctx context.Context, dst []byte, t quadkey.Tile, layers []tiles.Selector) ([]byte, error)
	AppendGeoJSON(ctx context.Context, dst []byte, t quadkey.Tile, layers []tiles.Selector) ([]byte, error)
	AppendLabels(ctx context.Context, dst []byte, t quadkey.Tile, layers []tiles.Selector) ([]byte, error)
	At(ctx context.Context, lat, lon float64, types ...string) ([]tiles.Region, error)
	Nearest(ctx context.Context, lat, lon, radius float64, types ...string) ([]tiles.Match, error)
	Within(ctx context.Context, q tiles.WithinQuery) (page []tiles.Overlap, next string, err error)
	AppendCutout(ctx context.Context, dst []byte, typ, id string, b quadkey.Box) (out []byte, zoom int, err error)
	Region(ctx context.Context, typ, id string, geometry bool) ([]byte, error)
	EachRegion(ctx context.Context, typ, after string, geometry bool, fn func(id string, record, geometry []byte) error) error
	Cover(ctx context.Context, typ, id string, from quadkey.Cell, fn func(c *tiles.Covered) error) error
}

// Places is what the handlers ask of a generation of places. *places.Finder
// answers it.
type Places interface {
	Nearby(ctx context.Context, q places.NearbyQuery, dst []places.Hit) (hits []places.Hit, next string, err error)
	Within(ctx context.Context, q places.WithinQuery, dst []places.Hit) (hits []places.Hit, next string, err error)
	Each(ctx context.Context, b quadkey.Box, after *places.Mark, fn func(at places.Mark, h *places.Hit) (more bool)) error
	Search(ctx context.Context, q search.Query, dst []search.Hit) (hits []search.Hit, total int, err error)
	Complete(ctx context.Context, text string, dst []byte) (out []byte, found bool, err error)
	Place(ctx context.Context, id uint32) ([]byte, error)
	Record(ctx context.Context, id uint32, r *places.Record) error
	DivisionCodes(ctx context.Context, id uint32) (admin2, admin3 string, err error)
	Hit(ctx context.Context, id uint32, h *places.Hit) error
	NameIn(ctx context.Context, id uint32, lang string) (string, bool, error)
	Country(ctx context.Context, code string) (places.Country, error)
	Division(ctx context.Context, code string) (places.Division, error)
	Feature(ctx context.Context, code string) (places.Feature, error)
	AppendTileGeoJSON(ctx context.Context, dst []byte, t quadkey.Tile) ([]byte, error)
	TilePlaces(ctx context.Context, t quadkey.Tile, fn func(places.Shown) error) error
	Counts(ctx context.Context, t quadkey.Tile, fn func(class string, count int64)) error
}

// Airports is what the handlers ask of a generation of airports.
// *airports.Finder answers it.
type Airports interface {
	Lookup(ctx context.Context, code string, r *airports.Record) error
	Nearby(ctx context.Context, q airports.NearbyQuery, dst []places.Hit) (hits []places.Hit, next string, err error)
	Within(ctx context.Context, q airports.WithinQuery, dst []places.Hit) (hits []places.Hit, next string, err error)
	Each(ctx context.Context, b quadkey.Box, after *places.Mark, fn func(at places.Mark, h *places.Hit) (more bool)) error
	Hit(ctx context.Context, id uint32, h *places.Hit) error
	AppendTileGeoJSON(ctx context.Context, dst []byte, t quadkey.Tile) ([]byte, error)
	TileAirports(ctx context.Context, t quadkey.Tile, fn func(airports.Shown) error) error
}

// Names is what the handlers ask of a generation of names. *names.Reader answers it.
type Names interface {
	Search(ctx context.Context, q search.Query, dst []names.Hit) ([]names.Hit, error)
	Feature(ctx context.Context, number uint64) (f names.Feature, ok bool, err error)
	NameIn(ctx context.Context, typ, id, lang string) (string, bool, error)
	NamesOf(ctx context.Context, typ, id string, fn func(lang, name string)) error
	Drawn(country string) []string
	Division(state string) string
	State(code string) (id string, known bool)
}

// TimeZones is what the handlers ask of a generation of time zones.
// *zones.Reader answers it.
type TimeZones interface {
	Offset(ctx context.Context, zone string, at time.Time) (zones.Offset, error)
	Year(ctx context.Context, zone string, year int) (jan, jul, raw int, err error)
	CountryZone(ctx context.Context, code string) (string, error)
}

// Addresses is what the handlers ask of a generation of IP ranges.
// *ipgeo.Reader answers it, and an *ipgeo.Index with the Reader of its table.
type Addresses interface {
	Lookup(ctx context.Context, addr netip.Addr, res *ipgeo.Result) error
	All(ctx context.Context) iter.Seq2[*ipgeo.Result, error]
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

// Weather is what the handlers ask of a generation of observations.
// *stations.Weather answers it.
type Weather interface {
	Span() (first, last time.Time)
	Observations(ctx context.Context, q stations.ObservationQuery, dst []stations.Observation) (page []stations.Observation, next string, err error)
	Tile(ctx context.Context, t quadkey.Tile, at time.Time, dst *stations.TileWeather) error
}

// Sets are the data sets of a server. One that is nil answers as one that is not
// published.
type Sets struct {
	Boundaries *dataset.Live[Boundaries]
	Places     *dataset.Live[Places]
	Addresses  *dataset.Live[Addresses]
	Airports   *dataset.Live[Airports]
	Names      *dataset.Live[Names]
	TimeZones  *dataset.Live[TimeZones]
	Stations   *dataset.Live[Stations]
	Weather    *dataset.Live[Weather]
	// Collections are those of users' own points.
	Collections *Collections
	// CountryByMap has the map say what country a place is in, and not its source.
	CountryByMap bool
}

// States is the state of every data set that there is, in the order of /status, but for
// private collections: their names and bounds are nobody's business who cannot ask for them.
func (s *Sets) States() []dataset.Status { return s.states(false) }

// AllStates is States with private collections.
func (s *Sets) AllStates() []dataset.Status { return s.states(true) }

func (s *Sets) states(private bool) (all []dataset.Status) {
	all = appendState(all, s.Boundaries)
	all = appendState(all, s.Places)
	all = appendState(all, s.Addresses)
	all = appendState(all, s.Airports)
	all = appendState(all, s.Names)
	all = appendState(all, s.TimeZones)
	all = appendState(all, s.Stations)
	all = appendState(all, s.Weather)
	return s.Collections.appendStates(all, private)
}

func appendState[T any](all []dataset.Status, live *dataset.Live[T]) []dataset.Status {
	if live == nil {
		return all
	}
	return append(all, live.Status())
}

// What the catalogue opens answers the rooms.
var (
	_ Boundaries = (*tiles.Reader)(nil)
	_ Places     = (*places.Finder)(nil)
	_ Airports   = (*airports.Finder)(nil)
	_ Names      = (*names.Reader)(nil)
	_ TimeZones  = (*zones.Reader)(nil)
	_ Addresses  = (*ipgeo.Reader)(nil)
	_ Stations   = (*stations.Finder)(nil)
	_ Weather    = (*stations.Weather)(nil)
)

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
	return endpoint.Refuse(tiles.ErrUnknownType, parameter, "Use one of the published region types: "+strings.Join(names, ", ")+".")
}

// Inside turns the lack of something that the same generation has named into
// what it is: damage.
func Inside(err error) error {
	if errors.Is(err, places.ErrNotFound) || errors.Is(err, stations.ErrNotFound) {
		return fmt.Errorf("%w: what was found has no record: %s", cellstore.ErrCorrupt, err.Error())
	}
	return err
}
