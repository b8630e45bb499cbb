package ops

import (
	"github.com/prometheus/client_golang/prometheus"

	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/tileserver/internal/problems"
	"quadrille/cmd/tileserver/internal/web"
)

var (
	descGeneration = web.Metric("dataset_generation", "Generation in service, 0 for none.", "dataset")
	descPublished  = web.Metric("dataset_published_generation", "Generation published, 0 for none.", "dataset")
	descAge        = web.Metric("dataset_age_seconds", "Time since it was built.", "dataset")
	descSince      = web.Metric("dataset_serving_since_seconds", "Since when it is in service, seconds of Unix time.", "dataset")
	descServing    = web.Metric("dataset_serving", "1 when a generation is in service.", "dataset")
	descFailed     = web.Metric("dataset_failed", "1 when the published one cannot be served.", "dataset")
	descDamaged    = web.Metric("dataset_damaged", "1 when files of it are damaged.", "dataset")
	descReadFailed = web.Metric("dataset_read_failures_total", "Reads failed by damage or the disk.", "dataset")
	descRecords    = web.Metric("dataset_records", "Records of the generation in service, by kind.", "dataset", "kind")
	descLost       = web.Metric("dataset_records_lost",
		"Records that the generation in service has fewer than the one it replaced, of the kinds of which more than a tenth is gone.", "dataset")
)

// descTrouble reports all collections as one sum, because some are private.
var descTrouble = web.Metric("store_troubles",
	"Live collections, and stores of usage, that cannot be read or written, by state.", "store", "state")

// MetricDescs has the descriptions of the metrics that collectDatasets makes.
var MetricDescs = []*prometheus.Desc{
	descGeneration, descPublished, descAge, descSince, descServing, descFailed, descDamaged, descReadFailed, descRecords,
	descLost, descTrouble,
}

// collectDatasets reports the state of the data sets to Prometheus.
func (s *Handlers) collectDatasets(ch chan<- prometheus.Metric) {
	for _, st := range s.Views.States() {
		web.SendGauge(ch, descPublished, float64(st.Published), st.Dataset)
		web.SendGauge(ch, descFailed, oneIf(st.Err != nil), st.Dataset)
		web.SendGauge(ch, descDamaged, oneIf(st.Damage != nil), st.Dataset)
		web.SendCounter(ch, descReadFailed, st.ReadFailures, st.Dataset)
		web.SendGauge(ch, descServing, oneIf(st.Serving != nil), st.Dataset)
		generation := 0.0
		if g := st.Serving; g != nil {
			generation = float64(g.Generation)
			web.SendGauge(ch, descAge, s.Now().Sub(g.Built).Seconds(), st.Dataset)
			web.SendGauge(ch, descSince, float64(st.Since.UnixMilli())/1000, st.Dataset)
			for kind, n := range g.Records {
				web.SendGauge(ch, descRecords, float64(n), st.Dataset, kind)
			}
			lost := int64(0)
			for _, l := range catalogue.Losses(g) {
				lost += l.Before - l.Now
			}
			web.SendGauge(ch, descLost, float64(lost), st.Dataset)
		}
		web.SendGauge(ch, descGeneration, generation, st.Dataset)
	}
	count := func(store string, list []problems.Trouble) {
		for _, state := range problems.TroubleStates {
			n := 0.0
			for _, t := range list {
				if t.State == state {
					n++
				}
			}
			web.SendGauge(ch, descTrouble, n, store, state)
		}
	}
	if s.Views.Collections != nil && s.Views.Collections.Live != nil {
		count("live", problems.LiveTroubles(s.Views.Collections, false))
	}
	if s.Usage != nil {
		count("usage", s.usageTrouble())
	}
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
