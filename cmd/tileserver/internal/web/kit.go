// Package web is the basis of all endpoints: it admits requests, reads their parameters, decides
// whether the client already has the answer, compresses, caches and writes answers, and counts,
// logs and traces requests.
//
// Its only dependency on the domains is that a request takes a view of them, ask.View. A face is a
// package of endpoints for one purpose. It embeds *Kit and declares its endpoints as a list of
// [endpoint.Endpoint]. Limits, metrics and the checks of parameters use this declaration and not
// the text of a path. A face also contributes its kinds of errors, which are answered in the form
// of RFC 9457.
//
// The files form layers, and each file uses only the layers below it. The lowest layer does not
// depend on Kit: status.go has the table from errors to statuses; form.go, condition.go and
// compress.go handle headers; query.go and params.go read parameters; clientip.go, trace.go and
// accesslog.go determine and log the client; guard.go, cpuscheduler.go and metrics.go limit and
// count. kit.go combines these. The next layer has the ways to answer: reply.go with dates.go for
// new answers, kept.go for cached answers, stream.go and batch.go for lines, asset.go for the page,
// and problem.go for errors. admit.go and places.go admit requests. route.go and serve.go make the
// handler.
//
// An ETag is a hash of the identities of an answer's generations and of the request, so a 304 needs
// no read.
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

// Config is the configuration of a kit. Zero fields mean the documented defaults.
type Config struct {
	// Version is part of every ETag, because another version may write other bytes.
	Version string
	// PublicURL is the absolute URL of the server, without a final slash. If it is empty, the URL
	// is taken from each request.
	PublicURL string
	// BasePath is the common prefix of all paths, such as "/maps"; see ValidBasePath. PublicURL
	// also includes it. The default is "", which means no prefix.
	BasePath string
	// TrustedProxies are the peers whose forwarding headers are trusted. ForwardedHeader is the
	// only trusted header; the default is XForwardedFor.
	TrustedProxies  []netip.Prefix
	ForwardedHeader ForwardedHeader

	// CacheControl is the header of answers that depend only on the address and the published data.
	// The default is "public, max-age=300".
	CacheControl string
	// CORSOrigin lists the web origins whose pages may read the answers, joined by commas; see
	// CheckOrigins. The default "*" means every origin, and "none" disables the header.
	CORSOrigin string

	// MaxConcurrent bounds the number of concurrent requests, 512 by default. Further requests are
	// answered with 503 and Retry-After.
	MaxConcurrent int
	// StreamMemory bounds the memory of all streams of forms that need some until their end, in bytes.
	// The default is 64 MiB. Further streams are answered with 503 and Retry-After.
	StreamMemory int64
	// RequestTimeout bounds the time of the reads for an answer. The default is 10 s.
	RequestTimeout time.Duration

	// Log receives failures. If it is nil, nothing is logged.
	Log *slog.Logger
	// AccessLog receives a record per request. If it is nil, requests are not logged.
	AccessLog *slog.Logger
	// AccessLogSample n logs one of n requests; the default is 1. Requests that fail with 500 or
	// more, or take SlowRequest or longer, are always logged. The default of SlowRequest is 1 s.
	AccessLogSample int
	SlowRequest     time.Duration

	// CPUScheduler shares the CPUs fairly between expensive requests and other work that uses it. If
	// it is nil, requests are not scheduled.
	CPUScheduler *CPUScheduler
	// Guard checks API keys and rate limits. If it is nil, nothing is checked, at no cost.
	Guard *Guard
	// Metrics counts the work of the handlers. If it is nil, nothing is counted, at no cost.
	Metrics *Metrics
	// Tracer makes spans for the share TraceSample (0 to 1) of the requests, and for all requests
	// that trusted proxies trace. It must record every span that it begins. If it is nil, nothing
	// is traced, at no cost.
	Tracer      trace.Tracer
	TraceSample float64

	// Views provides the requests' views of the data sets. If it is nil, nothing is published.
	Views *ask.Views

	// Kinds are the kinds of errors of the endpoints, and of the packages that they use. Errors
	// that can occur at all endpoints need not be included.
	Kinds []ProblemKind
	// TranslateError converts an error of the store to its meaning for requests, before the error is
	// examined otherwise. It may be nil.
	TranslateError func(error) error

	// Generations returns the generations in service, for traces and dates. If it is nil, answers
	// have no dates and traces have no generations.
	Generations func() []Generation

	// Now is the clock; nil means the system's clock.
	Now func() time.Time
}

// Kit is the common basis of all packages of endpoints: admission, conditions, cached answers,
// problems, logs, metrics and traces. It takes a view of the data sets for each request, but does
// not depend on any of them. Any number of requests may use it concurrently.
type Kit struct {
	Views *ask.Views
	table
	journal
	dates dates

	ETagSeed           Hash // version, mixed into every tag
	CacheControl       []string
	PinnedCacheControl []string // Cache-Control of content that never changes at its address
	origins            []string // whose pages may read the answers, nil for none

	CPUScheduler *CPUScheduler // for InTurn

	running      places             // all but the followers
	HeavyPlaces  places             // of running, those that take long
	heavy        map[[2]string]bool // methods and paths of routes that are
	streams      places             // of running
	followers    places
	streamMemory memory
	Timeout      time.Duration
	Now          func() time.Time // the clock; tests have their own

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
	if s.CPUScheduler = cfg.CPUScheduler; s.CPUScheduler == nil {
		s.CPUScheduler = NewMachineCPUScheduler()
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
		// Shared caches must not answer requests without a key.
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
	s.streamMemory.most = cmp.Or(cfg.StreamMemory, DefaultStreamMemory)
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

// Collect adds the metrics of a package to those of the kit. It is called while the server is made,
// not during requests.
func (s *Kit) Collect(collect func(ch chan<- prometheus.Metric)) {
	if s.metrics != nil {
		s.metrics.others = append(s.metrics.others, collect)
	}
}

var (
	immutable = []string{"public, max-age=31536000, immutable"}
	noCache   = []string{"no-cache"}
)
