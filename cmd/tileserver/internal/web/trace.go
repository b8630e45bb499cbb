package web

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// tracing makes spans of requests.
type tracing struct {
	proxies
	tracer      trace.Tracer        // nil for none
	share       float64             // of the requests
	generations func() []Generation // in service, nil for none
}

// beginSpan returns the span of a request, or nil if the request is not traced. It also stores the
// span in the context of the request. route is "" if there is none. The header traceparent of a
// trusted proxy decides whether to trace. Untrusted clients cannot decide this, because they could
// cause work or join a trace of others: our trace only has a link to theirs.
func (s *tracing) beginSpan(c echo.Context, route string) trace.Span {
	r := c.Request()
	parent, sent := parentOf(r.Header)
	trusted := sent && s.trusts(peerAddr(r))
	if trusted && !parent.IsSampled() || !trusted && rand.Float64() >= s.share {
		return nil
	}
	ctx := r.Context()
	opts := make([]trace.SpanStartOption, 0, 3)
	switch {
	case trusted:
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	case sent:
		opts = append(opts, trace.WithLinks(trace.Link{SpanContext: parent}))
	}
	method, name := r.Method, r.Method
	if !slices.Contains(tracedMethods, method) {
		method, name = "_OTHER", "HTTP"
	}
	attrs := make([]attribute.KeyValue, 0, 8)
	attrs = append(attrs,
		attribute.String("http.request.method", method),
		attribute.String("url.scheme", s.scheme(r)),
		attribute.String("url.path", strings.ToValidUTF8(shorten(r.URL.Path), "\uFFFD")),
		attribute.String("network.protocol.version", protocolVersion(r)))
	if route != "" {
		name += " " + route
		attrs = append(attrs, attribute.String("http.route", route))
	}
	if client := s.ClientAddr(r); client.IsValid() {
		attrs = append(attrs, attribute.String("client.address", client.String()))
	}
	opts = append(opts, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attrs...))
	ctx, span := s.tracer.Start(ctx, name, opts...)
	c.SetRequest(r.WithContext(ctx))
	return span
}

// tracedMethods lists the methods in the conventions of OpenTelemetry.
var tracedMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions, http.MethodPut, http.MethodDelete, http.MethodPatch,
	http.MethodConnect, http.MethodTrace,
}

func protocolVersion(r *http.Request) string {
	switch {
	case r.ProtoMajor == 2:
		return "2"
	case r.ProtoMajor == 1 && r.ProtoMinor == 0:
		return "1.0"
	}
	return "1.1"
}

func endSpan(c echo.Context, span trace.Span) {
	status := c.Response().Status
	span.SetAttributes(attribute.Int("http.response.status_code", status))
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// spanOf returns the span of a request, or nil if it is not traced.
func (s *tracing) spanOf(ctx context.Context) trace.Span {
	if s.tracer == nil {
		return nil
	}
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		return span
	}
	return nil
}

// traceID returns the id of the trace of a request, for the log.
func (s *tracing) traceID(ctx context.Context) (id string, ok bool) {
	span := s.spanOf(ctx)
	if span == nil {
		return "", false
	}
	return span.SpanContext().TraceID().String(), true
}

// traceCache records in the span of a request whether its answer was cached.
func (s *tracing) traceCache(ctx context.Context, hit bool) {
	if span := s.spanOf(ctx); span != nil {
		span.SetAttributes(attribute.Bool("quadrille.cache.hit", hit))
	}
}

// traceProblem records in the span of a request the problem with which it failed.
func (s *tracing) traceProblem(ctx context.Context, k *ProblemKind) {
	if span := s.spanOf(ctx); span != nil {
		span.SetAttributes(attribute.String("error.type", k.Type))
	}
}

// Generation identifies a generation in service, for traces and dates.
type Generation struct {
	Dataset string
	Number  uint64
	ID      uint64    // the identity of the generation, as in cache keys and ETags; it is odd
	Built   time.Time // zero if that is not the generation's alone
}

// TraceFrom records in the span of a request the generations of its answer, by their identities. It
// omits a generation that has just been replaced.
func (s *tracing) TraceFrom(ctx context.Context, ids ...uint64) {
	span := s.spanOf(ctx)
	if span == nil {
		return
	}
	if s.generations == nil {
		return
	}
	for _, g := range s.generations() {
		if slices.Contains(ids, g.ID) {
			span.SetAttributes(attribute.Int64("quadrille.generation."+g.Dataset, int64(g.Number))) //nolint:gosec // generations count from 1
		}
	}
}

// TraceRead begins the span of reading the data of an answer; end ends it.
func (s *tracing) TraceRead(ctx context.Context) (_ context.Context, end func()) {
	if s.spanOf(ctx) == nil {
		return ctx, untraced
	}
	ctx, span := s.tracer.Start(ctx, "read")
	return ctx, func() { span.End() }
}

func untraced() {}

// maxTraceparent is the greatest length of the header. Later versions of W3C's Trace Context may
// extend it.
const maxTraceparent = 256

// parentOf reads the header traceparent of W3C's Trace Context. An invalid header counts as absent.
// tracestate is ignored.
func parentOf(h http.Header) (parent trace.SpanContext, ok bool) {
	values := h["Traceparent"]
	if len(values) != 1 || len(values[0]) > maxTraceparent {
		return parent, false
	}
	sent := propagation.MapCarrier{"traceparent": values[0]}
	parent = trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), sent))
	return parent, parent.IsValid()
}

// maxLogged bounds how much of a path is logged.
const maxLogged = 512

func shorten(s string) string {
	if len(s) > maxLogged {
		return s[:maxLogged] + "…"
	}
	return s
}

// routeLabel converts a pattern to the notation of API descriptions: /ip/{addr}.
func routeLabel(pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, ":") {
			parts[i] = "{" + p[1:] + "}"
		}
	}
	return strings.Join(parts, "/")
}
