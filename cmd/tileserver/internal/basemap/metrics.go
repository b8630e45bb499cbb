package basemap

import (
	"github.com/prometheus/client_golang/prometheus"

	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/tileserver/internal/web"
)

var (
	descStale      = web.Metric("basemap_stale", "1 when the file has been replaced by one that cannot be served.", "basemap")
	descDamaged    = web.Metric("basemap_damaged", "1 when the file in service is damaged or changed in place.", "basemap")
	descReadFailed = web.Metric("basemap_read_failures_total", "Tiles that could not be read.", "basemap")
	descSince      = web.Metric("basemap_serving_since_seconds", "Since when the archive is in service, seconds of Unix time.", "basemap")
	descBytes      = web.Metric("basemap_bytes", "Bytes of the archive.", "basemap")
)

// MetricDescs has the descriptions of the metrics that collect makes.
var MetricDescs = []*prometheus.Desc{descStale, descDamaged, descReadFailed, descSince, descBytes}

// collect reports the state of the base maps to Prometheus.
func (s *Handlers) collect(ch chan<- prometheus.Metric) {
	for _, l := range s.Maps.Maps() {
		st := l.Status()
		state := func(name string) float64 {
			if st.State == name {
				return 1
			}
			return 0
		}
		web.SendGauge(ch, descStale, state(catalogue.Stale), st.Name)
		web.SendGauge(ch, descDamaged, state(catalogue.Damaged), st.Name)
		web.SendCounter(ch, descReadFailed, st.ReadFailures, st.Name)
		web.SendGauge(ch, descSince, float64(st.Since.UnixMilli())/1000, st.Name)
		web.SendGauge(ch, descBytes, float64(st.Archive.Size), st.Name)
	}
}
