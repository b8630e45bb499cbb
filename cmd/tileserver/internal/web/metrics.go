package web

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts the work of a handler, for Prometheus. Make it with NewMetrics, set it in one
// Config, and register it; its methods may be called concurrently. Labels come from the table of
// routes and from published data sets, never from a request, so clients cannot make their number
// grow.
type Metrics struct {
	routes    []*routeCount
	unmatched *routeCount // requests that no route is for
	problems  map[string]*atomic.Int64
	panics    atomic.Int64
	refusals  [len(refusals)]atomic.Int64
	running   *places
	described []*prometheus.Desc // of the metrics that others collect
	others    []func(ch chan<- prometheus.Metric)
}

// NewMetrics returns counters at zero. Packages add their own metrics with Collect; described lists
// these metrics.
func NewMetrics(described ...*prometheus.Desc) *Metrics {
	m := &Metrics{problems: make(map[string]*atomic.Int64), described: described}
	m.unmatched = m.route("unmatched")
	return m
}

// latencyBounds are upper bounds in seconds. Cached answers take less than the first bound, a cold
// read less than a tenth of a second, and a large batch may take minutes. Every route has a series
// for each bound.
var latencyBounds = [...]float64{.0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1, 10}

// stripes is the number of copies of a route's counters, so that processors
// seldom write to the same cache line. It is a power of two.
const stripes = 8

// routeCount counts the requests of one route.
type routeCount struct {
	name    string
	stripes [stripes]routeStripe
}

type routeStripe struct {
	started atomic.Int64
	nanos   atomic.Int64
	bytes   atomic.Int64
	classes [statusClasses]atomic.Int64
	latency [len(latencyBounds) + 1]atomic.Int64
	_       [64]byte
}

const statusClasses = 5

var classNames = [statusClasses]string{"1xx", "2xx", "3xx", "4xx", "5xx"}

// route returns the counters of a route, by its pattern. It is called while the table of routes is
// made, not during requests.
func (m *Metrics) route(pattern string) *routeCount {
	if i := slices.IndexFunc(m.routes, func(r *routeCount) bool { return r.name == pattern }); i >= 0 {
		return m.routes[i]
	}
	r := &routeCount{name: pattern}
	m.routes = append(m.routes, r)
	return r
}

// counted counts the requests of a handler that writes its own failures. The counters are found in
// advance, so nothing is looked up during a request.
func (r *routeCount) counted(h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		p := &r.stripes[rand.Uint32()%stripes]
		start := time.Now()
		p.started.Add(1)
		// A handler that closes the connection panics. Its request is also counted.
		defer func() {
			res := c.Response()
			p.done(res.Status, res.Size, time.Since(start))
		}()
		return h(c)
	}
}

func (p *routeStripe) done(status int, bytes int64, took time.Duration) {
	p.nanos.Add(int64(took))
	p.bytes.Add(bytes)
	p.classes[min(max(status/100-1, 0), statusClasses-1)].Add(1)
	i, seconds := 0, took.Seconds()
	for i < len(latencyBounds) && seconds > latencyBounds[i] {
		i++
	}
	p.latency[i].Add(1)
}

// one counts a request that has been answered without a handler.
func (r *routeCount) one(status int, bytes int64) {
	p := &r.stripes[rand.Uint32()%stripes]
	p.started.Add(1)
	p.done(status, bytes, 0)
}

// problem counts an error of a type.
func (m *Metrics) problem(typ string) {
	if n := m.problems[typ]; n != nil {
		n.Add(1)
	}
}

// refusals lists the reasons to refuse a request before it is handled, for all forms of the answer.
var refusals = [...]struct {
	err    error
	reason string
}{{ErrRateLimited, "limit"}, {ErrKeyMissing, "no_key"}, {ErrKeyUnknown, "wrong_key"}}

func (m *Metrics) refused(err error) {
	for i := range refusals {
		if errors.Is(err, refusals[i].err) {
			m.refusals[i].Add(1)
			return
		}
	}
}

// Metric describes a metric of the server.
func Metric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("quadrille_"+name, help, labels, nil)
}

var (
	descRequests = Metric("http_requests_total", "Requests answered, by class of status.", "route", "class")
	descLatency  = Metric("http_request_duration_seconds", "Time from a request's header to the end of its answer.", "route")
	descInFlight = Metric("http_requests_in_flight", "Requests being answered.", "route")
	descBytes    = Metric("http_response_bytes_total", "Bytes of bodies sent, as compressed.", "route")
	descProblems = Metric("http_problems_total", "Refusals and failures, by type of problem.", "type")
	descPanics   = Metric("http_panics_total", "Handlers that panicked.")
	descRefused  = Metric("http_refused_total", "Requests refused for want of a key or by a limit.", "reason")
	descRunning  = Metric("http_running", "Places of --max-concurrent that are taken.")
	descPlaces   = Metric("http_running_limit", "The places there are: --max-concurrent.")

	descCacheHits    = Metric("response_cache_hits_total", "Answers found finished.", "cache")
	descCacheMisses  = Metric("response_cache_misses_total", "Answers that had to be made.", "cache")
	descCacheEvicted = Metric("response_cache_evictions_total", "Answers dropped to make room.", "cache")
	descCacheBytes   = Metric("response_cache_bytes", "Memory that finished answers take.", "cache")
	descCacheEntries = Metric("response_cache_entries", "Finished answers kept.", "cache")
)

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descRequests, descLatency, descInFlight, descBytes, descProblems, descPanics, descRefused, descRunning, descPlaces,
		descCacheHits, descCacheMisses, descCacheEvicted, descCacheBytes, descCacheEntries,
	} {
		ch <- d
	}
	for _, d := range m.described {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, r := range m.routes {
		r.collect(ch)
	}
	for typ, n := range m.problems {
		SendCounter(ch, descProblems, n.Load(), typ)
	}
	SendCounter(ch, descPanics, m.panics.Load())
	for i := range refusals {
		SendCounter(ch, descRefused, m.refusals[i].Load(), refusals[i].reason)
	}
	if m.running == nil {
		return
	}
	SendGauge(ch, descRunning, float64(m.running.Taken()))
	SendGauge(ch, descPlaces, float64(m.running.most))
	for _, collect := range m.others {
		collect(ch)
	}
}

// collect reports the counts of a route, and nothing for a route without requests: most servers use
// few routes, and every route has many series.
func (r *routeCount) collect(ch chan<- prometheus.Metric) {
	var started, done, nanos, bytes int64
	var classes [statusClasses]int64
	var latency [len(latencyBounds) + 1]int64
	for i := range r.stripes {
		p := &r.stripes[i]
		// Finished requests are read before started ones, so that the difference is
		// never negative.
		for j := range latency {
			n := p.latency[j].Load()
			latency[j] += n
			done += n
		}
		for j := range classes {
			classes[j] += p.classes[j].Load()
		}
		nanos += p.nanos.Load()
		bytes += p.bytes.Load()
		started += p.started.Load()
	}
	if started == 0 {
		return
	}
	for i, n := range classes {
		if i > 0 || n > 0 {
			SendCounter(ch, descRequests, n, r.name, classNames[i])
		}
	}
	SendCounter(ch, descBytes, bytes, r.name)
	SendGauge(ch, descInFlight, float64(started-done), r.name)
	buckets := make(map[float64]uint64, len(latencyBounds))
	var below uint64
	for i, bound := range latencyBounds {
		below += uint64(latency[i])
		buckets[bound] = below
	}
	ch <- prometheus.MustNewConstHistogram(descLatency, uint64(done), float64(nanos)/1e9, buckets, r.name)
}

// SendCounter sends to ch the value of a number that only grows.
func SendCounter(ch chan<- prometheus.Metric, d *prometheus.Desc, v int64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

// SendGauge sends a number that can go up and down to ch.
func SendGauge(ch chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}
