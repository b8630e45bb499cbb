package web

import (
	"net/http"
	"strings"
	"testing"
)

// These are headers of requests that are traced, and of one that is not.
const (
	sampledHeader   = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	unsampledHeader = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
)

// For a header of arbitrary bytes, the OpenTelemetry library returns either ids that occur in it or
// nothing.
func FuzzTraceparent(f *testing.F) {
	for _, s := range []string{sampledHeader, unsampledHeader, "", "00-", "ff" + sampledHeader[2:],
		"01" + sampledHeader[2:] + "-x", strings.ToUpper(sampledHeader),
		"00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
		sampledHeader + "-", sampledHeader[:54] + "9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, v string) {
		got, ok := parentOf(http.Header{"Traceparent": {v}})
		if ok != got.IsValid() || ok != got.IsRemote() || ok && len(v) > maxTraceparent {
			t.Fatalf("%q: %v but %v", v, ok, got)
		}
		// The ids that parentOf returns occur in the header.
		if ok && (!strings.Contains(v, got.TraceID().String()) || !strings.Contains(v, got.SpanID().String())) {
			t.Errorf("%q: %v", v, got)
		}
		if v == sampledHeader && (!ok || !got.IsSampled()) || v == unsampledHeader && (!ok || got.IsSampled()) {
			t.Errorf("%q: %v, %v", v, got, ok)
		}
	})
}
