package points

import (
	"testing"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/internal/testfile"
	"quadrille/places/points"
)

// BenchmarkPointsRead reads points of each format, up to the sorting.
func BenchmarkPointsRead(b *testing.B) {
	const n = 50_000
	all := shops(n)
	for name, path := range map[string]string{
		"GeoJSON":    testfile.WriteTemp(b, "shops.geojson", featureCollection(all)),
		"GeoPackage": testfile.WriteTemp(b, "shops.gpkg", string(geoPackage(b, all, "shops"))),
		"shapefile":  testfile.WriteTemp(b, "shops.zip", zipMembers(b, pointShapefile(all))),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				j := newJob(b.Context(), Collection{}, job.Options{})
				if err := j.open([]string{path}); err != nil {
					b.Fatal(err)
				}
				got := 0
				if err := j.read(func(points.Point) error { got++; return nil }); err != nil || got != n {
					b.Fatal(got, err)
				}
			}
		})
	}
}
