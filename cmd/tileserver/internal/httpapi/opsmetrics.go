package httpapi

import (
	"github.com/prometheus/client_golang/prometheus"
)

var (
	descGeneration = metric("dataset_generation", "Number of the generation in service, 0 for none.", "dataset")
	descPublished  = metric("dataset_published_generation", "Number of the generation that is published, 0 for none.", "dataset")
	descAge        = metric("dataset_age_seconds", "Time since the generation in service was built.", "dataset")
	descSince      = metric("dataset_serving_since_seconds", "When the generation was taken into service, seconds of Unix time.", "dataset")
	descServing    = metric("dataset_serving", "1 when a generation is in service.", "dataset")
	descFailed     = metric("dataset_failed", "1 when the published generation cannot be taken into service; the log says why.", "dataset")
	descDamaged    = metric("dataset_damaged", "1 when the files of the generation in service turned out damaged; the log says how.", "dataset")
	descReadFailed = metric("dataset_read_failures_total", "Reads that failed because of damage or the disk.", "dataset")
	descRecords    = metric("dataset_records", "Records of the generation in service, by what they are.", "dataset", "kind")
)

// described are the metrics that collectDatasets makes.
var described = []*prometheus.Desc{
	descGeneration, descPublished, descAge, descSince, descServing, descFailed, descDamaged, descReadFailed, descRecords,
}

// collectDatasets tells the state of the data sets to Prometheus.
func (s *opsRoom) collectDatasets(ch chan<- prometheus.Metric) {
	for _, st := range s.states() {
		gauge(ch, descPublished, float64(st.Published), st.Dataset)
		gauge(ch, descFailed, oneIf(st.Err != nil), st.Dataset)
		gauge(ch, descDamaged, oneIf(st.Damage != nil), st.Dataset)
		counter(ch, descReadFailed, st.ReadFailures, st.Dataset)
		gauge(ch, descServing, oneIf(st.Serving != nil), st.Dataset)
		generation := 0.0
		if g := st.Serving; g != nil {
			generation = float64(g.Generation)
			gauge(ch, descAge, s.now().Sub(g.Built).Seconds(), st.Dataset)
			gauge(ch, descSince, float64(st.Since.UnixMilli())/1000, st.Dataset)
			for kind, n := range g.Records {
				gauge(ch, descRecords, float64(n), st.Dataset, kind)
			}
		}
		gauge(ch, descGeneration, generation, st.Dataset)
	}
}
