package station

import (
	"errors"
	"testing"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/places/stations"
	"quadrille/quadkey"
)

func TestWeatherTile(t *testing.T) {
	for _, c := range []struct {
		z, x, file string
		want       quadkey.Tile
		err        error
	}{
		{"0", "0", "0.json", quadkey.Tile{}, nil},
		{"4", "8", "5.json", quadkey.Tile{Z: 4, X: 8, Y: 5}, nil},
		{"4", "8", "5.xml", quadkey.Tile{}, web.ErrFormat},
		{"4", "8", "5", quadkey.Tile{}, web.ErrFormat},
		{"1", "2", "0.json", quadkey.Tile{}, endpoint.ErrTileOutside},
		{"9", "0", "0.json", quadkey.Tile{}, endpoint.ErrTileOutside},
	} {
		got, err := weatherTile(c.z, c.x, c.file)
		if got != c.want || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s/%s/%s: %v, %v; want %v, %v", c.z, c.x, c.file, got, err, c.want, c.err)
		}
	}
	if stations.MaxWeatherZoom >= 9 {
		t.Error("zoom 9 has weather")
	}
}
