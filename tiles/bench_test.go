package tiles

import (
	"context"
	"testing"
)

// BenchmarkBuild builds real boundaries from parsed features to committed
// tables.
func BenchmarkBuild(b *testing.B) {
	for _, set := range []struct{ name, file string }{
		{"110m", "110m/ne_110m_admin_0_countries.geojson.gz"},
		{"50m", "50m/ne_50m_admin_0_countries.geojson.gz"},
		{"10m", "10m/ne_10m_admin_0_countries.geojson.gz"},
	} {
		b.Run(set.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				l := naturalEarth(b, "country", set.file, "ADM0_A3", "NAME")
				store := openStore(b)
				b.StartTimer()
				_, stats, err := Build(context.Background(), store, []Layer{l}, BuildOptions{Timestamp: 1})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(stats.Mixed), "mixed-rows")
				b.ReportMetric(float64(stats.Leaves), "leaf-rows")
				b.ReportMetric(float64(stats.Bytes)/float64(stats.Mixed+stats.Leaves), "B/row")
			}
		})
	}
}
