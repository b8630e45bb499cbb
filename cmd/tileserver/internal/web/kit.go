// Package web is what every endpoint stands on: it admits requests, reads their
// parameters, decides whether the client has the answer already, compresses, keeps
// and writes answers, and counts, logs and traces all of it.
//
// It imports no domain. A room, a package of endpoints that answer one kind of
// question, embeds *Kit and declares its endpoints as a list of [Route]. Limits,
// metrics and the checks of parameters read that declaration; nothing is found out
// from the text of a path. A room also contributes the kinds of errors it meets, of
// which an answer in the form of RFC 9457 is made.
//
// route.go declares endpoints, query.go and params.go read parameters, status.go is
// the table from errors to statuses, condition.go decides on representation and
// revalidation, cache.go keeps finished answers and reply.go writes them.
//
// An entity tag is made of the identities of the generations an answer is from and
// of the request itself, which is why 304 costs no read.
package web

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/trace"
)

// Config says how a kit serves. Zero fields mean the defaults named.
type Config struct {
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
	// CORSOrigin is the web origins whose pages may read the answers, joined by
	// commas, "none" for no such header; see CheckOrigins. "*", every origin.
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

	// Processors are those that dear answers take by turns, with what else uses them. Nil
	// are as many as the machine has, for requests alone.
	Processors *Processors
	// Guard asks for keys and keeps to limits. Nil asks nobody, at no cost.
	Guard *Guard
	// Metrics counts what the handlers do. Nil counts nothing, at no cost.
	Metrics *Metrics
	// Tracer makes spans of the share TraceSample, from 0 to 1, of the requests,
	// and of those that trusted proxies trace. It must record every span it is
	// asked for. Nil traces nothing, at no cost.
	Tracer      trace.Tracer
	TraceSample float64

	// Kinds are the errors that the rooms, and what they stand on, meet, besides those of
	// requests to any endpoint.
	Kinds []Kind
	// Meaning gives an error of the store the meaning it has here, before anything
	// else looks at it. Nil changes none.
	Meaning func(error) error

	// Generations are those in service, for traces. Nil tells none.
	Generations func() []Generation

	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// maxRequestBody is the largest body a request may announce, in bytes, to
// endpoints that read none. Those of batches have limits of their own.
const maxRequestBody = 64 << 10

// Kit is what every room of endpoints stands on: admission, conditions, kept
// answers, problems, logs, metrics and traces. It knows no data set. Everything in
// it may be used by any number of requests at once.
type Kit struct {
	TagStart     Hash // version, mixed into every tag
	PublicURL    string
	basePath     string
	trusted      []netip.Prefix
	forwarded    ForwardedHeader
	CacheControl []string
	PinnedCache  []string // Cache-Control of what its address names for good
	origins      []string // whose pages may read the answers, nil for none

	Processors *Processors // for InTurn

	running   places             // all but the followers
	Heavy     places             // of running, those that take long
	heavy     map[[2]string]bool // methods and paths of routes that are
	streams   places             // of running
	followers places
	Timeout   time.Duration
	Now       func() time.Time // the clock; tests have their own

	Kinds       []Kind
	meaning     func(error) error   // nil for none
	generations func() []Generation // in service, nil for none
	ids         *requestIDs

	log, access *slog.Logger
	sampling    sampling
	metrics     *Metrics // nil for none
	Guarding    *Guard   // nil for none
	tracer      trace.Tracer
	traceSample float64
}

// New makes a kit.
func New(cfg *Config) *Kit {
	s := &Kit{
		Kinds:        tableOf(cfg.Kinds),
		meaning:      cfg.Meaning,
		generations:  cfg.Generations,
		TagStart:     HashStart.Bytes(cfg.Version),
		PublicURL:    strings.TrimRight(cfg.PublicURL, "/"),
		basePath:     cfg.BasePath,
		trusted:      cfg.TrustedProxies,
		forwarded:    cfg.ForwardedHeader,
		CacheControl: []string{"public, max-age=300"},
		PinnedCache:  immutable,
		origins:      []string{"*"},
		heavy:        map[[2]string]bool{},
		Timeout:      10 * time.Second,
		Now:          time.Now,
		ids:          newRequestIDs(),
		log:          cfg.Log,
		access:       cfg.AccessLog,
		metrics:      cfg.Metrics,
		Guarding:     cfg.Guard,
		tracer:       cfg.Tracer,
		traceSample:  cfg.TraceSample,
	}
	if s.Processors = cfg.Processors; s.Processors == nil {
		s.Processors = AllProcessors()
	}
	if cfg.CacheControl != "" {
		s.CacheControl = []string{cfg.CacheControl}
	}
	switch cfg.CORSOrigin {
	case "":
	case "none":
		s.origins = nil
	default:
		s.origins = strings.Split(cfg.CORSOrigin, ",")
	}
	s.sampling.every, s.sampling.slow = uint64(max(cfg.AccessLogSample, 1)), cmp.Or(cfg.SlowRequest, time.Second)
	if g := cfg.Guard; g != nil && g.Keys != nil && !g.Anonymous {
		// Shared caches must not answer those without a key.
		s.CacheControl = []string{privately(s.CacheControl[0])}
		s.PinnedCache = []string{privately(immutable[0])}
	}
	most, keyed := int64(512), cfg.Guard != nil && cfg.Guard.Keys != nil
	if cfg.MaxConcurrent > 0 {
		most = int64(cfg.MaxConcurrent)
	}
	s.running.init(most, most/lightClientShare, keyed)
	s.running.few = s.running.share / 2
	s.Heavy.init(most/heavyShare, most/heavyShare/clientShare, keyed)
	s.Heavy.few = s.Heavy.share / 2
	s.streams.init(most/streamShare, most/streamShare/clientShare, keyed)
	s.followers.init(most, maxFollowed, keyed)
	if cfg.RequestTimeout > 0 {
		s.Timeout = cfg.RequestTimeout
	}
	if cfg.Now != nil {
		s.Now = cfg.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.metrics != nil {
		s.metrics.kit, s.metrics.others = s, nil
		for _, k := range append(s.Kinds, Internal) {
			s.metrics.problems[k.Type] = new(atomic.Int64)
		}
	}
	return s
}

// Handler makes the router of a table of routes.
func (s *Kit) Handler(routes []Route) http.Handler {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Logger.SetOutput(io.Discard) // everything worth saying goes to s.log
	// The framework's default believes any client's X-Forwarded-For. Handlers
	// use ClientAddr; this keeps RealIP from ever disagreeing with it.
	e.IPExtractor = func(r *http.Request) string { return s.ClientAddr(r).String() }
	allow := allowed(routes)
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		if list, ok := allow[c.Path()]; ok && errors.Is(err, echo.ErrMethodNotAllowed) {
			c.Response().Header()["Allow"] = []string{list}
		}
		if s.tracer != nil {
			if span := s.beginSpan(c, ""); span != nil {
				defer endSpan(c, span)
			}
		}
		s.allowOrigin(c)
		s.Fail(err, c)
		if s.metrics != nil {
			s.metrics.unmatched.one(c.Response().Status, c.Response().Size)
		}
		s.logAccess(c, time.Time{})
	}
	for _, r := range routes {
		s.add(e, &r)
	}
	s.addAllowed(e, allow)
	if s.basePath != "" {
		return &beneath{s: s, e: e, base: s.basePath}
	}
	return e
}

// answering turns errors and panics of a handler into problem responses and
// writes the access log.
func (s *Kit) answering(h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s.allowOrigin(c)
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

func (s *Kit) run(h echo.HandlerFunc, c echo.Context) {
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
		s.Fail(errPanic, c)
	}()
	if err := h(c); err != nil {
		s.Fail(err, c)
	}
}

const (
	allowOriginHeader   = "Access-Control-Allow-Origin"
	exposeHeadersHeader = "Access-Control-Expose-Headers"
)

// exposed lets pages of other origins read every header, such as ETag and Retry-After,
// which browsers do not show them otherwise.
var exposed = []string{"*"}

// allowOrigin lets pages of other origins read an answer. With a list of origins the
// header depends on who asks, and every answer says so, also to who has no origin: a cache
// would keep that one for the others.
func (s *Kit) allowOrigin(c echo.Context) {
	res := c.Response()
	switch len(s.origins) {
	case 0:
	case 1:
		res.Header()[allowOriginHeader], res.Header()[exposeHeadersHeader] = s.origins, exposed
	default:
		origin := c.Request().Header["Origin"]
		res.Before(func() { // whatever else the answer varies with is known by then
			res.Header().Add("Vary", "Origin")
			if len(origin) == 1 && slices.Contains(s.origins, origin[0]) {
				res.Header()[allowOriginHeader], res.Header()[exposeHeadersHeader] = origin, exposed
			}
		})
	}
}

// CheckOrigins tells what is wrong with a list of origins: browsers compare them with their
// own byte by byte. "*" and "none" stand alone.
func CheckOrigins(list string) error {
	if list == "" || list == "*" || list == "none" {
		return nil
	}
	for o := range strings.SplitSeq(list, ",") {
		scheme, host, _ := strings.Cut(o, "://")
		port := host[strings.LastIndexByte(host, ':')+1:]
		standard := scheme == "https" && port == "443" || scheme == "http" && port == "80"
		if o == "null" || scheme != "" && validHost(host) && !standard && strings.ToLower(o) == o && !strings.ContainsAny(scheme, " /:") {
			continue
		}
		return fmt.Errorf("%.200q is no origin as browsers send it: write a scheme and a host in small letters, and the port if it is not the scheme's own, "+
			"such as https://a.example,http://localhost:3000, with nothing behind them; or * for all, or none", o)
	}
	return nil
}

// preflight answers the question browsers ask before a cross-origin request
// with headers of its own. Pages of any origin may ask: writes need a key, which no
// browser sends by itself.
func (s *Kit) preflight(methods string) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		if s.origins != nil {
			h["Access-Control-Allow-Methods"] = []string{methods}
			h["Access-Control-Allow-Headers"] = []string{"*, Authorization"} // which * is not
			h["Access-Control-Max-Age"] = []string{"86400"}
		}
		h["Allow"] = []string{methods}
		c.Response().WriteHeader(http.StatusNoContent)
		return nil
	}
}

// Clock is the instant of a request that names none.
func (s *Kit) Clock() time.Time { return s.Now().UTC().Truncate(time.Second) }
