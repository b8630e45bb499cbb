// Package tracing delivers traces to a collector of OpenTelemetry, as OTLP over
// HTTP.
//
// Spans wait in a queue of fixed length. When the collector is slow or not available, the queue
// becomes full and further spans are dropped. Only Close waits for the collector, for a bounded
// time.
package tracing

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// These constants define how spans are queued and sent.
const (
	queueLength = 4096             // spans that wait
	batchLength = 512              // spans in a request
	batchDelay  = 2 * time.Second  // longest wait for a batch to fill
	sendTimeout = 10 * time.Second // for a batch, retries included
	// maxValue is the greatest length of the value of an attribute, in characters.
	maxValue = 1024
	// quiet is the least time between two log messages about a collector.
	quiet = time.Minute
)

// Options give the destination of traces and the service that they describe.
type Options struct {
	// Endpoint is the collector's address, such as http://127.0.0.1:4318. The
	// path of traces, /v1/traces, is added unless it is there.
	Endpoint *url.URL
	// Service is service.name and Version service.version of every trace, unless OTEL_SERVICE_NAME
	// and OTEL_RESOURCE_ATTRIBUTES in the environment override them.
	Service, Version string
	// Log gets a line when the collector cannot be reached, and when it can again.
	Log *slog.Logger
}

// Traces is a queue of spans on their way to a collector. Its methods may be
// called concurrently.
type Traces struct {
	provider *sdk.TracerProvider
	exporter *otlptrace.Exporter
}

// Open begins to deliver traces. It does not connect, because a collector may start later. Headers,
// certificates and compression are read from the environment, OTEL_EXPORTER_OTLP_HEADERS and so on,
// where secrets belong.
func Open(ctx context.Context, o Options) (*Traces, error) {
	exporter, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(tracesURL(o.Endpoint)),
		otlptracehttp.WithTimeout(sendTimeout),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: time.Second, MaxInterval: 5 * time.Second, MaxElapsedTime: sendTimeout,
		}))
	if err != nil {
		return nil, err
	}
	of, err := describe(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Traces{
		exporter: exporter,
		provider: sdk.NewTracerProvider(
			sdk.WithResource(of),
			// Spans are started only for traced requests.
			sdk.WithSampler(sdk.AlwaysSample()),
			sdk.WithRawSpanLimits(sdk.SpanLimits{
				AttributeValueLengthLimit: maxValue, AttributeCountLimit: 32, EventCountLimit: 16, LinkCountLimit: 4,
				AttributePerEventCountLimit: 16, AttributePerLinkCountLimit: 4,
			}),
			sdk.WithBatcher(&reported{SpanExporter: exporter, log: o.Log, now: time.Now},
				sdk.WithMaxQueueSize(queueLength), sdk.WithMaxExportBatchSize(batchLength),
				sdk.WithBatchTimeout(batchDelay), sdk.WithExportTimeout(sendTimeout))),
	}, nil
}

// tracesURL returns the address to which traces are sent.
func tracesURL(endpoint *url.URL) string {
	const path = "/v1/traces"
	if strings.HasSuffix(endpoint.Path, path) {
		return endpoint.String()
	}
	return endpoint.JoinPath(path).String()
}

func describe(ctx context.Context, o Options) (*resource.Resource, error) {
	attrs := []attribute.KeyValue{attribute.String("service.name", o.Service), attribute.String("service.version", clean(o.Version))}
	if host, err := os.Hostname(); err == nil {
		attrs = append(attrs, attribute.String("host.name", clean(host)))
	}
	// Later attributes replace earlier ones.
	return resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attrs...), resource.WithFromEnv())
}

// clean returns a text that can be sent: invalid UTF-8 would make a whole batch
// fail.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Tracer returns a tracer. All its spans are recorded and sent.
func (t *Traces) Tracer() trace.Tracer { return t.provider.Tracer("quadrille/tileserver") }

// Close sends the waiting spans until ctx ends, and stops.
func (t *Traces) Close(ctx context.Context) error {
	err := t.provider.Shutdown(ctx)
	// The provider would do this only after all spans have been sent, which may never happen.
	// Calling it here ends a running request.
	stopped := t.exporter.Shutdown(ctx)
	if ctx.Err() != nil {
		return errors.New("the collector of traces did not take the last ones in time")
	}
	return errors.Join(err, stopped)
}

// reported logs failures, limited in frequency, and does not return them.
type reported struct {
	sdk.SpanExporter
	log *slog.Logger
	now func() time.Time

	mu      sync.Mutex
	said    time.Time // when a failure was last logged
	failing bool      // a failure has been logged, and no recovery yet
	lost    int       // spans since
}

// ExportSpans implements sdk.SpanExporter. It never fails.
func (r *reported) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := r.SpanExporter.ExportSpans(ctx, spans)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		if r.failing && r.now().Sub(r.said) >= quiet {
			r.log.Info("traces are delivered again", "lost", r.lost)
			r.failing, r.lost = false, 0
		}
		return nil
	}
	r.lost += len(spans)
	if now := r.now(); r.said.IsZero() || now.Sub(r.said) >= quiet {
		r.said, r.failing = now, true
		r.log.Warn("traces are not delivered: look after the collector, or --otlp-endpoint", "lost", r.lost, "error", shorten(err.Error()))
	}
	return nil
}

// Shutdown leaves the exporter to Close.
func (r *reported) Shutdown(context.Context) error { return nil }

// shorten bounds the text that a collector can write to the log.
func shorten(s string) string {
	const most = 300
	if len(s) > most {
		return clean(s[:most]) + "…"
	}
	return clean(s)
}
