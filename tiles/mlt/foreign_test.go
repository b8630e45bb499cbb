package mlt_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
	"quadrille/tiles/mlt"
	"quadrille/tiles/mvt"
)

// pairs are tiles in both formats, in the input form of testdata/compare.mjs.
type pairs struct {
	t       *testing.T
	clients string // a directory
	e       mlt.Encoder
	all     bytes.Buffer
}

// newPairs skips the test where the reference libraries of the formats are not installed.
func newPairs(t *testing.T) *pairs {
	t.Helper()
	dir := os.Getenv("QUADRILLE_CLIENTS")
	if dir == "" {
		t.Skip("QUADRILLE_CLIENTS names no directory with node_modules: run make check-clients")
	}
	return &pairs{t: t, clients: dir}
}

func (p *pairs) add(tile []byte) {
	p.t.Helper()
	table, err := p.e.AppendTile(nil, tile)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, b := range [][]byte{tile, table} {
		p.all.Write(binary.BigEndian.AppendUint32(nil, uint32(len(b))))
		p.all.Write(b)
	}
}

// compare decodes the pairs with the reference libraries and compares the results.
func (p *pairs) compare() {
	t := p.t
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	script := filepath.Join(t.TempDir(), "compare.mjs")
	source, err := filepath.Abs("testdata/compare.mjs")
	if err != nil {
		t.Fatal(err)
	}
	// The library is written for bundlers: its modules import each other without extensions.
	bundle := exec.CommandContext(t.Context(), filepath.Join(p.clients, "node_modules/.bin/esbuild"), source, "--bundle",
		"--platform=node", "--format=esm", "--log-level=warning", "--outfile="+script)
	bundle.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(p.clients, "node_modules"))
	if out, err := bundle.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), node, script)
	cmd.Stdin = &p.all
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Log(strings.TrimSpace(string(out)))
}

// TestForeignDecoderRust compares layers of any shapes and attributes with the result of the
// decoder in Rust, through the Python package maplibre-tiles. QUADRILLE_PYTHON_MLT is a python that
// has the package.
func TestForeignDecoderRust(t *testing.T) {
	python := os.Getenv("QUADRILLE_PYTHON_MLT")
	if python == "" {
		t.Skip("QUADRILLE_PYTHON_MLT names no python that has maplibre-tiles: run make check-clients, where cargo is at hand")
	}
	var e mlt.Encoder
	var all bytes.Buffer
	for seed := range uint64(3000) {
		tile := anyTile(rand.New(rand.NewPCG(seed, 7)))
		layers, err := fromMVT(tile)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(layers)
		if err != nil {
			t.Fatal(err)
		}
		table, err := e.AppendTile(nil, tile)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range [][]byte{want, table} {
			all.Write(binary.BigEndian.AppendUint32(nil, uint32(len(b))))
			all.Write(b)
		}
	}
	cmd := exec.CommandContext(t.Context(), python, "testdata/compare.py")
	cmd.Stdin = &all
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Log(strings.TrimSpace(string(out)))
}

// worldLayers lists all layers of the world.
var worldLayers = []tiles.Selector{{Type: "country"}, {Type: "state"}, {Type: "lake"}}

// world returns Natural Earth 1:110 million. If the data is missing, the test is skipped.
func world(t testing.TB) *tiles.Reader {
	t.Helper()
	layers := []build.Layer{}
	for _, l := range [][4]string{
		{"country", "110m/ne_110m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME"},
		{"state", "110m/ne_110m_admin_1_states_provinces.geojson.gz", "adm1_code", "name"},
		{"lake", "110m/ne_110m_lakes.geojson.gz", "name", "name"},
	} {
		layer := build.Layer{Type: l[0]}
		for _, s := range tilestest.NaturalEarth(t, l[1], l[2], l[3]) {
			layer.Features = append(layer.Features, build.Feature{ID: s.ID, Name: s.Name, Geometry: s.Geometry})
		}
		layers = append(layers, layer)
	}
	store := tilestest.OpenStore(t)
	meta, _, err := build.Run(context.Background(), store, layers, build.Options{Timestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	r, err := tiles.Open(context.Background(), store, meta)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestForeignDecoderWorld compares tiles of the whole world of all zooms.
func TestForeignDecoderWorld(t *testing.T) {
	p, r, ctx := newPairs(t), world(t), context.Background()
	rnd := rand.New(rand.NewPCG(1, 2))
	for zoom := range 17 {
		keep := 1.0
		if zoom > 5 {
			keep = math.Pow(0.35, float64(zoom-5))
		}
		see := func(_ quadkey.Tile, tile []byte) error {
			if rnd.Float64() < keep {
				p.add(tile)
			}
			return nil
		}
		if zoom <= 13 {
			if err := r.Walk(ctx, worldLayers, zoom, see); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for range 500 {
			at, err := quadkey.TileAt(rnd.Float64()*360-180, rnd.Float64()*172-86, uint8(zoom))
			if err != nil {
				t.Fatal(err)
			}
			tile, err := r.AppendMVT(ctx, nil, at, []tiles.Selector{{Type: "country"}, {Type: "state", ID: "usa-3514"}})
			if err != nil {
				t.Fatal(err)
			}
			if len(tile) > 0 {
				p.add(tile)
			}
		}
	}
	p.compare()
}

// TestForeignDecoderAnything compares layers of any shapes and attributes.
func TestForeignDecoderAnything(t *testing.T) {
	p := newPairs(t)
	for seed := range uint64(3000) {
		p.add(anyTile(rand.New(rand.NewPCG(seed, 7))))
	}
	p.compare()
}

// anyTile returns a random tile of layers, most with one kind of geometry each.
func anyTile(r *rand.Rand) []byte {
	var tile []byte
	for n := range 1 + r.IntN(3) {
		var l mvt.Layer
		l.Reset("layer" + strings.Repeat("ü", n))
		if r.IntN(4) == 0 {
			l.SetExtent(uint32(1) << r.IntN(16))
		}
		kind, mixed := mvt.GeomType(1+r.IntN(3)), r.IntN(4) == 0
		size := []int32{10, 4096, 1 << 27}[r.IntN(3)]
		xy := func() mvt.XY { return mvt.XY{X: r.Int32N(2*size) - size, Y: r.Int32N(2*size) - size} }
		var used []mvt.XY
		anXY := func() mvt.XY {
			if len(used) > 0 && r.IntN(2) == 0 {
				return used[r.IntN(len(used))]
			}
			used = append(used, xy())
			return used[len(used)-1]
		}
		ids := r.IntN(4)
		parts := r.IntN(2)
		keys := make([]func(string), r.IntN(6))
		for i := range keys {
			keys[i] = anyAttribute(r, &l)
		}
		for range 1 + r.IntN([]int{1, 3, 40}[r.IntN(3)]) {
			var id uint64
			switch ids {
			case 1:
				id = 1 + uint64(r.IntN(100))
			case 2:
				id = r.Uint64() >> 11
			case 3:
				id = uint64(r.IntN(2)) * r.Uint64N(1<<40)
			}
			if mixed {
				kind = mvt.GeomType(1 + r.IntN(3))
			}
			l.Begin(id, kind)
			for i, add := range keys {
				if r.IntN(5) > 0 {
					add(string(rune('a' + i)))
				}
			}
			for range 1 + parts*r.IntN(4) {
				switch kind {
				case mvt.Point:
					l.Point(anXY())
				case mvt.LineString:
					line := []mvt.XY{anXY()}
					for range 1 + r.IntN(9) {
						line = append(line, anXY())
					}
					l.Line(line)
				default:
					ring := []mvt.XY{anXY(), anXY(), anXY()}
					for range r.IntN(9) {
						ring = append(ring, anXY())
					}
					l.Ring(ring)
				}
			}
			l.End()
		}
		tile = l.AppendTo(tile)
	}
	return tile
}

// anyAttribute writes values of one type.
func anyAttribute(r *rand.Rand, l *mvt.Layer) func(key string) {
	few := r.IntN(2) == 0
	switch r.IntN(7) {
	case 0:
		return func(k string) { l.TagBool(k, r.IntN(2) == 0) }
	case 1:
		return func(k string) { l.TagInt(k, int64(r.IntN(3))) }
	case 2:
		return func(k string) { l.TagInt(k, int64(r.Uint32())) }
	case 3:
		return func(k string) { l.TagInt(k, int64(int32(r.Uint32()))) }
	case 4:
		return func(k string) { l.TagInt(k, r.Int64N(1<<50)-1<<49) }
	case 5:
		return func(k string) {
			if r.IntN(3) == 0 {
				l.TagInt(k, int64(r.IntN(100)))
				return
			}
			l.TagDouble(k, r.NormFloat64())
		}
	}
	return func(k string) {
		if few {
			l.TagString(k, []string{"", "yes", "no", "日本語"}[r.IntN(4)])
			return
		}
		l.TagString(k, strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(200)))
	}
}
