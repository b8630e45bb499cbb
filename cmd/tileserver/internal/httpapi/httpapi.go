// Package httpapi is the HTTP face of the tile server: it turns requests into
// calls of the domain packages and their answers into responses.
//
// There is one file per family of endpoints. What they share: view.go pins the
// generations a request reads, params.go reads parameters strictly, status.go
// is the only table from errors to statuses, condition.go decides on
// representation and revalidation, cache.go keeps finished tiles, and reply.go
// writes.
//
// A request pins the live generation of each data set it reads for as long as
// it runs, so an answer never mixes two. Its entity tag is made of the
// identities of those generations and of the request itself, which is why 304
// costs no read.
package httpapi

import (
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"quadrille/cellstore/dataset"
)

// Config says what a handler serves and how. A data set left nil answers as
// one that is not published; other zero fields mean the defaults named.
type Config struct {
	Boundaries *dataset.Live[Boundaries]
	Places     *dataset.Live[Places]
	Addresses  *dataset.Live[Addresses]
	Airports   *dataset.Live[Airports]
	TimeZones  *dataset.Live[TimeZones]
	Stations   *dataset.Live[Stations]
	Weather    *dataset.Live[Weather]

	// Version is reported by /status and is part of every entity tag, since
	// another version may write other bytes.
	Version string
	// Store says in /status what the data comes from: "local" or "hbase".
	Store string
	// Remote says that others may remove generations that are being read here.
	Remote bool

	// Page holds the built map page with index.html at its root; nil serves a
	// page that says how to build it.
	Page fs.FS

	// PublicURL is the absolute URL the server is reached under, without a
	// final slash. Empty means what each request says.
	PublicURL string
	// BasePath is the path everything is beneath, such as "/maps"; see
	// ValidBasePath. PublicURL has it too. "", none.
	BasePath string
	// EmptyTile is the status of a vector tile that has nothing in it, 204, 200
	// with no bytes, or 404: clients differ. 204.
	EmptyTile int
	// TrustedProxies are the peers whose forwarding headers are believed, and
	// ForwardedHeader is the one of them that is. XForwardedFor.
	TrustedProxies  []netip.Prefix
	ForwardedHeader ForwardedHeader

	// GeoIPKeys returns the accounts that may use the GeoIP2 endpoints; nil, or
	// a nil answer, lets everybody. It is called for every such request.
	GeoIPKeys func() *GeoIPKeys

	// Glyphs is the address of the glyphs that names on maps are drawn with,
	// with {fontstack} and {range}, for /style.json. Empty means fonts that the
	// client has.
	Glyphs string

	// CacheControl is the header of everything that depends only on the
	// address and the published data. "public, max-age=300".
	CacheControl string
	// CORSOrigin is the web origin whose pages may read the answers, "none"
	// for no such header. "*", every origin.
	CORSOrigin string
	// PinTiles makes TileJSON name tiles by addresses that never change; see
	// getPinnedTile. Clients choose by pinned=.
	PinTiles bool
	// ResponseCacheBytes bounds the caches of finished tiles and, an eighth of
	// it each, of answers for addresses and to searches. 0 keeps none.
	ResponseCacheBytes int64

	// MaxConcurrent is how many requests may run at once; more are answered
	// 503 with Retry-After. 512.
	MaxConcurrent int
	// RequestTimeout bounds the reads for a tile, regions, places or a record;
	// an address is one read, which ends with its request. 10 s.
	RequestTimeout time.Duration
	// BatchLines is how many lines a batch may have, BatchBytes how many bytes
	// its body, compressed or not, and BatchTimeout how long its client may take
	// over it. 1,000,000, 256 MiB, 5 minutes.
	BatchLines   int64
	BatchBytes   int64
	BatchTimeout time.Duration

	// Draining is closed when the server is about to stop: /readyz says so, and
	// everything else goes on. Nil never is.
	Draining <-chan struct{}

	// Log receives failures. Nothing is logged when it is nil.
	Log *slog.Logger
	// AccessLog receives a record per request. Nil logs none.
	AccessLog *slog.Logger
	// AccessLogSample is one of how many requests is recorded, 1. Those that
	// fail with 500 or more, or take SlowRequest or longer, all are; 1 s.
	AccessLogSample int
	SlowRequest     time.Duration

	// Guard asks for keys and keeps to limits. Nil asks nobody, at no cost.
	Guard *Guard
	// Metrics counts what the handler does. Nil counts nothing, at no cost.
	Metrics *Metrics
	// MetricsHandler answers /metrics; nil makes it a page there is not.
	MetricsHandler http.Handler
	// Tracer makes spans of the share TraceSample, from 0 to 1, of the requests,
	// and of those that trusted proxies trace. It must record every span it is
	// asked for. Nil traces nothing, at no cost.
	Tracer      trace.Tracer
	TraceSample float64

	now func() time.Time // tests set the clock
}

// server is the composition of the rooms, which share a kit.
type server struct {
	*kit
	tile     *tileRoom
	region   *regionRoom
	place    *placeRoom
	airport  *airportRoom
	station  *stationRoom
	ip       *ipRoom
	geoip    *geoipRoom
	point    *pointRoom
	geonames *geonamesRoom
	ops      *opsRoom
}

// New returns the handler of the whole service. It does not close the data
// sets of the configuration.
func New(cfg Config) http.Handler { return newServer(&cfg).handler() }

func newServer(cfg *Config) *server {
	cache := cfg.ResponseCacheBytes
	k := newKit(&kitConfig{
		Version: cfg.Version, PublicURL: cfg.PublicURL, BasePath: cfg.BasePath,
		TrustedProxies: cfg.TrustedProxies, ForwardedHeader: cfg.ForwardedHeader,
		CacheControl: cfg.CacheControl, CORSOrigin: cfg.CORSOrigin,
		MaxConcurrent: cfg.MaxConcurrent, RequestTimeout: cfg.RequestTimeout,
		Log: cfg.Log, AccessLog: cfg.AccessLog, AccessLogSample: cfg.AccessLogSample, SlowRequest: cfg.SlowRequest,
		Guard: cfg.Guard, Metrics: cfg.Metrics, Tracer: cfg.Tracer, TraceSample: cfg.TraceSample, Now: cfg.now,
		Kinds: slices.Concat(unreadableKinds, kitKinds, tileKinds, regionKinds, placeKinds, airportKinds, localTimeKinds,
			stationKinds, ipKinds, opsKinds, interruptedKinds, damagedKinds),
		Meaning:     meaningOf(cfg.Remote),
		Generations: cfg.generations,
	})
	sets := pointSets{cfg.Boundaries, cfg.Places, cfg.Airports, cfg.TimeZones, cfg.Stations}
	return &server{
		kit: k,
		tile: newTileRoom(k, tileConfig{
			Boundaries: cfg.Boundaries, Places: cfg.Places, Airports: cfg.Airports,
			EmptyTile: cfg.EmptyTile, Glyphs: cfg.Glyphs, PinTiles: cfg.PinTiles, CacheBytes: cache - 2*(cache/8),
		}),
		region:  newRegionRoom(k, cfg.Boundaries),
		place:   newPlaceRoom(k, placeConfig{cfg.Places, cfg.Airports, cfg.TimeZones, cache / 8}),
		airport: newAirportRoom(k, airportConfig{cfg.Airports, cfg.Places, cfg.TimeZones}),
		station: newStationRoom(k, cfg.Stations, cfg.Weather),
		ip: newIPRoom(k, ipConfig{
			Addresses: cfg.Addresses, CacheBytes: cache / 8,
			BatchLines: cfg.BatchLines, BatchBytes: cfg.BatchBytes, BatchTimeout: cfg.BatchTimeout,
		}),
		geoip:    newGeoIPRoom(k, cfg.Addresses, cfg.GeoIPKeys),
		point:    newPointRoom(k, sets),
		geonames: newGeonamesRoom(k, sets),
		ops: newOpsRoom(k, opsConfig{
			Datasets: cfg.states(), Boundaries: cfg.Boundaries, Version: cfg.Version, Store: cfg.Store,
			Draining: cfg.Draining, MetricsHandler: cfg.MetricsHandler, Page: cfg.Page,
		}),
	}
}

// states are the states of the data sets that are configured, in the order of
// /status.
func (cfg *Config) states() (all []func() dataset.Status) {
	add := func(configured bool, status func() dataset.Status) {
		if configured {
			all = append(all, status)
		}
	}
	add(cfg.Boundaries != nil, cfg.Boundaries.Status)
	add(cfg.Places != nil, cfg.Places.Status)
	add(cfg.Addresses != nil, cfg.Addresses.Status)
	add(cfg.Airports != nil, cfg.Airports.Status)
	add(cfg.TimeZones != nil, cfg.TimeZones.Status)
	add(cfg.Stations != nil, cfg.Stations.Status)
	add(cfg.Weather != nil, cfg.Weather.Status)
	return all
}

// generations are those in service, for traces.
func (cfg *Config) generations() (all []generation) {
	for _, status := range cfg.states() {
		if st := status(); st.Serving != nil {
			all = append(all, generation{st.Dataset, st.Serving.Generation, identityOf(st.Serving)})
		}
	}
	return all
}

// routes is the table of endpoints.
func (s *server) routes() []route {
	return slices.Concat(s.tile.routes(), s.region.routes(), s.point.routes(), s.place.routes(), s.airport.routes(), s.station.routes(),
		s.ip.routes(), s.geonames.routes(), s.geoip.routes(), s.ops.routes())
}

func (s *server) handler() http.Handler { return s.kit.handler(s.routes()) }

// NewMetrics returns counters at zero, to be given to one Config and registered.
func NewMetrics() *Metrics { return newMetrics(described...) }
