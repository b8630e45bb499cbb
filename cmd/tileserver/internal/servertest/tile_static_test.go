package servertest_test

import (
	"image/color"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
)

// A picture of a map has the pixels of the tiles at their places, also across ±180°, and its pins.
func TestStaticMaps(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other")
	f := servertest.New(t, nil, ask.Boundaries.Name)
	tile := servertest.DecodePNG(t, f.Get("/tiles/country/1/1/0.png"))
	whole := servertest.DecodePNG(t, f.Get("/static/country.png?center=0,0&zoom=1&size=512x512"))
	if size := whole.Bounds().Size(); size.X != 512 || size.Y != 512 {
		t.Fatal(size)
	}
	for x := range 256 {
		for y := range 256 {
			if a, b := tile.At(x, y), whole.At(x+256, y); a != b && color.NRGBAModel.Convert(a) != color.NRGBAModel.Convert(b) {
				t.Fatalf("%v at %d, %d of the tile, %v in the picture", a, x, y, b)
			}
		}
	}
	across := servertest.DecodePNG(t, f.Get("/static/country.png?center=0,180&zoom=1&size=512x256"))
	for y := range 128 {
		if a, b := color.NRGBAModel.Convert(tile.At(100, y+128)), color.NRGBAModel.Convert(across.At(100, y)); a != b {
			t.Fatalf("%v in the tile, %v west of ±180°", a, b)
		}
	}
	twice := servertest.DecodePNG(t, f.Get("/static/country.png?pin=10,-179,12,179&size=300x200&scale=2&theme=dark&zoom=3"))
	if size := twice.Bounds().Size(); size.X != 600 || size.Y != 400 {
		t.Error(size)
	}
	bare := servertest.DecodePNG(t, f.Get("/static/country.png?bbox=179,10,-179,12&size=300x200&scale=2&theme=dark&zoom=3"))
	differ := 0
	for x := range 600 {
		for y := range 400 {
			if twice.At(x, y) != bare.At(x, y) {
				differ++
			}
		}
	}
	if differ < 300 || differ > 1700 { // two discs of 7.5 pixels, twice as large
		t.Errorf("two pins change %d pixels", differ)
	}
	res := f.Get("/static/country.png?center=0,0&zoom=1")
	if again := f.Get("/static/country.png?center=0,0&zoom=1", "If-None-Match", res.Header.Get("ETag")); again.StatusCode != 304 {
		t.Errorf("asked again: %d", again.StatusCode)
	}
	if other := f.Get("/static/country.png?center=0,0&zoom=1&size=100x100", "If-None-Match", res.Header.Get("ETag")); other.StatusCode != 200 {
		t.Errorf("another size: %d", other.StatusCode)
	}
	for _, bad := range []string{"", "center=0,0", "center=91,0&zoom=1", "center=0&zoom=1", "bbox=1,2,3", "pin=1", "pin=1,2,3", "pin=1,200",
		"center=0,0&zoom=1&size=1281x10", "center=0,0&zoom=1&size=0x10", "center=0,0&zoom=1&size=10", "center=NaN,0&zoom=1", "center=0,0&zoom=23"} {
		servertest.WantProblem(t, f.Get("/static/country.png?"+bad), 400, "bad-parameter")
	}
	servertest.WantProblem(t, f.Get("/static/nowhere.png?center=0,0&zoom=1"), 404, "unknown-layer")
	if res := f.Get("/static/country.jpg?center=0,0&zoom=1"); res.StatusCode != 404 && res.StatusCode != 400 {
		t.Error(res.StatusCode)
	}
}
