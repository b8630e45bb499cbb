package httpapi

import (
	"cmp"
	"errors"
	"io"
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
)

// kitConfig says how a kit serves. Zero fields mean the defaults named.
type kitConfig struct {
	// Version is part of every entity tag, since another version may write other
	// bytes.
	Version string
	// PublicURL is the absolute URL the server is reached under, without a
	// final slash. Empty means what each request says.
	PublicURL string
	// BasePath is the path everything is beneath, such as "/maps"; see
	// ValidBasePath. PublicURL has it too. "", none.
	BasePath string
	// TrustedProxies are the peers whose forwarding headers are believed, and
	// ForwardedHeader is the one of them that is. XForwardedFor.
	TrustedProxies  []netip.Prefix
	ForwardedHeader ForwardedHeader

	// CacheControl is the header of everything that depends only on the
	// address and the published data. "public, max-age=300".
	CacheControl string
	// CORSOrigin is the web origin whose pages may read the answers, "none"
	// for no such header. "*", every origin.
	CORSOrigin string

	// MaxConcurrent is how many requests may run at once; more are answered
	// 503 with Retry-After. 512.
	MaxConcurrent int
	// RequestTimeout bounds the reads for an answer. 10 s.
	RequestTimeout time.Duration

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
	// Metrics counts what the handlers do. Nil counts nothing, at no cost.
	Metrics *Metrics
	// Tracer makes spans of the share TraceSample, from 0 to 1, of the requests,
	// and of those that trusted proxies trace. It must record every span it is
	// asked for. Nil traces nothing, at no cost.
	Tracer      trace.Tracer
	TraceSample float64

	// Kinds is the table of errors, in the order in which they are tried. It has
	// kitKinds, those of the rooms, and interruptedKinds after them.
	Kinds []kind
	// Meaning gives an error of the store the meaning it has here, before anything
	// else looks at it. Nil changes none.
	Meaning func(error) error

	// Generations are those in service, for traces. Nil tells none.
	Generations func() []generation

	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// maxRequestBody is the largest body a request may announce, in bytes, to
// endpoints that read none. Those of batches have limits of their own.
const maxRequestBody = 64 << 10

// kit is what every room of endpoints stands on: admission, conditions, kept
// answers, problems, logs, metrics and traces. It knows no data set. Everything in
// it may be used by any number of requests at once.
type kit struct {
	tagStart     hash // version, mixed into every tag
	publicURL    string
	basePath     string
	trusted      []netip.Prefix
	forwarded    ForwardedHeader
	cacheControl []string
	pinnedCache  []string // Cache-Control of what its address names for good
	origin       []string // Access-Control-Allow-Origin, nil for none

	drawing chan struct{} // full when as many answers that take a processor for long are made as may be

	running    atomic.Int64
	maxRunning int64
	heavy      atomic.Int64 // of running, those that take long
	streams    atomic.Int64
	timeout    time.Duration
	now        func() time.Time // the clock; tests have their own

	kinds       []kind
	meaning     func(error) error   // nil for none
	generations func() []generation // in service, nil for none
	ids         *requestIDs

	log, access *slog.Logger
	sampling    sampling
	metrics     *Metrics // nil for none
	guarding    *Guard   // nil for none
	tracer      trace.Tracer
	traceSample float64
}

// newKit makes a kit.
func newKit(cfg *kitConfig) *kit {
	s := &kit{
		kinds:        unionOf(cfg.Kinds),
		meaning:      cfg.Meaning,
		generations:  cfg.Generations,
		tagStart:     hashStart.bytes(cfg.Version),
		publicURL:    strings.TrimRight(cfg.PublicURL, "/"),
		basePath:     cfg.BasePath,
		trusted:      cfg.TrustedProxies,
		forwarded:    cfg.ForwardedHeader,
		cacheControl: []string{"public, max-age=300"},
		pinnedCache:  immutable,
		origin:       []string{"*"},
		drawing:      make(chan struct{}, runtime.GOMAXPROCS(0)),
		maxRunning:   512,
		timeout:      10 * time.Second,
		now:          time.Now,
		ids:          newRequestIDs(),
		log:          cfg.Log,
		access:       cfg.AccessLog,
		metrics:      cfg.Metrics,
		guarding:     cfg.Guard,
		tracer:       cfg.Tracer,
		traceSample:  cfg.TraceSample,
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
	if cfg.Now != nil {
		s.now = cfg.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.metrics != nil {
		s.metrics.kit, s.metrics.others = s, nil
		for _, k := range append(s.kinds, internal) {
			s.metrics.problems[k.typ] = new(atomic.Int64)
		}
	}
	return s
}

// handler makes the router of a table of routes.
func (s *kit) handler(routes []route) http.Handler {
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
	for _, r := range routes {
		s.add(e, &r)
	}
	if s.basePath != "" {
		return &beneath{s: s, e: e, base: s.basePath}
	}
	return e
}

// answering turns errors and panics of a handler into problem responses and
// writes the access log.
func (s *kit) answering(h echo.HandlerFunc) echo.HandlerFunc {
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

func (s *kit) run(h echo.HandlerFunc, c echo.Context) {
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
func (s *kit) preflight(methods string) echo.HandlerFunc {
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

// clock is the instant of a request that names none.
func (s *kit) clock() time.Time { return s.now().UTC().Truncate(time.Second) }

// databaseHeader tells which data an answer is from, how old it is and under
// which terms it may be used.
const databaseHeader = "X-Geo-Database"
