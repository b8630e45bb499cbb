// Package httpapi composes the HTTP face of the tile server: a web.Kit, a room for every
// kind of question, and the tables of their routes and errors.
//
// The rooms are tile, basemap, region, place, airport, collection, geocode, station, ip, point,
// geonames, geoip, photon, nominatim, ogc and ops. None knows another. What several need is in
// datasets, geocoder, hierarchy, listing, localtime and ipdatabase.
package httpapi

import (
	"cmp"
	"io/fs"
	"net/http"
	"slices"
	"time"

	"quadrille/ask"
	"quadrille/ask/hierarchy"
	"quadrille/cmd/tileserver/internal/airport"
	"quadrille/cmd/tileserver/internal/archive"
	"quadrille/cmd/tileserver/internal/basemap"
	"quadrille/cmd/tileserver/internal/collection"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/geocode"
	"quadrille/cmd/tileserver/internal/geoip"
	"quadrille/cmd/tileserver/internal/geonames"
	"quadrille/cmd/tileserver/internal/ip"
	"quadrille/cmd/tileserver/internal/layers"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/nominatim"
	"quadrille/cmd/tileserver/internal/ogc"
	"quadrille/cmd/tileserver/internal/ogcapi"
	"quadrille/cmd/tileserver/internal/ops"
	"quadrille/cmd/tileserver/internal/photon"
	"quadrille/cmd/tileserver/internal/place"
	"quadrille/cmd/tileserver/internal/point"
	"quadrille/cmd/tileserver/internal/problems"
	"quadrille/cmd/tileserver/internal/region"
	"quadrille/cmd/tileserver/internal/station"
	"quadrille/cmd/tileserver/internal/tile"
	"quadrille/cmd/tileserver/internal/timezone"
	"quadrille/cmd/tileserver/internal/web"
)

// Config says what a handler serves and how. A data set left nil answers as
// one that is not published; other zero fields mean the defaults named.
type Config struct {
	// Config says how requests are served. New sets its Kinds, Meaning and Generations.
	web.Config

	ask.Sets

	// BaseMaps are other people's archives of tiles. Nil are none.
	BaseMaps *archive.Set

	// Store says in /status what the data comes from: "local" or "hbase".
	Store string
	// Remote says that others may remove generations that are being read here.
	Remote bool

	// Page holds the built map page with index.html at its root; nil serves a
	// page that says how to build it.
	Page fs.FS

	// EmptyTile is the status of a vector tile that has nothing in it, 204, 200
	// with no bytes, or 404: clients differ. 204.
	EmptyTile int

	// GeoIPKeys returns the accounts that may use the GeoIP2 endpoints; nil, or
	// a nil answer, lets everybody. It is called for every such request.
	GeoIPKeys func() *geoip.Accounts

	// RootGeocoder names the service whose paths are answered as it does at the root too,
	// instead of what is there otherwise: "photon" or "nominatim". None if it is empty.
	RootGeocoder string

	// Glyphs is the address of the glyphs that names on maps are drawn with,
	// with {fontstack} and {range}, for /style.json. Empty means fonts that the
	// client has.
	Glyphs string

	// PinTiles makes TileJSON name tiles by addresses that never change; see
	// getPinnedTile. Clients choose by pinned=.
	PinTiles bool
	// ResponseCacheBytes bounds the caches of finished tiles, where there are base maps a
	// quarter of it of theirs, an eighth of it of answers to searches, and a quarter of pages
	// of features. 0 keeps none.
	ResponseCacheBytes int64

	// BatchLines is how many lines a batch may have, BatchBytes how many bytes
	// its body, compressed or not, and BatchTimeout how long its client may take
	// over it, or over an answer of all points of an area. 1,000,000, 256 MiB, 5 minutes.
	BatchLines   int64
	BatchBytes   int64
	BatchTimeout time.Duration

	// Require and NoData are those of ops.Config.
	Require []string
	NoData  func() error

	// Draining is closed when the server is about to stop: /readyz says so, and
	// everything else goes on. Nil never is.
	Draining <-chan struct{}

	// Hooks are the webhooks of live collections. Servers with live collections have them.
	Hooks collection.Hooks

	// Usage says why the counts of clients are not kept on the disk. Servers with --usage
	// have it.
	Usage func() error

	// MetricsHandler answers /metrics; nil makes it a page there is not.
	MetricsHandler http.Handler
}

// server is the composition of the rooms, which share a kit.
type server struct {
	*web.Kit
	tile      *tile.Room
	basemap   *basemap.Room
	region    *region.Room
	place     *place.Room
	layers    *layers.Room
	geocode   *geocode.Room
	airport   *airport.Room
	station   *station.Room
	ip        *ip.Room
	geoip     *geoip.Room
	point     *point.Room
	geonames  *geonames.Room
	nominatim *nominatim.Room
	photon    *photon.Room
	points    *collection.Room
	ops       *ops.Room
	ogc       *ogc.Room
	// atRoot are the endpoints of Config.RootGeocoder.
	atRoot []endpoint.Endpoint
}

// New returns the handler of the whole service. It does not close the data
// sets of the configuration.
func New(cfg Config) http.Handler { return newServer(&cfg).handler() }

func newServer(cfg *Config) *server {
	cache := cfg.ResponseCacheBytes
	ofMaps := int64(0)
	if len(cfg.BaseMaps.Maps()) > 0 {
		ofMaps = cache / 4
	}
	http := cfg.Config
	http.Kinds = slices.Concat(problems.Kinds, tile.Kinds, basemap.Kinds, region.Kinds, layers.Kinds, place.Kinds, airport.Kinds, timezone.Kinds, collection.Kinds,
		station.Kinds, ip.Kinds, ops.Kinds)
	http.Meaning, http.Generations = ask.MeaningOf(cfg.Remote), cfg.generations
	k := web.New(&http)
	batch := web.BatchLimits{
		Lines: cmp.Or(max(cfg.BatchLines, 0), 1_000_000), Bytes: cmp.Or(max(cfg.BatchBytes, 0), 256<<20),
		Timeout: cmp.Or(max(cfg.BatchTimeout, 0), 5*time.Minute),
	}
	sets := &hierarchy.Sets{Sets: cfg.Sets}
	s := &server{
		Kit: k,
		tile: tile.New(k, tile.Config{
			Sets: cfg.Sets, EmptyTile: cfg.EmptyTile, Glyphs: cfg.Glyphs, PinTiles: cfg.PinTiles,
			CacheBytes: cache - cache/8 - cache/4 - ofMaps, BaseMaps: cfg.BaseMaps,
		}),
		basemap: basemap.New(k, basemap.Config{Maps: cfg.BaseMaps, EmptyTile: cfg.EmptyTile, CacheBytes: ofMaps}),
		region:  region.New(k, cfg.Boundaries),
		place:   place.New(k, place.Config{Sets: sets, CacheBytes: cache / 8}),
		geocode: geocode.New(k, sets, batch),
		airport: airport.New(k, sets),
		station: station.New(k, cfg.Stations, cfg.Weather),
		ip: ip.New(k, ip.Config{
			Addresses: cfg.Addresses, Batch: batch, StreamTimeout: cfg.BatchTimeout,
		}),
		geoip:     geoip.New(k, cfg.Addresses, cfg.GeoIPKeys),
		point:     point.New(k, sets, batch),
		geonames:  geonames.New(k, sets),
		nominatim: nominatim.New(k, sets),
		photon:    photon.New(k, sets),
		layers: layers.New(k, layers.Config{
			Sets: cfg.Sets, Lists: []listing.Set{place.List, airport.List, station.List, collection.List},
			StreamTimeout: cfg.BatchTimeout, MayRead: k.ReadsCollection,
		}),
		points: collection.New(k, collection.Config{
			Collections: cfg.Collections, Boundaries: cfg.Boundaries, MayRead: k.ReadsCollection,
			Batch: batch, Draining: cfg.Draining, Hooks: cfg.Hooks,
		}),
		ops: ops.New(k, ops.Config{
			Sets: cfg.Sets, BaseMaps: cfg.BaseMaps, Version: cfg.Version, Store: cfg.Store, Usage: cfg.Usage,
			Require: cfg.Require, NoData: cfg.NoData,
			Draining: cfg.Draining, MetricsHandler: cfg.MetricsHandler, Page: cfg.Page,
		}),
	}
	s.ogc = ogc.New(k, ogc.Config{
		Sets: cfg.Sets, Parts: []ogcapi.Part{s.tile.OGCPart()}, CacheBytes: cache / 4,
		Describe: func(server string) ([]byte, error) { return s.ops.DescribeBelow("/ogc", server) },
	})
	s.ops.Described = s.endpoints
	switch cfg.RootGeocoder {
	case "photon":
		s.atRoot = s.photon.RootEndpoints()
	case "nominatim":
		s.atRoot = s.nominatim.RootEndpoints()
	}
	return s
}

// generations are those in service, for traces.
func (cfg *Config) generations() (all []web.Generation) {
	for _, st := range cfg.States() {
		if st.Serving != nil {
			all = append(all, web.Generation{Dataset: st.Dataset, Number: st.Serving.Generation, ID: ask.IdentityOf(st.Serving)})
		}
	}
	return all
}

// endpoints are all that are declared. Those of the service at the root replace others of the
// same path and method.
func (s *server) endpoints() []endpoint.Endpoint {
	all := slices.Concat(s.tile.Endpoints(), s.basemap.Endpoints(), s.region.Endpoints(), s.point.Endpoints(), s.layers.Endpoints(), s.place.Endpoints(), s.geocode.Endpoints(),
		s.airport.Endpoints(), s.station.Endpoints(), s.ip.Endpoints(), s.geonames.Endpoints(), s.geoip.Endpoints(), s.photon.Endpoints(), s.nominatim.Endpoints(),
		s.points.Endpoints(), s.ogc.Endpoints(), s.ops.Endpoints())
	return append(endpoint.Without(all, s.atRoot), s.atRoot...)
}

func (s *server) handler() http.Handler { return s.Kit.Handler(s.endpoints()) }

// NewMetrics returns counters at zero, to be given to one Config and registered.
func NewMetrics() *web.Metrics {
	return web.NewMetrics(slices.Concat(ops.Described, basemap.Described)...)
}
