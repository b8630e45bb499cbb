// Package web is what every endpoint stands on: it admits requests, reads their
// parameters, decides whether the client has the answer already, compresses, keeps
// and writes answers, and counts, logs and traces all of it.
//
// Of the domains it knows no more than that a question takes a view of them, ask.View. A face, a
// package of endpoints that answer one kind of question, embeds *Kit and declares its endpoints as a list of [endpoint.Endpoint]. Limits,
// metrics and the checks of parameters read that declaration; nothing is found out
// from the text of a path. A face also contributes the kinds of errors it meets, of
// which an answer in the form of RFC 9457 is made.
//
// The files lie in layers, and use those below them. At the bottom is what knows no kit:
// status.go is the table from errors to statuses, form.go, condition.go and compress.go
// have what headers say, query.go and params.go read parameters, and clientip.go, trace.go
// and accesslog.go know who asks and write it down; guard.go, processors.go and metrics.go
// limit and count. kit.go puts these together. On it stand the ways to answer: reply.go
// with dates.go for what is made now, kept.go for what is kept, stream.go and batch.go for
// lines, asset.go for the page, problem.go for failures. admit.go and places.go let
// requests in. route.go and serve.go make a handler of it all.
//
// An entity tag is made of the identities of the generations an answer is from and
// of the request itself, which is why 304 costs no read.
package web

import (
	"cmp"
	"log/slog"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
)

// Config says how a kit serves. Zero fields mean the defaults named.
type Config struct {
	// Version is part of every entity tag, since another version may write other
	// bytes.
	Version string
	// PublicURL is the absolute URL of the server, without a final slash. If it is empty, the URL
	// is taken from each request.
	PublicURL string
	// BasePath is the path below which everything is, such as "/maps"; see
	// ValidBasePath. It is a part of PublicURL too. The default is "", no path.
	BasePath string
	// TrustedProxies are the peers whose forwarding headers are believed.
	// ForwardedHeader is the one header that is; the default is XForwardedFor.
	TrustedProxies  []netip.Prefix
	ForwardedHeader ForwardedHeader

	// CacheControl is the header of everything that depends only on the
	// address and the published data. "public, max-age=300".
	CacheControl string
	// CORSOrigin lists the web origins whose pages may read the answers, joined by
	// commas; see CheckOrigins. The default "*" means every origin, and "none" that
	// there is no such header.
	CORSOrigin string

	// MaxConcurrent bounds the requests that run at once, 512 by default. More are
	// answered 503 with Retry-After.
	MaxConcurrent int
	// RequestTimeout bounds the reads for an answer. 10 s.
	RequestTimeout time.Duration

	// Log receives failures. Nothing is logged when it is nil.
	Log *slog.Logger
	// AccessLog receives a record per request. Nil logs none.
	AccessLog *slog.Logger
	// AccessLogSample n logs one of n requests; the default is 1. Requests that fail with 500 or
	// more, or take SlowRequest or longer, are always logged. The default of SlowRequest is 1 s.
	AccessLogSample int
	SlowRequest     time.Duration

	// Processors shares the CPUs fairly between expensive requests and other work that uses it. If
	// it is nil, requests are not scheduled.
	Processors *Processors
	// Guard asks for keys and keeps to limits. Nil asks nobody, at no cost.
	Guard *Guard
	// Metrics counts the work of the handlers. Nil counts nothing, at no cost.
	Metrics *Metrics
	// Tracer makes spans of the share TraceSample, from 0 to 1, of the requests, and of all
	// requests that trusted proxies trace. It must record every span that it begins. Nil traces
	// nothing, at no cost.
	Tracer      trace.Tracer
	TraceSample float64

	// Views gives questions their views of the data sets. If it is nil, nothing is published.
	Views *ask.Views

	// Kinds are the errors of the faces, and of the packages that they use. Errors of requests to
	// any endpoint need not be among them.
	Kinds []ProblemKind
	// TranslateError gives an error of the store its meaning here, before anything else
	// looks at it. It may be nil.
	TranslateError func(error) error

	// Generations returns the generations in service, for traces and dates. If it is nil, there
	// are none of either.
	Generations func() []Generation

	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// Kit is what every face of endpoints stands on: admission, conditions, kept
// answers, problems, logs, metrics and traces. It takes a view of the data sets for each request, and
// knows none of them. Everything in it may be used by any number of requests at once.
type Kit struct {
	Views *ask.Views
	table
	journal
	dates dates

	ETagSeed           Hash // version, mixed into every tag
	CacheControl       []string
	PinnedCacheControl []string // Cache-Control of content that never changes at its address
	origins            []string // whose pages may read the answers, nil for none

	Processors *Processors // for InTurn

	running     places             // all but the followers
	HeavyPlaces places             // of running, those that take long
	heavy       map[[2]string]bool // methods and paths of routes that are
	streams     places             // of running
	followers   places
	Timeout     time.Duration
	Now         func() time.Time // the clock; tests have their own

	metrics *Metrics // nil for none
	Guard   *Guard   // nil for none
	// OnParamRead is called for each parameter that a handler reads. It is nil except in tests.
	OnParamRead func(e *endpoint.Endpoint, name string)
}

// New makes a kit.
func New(cfg *Config) *Kit {
	s := &Kit{
		table: table{Kinds: tableOf(cfg.Kinds), meaning: cfg.TranslateError},
		journal: journal{
			tracing: tracing{
				proxies: proxies{
					PublicURL: strings.TrimRight(cfg.PublicURL, "/"), basePath: cfg.BasePath,
					trusted: cfg.TrustedProxies, forwarded: cfg.ForwardedHeader,
				},
				tracer: cfg.Tracer, share: cfg.TraceSample, generations: cfg.Generations,
			},
			ids: newRequestIDs(), log: cfg.Log, access: cfg.AccessLog,
		},
		Views:              cfg.Views,
		ETagSeed:           HashStart.Bytes(cfg.Version),
		CacheControl:       []string{"public, max-age=300"},
		PinnedCacheControl: immutable,
		origins:            []string{"*"},
		heavy:              map[[2]string]bool{},
		Timeout:            10 * time.Second,
		Now:                time.Now,
		metrics:            cfg.Metrics,
		Guard:              cfg.Guard,
	}
	if s.Views == nil {
		s.Views = ask.NewViews(ask.Sets{})
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
		s.PinnedCacheControl = []string{privately(immutable[0])}
	}
	most, keyed := int64(512), cfg.Guard != nil && cfg.Guard.Keys != nil
	if cfg.MaxConcurrent > 0 {
		most = int64(cfg.MaxConcurrent)
	}
	s.running.init(most, most/lightClientShare, keyed)
	s.running.few = s.running.share / 2
	s.HeavyPlaces.init(most/heavyShare, most/heavyShare/clientShare, keyed)
	s.HeavyPlaces.few = s.HeavyPlaces.share / 2
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
		s.metrics.running, s.metrics.others = &s.running, nil
		for _, k := range append(s.Kinds, InternalProblem) {
			s.metrics.problems[k.Type] = new(atomic.Int64)
		}
	}
	return s
}

// Clock returns the instant for a request that names none.
func (s *Kit) Clock() time.Time { return s.Now().UTC().Truncate(time.Second) }

// Collect adds the metrics of a face to the kit's own. It is called while the server
// is made, not by requests.
func (s *Kit) Collect(collect func(ch chan<- prometheus.Metric)) {
	if s.metrics != nil {
		s.metrics.others = append(s.metrics.others, collect)
	}
}

var (
	immutable = []string{"public, max-age=31536000, immutable"}
	noCache   = []string{"no-cache"}
)
