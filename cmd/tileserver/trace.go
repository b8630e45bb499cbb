package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/tracing"
)

// traceConfig has the flags for traces.
type traceConfig struct {
	OTLPEndpoint *url.URL `name:"otlp-endpoint" env:"QUADRILLE_OTLP_ENDPOINT" placeholder:"URL" help:"Send OpenTelemetry traces to this collector, by OTLP over HTTP, such as http://127.0.0.1:4318. Without it there are none, at no cost."`
	TraceSample  float64  `default:"0.01" placeholder:"RATIO" help:"With --otlp-endpoint: trace this share of the requests, from 0 to 1, ${default} if not given. Those that a trusted proxy traces or does not follow it instead."`
}

// Validate is called by the parser.
func (c *traceConfig) Validate() error {
	if !(c.TraceSample >= 0 && c.TraceSample <= 1) {
		return errors.New("--trace-sample must be from 0, none, to 1, all, such as 0.01")
	}
	if u := c.OTLPEndpoint; u != nil &&
		(u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil) {
		return errors.New("--otlp-endpoint must be an absolute http or https address without a user or query, such as " +
			"http://127.0.0.1:4318; headers go into OTEL_EXPORTER_OTLP_HEADERS")
	}
	return nil
}

// flushTimeout bounds the time to send the last traces when the server stops.
const flushTimeout = 3 * time.Second

// trace sets the tracing of the flags in api. stop sends the waiting traces within a bounded time.
// Lost traces are not an error.
func (c *traceConfig) trace(ctx context.Context, api *httpapi.Config, log *slog.Logger) (stop func(), err error) {
	if c.OTLPEndpoint == nil {
		return func() {}, nil
	}
	traces, err := tracing.Open(ctx, tracing.Options{
		Endpoint: c.OTLPEndpoint,
		Service:  "quadrille-tileserver",
		Version:  api.Version,
		Log:      log,
	})
	if err != nil {
		return nil, fmt.Errorf("--otlp-endpoint: %w", err)
	}
	api.Tracer, api.TraceSample = traces.Tracer(), c.TraceSample
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
		defer cancel()
		if err := traces.Close(ctx); err != nil {
			log.Warn("some traces are lost", "error", err)
		}
	}, nil
}
