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
	"cmp"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
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

// maxRequestBody is the largest body a request may announce, in bytes, to
// endpoints that read none. Those of batches have limits of their own.
const maxRequestBody = 64 << 10

// server is the state shared by all handlers. Everything in it may be used by
// any number of requests at once.
type server struct {
	boundaries *dataset.Live[Boundaries]
	places     *dataset.Live[Places]
	addresses  *dataset.Live[Addresses]
	airports   *dataset.Live[Airports]
	timeZones  *dataset.Live[TimeZones]
	stations   *dataset.Live[Stations]
	weather    *dataset.Live[Weather]

	version      string
	store        string
	remote       bool
	tagStart     hash // version, mixed into every tag
	publicURL    string
	basePath     string
	emptyTile    int
	glyphs       string
	trusted      []netip.Prefix
	forwarded    ForwardedHeader
	geoIPKeys    func() *GeoIPKeys
	cacheControl []string
	pinnedCache  []string // Cache-Control of what its address names for good
	pinByDefault bool
	origin       []string // Access-Control-Allow-Origin, nil for none

	responses *responseCache[tileKey]
	answers   *responseCache[addressKey]
	searches  *responseCache[searchKey]
	repeated  doorkeeper // addresses asked for more than once
	layerSets layerCache
	page      *page
	ipNow     atomic.Pointer[ipGeneration]

	drawing chan struct{} // full when as many tiles are drawn as may be

	running    atomic.Int64
	maxRunning int64
	heavy      atomic.Int64 // of running, those that take long
	batches    atomic.Int64
	batch      batchLimits
	timeout    time.Duration
	now        func() time.Time // the clock; tests have their own

	draining <-chan struct{}
	ids      *requestIDs

	log, access    *slog.Logger
	sampling       sampling
	metrics        *Metrics     // nil for none
	metricsHandler http.Handler // nil for none
	guarding       *Guard       // nil for none
	tracer         trace.Tracer
	traceSample    float64
}

// New returns the handler of the whole service. It does not close the data
// sets of the configuration.
func New(cfg Config) http.Handler { return newServer(&cfg).handler() }

func newServer(cfg *Config) *server {
	s := &server{
		boundaries:     cfg.Boundaries,
		places:         cfg.Places,
		addresses:      cfg.Addresses,
		airports:       cfg.Airports,
		timeZones:      cfg.TimeZones,
		stations:       cfg.Stations,
		weather:        cfg.Weather,
		version:        cfg.Version,
		store:          cfg.Store,
		remote:         cfg.Remote,
		tagStart:       hashStart.bytes(cfg.Version),
		publicURL:      strings.TrimRight(cfg.PublicURL, "/"),
		basePath:       cfg.BasePath,
		emptyTile:      cfg.EmptyTile,
		glyphs:         cfg.Glyphs,
		trusted:        cfg.TrustedProxies,
		forwarded:      cfg.ForwardedHeader,
		geoIPKeys:      cfg.GeoIPKeys,
		batch:          batchLimits{lines: 1_000_000, bytes: 256 << 20, timeout: 5 * time.Minute},
		cacheControl:   []string{"public, max-age=300"},
		pinnedCache:    immutable,
		pinByDefault:   cfg.PinTiles,
		origin:         []string{"*"},
		responses:      newResponseCache[tileKey](cfg.ResponseCacheBytes - 2*(cfg.ResponseCacheBytes/8)),
		answers:        newResponseCache[addressKey](cfg.ResponseCacheBytes / 8),
		searches:       newResponseCache[searchKey](cfg.ResponseCacheBytes / 8),
		page:           newPage(cfg.Page),
		drawing:        make(chan struct{}, runtime.GOMAXPROCS(0)),
		maxRunning:     512,
		timeout:        10 * time.Second,
		now:            time.Now,
		draining:       cfg.Draining,
		ids:            newRequestIDs(),
		log:            cfg.Log,
		access:         cfg.AccessLog,
		metrics:        cfg.Metrics,
		metricsHandler: cfg.MetricsHandler,
		guarding:       cfg.Guard,
		tracer:         cfg.Tracer,
		traceSample:    cfg.TraceSample,
	}
	if cfg.CacheControl != "" {
		s.cacheControl = []string{cfg.CacheControl}
	}
	switch cfg.CORSOrigin {
	case "":
	case "none":
		s.origin = nil
	default:
		s.origin = []string{cfg.CORSOrigin}
	}
	s.sampling.every, s.sampling.slow = uint64(max(cfg.AccessLogSample, 1)), cmp.Or(cfg.SlowRequest, time.Second)
	if g := cfg.Guard; g != nil && g.Keys != nil && !g.Anonymous {
		// Shared caches must not answer those without a key.
		s.cacheControl = []string{privately(s.cacheControl[0])}
		s.pinnedCache = []string{privately(immutable[0])}
	}
	if cfg.MaxConcurrent > 0 {
		s.maxRunning = int64(cfg.MaxConcurrent)
	}
	if cfg.RequestTimeout > 0 {
		s.timeout = cfg.RequestTimeout
	}
	s.batch.apply(cfg)
	if cfg.now != nil {
		s.now = cfg.now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.metrics != nil {
		s.metrics.server = s
	}
	return s
}

// handler makes the router.
func (s *server) handler() http.Handler {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Logger.SetOutput(io.Discard) // everything worth saying goes to s.log
	// The framework's default believes any client's X-Forwarded-For. Handlers
	// use clientAddr; this keeps RealIP from ever disagreeing with it.
	e.IPExtractor = func(r *http.Request) string { return s.clientAddr(r).String() }
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		if s.tracer != nil {
			if span := s.beginSpan(c, ""); span != nil {
				defer endSpan(c, span)
			}
		}
		s.fail(err, c)
		if s.metrics != nil {
			s.metrics.unmatched.one(c.Response().Status, c.Response().Size)
		}
		s.logAccess(c, time.Time{})
	}
	for _, r := range s.routes() {
		s.add(e, &r)
	}
	if s.basePath != "" {
		return &beneath{s: s, e: e, base: s.basePath}
	}
	return e
}

// answering turns errors and panics of a handler into problem responses and
// writes the access log.
func (s *server) answering(h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if r := c.Request(); s.origin != nil && r.Header["Origin"] != nil && r.Method != http.MethodOptions {
			c.Response().Header()["Access-Control-Expose-Headers"] = exposed
		}
		var start time.Time
		if s.access != nil {
			start = time.Now()
			s.requestID(c) // while the header can still have it
		}
		s.run(h, c)
		if s.access != nil {
			s.logAccess(c, start)
		}
		return nil
	}
}

func (s *server) run(h echo.HandlerFunc, c echo.Context) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(p)
		}
		if s.metrics != nil {
			s.metrics.panics.Add(1)
		}
		s.log.Error("handler panicked", "request_id", s.requestID(c), "path", c.Request().URL.Path, "panic", p, "stack", string(debug.Stack()))
		if c.Response().Committed {
			// Part of the answer is out. Cutting the connection is the only
			// way left to say that it is not whole.
			panic(http.ErrAbortHandler)
		}
		s.fail(errPanic, c)
	}()
	if err := h(c); err != nil {
		s.fail(err, c)
	}
}

// exposed are the headers of answers that pages of other origins may read, and
// that browsers do not show them anyway.
var exposed = []string{"ETag, Retry-After, Allow, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, " + requestIDHeader + ", " + databaseHeader}

// preflight answers the question browsers ask before a cross-origin request
// with headers of its own. Everything here is public and read-only.
func (s *server) preflight(methods string) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		if s.origin != nil {
			h["Access-Control-Allow-Origin"] = s.origin
			h["Access-Control-Allow-Methods"] = []string{methods}
			h["Access-Control-Allow-Headers"] = []string{"*, Authorization"} // which * is not
			h["Access-Control-Max-Age"] = []string{"86400"}
		}
		h["Allow"] = []string{methods}
		c.Response().WriteHeader(http.StatusNoContent)
		return nil
	}
}
