package mlt_test

import (
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"quadrille/internal/testrace"
	"quadrille/tiles/mlt"
	"quadrille/tiles/mlt/mlttest"
	"quadrille/tiles/mvt"
)

// fromMVT decodes a vector tile to the form in which mlttest decodes the MapLibre Tile.
func fromMVT(tile []byte) (layers []mlttest.Layer, err error) {
	var v mvt.LayerView
	for {
		rest, ok, err := mvt.NextLayer(tile, &v)
		if err != nil || !ok {
			return layers, err
		}
		tile = rest
		l := mlttest.Layer{Name: string(v.Name), Extent: uint64(v.Extent)}
		for i := range v.Len() {
			f, err := v.Feature(i)
			if err != nil {
				return nil, err
			}
			out := mlttest.Feature{ID: f.ID, Type: uint64(f.Type) - 1, Properties: map[string]any{}}
			err = v.EachTag(f, func(key, value []byte) bool {
				var is any
				if s, ok := mvt.StringValue(value); ok {
					is = string(s)
				} else if b, ok := mvt.BoolValue(value); ok {
					is = b
				} else if n, ok := mvt.IntegerValue(value); ok {
					is = n
				} else {
					is, _ = mvt.NumberValue(value)
				}
				out.Properties[string(key)] = is
				return true
			})
			if err != nil {
				return nil, err
			}
			var p mvt.Path
			shells := 0
			for p.Reset(f); ; {
				pts, closed, ok, err := p.Next(nil)
				if err != nil {
					return nil, err
				}
				if !ok {
					break
				}
				var path [][2]int64
				area := int64(0)
				for i, q := range pts {
					next := pts[(i+1)%len(pts)]
					area += int64(q.X)*int64(next.Y) - int64(next.X)*int64(q.Y)
					path = append(path, [2]int64{int64(q.X), int64(q.Y)})
				}
				if f.Type == mvt.Point {
					for i := range path {
						out.Paths = append(out.Paths, path[i:i+1])
					}
					continue
				}
				out.Paths = append(out.Paths, path)
				if closed && area > 0 || len(out.Paths) == 1 {
					shells++
				}
			}
			if f.Type == mvt.Polygon && shells != 1 || f.Type != mvt.Polygon && len(out.Paths) != 1 {
				out.Type += 3
			}
			l.Features = append(l.Features, out)
		}
		layers = append(layers, l)
	}
}

// TestAnything compares layers of any shapes and attributes with their MVT.
func TestAnything(t *testing.T) {
	tries := uint64(3000)
	if testing.Short() {
		tries = 500
	}
	var e mlt.Encoder
	for seed := range tries {
		tile := anyTile(rand.New(rand.NewPCG(seed, 7)))
		want, err := fromMVT(tile)
		if err != nil {
			t.Fatal(err)
		}
		table, err := e.AppendTile([]byte("before"), tile)
		if err != nil {
			t.Fatal(err)
		}
		got, err := mlttest.Decode(table[len("before"):])
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !sameLayers(got, want) {
			t.Fatalf("seed %d:\n got  %+v\n want %+v", seed, got, want)
		}
	}
}

// sameLayers compares layers, whole numbers by their value.
func sameLayers(a, b []mlttest.Layer) bool {
	plain := func(layers []mlttest.Layer) {
		for _, l := range layers {
			for _, f := range l.Features {
				for k, v := range f.Properties {
					if n, ok := v.(int64); ok {
						f.Properties[k] = float64(n)
					}
				}
			}
		}
	}
	plain(a)
	plain(b)
	return reflect.DeepEqual(a, b)
}

// An attribute that is a text in one feature and a number in another is a text in all.
func TestMixedAttribute(t *testing.T) {
	var l mvt.Layer
	l.Reset("points")
	for i, add := range []func(){
		func() { l.TagString("k", "seven") }, func() { l.TagInt("k", -7) }, func() { l.TagBool("k", true) },
		func() { l.TagDouble("k", 0.5) }, func() {},
	} {
		l.Begin(uint64(i), mvt.Point)
		l.Point(mvt.XY{X: int32(i)})
		add()
		l.End()
	}
	if got, want := valuesOf(t, &l), []any{"seven", "-7", "true", "0.5", nil}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// valuesOf decodes attribute k of a layer's features from the MapLibre Tile.
func valuesOf(t *testing.T, l *mvt.Layer) (values []any) {
	t.Helper()
	var e mlt.Encoder
	table, err := e.AppendTile(nil, l.AppendTo(nil))
	if err != nil {
		t.Fatal(err)
	}
	layers, err := mlttest.Decode(table)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range layers[0].Features {
		values = append(values, f.Properties["k"])
	}
	return values
}

// TestIntegers tests that the column type is large enough for its integers, and is one that styles
// can compare wherever that is possible.
func TestIntegers(t *testing.T) {
	for _, tt := range []struct {
		values []int64
		want   []any
	}{
		{[]int64{0, 1<<32 - 1}, []any{int64(0), int64(1<<32 - 1)}},
		{[]int64{-1 << 31, 1<<31 - 1}, []any{int64(-1 << 31), int64(1<<31 - 1)}},
		{[]int64{-1, 1 << 31}, []any{float64(-1), float64(1 << 31)}},
		{[]int64{1 << 53}, []any{float64(1 << 53)}},
		{[]int64{1<<53 + 1}, []any{int64(1<<53 + 1)}},
		{[]int64{-1 << 63, 1<<63 - 1}, []any{int64(-1 << 63), int64(1<<63 - 1)}},
	} {
		var l mvt.Layer
		l.Reset("points")
		for _, v := range tt.values {
			l.Begin(0, mvt.Point)
			l.Point(mvt.XY{})
			l.TagInt("k", v)
			l.End()
		}
		if got := valuesOf(t, &l); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%d: %v, want %v", tt.values, got, tt.want)
		}
	}
}

// If each point has attributes of its own, there are as many columns as values. Memory must grow
// with the values, and not with features times columns.
func TestManyAttributes(t *testing.T) {
	testrace.SkipUnderRace(t, "it allocates")
	const features, own = 1000, 32
	var l mvt.Layer
	l.Reset("points")
	for i := range features {
		l.Begin(uint64(i+1), mvt.Point)
		l.Point(mvt.XY{X: int32(i)})
		for k := range own {
			l.TagInt(fmt.Sprintf("k%d of %d", k, i), int64(k))
		}
		l.End()
	}
	tile := l.AppendTo(nil)
	want, err := fromMVT(tile)
	if err != nil {
		t.Fatal(err)
	}
	var e mlt.Encoder
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	table, err := e.AppendTile(nil, tile)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > features*own<<10 {
		t.Errorf("%d bytes for %d values", took, features*own)
	}
	got, err := mlttest.Decode(table)
	if err != nil {
		t.Fatal(err)
	}
	if !sameLayers(got, want) {
		t.Error("the layers differ")
	}
}

// The borders of neighbours are stored once.
func TestSharedBorders(t *testing.T) {
	tile := neighbours(10, 25)
	var e mlt.Encoder
	table, err := e.AppendTile(nil, tile)
	if err != nil {
		t.Fatal(err)
	}
	if share := float64(len(table)) / float64(len(tile)); share > 0.6 {
		t.Errorf("%.2f of the size of the MVT", share)
	}
}

func TestErrors(t *testing.T) {
	var e mlt.Encoder
	if _, err := e.AppendTile(nil, []byte("no tile")); !errors.Is(err, mvt.ErrMalformed) {
		t.Errorf("%v", err)
	}
	var l mvt.Layer
	l.Reset("untyped")
	l.Begin(1, mvt.Unknown)
	l.Point(mvt.XY{})
	l.End()
	if _, err := e.AppendTile(nil, l.AppendTo(nil)); !errors.Is(err, mvt.ErrMalformed) {
		t.Errorf("%v", err)
	}
	if table, err := e.AppendTile(nil, nil); err != nil || len(table) > 0 {
		t.Errorf("an empty tile is %x, %v", table, err)
	}
}

var update = flag.Bool("update", false, "write the golden file anew")

// TestGolden compares with the bytes of some tiles, which foreign decoders have read.
func TestGolden(t *testing.T) {
	var e mlt.Encoder
	var b strings.Builder
	for _, tile := range [][]byte{neighbours(1, 1), neighbours(2, 2), anyTile(rand.New(rand.NewPCG(6, 7)))} {
		table, err := e.AppendTile(nil, tile)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(hex.Dump(table) + "\n")
	}
	const file = "testdata/tiles.golden"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("tiles have changed; if they are meant to, run with -update and make check-clients:\n%s", b.String())
	}
}

// FuzzAppendTile takes arbitrary bytes: if they are a tile, the encoder keeps its content.
func FuzzAppendTile(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(anyTile(rand.New(rand.NewPCG(seed, 7))))
	}
	var e mlt.Encoder
	f.Fuzz(func(t *testing.T, tile []byte) {
		table, err := e.AppendTile(nil, tile)
		if err != nil {
			return
		}
		got, err := mlttest.Decode(table)
		if err != nil {
			t.Fatal(err)
		}
		want, err := fromMVT(tile)
		if err != nil {
			t.Fatal(err)
		}
		want = slices.DeleteFunc(want, func(l mlttest.Layer) bool { return len(l.Features) == 0 })
		for _, layers := range [][]mlttest.Layer{got, want} {
			for _, l := range layers {
				for i := range l.Features {
					l.Features[i].Properties = nil // types may differ
				}
			}
		}
		if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
	})
}
