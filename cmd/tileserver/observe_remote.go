package main

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore"
	"quadrille/cellstore/rowcache"
)

// remoteStats counts the calls of stores that are reached over a network, including stores that
// have been closed.
type remoteStats struct {
	cache *rowcache.Cache // nil without --store

	mu      sync.Mutex
	open    map[*remoteStore]struct{}
	retired map[string]int64 // by data set
}

// remoteStore is a store whose calls remain in the counts after it is closed.
type remoteStore struct {
	*hbasestore.Store
	dataset string
	all     *remoteStats
}

// opened returns a store of a data set with its calls counted.
func (a *remoteStats) opened(s *hbasestore.Store, dataset string) cellstore.Store {
	r := &remoteStore{Store: s, dataset: dataset, all: a}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil {
		a.open, a.retired = make(map[*remoteStore]struct{}), make(map[string]int64)
	}
	a.open[r] = struct{}{}
	return r
}

// Close implements cellstore.Store.
func (r *remoteStore) Close() error {
	err := r.Store.Close()
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	if _, ok := r.all.open[r]; ok {
		delete(r.all.open, r)
		r.all.retired[r.dataset] += r.Calls()
	}
	return err
}

var descRemoteCalls = prometheus.NewDesc("quadrille_store_calls_total",
	"Calls sent to gateways of the remote store, those sent again included; without a data set those for what is published.",
	[]string{"dataset"}, nil)

var (
	descRowHits = prometheus.NewDesc("quadrille_row_cache_hits_total",
		"Reads of rows of the remote store, or of their absence, answered from memory.", nil, nil)
	descRowMisses = prometheus.NewDesc("quadrille_row_cache_misses_total",
		"Calls of the remote store that a question could not do without.", nil, nil)
	descRowBytes = prometheus.NewDesc("quadrille_row_cache_bytes", "Memory that the cache of rows takes.", nil, nil)
	descRowMax   = prometheus.NewDesc("quadrille_row_cache_max_bytes", "Memory that the cache of rows may take.", nil, nil)
)

// Describe implements prometheus.Collector.
func (a *remoteStats) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descRemoteCalls, descRowHits, descRowMisses, descRowBytes, descRowMax} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (a *remoteStats) Collect(ch chan<- prometheus.Metric) {
	a.mu.Lock()
	defer a.mu.Unlock()
	sum := make(map[string]int64, len(a.retired))
	for name, n := range a.retired {
		sum[name] = n
	}
	for r := range a.open {
		sum[r.dataset] += r.Calls()
	}
	if a.cache != nil {
		s := a.cache.Stats()
		ch <- prometheus.MustNewConstMetric(descRowHits, prometheus.CounterValue, float64(s.Hits))
		ch <- prometheus.MustNewConstMetric(descRowMisses, prometheus.CounterValue, float64(s.Misses))
		ch <- prometheus.MustNewConstMetric(descRowBytes, prometheus.GaugeValue, float64(s.Bytes))
		ch <- prometheus.MustNewConstMetric(descRowMax, prometheus.GaugeValue, float64(s.Limit))
	}
	for name, n := range sum {
		ch <- prometheus.MustNewConstMetric(descRemoteCalls, prometheus.CounterValue, float64(n), name)
	}
}
