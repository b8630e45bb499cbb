package main

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// fakeCollector is a collector that receives traces.
type fakeCollector struct {
	t     *testing.T
	mu    sync.Mutex
	spans []*tracepb.Span
	of    map[string]string // attributes of the resource
}

func (f *fakeCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		f.t.Errorf("%s %s %v: %v", r.Method, r.URL, r.Header, err)
	}
	var got collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(raw, &got); err != nil {
		f.t.Error(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, rs := range got.ResourceSpans {
		f.of = map[string]string{}
		for _, a := range rs.Resource.Attributes {
			f.of[a.Key] = a.Value.GetStringValue()
		}
		for _, ss := range rs.ScopeSpans {
			f.spans = append(f.spans, ss.Spans...)
		}
	}
}

// named returns the spans with a name whose attribute url.path ends with path.
func (f *fakeCollector) named(name, path string) (all []*tracepb.Span) {
	for _, s := range f.spans {
		if s.Name == name && strings.HasSuffix(attr(s, "url.path"), path) {
			all = append(all, s)
		}
	}
	return all
}

func attr(s *tracepb.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key != key {
			continue
		}
		switch v := a.Value.Value.(type) {
		case *otlp.AnyValue_StringValue:
			return v.StringValue
		case *otlp.AnyValue_IntValue:
			return strconv.FormatInt(v.IntValue, 10)
		case *otlp.AnyValue_BoolValue:
			return strconv.FormatBool(v.BoolValue)
		}
	}
	return ""
}

// TestTraces tests the spans that the collector gets from a program with tracing.
func TestTraces(t *testing.T) {
	dir := publish(t, t.TempDir())
	fake := &fakeCollector{t: t}
	srv := httptest.NewServer(fake)
	defer srv.Close()
	url, log, stop := start(t, "--data="+dir, "--otlp-endpoint="+srv.URL, "--trace-sample=1", "--access-log")
	for _, path := range []string{
		"/tiles/all/0/0/0.mvt", "/tiles/all/0/0/0.mvt", "/regions/at?lat=48&lon=4&key=secret", "/ip/1.2.3.4", "/nowhere/%ff%0a/<b>",
		"/regions/at?lat=91&lon=4",
	} {
		fetch(t, url+path)
	}
	req, err := http.NewRequest("PURGE", url+"/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	stop() // which sends the waiting spans
	if fake.of["service.name"] != "quadrille-tileserver" || fake.of["service.version"] == "" {
		t.Errorf("resource: %v", fake.of)
	}
	const tile = "GET /tiles/{layers}/{z}/{x}/{file}"
	tiles := fake.named(tile, "/tiles/all/0/0/0.mvt")
	if len(tiles) != 2 {
		t.Fatalf("%d spans of the tile, want 2: %v", len(tiles), fake.spans)
	}
	slices.SortFunc(tiles, func(a, b *tracepb.Span) int { return int(int64(a.StartTimeUnixNano) - int64(b.StartTimeUnixNano)) })
	for i, s := range tiles {
		for key, want := range map[string]string{
			"http.request.method": "GET", "http.route": "/tiles/{layers}/{z}/{x}/{file}", "http.response.status_code": "200",
			"url.scheme": "http", "client.address": "127.0.0.1", "network.protocol.version": "1.1",
			"quadrille.cache.hit": []string{"false", "true"}[i], "quadrille.generation.boundaries": "1",
		} {
			if got := attr(s, key); got != want {
				t.Errorf("tile %d: %s is %q, want %q", i, key, got, want)
			}
		}
		if s.Kind != tracepb.Span_SPAN_KIND_SERVER || len(s.ParentSpanId) != 0 || s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("tile %d: %v", i, s)
		}
		if id := hex.EncodeToString(s.TraceId); !log.has("trace_id="+id) || strings.Count(log.String(), "trace_id="+id) != 1 {
			t.Errorf("the log does not name %s:\n%s", id, log)
		}
	}
	reads := 0
	for _, s := range fake.spans {
		if s.Name == "read" && string(s.ParentSpanId) == string(tiles[0].SpanId) && string(s.TraceId) == string(tiles[0].TraceId) {
			reads++
		}
	}
	if reads != 1 {
		t.Errorf("%d reads for the first tile, want 1", reads)
	}
	for _, want := range [][3]string{
		{"GET /*", "/<b>", "404"}, {"HTTP", "/x", "405"}, {"GET /regions/at", "/regions/at", "200"}, {"GET /ip/{addr}", "/ip/1.2.3.4", ""},
	} {
		list := fake.named(want[0], want[1])
		if len(list) == 0 || want[2] != "" && attr(list[0], "http.response.status_code") != want[2] {
			t.Errorf("%v: %v", want, list)
		}
	}
	for _, s := range fake.spans {
		if raw, err := proto.Marshal(s); err != nil || strings.Contains(string(raw), "secret") {
			t.Errorf("%v: %v", err, s)
		}
	}
}

// If no collector accepts traces, requests are still answered, the log has at most one line, and
// the program stops without an error.
func TestTracesNotTaken(t *testing.T) {
	dir := publish(t, t.TempDir())
	cut := make(chan struct{}, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done() // never answers
		cut <- struct{}{}
	}))
	defer srv.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, endpoint := range map[string]string{"hangs": srv.URL, "is not there": gone.URL} {
		url, log, stop := start(t, "--data="+dir, "--otlp-endpoint="+endpoint, "--trace-sample=1")
		for range 300 {
			if code, b := fetch(t, url+"/regions/at?lat=48&lon=4"); code != 200 {
				t.Fatalf("%s: %d %s", name, code, b)
			}
		}
		stop()
		if n := strings.Count(log.String(), "level=WARN"); n > 2 {
			t.Errorf("%s: %d lines of the log are about it:\n%s", name, n, log)
		}
	}
	<-cut // the request that hung was ended
}

func TestTraceFlags(t *testing.T) {
	t.Setenv("QUADRILLE_OTLP_ENDPOINT", "http://127.0.0.1:4318")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://elsewhere")
	cfg, err := parse(nil, io.Discard, io.Discard)
	if err != nil || cfg.Trace.OTLPEndpoint.Host != "127.0.0.1:4318" || cfg.Trace.TraceSample != 0.01 {
		t.Errorf("%v %+v", err, cfg)
	}
}
