package points_test

import (
	"math/rand/v2"
	"testing"

	"quadrille/feature"
	"quadrille/feature/layertest"
	"quadrille/internal/testrace"
	"quadrille/places/points"
)

// Published and live collections fulfil the contract of layers, in every representation of their
// points.
func TestLayer(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	for name, at := range distributions {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, uint64(len(name))))
			list := make([]points.Point, 300)
			for i := range list {
				list[i] = randomPoint(r, i, at)
			}
			published := build(t, list, points.BuildOptions{Name: "shops"})
			_, live := openLive(t)
			writes := make([]points.Write, len(list))
			for i, p := range list {
				writes[i] = points.Write{Kind: points.Put, ID: p.ID, Lat: p.Lat, Lon: p.Lon, Properties: p.Properties}
			}
			write(t, live, writes...)
			for _, l := range []feature.Layer{published, live, feature.DecodedLayer(published)} {
				layertest.Test(t, l, layertest.Options{Rounds: 6})
			}
		})
	}
}
