package tracing

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

func TestTracesURL(t *testing.T) {
	for in, want := range map[string]string{
		"http://c:4318": "http://c:4318/v1/traces", "http://c:4318/": "http://c:4318/v1/traces", "https://c/otlp": "https://c/otlp/v1/traces",
		"https://c/v1/traces": "https://c/v1/traces", "https://c/otlp/": "https://c/otlp/v1/traces",
	} {
		u, err := url.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := tracesURL(u); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}

// TestNothingWaits ends many more spans than the queue can hold, while the collector accepts none.
// Ending a span never waits. Close ends the request to the collector, which hangs.
func TestNothingWaits(t *testing.T) {
	cut := make(chan struct{}, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		cut <- struct{}{}
	}))
	defer srv.Close()
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	traces, err := Open(t.Context(), Options{Endpoint: u, Service: "s", Version: "v\xff", Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	tracer := traces.Tracer()
	for range 5 * queueLength {
		_, span := tracer.Start(context.Background(), "x")
		span.End()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := traces.Close(ctx); err == nil {
		t.Error("Close says that all was taken")
	}
	<-cut
}

type failing struct{ err error }

func (f *failing) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return f.err }
func (f *failing) Shutdown(context.Context) error                        { return nil }

// A collector that always fails, or fails at times, gives at most two log messages per minute, and
// can write only a short text into them.
func TestLogIsNotFlooded(t *testing.T) {
	var log bytes.Buffer
	now := time.Unix(1e9, 0)
	to := &failing{}
	r := &reported{SpanExporter: to, log: slog.New(slog.NewTextHandler(&log, nil)), now: func() time.Time { return now }}
	for i := range 6000 { // ten minutes
		to.err = nil
		if i%2 == 0 {
			to.err = errors.New("answered: " + strings.Repeat("\n\xff", 5000))
		}
		if err := r.ExportSpans(t.Context(), make([]sdk.ReadOnlySpan, 2)); err != nil {
			t.Fatal(err)
		}
		now = now.Add(100 * time.Millisecond)
	}
	if n := strings.Count(log.String(), "\n"); n < 10 || n > 20 {
		t.Errorf("%d lines", n)
	}
	if log.Len() > 20*1500 {
		t.Errorf("%d bytes:\n%.2000s", log.Len(), log.String())
	}
	now = now.Add(time.Hour)
	to.err = nil
	_ = r.ExportSpans(t.Context(), nil)
	if !strings.Contains(log.String(), "delivered again") {
		t.Errorf("nothing is said of the recovery:\n%.500s", log.String())
	}
}
