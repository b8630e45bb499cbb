package web

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Headers of any bytes are read as the library of OpenTelemetry reads them, or
// more strictly.
// Headers of requests that are traced, and are not.
const (
	sampledHeader   = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	unsampledHeader = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
)

func FuzzTraceparent(f *testing.F) {
	for _, s := range []string{sampledHeader, unsampledHeader, "", "00-", "ff" + sampledHeader[2:], "01" + sampledHeader[2:] + "-x", strings.ToUpper(sampledHeader),
		"00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", sampledHeader + "-", sampledHeader[:54] + "9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, v string) {
		got, ok := parentOf(http.Header{"Traceparent": {v}})
		want := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": v}))
		if ok != got.IsValid() {
			t.Fatalf("%q: %v but %v", v, ok, got)
		}
		if ok && !want.IsValid() && v[53:55] > "03" {
			return // flags that are not known yet mean nothing, to us
		}
		if ok && (got.TraceID() != want.TraceID() || got.SpanID() != want.SpanID() || got.IsSampled() != want.IsSampled() || !got.IsRemote()) {
			t.Errorf("%q: %v, want %v", v, got, want)
		}
		if v == sampledHeader && !ok {
			t.Errorf("%q is refused", v)
		}
	})
}
