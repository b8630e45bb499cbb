// Package ask is for questions that take several data sets: an interface for what is asked
// of each, the sets themselves, and the view of all of them that a question takes, so that an
// answer never mixes two generations of one. The packages below it answer:
// hierarchy what a place is in, geocoder what a text names and what is at a point, localtime
// what clocks show there, about everything about a point, fence which borders a move crosses.
//
// Positions are degrees, latitude before longitude, and distances metres, unless a name says
// another order. Errors of the sets come through: those of package cellstore of a store that
// fails, ErrMissing of a set that is not published, ErrFailed of one that cannot be read.
package ask

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/feature"
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

// Boundaries is the reader of a generation of boundaries, as far as it is used
// here: *tiles.Reader.
type Boundaries interface {
	Types() []tiles.TypeMeta
	Extent(ctx context.Context, layers []tiles.Selector, e *quadkey.Extent) error
	AppendMVT(ctx context.Context, dst []byte, t quadkey.Tile, layers []tiles.Selector, names ...tiles.LabelNames) ([]byte, error)
	AppendGeoJSON(ctx context.Context, dst []byte, t quadkey.Tile, layers []tiles.Selector) ([]byte, error)
	AppendLabels(ctx context.Context, dst []byte, t quadkey.Tile, layers []tiles.Selector, names ...tiles.LabelNames) ([]byte, error)
	At(ctx context.Context, lat, lon float64, types ...string) ([]tiles.Region, error)
	Nearest(ctx context.Context, lat, lon, radius float64, types ...string) ([]tiles.Match, error)
	AppendCutout(ctx context.Context, dst []byte, typ, id string, b quadkey.Box) (out []byte, zoom int, err error)
	Region(ctx context.Context, typ, id string, geometry bool) ([]byte, error)
	Layer(typ string) (feature.Layer, error)
	Area(typ, id string) feature.Area
}

// Places is the reader of a generation of places, as far as it is used here:
// *places.Finder.
type Places interface {
	feature.Tiler
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
	TilePlaces(ctx context.Context, t quadkey.Tile, fn func(places.Shown) error) error
	Counts(ctx context.Context, t quadkey.Tile, fn func(class string, count int64)) error
}

// Airports is the reader of a generation of airports, as far as it is used
// here: *airports.Finder.
type Airports interface {
	feature.Tiler
	Lookup(ctx context.Context, code string, r *airports.Record) error
}

// Names is the reader of a generation of names, as far as it is used here: *names.Reader.
type Names interface {
	Search(ctx context.Context, q search.Query, dst []names.Hit) ([]names.Hit, error)
	Feature(ctx context.Context, number uint64) (f names.Feature, ok bool, err error)
	NameIn(ctx context.Context, typ, id, lang string) (string, bool, error)
	NamesOf(ctx context.Context, typ, id string, fn func(lang, name string)) error
	Drawn(country string) []string
	Division(state string) string
	State(code string) (id string, known bool)
}

// TimeZones is the reader of a generation of time zones, as far as it is used
// here: *zones.Reader.
type TimeZones interface {
	Offset(ctx context.Context, zone string, at time.Time) (zones.Offset, error)
	Year(ctx context.Context, zone string, year int) (jan, jul, raw int, err error)
	CountryZone(ctx context.Context, code string) (string, error)
}

// Addresses is the reader of a generation of IP ranges, as far as it is used
// here: *ipgeo.Reader, or an *ipgeo.Index with the Reader of its table.
type Addresses interface {
	Lookup(ctx context.Context, addr netip.Addr, res *ipgeo.Result) error
	All(ctx context.Context) iter.Seq2[*ipgeo.Result, error]
}

// Stations is the reader of a generation of weather stations, as far as it is
// used here: *stations.Finder.
type Stations interface {
	feature.Layer
	Nearest(ctx context.Context, lat, lon float64) (stations.Near, error)
	Record(ctx context.Context, id stations.ID, dst []byte) ([]byte, error)
	Tiles(ctx context.Context, id stations.ID) ([]quadkey.Tile, error)
}

// Weather is the reader of a generation of observations, as far as it is used
// here: *stations.Weather.
type Weather interface {
	Span() (first, last time.Time)
	Observations(ctx context.Context, q stations.ObservationQuery, dst []stations.Observation) (page []stations.Observation, next string, err error)
	Tile(ctx context.Context, t quadkey.Tile, at time.Time, dst *stations.TileWeather) error
}

// Sets are the data sets that can be asked. A nil one counts as not published.
// Published makes the sets of a directory, and dataset.Fixed a set of a single reader.
// Sets are not changed once they are used, and may be used concurrently.
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
	// More are the caller's own layers. Every interface of features shows them.
	More []LayerKind
	// CountryByMap makes the map decide in which country a place is, instead of the place's
	// source.
	CountryByMap bool
}

// States returns the state of every data set, in the order of the fields. Private
// collections are left out: who may not ask for them must not learn their names and bounds.
func (s *Sets) States() []dataset.Status { return s.states(false) }

// AllStates is States with private collections.
func (s *Sets) AllStates() []dataset.Status { return s.states(true) }

func (s *Sets) states(private bool) (all []dataset.Status) {
	for _, l := range s.all() {
		all = append(all, l.Status())
	}
	return s.Collections.appendStates(all, private)
}

// What the packages of the data sets open answers.
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

// HasType reports whether regions of a type are published.
func HasType(b Boundaries, typ string) bool {
	return slices.ContainsFunc(b.Types(), func(m tiles.TypeMeta) bool { return m.Name == typ })
}

// Inside turns the lack of something that the same generation has named into
// damage.
func Inside(err error) error {
	if errors.Is(err, places.ErrNotFound) || errors.Is(err, stations.ErrNotFound) {
		return fmt.Errorf("%w: what was found has no record: %s", cellstore.ErrCorrupt, err.Error())
	}
	return err
}
