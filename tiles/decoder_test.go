//go:build !race

package tiles_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/mvt"
)

// decoded is the content of a layer according to a decoder.
type decoded struct {
	Layer    string
	Features int
	Points   int
	Tags     int
}

// decodeScript reads tiles, each preceded by its length in 4 bytes. For each it prints, as a line
// of JSON, what the decoder of Mapbox finds.
const decodeScript = `
import { VectorTile } from '@mapbox/vector-tile'
import { PbfReader } from 'pbf'
import { readFileSync } from 'node:fs'
const data = readFileSync(0)
for (let at = 0; at < data.length;) {
  const size = data.readUInt32BE(at)
  const { layers } = new VectorTile(new PbfReader(data.subarray(at + 4, at + 4 + size)))
  at += 4 + size
  console.log(JSON.stringify(Object.entries(layers).map(([name, layer]) => {
    let points = 0
    let tags = 0
    for (let i = 0; i < layer.length; i++) {
      const feature = layer.feature(i)
      tags += Object.keys(feature.properties).length
      for (const ring of feature.loadGeometry()) points += ring.length
    }
    return { Layer: name, Features: layer.length, Points: points, Tags: tags }
  })))
}`

// TestOtherDecoder decodes real tiles with the library of Mapbox, which must find the same in them
// as our own reader.
func TestOtherDecoder(t *testing.T) {
	page, err := filepath.Abs("../static/leaflet")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(page, "node_modules/@mapbox/vector-tile")); err != nil {
		t.Skip("the map page's libraries are not installed: make page")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	r, _, _ := buildReader(t,
		naturalEarth(t, "country", "110m/ne_110m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME", "FJI", "LSO", "ZAF", "CHE", "AUT", "ITA"),
		naturalEarth(t, "lake", "110m/ne_110m_lakes.geojson.gz", "name", "name"))
	rnd := rand.New(rand.NewPCG(21, 22))
	var input bytes.Buffer
	var want [][]decoded
	for range 2000 {
		at, err := quadkey.TileAt(rnd.Float64()*360-180, rnd.Float64()*172-86, uint8(rnd.IntN(grid.MaxZoom+1)))
		if err != nil {
			t.Fatal(err)
		}
		tile, err := r.AppendMVT(context.Background(), nil, at, []tiles.Selector{{Type: "country"}, {Type: "lake"}})
		if err != nil {
			t.Fatal(err)
		}
		if len(tile) == 0 {
			continue
		}
		input.Write(binary.BigEndian.AppendUint32(nil, uint32(len(tile))))
		input.Write(tile)
		want = append(want, decode(t, tile))
	}
	cmd := exec.CommandContext(t.Context(), node, "--input-type=module", "-e", decodeScript)
	cmd.Dir, cmd.Stdin = page, &input
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, cmd.Stderr)
	}
	lines := json.NewDecoder(bytes.NewReader(out))
	for i := range want {
		var got []decoded
		if err := lines.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want[i]) {
			t.Fatalf("tile %d: %+v, we read %+v", i, got, want[i])
		}
	}
	t.Logf("%d tiles", len(want))
}

// decode reads a tile with our own reader. A ring counts its first point twice, as the other
// decoder does.
func decode(t *testing.T, tile []byte) (out []decoded) {
	var v mvt.LayerView
	for {
		rest, ok, err := mvt.NextLayer(tile, &v)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return out
		}
		tile = rest
		d := decoded{Layer: string(v.Name), Features: v.Len()}
		for i := range v.Len() {
			f, err := v.Feature(i)
			if err != nil {
				t.Fatal(err)
			}
			if err := v.EachTag(f, func(_, _ []byte) bool { d.Tags++; return true }); err != nil {
				t.Fatal(err)
			}
			var p mvt.Path
			p.Reset(f)
			for {
				pts, closed, ok, err := p.Next(nil)
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					break
				}
				d.Points += len(pts)
				if closed {
					d.Points++
				}
			}
		}
		out = append(out, d)
	}
}
