package grid

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSortBy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		width := int32(1) << rapid.IntRange(0, 26).Draw(t, "width")
		points := make([]Point, rapid.SampledFrom([]int{0, 1, 100, sortLarge, 3 * sortLarge}).Draw(t, "length"))
		for i := range points {
			points[i] = Point{rnd.Int32N(width) - width/2, rnd.Int32N(width) - width/2}
		}
		want := slices.Clone(points)
		slices.SortFunc(want, ComparePoints)
		sortPoints(points)
		if !slices.Equal(points, want) {
			t.Fatal("not sorted")
		}
	})
}
