package quadkey

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestRowTable compares the row of the table with that of the formula, at random, at the edges of
// rows and pieces, and just beside them.
func TestRowTable(t *testing.T) {
	check := func(lat float64) {
		t.Helper()
		if want := min(uint32(projectY(lat)*grid), grid-1); rowAt(lat) != want {
			t.Fatalf("the row of %v is %d, want %d", lat, rowAt(lat), want)
		}
	}
	around := func(lat float64) {
		for _, d := range []float64{0, 1e-16, 1e-12, 1e-9, 1e-7, 1e-6} {
			check(max(-90, lat-d))
			check(min(90, lat+d))
		}
		check(math.Nextafter(lat, 0))
	}
	for _, lat := range []float64{0, math.Copysign(0, -1), MaxLatitude, -MaxLatitude, 90, -90, 85.05112877980660, math.SmallestNonzeroFloat64} {
		around(lat)
	}
	for i := range rowPieces + 1 {
		around(min(float64(i)/rowScale, 90))
		around(-min(float64(i)/rowScale, 90))
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 300_000 {
		check(rnd.Float64()*180 - 90)
		around(unprojectY(float64(rnd.IntN(grid+1)) / grid))
	}
}

// TestRowTableError checks the margin: the polynomials err by less than a hundredth of it.
func TestRowTableError(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	most := 0.0
	for range 1_000_000 {
		lat := rnd.Float64() * MaxLatitude
		at := lat * rowScale
		i := min(int(at), rowPieces-1)
		p, u := &rowTable[i], at-float64(i)
		f := grid/2 - (p[0] + u*(p[1]+u*(p[2]+u*p[3])))
		most = max(most, math.Abs(f-projectY(lat)*grid))
	}
	if most > rowMargin/100 {
		t.Errorf("an error of %v rows, want at most %v", most, rowMargin/100)
	}
	t.Logf("an error of at most %v rows", most)
}
