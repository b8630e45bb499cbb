package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
)

const (
	sampledParent   = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	unsampledParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
)

// tracing returns a change of the configuration that records the spans of a share of the requests.
func tracing(share float64, into sdk.SpanProcessor) func(*httpapi.Config) {
	return func(c *httpapi.Config) {
		c.Tracer = sdk.NewTracerProvider(sdk.WithSpanProcessor(into)).Tracer("test")
		c.TraceSample = share
	}
}

// A trusted proxy decides which requests are traced. An untrusted client decides nothing: it can
// neither enable nor prevent the tracing of its requests, nor choose the trace.
func TestWhoIsTraced(t *testing.T) {
	for _, c := range []struct {
		name    string
		share   float64
		trusted bool
		parent  []string
		spans   int
		joined  bool
		links   int
	}{
		{"ratio 0", 0, false, nil, 0, false, 0},
		{"ratio 1", 1, false, nil, 1, false, 0},
		{"stranger asks for it", 0, false, []string{sampledParent}, 0, false, 0},
		{"stranger joins", 1, false, []string{sampledParent}, 1, false, 1},
		{"stranger declines", 1, false, []string{unsampledParent}, 1, false, 1},
		{"proxy asks for it", 0, true, []string{sampledParent}, 1, true, 0},
		{"proxy declines", 1, true, []string{unsampledParent}, 0, false, 0},
		{"proxy says nothing", 0, true, nil, 0, false, 0},
		{"proxy says nonsense", 1, true, []string{"00-zz"}, 1, false, 0},
		{"proxy says two things", 0, true, []string{sampledParent, sampledParent}, 0, false, 0},
		{"too long", 0, true, []string{"01" + sampledParent[2:] + "-" + strings.Repeat("a", 8000)}, 0, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			spans := tracetest.NewSpanRecorder()
			f := servertest.New(t, func(cfg *httpapi.Config) {
				tracing(c.share, spans)(cfg)
				if c.trusted {
					cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("1.2.0.7/32"), netip.MustParsePrefix("192.0.2.1/32")}
				}
			})
			headers := []string{"X-Forwarded-For", "203.0.113.9", "X-Forwarded-Proto", "https"}
			for _, p := range c.parent {
				headers = append(headers, "Traceparent", p)
			}
			if res := f.Get("/healthz", headers...); res.StatusCode != 200 {
				t.Fatal(res.StatusCode)
			}
			got := spans.Ended()
			if len(got) != c.spans {
				t.Fatalf("%d spans, want %d", len(got), c.spans)
			}
			if len(got) == 0 {
				return
			}
			s := got[0]
			if joined := s.SpanContext().TraceID().String() == sampledParent[3:35] &&
				s.Parent().SpanID().String() == sampledParent[36:52]; joined != c.joined || len(s.Links()) != c.links {
				t.Errorf("joined %v with %d links: %v", joined, len(s.Links()), s)
			}
			values := map[string]string{}
			for _, a := range s.Attributes() {
				values[string(a.Key)] = a.Value.String()
			}
			client, scheme := "1.2.0.7", "http"
			if c.trusted {
				client, scheme = "203.0.113.9", "https"
			}
			if values["client.address"] != client || values["url.scheme"] != scheme || s.Name() != "GET /healthz" {
				t.Errorf("%s %v", s.Name(), values)
			}
		})
	}
}

// The span of a server error or a panic is marked as an error, but not the span of a client error.
func TestTracesOfFailures(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	f := servertest.New(t, func(c *httpapi.Config) {
		tracing(1, spans)(c)
		c.MetricsHandler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") })
	})
	f.Get("/metrics")
	f.Get("/regions/at?lat=91&lon=1")
	got := spans.Ended()
	if len(got) != 2 || got[0].Status().Code.String() != "Error" || got[1].Status().Code.String() != "Unset" {
		t.Fatalf("%v", got)
	}
	found := false
	for _, a := range got[0].Attributes() {
		found = found || a.Key == "error.type" && a.Value.AsString() == "internal"
	}
	if !found {
		t.Errorf("the failure has no type: %v", got[0].Attributes())
	}
}

func TestTracesConcurrent(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	f := servertest.New(t, tracing(1, spans), servertest.DefaultDatasets...)
	const workers, each = 8, 50
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range each {
				f.Handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/tiles/country/3/1/2.mvt", nil))
			}
		})
	}
	wg.Wait()
	roots := 0
	for _, s := range spans.Ended() {
		if s.Name() != "read" {
			roots++
		}
	}
	if roots != workers*each {
		t.Errorf("%d spans of %d requests", roots, workers*each)
	}
}

// A request that is not traced allocates nothing for tracing, whether tracing is on or not.
func TestTracesAllocs(t *testing.T) {
	testrace.SkipUnderRace(t, "it allocates")
	for _, path := range []string{"/tiles/country/3/1/2.mvt", "/ip/1.2.3.4", "/regions/at?lat=1&lon=2"} {
		allocs := func(change func(*httpapi.Config)) float64 {
			f := servertest.New(t, change, servertest.DefaultDatasets...)
			r, w := httptest.NewRequest(http.MethodGet, path, nil), &servertest.DiscardWriter{Headers: http.Header{}}
			return testing.AllocsPerRun(200, func() {
				clear(w.Headers)
				f.Handler.ServeHTTP(w, r)
			})
		}
		if without, with := allocs(nil), allocs(tracing(0, tracetest.NewSpanRecorder())); with > without {
			t.Errorf("%s: %v allocations with tracing, %v without", path, with, without)
		}
	}
}

// BenchmarkTileKeptNotTraced does the same as BenchmarkTileKept, with tracing on and a request that
// is not traced. In BenchmarkTileKeptTraced the request is traced.
func BenchmarkTileKeptNotTraced(b *testing.B) {
	w := servertest.NewBenchWorld(b)
	tracing(0, dropped{})(&w.Config)
	servertest.BenchHandler(b, httpapi.New(w.Config), nil, servertest.HotMVT)
}

func BenchmarkTileKeptTraced(b *testing.B) {
	w := servertest.NewBenchWorld(b)
	tracing(1, dropped{})(&w.Config)
	servertest.BenchHandler(b, httpapi.New(w.Config), nil, servertest.HotMVT)
}

// dropped accepts spans and discards them.
type dropped struct{}

func (dropped) OnStart(context.Context, sdk.ReadWriteSpan) {}

func (dropped) OnEnd(sdk.ReadOnlySpan) {}

func (dropped) Shutdown(context.Context) error { return nil }

func (dropped) ForceFlush(context.Context) error { return nil }
