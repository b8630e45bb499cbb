package servertest

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// The benchmarks below measure the handlers without a network; benchmarks with HTTP in their names
// use a persistent connection, with server and client in one process. cmd/bench/httpbench has the
// realistic comparison with separate processes.

func NewBenchWorld(b *testing.B) *World {
	w := NewWorld(b)
	w.Config.ResponseCacheBytes = 16 << 20
	w.Serve()
	return w
}

func BenchHandler(b *testing.B, h http.Handler, headers http.Header, paths ...string) {
	b.Helper()
	requests := make([]*http.Request, len(paths))
	for i, p := range paths {
		requests[i] = httptest.NewRequest("GET", p, nil)
		for name, v := range headers {
			requests[i].Header[name] = v
		}
	}
	out := &DiscardWriter{Headers: http.Header{}}
	for _, r := range requests {
		h.ServeHTTP(out, r)
	}
	b.ReportAllocs()
	out.Bytes = 0
	for i := 0; b.Loop(); i++ {
		clear(out.Headers)
		h.ServeHTTP(out, requests[i%len(requests)])
	}
	b.ReportMetric(float64(out.Bytes)/float64(b.N), "B/answer")
}

const (
	HotMVT     = "/tiles/country/6/33/22.mvt"
	HotGeoJSON = "/tiles/country,state/11/1058/711.geojson"
)
