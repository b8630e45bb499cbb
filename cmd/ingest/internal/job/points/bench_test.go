package points

import (
	"testing"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/places/points"
)

// BenchmarkPointsRead reads points of GeoJSON, as a run does before it sorts them.
func BenchmarkPointsRead(b *testing.B) {
	path := jobtest.Write(b, "shops.geojson", featureCollection(shops(50_000)))
	b.ReportAllocs()
	for b.Loop() {
		j := &pointsJob{ctx: b.Context(), rep: job.Silent{}, tally: job.NewTally(0)}
		if err := j.open([]string{path}); err != nil {
			b.Fatal(err)
		}
		n := 0
		if err := j.read(func(points.Point) error { n++; return nil }); err != nil || n != 50_000 {
			b.Fatal(n, err)
		}
	}
}
