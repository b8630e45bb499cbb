package ipgeo

import (
	"math"
	"math/rand/v2"
	"testing"

	"quadrille/internal/testrace"
	"quadrille/internal/testseed"
	"quadrille/quadkey"
)

// The fast text of a 32-bit float equals that of appendNumber.
func TestAppendSingle(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	rnd := rand.New(rand.NewPCG(1, 2))
	check := func(f float32) {
		if got, want := string(appendSingle(nil, f)), string(appendNumber(nil, float64(f))); got != want {
			t.Fatalf("%x: %s, want %s", math.Float32bits(f), got, want)
		}
	}
	n := 3_000_000
	if testing.Short() {
		n = 100_000
	}
	for range n {
		check(float32(rnd.Float64()*360 - 180))
		check(float32(math.Round(rnd.Float64()*3600000-1800000) / 10000))
		check(float32(math.Round(rnd.Float64()*200-100) / 1e6))
		check(float32(math.Ldexp(rnd.Float64()*2-1, rnd.IntN(40)-30)))
	}
	for e := -20; e < 10; e++ {
		for _, f := range []float64{1, 1.5, 1.25, 1 + 1.0/(1<<23), 2 - 1.0/(1<<23)} {
			check(float32(math.Ldexp(f, e)))
			check(-float32(math.Ldexp(f, e)))
		}
	}
	for _, p := range powersOf10[:4] {
		check(float32(p))
		check(math.Nextafter32(float32(p), 0))
		check(math.Nextafter32(float32(p), 1e6))
		check(1 / float32(p))
	}
}

// Every point decodes to the same numbers in each stored form.
func TestPoint(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	rnd := rand.New(rand.NewPCG(3, 4))
	var kinds [4]int
	check := func(lat, lon float64, kind int) {
		t.Helper()
		p := pointOf(lat, lon)
		kinds[p.kind]++
		x, y, ok := p.degrees()
		if !ok || x != lat || y != lon || kind != pointNone && p.kind != kind {
			t.Fatalf("%v, %v: kind %d, %v, %v, %v", lat, lon, p.kind, x, y, ok)
		}
	}
	for range 100_000 {
		lat, lon := rnd.Float64()*180-90, rnd.Float64()*360-180
		check(lat, lon, pointNone)
		check(float64(float32(lat)), float64(float32(lon)), pointNone)
		for places := range 8 {
			p := math.Pow10(places)
			check(math.Round(lat*p)/p, math.Round(lon*p)/p, pointDecimal)
		}
	}
	check(float64(float32(23.1317)), float64(float32(113.266)), pointSingle)
	check(0, 0, pointDecimal)
	check(90, -180, pointDecimal)
	check(-90, 180, pointDecimal)
	check(1e-7, 1, pointRaw) // its text has an exponent
	if kinds[pointRaw] == 0 {
		t.Error("no raw point")
	}
}

func TestAppendCell(t *testing.T) {
	random := testseed.Rand(t)
	for range 1000 {
		cell := quadkey.Cell(random.Uint32())
		if got, want := string(appendCell(nil, uint32(cell))), cell.Tile().Quadkey(); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
}

func BenchmarkAppendSingle(b *testing.B) {
	var buf []byte
	x := []float32{23.1317, 113.266, -84.3915, 2.35138}
	for i := 0; b.Loop(); i++ {
		buf = appendSingle(buf[:0], x[i&3])
	}
}
