package build

import (
	"context"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/internal/tilestest"
)

// BenchmarkBuild builds real boundaries from parsed features to committed
// tables.
func BenchmarkBuild(b *testing.B) {
	for _, set := range []struct{ name, file string }{
		{"110m", "110m/ne_110m_admin_0_countries.geojson.gz"},
		{"50m", "50m/ne_50m_admin_0_countries.geojson.gz"},
		{"10m", "10m/ne_10m_admin_0_countries.geojson.gz"},
		{"10m and states", "10m/ne_10m_admin_0_countries.geojson.gz"},
	} {
		b.Run(set.name, func(b *testing.B) {
			vertices := 0
			for b.Loop() {
				b.StopTimer()
				layers := []Layer{naturalEarth(b, "country", set.file, "ADM0_A3", "NAME")}
				if strings.HasSuffix(set.name, "states") {
					layers = append(layers, naturalEarth(b, "state", "10m/ne_10m_admin_1_states_provinces.geojson.gz", "adm1_code", "name"))
				}
				for _, l := range layers {
					for _, f := range l.Features {
						vertices += countVertices(f.Geometry)
					}
				}
				store := tilestest.OpenStore(b)
				b.StartTimer()
				_, stats, err := Run(context.Background(), store, layers, Options{Timestamp: 1})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(stats.MixedRows), "mixed-rows")
				b.ReportMetric(float64(stats.LeafRows), "leaf-rows")
				b.ReportMetric(float64(stats.Bytes)/float64(stats.MixedRows+stats.LeafRows), "B/row")
			}
			b.ReportMetric(float64(vertices)/b.Elapsed().Seconds(), "vertices/s")
		})
	}
}

func countVertices(g orb.Geometry) (n int) {
	switch g := g.(type) {
	case orb.Polygon:
		for _, r := range g {
			n += len(r)
		}
	case orb.MultiPolygon:
		for _, p := range g {
			n += countVertices(p)
		}
	}
	return n
}
