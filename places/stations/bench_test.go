package stations

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/places/internal/voronoi"
	"quadrille/quadkey"
)

// kdTree is the baseline: a k-d tree of positions on the unit sphere, split at the median of x, y
// and z in turn, as in libraries. It compares only chords.
type kdTree struct {
	points []vec
}

func newKDTree(points []vec) *kdTree {
	t := &kdTree{slices.Clone(points)}
	t.build(t.points, 0)
	return t
}

func axis(v vec, k int) float64 { return [3]float64{v.x, v.y, v.z}[k] }

func (t *kdTree) build(p []vec, k int) {
	if len(p) < 2 {
		return
	}
	slices.SortFunc(p, func(a, b vec) int { return cmp.Compare(axis(a, k), axis(b, k)) })
	t.build(p[:len(p)/2], (k+1)%3)
	t.build(p[len(p)/2+1:], (k+1)%3)
}

func (t *kdTree) nearest(q vec) (best vec) {
	least := math.Inf(1)
	var visit func(p []vec, k int)
	visit = func(p []vec, k int) {
		if len(p) == 0 {
			return
		}
		m := len(p) / 2
		d := q.minus(p[m])
		if l := d.dot(d); l < least {
			least, best = l, p[m]
		}
		near, far := p[:m], p[m+1:]
		off := axis(q, k) - axis(p[m], k)
		if off > 0 {
			near, far = far, near
		}
		visit(near, (k+1)%3)
		if off*off < least {
			visit(far, (k+1)%3)
		}
	}
	visit(t.points, 0)
	return best
}

// BenchmarkNearest compares Nearest through the store with a k-d tree in memory, with measuring
// every station, and with one seek in the same table.
func BenchmarkNearest(b *testing.B) {
	list := realStations(b)
	f := build(b, list)
	rng := rand.New(rand.NewPCG(1, 2))
	queries := make([][2]float64, 4096)
	for i := range queries {
		queries[i] = [2]float64{math.Asin(2*rng.Float64()-1) / radians, rng.Float64()*360 - 180}
	}
	var sum float64
	b.Run("store", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			q := queries[i%len(queries)]
			near, err := f.Nearest(b.Context(), q[0], q[1])
			if err != nil {
				b.Fatal(err)
			}
			sum += near.DistanceM
		}
	})
	b.Run("seek alone", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			q := queries[i%len(queries)]
			seekAlone(b, f, q[0], q[1])
		}
	})
	b.Run("k-d tree", func(b *testing.B) {
		tree := newKDTree(newChordScan(list).vecs)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			q := queries[i%len(queries)]
			p := tree.nearest(vecOf(q[1], q[0]))
			sum += p.x
		}
	})
	b.Run("every distance", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			q := queries[i%len(queries)]
			_, d := bruteNearest(list, q[0], q[1])
			sum += d
		}
	})
	b.Run("every chord", func(b *testing.B) {
		scan := newChordScan(list)
		for i := 0; b.Loop(); i++ {
			q := queries[i%len(queries)]
			_, d := scan.nearest(q[0], q[1])
			sum += d
		}
	})
	if sum == 0 {
		b.Fatal("no distance")
	}
}

func seekAlone(b *testing.B, f *Finder, lat, lon float64) {
	key := voronoi.CellKey(must.Get(quadkey.CellOf(lon, lat)).In(b))
	row := f.rows.Get().(*cellstore.Row)
	defer f.rows.Put(row)
	must.Get(f.tiles.Next(b.Context(), key[:], nil, selectNear, row)).In(b)
}

var selectNear = &cellstore.Selection{Families: []string{famNear}}

func BenchmarkNearby(b *testing.B) {
	list := realStations(b)
	f := build(b, list)
	rng := rand.New(rand.NewPCG(1, 2))
	queries := make([]NearbyQuery, 1024)
	for i := range queries {
		s := &list[rng.IntN(len(list))]
		queries[i] = NearbyQuery{Lat: min(max(s.Lat+rng.NormFloat64(), -90), 90), Lon: s.Lon}
	}
	for _, bm := range []struct {
		name   string
		change func(*NearbyQuery)
	}{
		{"k=1", func(q *NearbyQuery) { q.Limit = 1 }},
		{"k=10", func(*NearbyQuery) {}},
		{"k=10,active in 1960", func(q *NearbyQuery) { q.At = date("1960-01-01") }},
		{"k=100", func(q *NearbyQuery) { q.Limit = 100 }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			var dst []Hit
			for i := 0; b.Loop(); i++ {
				q := queries[i%len(queries)]
				bm.change(&q)
				var err error
				if dst, err = f.Nearby(b.Context(), q, dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("k=10,every distance", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			bruteNearby(list, queries[i%len(queries)])
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	list := realStations(b)
	for b.Loop() {
		_, meta := buildIn(b, buildtest.NewStore(b), list)
		b.ReportMetric(float64(meta.Leaves), "leaves")
		b.ReportMetric(float64(meta.Listed)/float64(meta.Leaves), "positions/leaf")
	}
	b.ReportMetric(float64(len(list))*float64(b.N)/b.Elapsed().Seconds(), "stations/s")
}

func BenchmarkBuildWeather(b *testing.B) {
	stations := scatter(4, 300, shapes["clustered"])
	f := build(b, stations)
	list := weatherOf(1, 200_000, stations)
	for b.Loop() {
		if _, _, err := BuildWeather(b.Context(), buildtest.NewStore(b), f, buildtest.SeqOf(list),
			BuildOptions{TempDir: b.TempDir()}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(list))*float64(b.N)/b.Elapsed().Seconds(), "observations/s")
}
