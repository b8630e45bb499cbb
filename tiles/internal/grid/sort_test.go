package grid

import (
	"cmp"
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

// TestCellCoder tests that codes sort as cells, and then as points.
func TestCellCoder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := cellCoder{uint(rapid.IntRange(0, 26).Draw(rt, "shift"))}
		p, q := drawPoint(rt, WorldSize+RimUnits), drawPoint(rt, WorldSize+RimUnits)
		if got := c.point(c.code(p)); got != p {
			rt.Fatalf("%v is coded as %v", p, got)
		}
		want := cmp.Or(cmp.Compare(p.X>>c.shift, q.X>>c.shift), cmp.Compare(p.Y>>c.shift, q.Y>>c.shift), ComparePoints(p, q))
		if got := cmp.Compare(c.code(p), c.code(q)); got != want {
			rt.Fatalf("%v and %v compare as %d, want %d", p, q, got, want)
		}
	})
}

func TestSortNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		numbers := make([]uint64, rapid.SampledFrom([]int{0, 1, sortLarge, 3 * sortLarge}).Draw(t, "length"))
		shift := rapid.IntRange(0, 63).Draw(t, "shift")
		for i := range numbers {
			numbers[i] = rnd.Uint64() >> shift
		}
		want := slices.Clone(numbers)
		slices.Sort(want)
		if sortNumbers(numbers); !slices.Equal(numbers, want) {
			t.Fatal("not sorted")
		}
	})
}
