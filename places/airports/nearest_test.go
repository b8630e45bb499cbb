package airports

import (
	"math"
	"math/rand/v2"
	"testing"

	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/places"
	"quadrille/quadkey"
)

// The nearest airport for travellers is the nearest of the three sizes among all airports.
func TestNearestForTravellers(t *testing.T) {
	list := scatter(3, 600)
	for i := 0; i < len(list); i += 3 { // some at one position
		list[i].Lat, list[i].Lon = list[i/7].Lat, list[i/7].Lon
	}
	f, _ := newFinder(t, list)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 3000 {
		lat, lon := rng.Float64()*180-90, rng.Float64()*360-180
		switch i % 5 {
		case 0:
			lon = math.Copysign(180, lon)
		case 1:
			lat, lon = list[rng.IntN(len(list))].Lat, list[rng.IntN(len(list))].Lon
		}
		var want uint32
		least := math.Inf(1)
		for j := range list {
			a := &list[j]
			if a.Type != Large && a.Type != Medium && a.Type != Small {
				continue
			}
			if d := quadkey.Distance(lon, lat, roundUnits(a.Lon)/unitsPerDegree, roundUnits(a.Lat)/unitsPerDegree); d < least {
				want, least = a.ID, d
			}
		}
		q := feature.Query{Near: feature.NearTo(lat, lon, 0), Filter: ForTravellers, Limit: 1}
		hits := must.Get(places.CollectHits(nil, f.Features(t.Context(), &q))).In(t)
		if len(hits) != 1 || hits[0].ID != want || hits[0].DistanceM != least {
			t.Fatalf("%v, %v: %+v, want %d at %v m", lat, lon, hits, want, least)
		}
		if q.Near.MaxM = least * 0.999; least > 0 {
			if hits = must.Get(places.CollectHits(nil, f.Features(t.Context(), &q))).In(t); len(hits) > 0 {
				t.Fatalf("%v, %v: %+v is farther than %v", lat, lon, hits, q.Near.MaxM)
			}
		}
	}
}

// BenchmarkNearest compares the nearest airport for travellers by its leaf with the search for two.
func BenchmarkNearest(b *testing.B) {
	f, _ := newFinder(b, scatter(9, 40_000))
	rng := rand.New(rand.NewPCG(1, 2))
	points := make([]feature.Near, 4096)
	for i := range points {
		points[i].Lat, points[i].Lon = rng.Float64()*180-90, rng.Float64()*360-180
	}
	for limit, name := range []string{1: "listed", 2: "two searched"} {
		if name == "" {
			continue
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			q := feature.Query{Filter: ForTravellers, Limit: limit}
			var dst []places.Hit
			for i := 0; b.Loop(); i++ {
				q.Near = &points[i%len(points)]
				var err error
				if dst, err = places.CollectHits(dst, f.Features(b.Context(), &q)); err != nil || len(dst) != limit {
					b.Fatal(err, len(dst))
				}
			}
		})
	}
}
