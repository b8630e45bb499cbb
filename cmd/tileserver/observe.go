package main

import (
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/tiles"
)

// observer collects the metrics of the process. Its methods may be called concurrently.
type observer struct {
	registry *prometheus.Registry
	stores   storeStats
	remote   remoteStats // of --store
}

// newObserver returns an observer of the runtime, of the cache of blocks, and of the stores that
// are opened through it.
func newObserver(cache *pebblestore.Cache, version string) *observer {
	o := &observer{registry: prometheus.NewRegistry()}
	o.stores.cache = cache
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "quadrille_build_info", Help: "Always 1; the label tells the version.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	o.registry.MustRegister(build, &o.stores, &o.remote, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return o
}

// maxScrapes bounds the number of concurrent scrapes.
const maxScrapes = 4

// handler answers scrapes. A metric that cannot be collected is omitted and logged, because the
// others are needed most when something fails.
func (o *observer) handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(o.registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(log.Handler(), slog.LevelError),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes,
	})
}

// storeStats counts the reads of stores by table, including stores that have been closed, and
// reports the state of their shared cache.
type storeStats struct {
	cache *pebblestore.Cache

	mu      sync.Mutex
	open    map[*countedStore]struct{}
	retired map[tableOf]cellstore.IOStats
}

// tableOf identifies a table by the names that operators know.
type tableOf struct{ dataset, table string }

// countedStore is a store whose reads remain in the counts after it is closed.
type countedStore struct {
	*pebblestore.Store
	dataset string
	all     *storeStats
}

// opened returns a store of a data set with its reads counted.
func (a *storeStats) opened(s *pebblestore.Store, dataset string) cellstore.Store {
	c := &countedStore{Store: s, dataset: dataset, all: a}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil {
		a.open = make(map[*countedStore]struct{})
		a.retired = make(map[tableOf]cellstore.IOStats)
	}
	a.open[c] = struct{}{}
	return c
}

// Close implements cellstore.Store.
func (c *countedStore) Close() error {
	c.all.mu.Lock()
	if _, ok := c.all.open[c]; ok {
		delete(c.all.open, c)
		c.addTo(c.all.retired)
	}
	c.all.mu.Unlock()
	return c.Store.Close()
}

// labelsOf returns the labels of a table in metrics. Metrics are public, so all collections of
// users' points count as one table, because some are private.
func labelsOf(dataset, table string) tableOf {
	if dataset == liveName || strings.HasPrefix(dataset, ask.CollectionPrefix) {
		return tableOf{"points", "points"}
	}
	return tableOf{dataset, table}
}

func (c *countedStore) addTo(sum map[tableOf]cellstore.IOStats) {
	for table, st := range c.StatsByTable() {
		key := labelsOf(c.dataset, table)
		old := sum[key]
		old.Seeks += st.Seeks
		old.BlocksRead += st.BlocksRead
		old.BlockBytes += st.BlockBytes
		old.BlockBytesCached += st.BlockBytesCached
		sum[key] = old
	}
}

var (
	descSeeks = prometheus.NewDesc("quadrille_store_seeks_total", "Positionings of an iterator, by table.",
		[]string{"dataset", "table"}, nil)
	descBlocks = prometheus.NewDesc("quadrille_store_blocks_read_total", "Data blocks read from files or the block cache.",
		[]string{"dataset", "table"}, nil)
	descRead = prometheus.NewDesc("quadrille_store_block_bytes_total", "Bytes of blocks read, of all kinds.",
		[]string{"dataset", "table"}, nil)
	descReadCached = prometheus.NewDesc("quadrille_store_block_bytes_cached_total",
		"Of those, the bytes found in the block cache.", []string{"dataset", "table"}, nil)

	descBlockHits   = prometheus.NewDesc("quadrille_block_cache_hits_total", "Blocks found in the block cache.", nil, nil)
	descBlockMisses = prometheus.NewDesc("quadrille_block_cache_misses_total", "Blocks that had to be read from files.", nil, nil)
	descBlockBytes  = prometheus.NewDesc("quadrille_block_cache_bytes", "Memory that the block cache takes.", nil, nil)
	descBlockMax    = prometheus.NewDesc("quadrille_block_cache_max_bytes", "Memory that the block cache may take.", nil, nil)
	descRegionBytes = prometheus.NewDesc("quadrille_region_cache_bytes", "Memory that cached regions at points take.", nil, nil)
	descRegionMax   = prometheus.NewDesc("quadrille_region_cache_max_bytes", "Memory that cached regions at points may take.", nil, nil)
	descRegionReads = prometheus.NewDesc("quadrille_region_cache_reads_total",
		"Regions at points that had to be read from the store.", nil, nil)
)

// Describe implements prometheus.Collector.
func (a *storeStats) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descSeeks, descBlocks, descRead, descReadCached, descBlockHits, descBlockMisses,
		descBlockBytes, descBlockMax, descRegionBytes, descRegionMax, descRegionReads} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (a *storeStats) Collect(ch chan<- prometheus.Metric) {
	for key, st := range a.sum() {
		for d, v := range map[*prometheus.Desc]int64{
			descSeeks: st.Seeks, descBlocks: st.BlocksRead, descRead: st.BlockBytes, descReadCached: st.BlockBytesCached,
		} {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), key.dataset, key.table)
		}
	}
	c := a.cache.Stats()
	ch <- prometheus.MustNewConstMetric(descBlockHits, prometheus.CounterValue, float64(c.Hits))
	ch <- prometheus.MustNewConstMetric(descBlockMisses, prometheus.CounterValue, float64(c.Misses))
	ch <- prometheus.MustNewConstMetric(descBlockBytes, prometheus.GaugeValue, float64(c.Bytes))
	ch <- prometheus.MustNewConstMetric(descBlockMax, prometheus.GaugeValue, float64(c.MaxBytes))
	regions := tiles.Cache()
	ch <- prometheus.MustNewConstMetric(descRegionBytes, prometheus.GaugeValue, float64(regions.Bytes))
	ch <- prometheus.MustNewConstMetric(descRegionMax, prometheus.GaugeValue, float64(regions.MaxBytes))
	ch <- prometheus.MustNewConstMetric(descRegionReads, prometheus.CounterValue, float64(regions.Reads))
}

func (a *storeStats) sum() map[tableOf]cellstore.IOStats {
	a.mu.Lock()
	defer a.mu.Unlock()
	sum := make(map[tableOf]cellstore.IOStats, len(a.retired))
	for key, st := range a.retired {
		sum[key] = st
	}
	for c := range a.open {
		c.addTo(sum)
	}
	return sum
}
