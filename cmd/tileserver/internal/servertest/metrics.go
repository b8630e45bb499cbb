package servertest

import (
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"quadrille/cmd/tileserver/internal/httpapi"
)

// Scrape reads the metrics like a Prometheus server, in the text format. The result has samples by
// "name{label=value,…}".
func (f *Server) Scrape() map[string]float64 {
	f.T.Helper()
	res := f.Get("/metrics")
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		f.T.Fatalf("/metrics answered %d", res.StatusCode)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(res.Body)
	if err != nil {
		f.T.Fatal(err)
	}
	samples := make(map[string]float64)
	for name, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			key := name + "{" + strings.Join(labels, ",") + "}"
			switch {
			case m.Counter != nil:
				samples[key] = m.Counter.GetValue()
			case m.Gauge != nil:
				samples[key] = m.Gauge.GetValue()
			case m.Histogram != nil:
				samples[key] = float64(m.Histogram.GetSampleCount())
				last := m.Histogram.Bucket[len(m.Histogram.Bucket)-1]
				if last.GetCumulativeCount() != m.Histogram.GetSampleCount() {
					f.T.Errorf("%s: buckets sum up to %d of %d", key, last.GetCumulativeCount(), m.Histogram.GetSampleCount())
				}
			}
		}
	}
	return samples
}

func WithMetrics(c *httpapi.Config) {
	registry := prometheus.NewPedanticRegistry()
	c.Metrics = httpapi.NewMetrics()
	c.MetricsHandler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
	registry.MustRegister(c.Metrics)
}
