package servertest_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"net/http"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/cmd/tileserver/internal/theme"
	"quadrille/internal/testrace"
	"quadrille/places"
	"quadrille/quadkey"
	"quadrille/tiles/build"
)

func TestPicture(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	// The first tile is completely covered by one region, and the other is empty.
	for _, tt := range []struct {
		path   string
		size   int
		opaque bool
	}{
		{"/tiles/country/5/6/12.png", 256, true},
		{"/tiles/country/5/6/12@2x.png", 512, true},
		{"/tiles/country/5/6/1.png", 256, true},
		{"/tiles/country/5/6/1.png?theme=dark", 256, true},
		{"/tiles/country/5/6/12.png?theme=plain", 256, true},
		{"/tiles/country/5/6/1.png?theme=plain", 256, false},
		{"/tiles/country/5/6/1@2x.png?theme=plain", 512, false},
		{"/tiles/country:fr/5/6/12.png", 256, false}, // to be laid over a map
		{"/tiles/places/3/4/2.png", 256, false},
	} {
		res := f.Get(tt.path, "Accept-Encoding", "gzip")
		img := servertest.DecodePNG(t, res)
		if img.Bounds() != image.Rect(0, 0, tt.size, tt.size) {
			t.Errorf("%s: bounds %v", tt.path, img.Bounds())
		}
		for _, p := range []image.Point{{}, {X: tt.size - 1}, {Y: tt.size - 1}, {X: tt.size / 2, Y: tt.size / 2}} {
			if _, _, _, a := img.At(p.X, p.Y).RGBA(); (a == 0xffff) != tt.opaque {
				t.Errorf("%s: alpha %x at %v, opaque should be %v", tt.path, a, p, tt.opaque)
			}
		}
		etag := res.Header.Get("Etag")
		again := f.Get(tt.path, "If-None-Match", etag, "Accept-Encoding", "br")
		if again.StatusCode != http.StatusNotModified || again.Header.Get("Vary") != "" || again.Header.Get("Etag") != etag {
			t.Errorf("%s: revalidated: %d %v", tt.path, again.StatusCode, again.Header)
		}
	}
	one, two := f.Get("/tiles/country/5/6/12.png"), f.Get("/tiles/country/5/6/12@2x.png")
	if one.Header.Get("Etag") == two.Header.Get("Etag") {
		t.Error("both densities have one tag")
	}
	// Each theme has its own picture and ETag. Formats without colours are the same in all themes.
	seen := map[string]string{}
	for _, theme := range theme.Themes {
		res := f.Get("/tiles/country/5/6/1.png?theme=" + theme)
		for _, key := range []string{res.Header.Get("Etag"), servertest.Body(t, res)} {
			if other, ok := seen[key]; ok {
				t.Errorf("%s is %s", theme, other)
			}
			seen[key] = theme
		}
	}
	if seen[one.Header.Get("Etag")] != "" || f.Get("/tiles/country/5/6/12.png?theme=political").Header.Get("Etag") != one.Header.Get("Etag") {
		t.Error("political is not what there is without a theme")
	}
	if a, b := f.Get("/tiles/country/5/6/12.mvt"), f.Get("/tiles/country/5/6/12.mvt?theme=dark"); a.Header.Get("Etag") != b.Header.Get("Etag") {
		t.Error("vector tiles differ by theme")
	}
	if p := servertest.WantProblem(t, f.Get("/tiles/country/5/6/12.png?theme=pink"), 400,
		"bad-parameter"); p.Parameter != "theme" || !strings.Contains(p.Detail, "political, political-dark, light, dark, plain") {
		t.Errorf("unknown theme: %+v", p)
	}
	reads := f.Boundaries.Reads.Load()
	f.Get("/tiles/country/5/6/12.png", "Accept-Encoding", "gzip")
	if f.Boundaries.Reads.Load() != reads {
		t.Error("a drawn tile was not kept")
	}
}

// The names come from the tile and the eight tiles around it, across ±180° but not beyond the
// poles.
func TestPictureNeighbours(t *testing.T) {
	f := servertest.New(t, nil, ask.Boundaries.Name)
	for _, tt := range []struct{ tile, want string }{ // the first two are of shapes
		{"0/0/0", "0/0/0 0/0/0 0/0/0 0/0/0 0/0/0"},
		{"1/0/0", "1/0/0 1/0/0 1/1/0 1/0/0 1/1/0 1/1/1 1/0/1 1/1/1"},
		{"2/3/2", "2/3/2 2/3/2 2/2/1 2/3/1 2/0/1 2/2/2 2/3/2 2/0/2 2/2/3 2/3/3 2/0/3"},
		{"22/0/4194303", "13/0/8191 13/0/8191 13/8191/8191 13/0/8191 13/0/8191 13/8191/8191 13/0/8191 13/0/8191"},
	} {
		var asked []string
		f.Boundaries.BeforeRead = func(_ context.Context, _ string, key []byte) error {
			tile, err := quadkey.ParseKey(key)
			asked = append(asked, tile.String())
			return err
		}
		servertest.DecodePNG(t, f.Get("/tiles/country/"+tt.tile+".png"))
		if got := strings.Join(asked, " "); got != tt.want {
			t.Errorf("around %s: %s, want %s", tt.tile, got, tt.want)
		}
	}
	f.Boundaries.BeforeRead = nil
	// A name of the tile to the east, beyond the antimeridian, extends into this tile.
	f.PublishRows(servertest.Regions(build.Layer{
		Type:     "country",
		Features: []build.Feature{servertest.Region("fj", "Fiji", -179.83, 73, -179.82, 73.01)},
	}))
	for tile, want := range map[string]bool{"3/7/1": true, "3/0/1": true, "3/6/1": false, "3/7/2": false} {
		if got := inked(servertest.DecodePNG(t, f.Get("/tiles/country/"+tile+".png?theme=plain"))) > 0; got != want {
			t.Errorf("%s: name drawn is %v, want %v", tile, got, want)
		}
	}
}

// inked counts the pixels that are not transparent.
func inked(img image.Image) (n int) {
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			if _, _, _, a := img.At(x, y).RGBA(); a > 0 {
				n++
			}
		}
	}
	return n
}

// TestPicturePlaces tests that pictures of tiles show places as dots with names.
func TestPicturePlaces(t *testing.T) {
	f := servertest.New(t, nil)
	f.PublishRows(servertest.Places([]places.Place{{
		ID:         1,
		Name:       "Null Island",
		Class:      "P",
		Code:       "PPL",
		Population: 9_000_000,
	}}, nil, places.Gazetteer{}))
	if n := inked(servertest.DecodePNG(t, f.Get("/tiles/places/0/0/0.png"))); n < 300 || n > 5000 {
		t.Errorf("%d pixels drawn, want a dot and a name", n)
	}
}

func TestPictureFailures(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	f := servertest.New(t, nil, ask.Boundaries.Name)
	const path = "/tiles/country/3/4/2.png"
	tile := func(change func([]byte) []byte) {
		f.Serve() // with empty caches
		f.Boundaries.ChangeRow = func(_ string, row *cellstore.Row) {
			for i := range row.Cells {
				row.Cells[i].Value = change(row.Cells[i].Value)
			}
		}
	}
	// The stored bytes are not a vector tile.
	tile(func([]byte) []byte { return []byte("mvt") })
	servertest.WantProblem(t, f.Get(path), 500, "data-corrupt")
	servertest.WantProblem(t, f.Get("/tiles/places/3/4/2.png"), 404, "dataset-missing")
	f.Boundaries.ReadErr = errors.New("secret: disk on fire")
	servertest.WantProblem(t, f.Get("/tiles/country/3/4/2@2x.png"), 500, "internal")
	f.Boundaries.ReadErr = nil
	// The tile has far more features than may be examined.
	tile(func(one []byte) []byte { return append([]byte{one[0]}, bytes.Repeat(one[1:], 50_000)...) }) // after the mark of the row
	servertest.WantProblem(t, f.Get(path), 422, "tile-too-complex")
}

// TestPictureReal tests the whole chain: at every zoom the picture shows the features from the
// reader.
func TestPictureReal(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w := servertest.NewWorld(t)
	for _, z := range []uint8{4, 9, 13, 14, 18, 22} {
		tile, err := quadkey.TileAt(toyworld.West+0.5, 47, z)
		if err != nil {
			t.Fatal(err)
		}
		if n := inked(servertest.DecodePNG(t, w.Get("/tiles/all/"+tile.String()+".png?theme=plain"))); n == 0 {
			t.Errorf("%s: land is transparent", tile)
		}
	}
	if n := inked(servertest.DecodePNG(t, w.Get("/tiles/country/6/26/30.png?theme=plain"))); n > 0 {
		t.Errorf("%d pixels drawn at sea", n)
	}
}
