package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
)

func TestMetrics(t *testing.T) {
	f := servertest.New(t, servertest.WithMetrics, servertest.DefaultDatasets...)
	for _, path := range []string{"/regions/at?lat=1&lon=2", "/regions/at?lat=91&lon=2", "/healthz", "/nothing/here/at/all", "/airports/ZRH"} {
		f.Get(path)
	}
	f.Do(http.MethodHead, "/healthz")
	f.Do(http.MethodPut, "/healthz")
	f.Publish(ask.Places.Name)
	f.Poll()
	got := f.Scrape()
	for key, want := range map[string]float64{
		"quadrille_http_requests_total{class=2xx,route=/regions/at}":      1,
		"quadrille_http_requests_total{class=4xx,route=/regions/at}":      1,
		"quadrille_http_request_duration_seconds{route=/regions/at}":      2,
		"quadrille_http_requests_total{class=2xx,route=/healthz}":         2,
		"quadrille_http_requests_total{class=4xx,route=/airports/{code}}": 1,
		"quadrille_http_requests_total{class=4xx,route=unmatched}":        1,
		"quadrille_http_problems_total{type=bad-parameter}":               1,
		"quadrille_http_problems_total{type=dataset-missing}":             1,
		"quadrille_http_requests_in_flight{route=/regions/at}":            0,
		"quadrille_dataset_generation{dataset=places}":                    2,
		"quadrille_dataset_serving{dataset=places}":                       1,
		"quadrille_dataset_failed{dataset=places}":                        0,
		"quadrille_dataset_records{dataset=places,kind=rows}":             7,
	} {
		if got[key] != want {
			t.Errorf("%s = %v, want %v", key, got[key], want)
		}
	}
	if age := got["quadrille_dataset_age_seconds{dataset=places}"]; age <= 0 {
		t.Errorf("age = %v", age)
	}
	if n := got["quadrille_http_response_bytes_total{route=/healthz}"]; n < float64(len(`{"status":"ok"}`)) {
		t.Errorf("bytes = %v", n)
	}
}

func TestMetricsOfCaches(t *testing.T) {
	f := servertest.New(t, servertest.WithMetrics, servertest.DefaultDatasets...)
	for range 3 {
		f.Get("/tiles/country/3/1/2.mvt")
	}
	got := f.Scrape()
	if hits, misses := got["quadrille_response_cache_hits_total{cache=tiles}"], got["quadrille_response_cache_misses_total{cache=tiles}"]; hits != 2 || misses != 1 {
		t.Errorf("%v hits and %v misses, want 2 and 1", hits, misses)
	}
	if n := got["quadrille_response_cache_entries{cache=tiles}"]; n != 1 {
		t.Errorf("%v entries, want 1", n)
	}
}

// Requests do not add time series: neither paths nor methods nor headers of requests become labels.
func TestMetricsStayFew(t *testing.T) {
	f := servertest.New(t, servertest.WithMetrics, servertest.DefaultDatasets...)
	var before int
	for i := range 500 {
		if i == 1 { // each of the routes has its samples by now
			before = len(f.Scrape())
		}
		f.Get(fmt.Sprintf("/tiles/x%d/%d/1/1.mvt", i, i%30))
		f.Get(fmt.Sprintf("/%d/../%%00/%d?a=%d", i, i, i), "User-Agent", fmt.Sprint(i))
		f.Get(fmt.Sprintf("/ip/198.51.100.%d", i), "X-Request-Id", fmt.Sprint(i))
		f.Do(fmt.Sprintf("M%d", i), fmt.Sprintf("/p%d", i))
	}
	if after := len(f.Scrape()); after > before+5 { // the class 1xx at most
		t.Errorf("%d samples became %d", before, after)
	}
}

func TestMetricsConcurrent(t *testing.T) {
	f := servertest.New(t, servertest.WithMetrics, servertest.DefaultDatasets...)
	const workers, each = 8, 200
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range each {
				w := httptest.NewRecorder()
				f.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
				if i%50 == 0 {
					f.Handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil))
				}
			}
		})
	}
	wg.Wait()
	got := f.Scrape()
	if n := got["quadrille_http_requests_total{class=2xx,route=/healthz}"]; n != workers*each {
		t.Errorf("counted %v requests, want %d", n, workers*each)
	}
	if n := got["quadrille_http_requests_in_flight{route=/healthz}"]; n != 0 {
		t.Errorf("%v in flight", n)
	}
	if n := got["quadrille_http_requests_in_flight{route=/metrics}"]; n != 1 {
		t.Errorf("%v scrapes in flight, want this one", n)
	}
}

func TestNoMetrics(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	res := f.Get("/metrics")
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusNotFound {
		t.Errorf("/metrics answered %d %s", res.StatusCode, text)
	}
}

// Counting allocates nothing.
func TestMetricsAllocs(t *testing.T) {
	testrace.SkipUnderRace(t, "it allocates")
	allocs := func(change func(*httpapi.Config)) float64 {
		f := servertest.New(t, change, servertest.DefaultDatasets...)
		r, w := httptest.NewRequest(http.MethodGet, "/tiles/country/3/1/2.mvt", nil), &servertest.DiscardWriter{Headers: http.Header{}}
		return testing.AllocsPerRun(200, func() {
			clear(w.Headers)
			f.Handler.ServeHTTP(w, r)
		})
	}
	if without, with := allocs(nil), allocs(servertest.WithMetrics); with > without {
		t.Errorf("%v allocations per request with metrics, %v without", with, without)
	}
}

// BenchmarkTileKeptCounted does the same as BenchmarkTileKept, with metrics.
func BenchmarkTileKeptCounted(b *testing.B) {
	w := servertest.NewBenchWorld(b)
	servertest.WithMetrics(&w.Config)
	servertest.BenchHandler(b, httpapi.New(w.Config), nil, servertest.HotMVT)
}
