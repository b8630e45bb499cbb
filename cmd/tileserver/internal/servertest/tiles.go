package servertest

import (
	"image"
	"image/png"
	"net/http"
	"strings"
	"testing"

	orbmvt "github.com/paulmach/orb/encoding/mvt"
	"github.com/paulmach/orb/geojson"

	"quadrille/tiles/mlt/mlttest"
)

func HasVisiblePixels(img image.Image) bool {
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if _, _, _, a := img.At(x, y).RGBA(); a > 0 {
				return true
			}
		}
	}
	return false
}

// vectorLayer is a layer of a vector tile, with the parts of its features that tests read.
type vectorLayer struct {
	Name     string
	Features []map[string]any
}

// VectorLayers reads a vector tile in the format of an extension.
func VectorLayers(t *testing.T, tile, extension string) (all []vectorLayer) {
	t.Helper()
	if extension == ".mlt" {
		layers, err := mlttest.Decode([]byte(tile))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range layers {
			all = append(all, vectorLayer{l.Name, propertiesOf(l.Features, func(f mlttest.Feature) map[string]any { return f.Properties })})
		}
		return all
	}
	layers, err := orbmvt.Unmarshal([]byte(tile))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		all = append(all, vectorLayer{l.Name, propertiesOf(l.Features, func(f *geojson.Feature) map[string]any { return f.Properties })})
	}
	return all
}

func propertiesOf[F any](features []F, of func(F) map[string]any) (all []map[string]any) {
	for _, f := range features {
		all = append(all, of(f))
	}
	return all
}

func DecodePNG(t *testing.T, res *http.Response) image.Image {
	t.Helper()
	b := Body(t, res)
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "image/png" ||
		res.Header.Get("Content-Encoding") != "" || res.Header.Get("Vary") != "" {
		t.Fatalf("%d %v %.200s", res.StatusCode, res.Header, b)
	}
	img, err := png.Decode(strings.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return img
}
