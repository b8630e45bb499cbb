//go:build !race

package tiles_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// walked collects a walk, tile by tile of the zoom, and checks its order.
func walked(t *testing.T, r *tiles.Reader, layers []tiles.Selector, zoom int) map[quadkey.Tile]string {
	t.Helper()
	got := map[quadkey.Tile]string{}
	var next uint64
	calls := 0
	err := r.Walk(context.Background(), layers, zoom, func(tile quadkey.Tile, mvt []byte) error {
		down := 2 * (zoom - int(tile.Z))
		if d := tile.Hilbert() << down; d < next {
			t.Fatalf("zoom %d: %v comes too late", zoom, tile)
		} else {
			next = d + 1<<down
		}
		first, last := tile.AtZoom(uint8(zoom))
		for x := first.X; x <= last.X; x++ {
			for y := first.Y; y <= last.Y; y++ {
				got[quadkey.Tile{Z: uint8(zoom), X: x, Y: y}] = string(mvt)
			}
		}
		calls++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("zoom %d: %d calls for %d tiles", zoom, calls, len(got))
	return got
}

// TestWalk tests that a walk gives the same tiles as separate requests for all tiles.
func TestWalk(t *testing.T) {
	ctx := context.Background()
	triangle := tilestest.Square(-30, -20, 40, 50)
	triangle[0][2] = [2]float64{40, 49}
	r, _, _ := buildReader(t,
		build.Layer{
			Type:     "land",
			Features: []build.Feature{{ID: "a", Geometry: triangle}, {ID: "b", Geometry: tilestest.Square(40, -20, 100, 49)}},
		},
		build.Layer{Type: "town", Features: []build.Feature{{ID: "c", Geometry: tilestest.Square(10, 10, 10.5, 10.5)}}},
	)
	for _, layers := range [][]tiles.Selector{
		{{Type: "land"}, {Type: "town"}}, {{Type: "town"}}, {{Type: "land", ID: "b"}}, {{Type: "land", ID: "none"}}, {},
	} {
		for zoom := range 7 {
			got := walked(t, r, layers, zoom)
			for d := range uint64(1) << (2 * zoom) {
				tile, _ := quadkey.TileFromHilbert(uint8(zoom), d)
				want, err := r.AppendMVT(ctx, nil, tile, layers)
				if err != nil {
					t.Fatal(err)
				}
				if got[tile] != string(want) {
					t.Fatalf("%v of %v: %d bytes, want %d", tile, layers, len(got[tile]), len(want))
				}
			}
		}
	}
	if err := r.Walk(ctx, []tiles.Selector{{Type: "none"}}, 0, nil); !errors.Is(err, tiles.ErrUnknownType) {
		t.Error(err)
	}
	if err := r.Walk(ctx, nil, grid.MaxZoom+1, nil); err == nil {
		t.Error("a zoom without tiles of its own")
	}
	stop := errors.New("stop")
	if err := r.Walk(ctx, []tiles.Selector{{Type: "land"}}, 3, func(quadkey.Tile, []byte) error { return stop }); err != stop {
		t.Error(err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := r.Walk(cancelled, []tiles.Selector{{Type: "land"}}, 3, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A label inside a leaf makes the walk divide the leaf, so that the label's tile comes separately
// from the tiles around it.
func TestWalkGoesInToLabels(t *testing.T) {
	ctx := context.Background()
	store, err := pebblestore.Open(filepath.Join(t.TempDir(), "store"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	err = store.CreateTable(ctx, cellstore.Schema{
		Table:    layout.TableBounds,
		Families: []cellstore.Family{{Name: "land"}, {Name: "land.mvt"}, {Name: "land.label"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.CreateTable(ctx, cellstore.Schema{
		Table:    layout.TableRegions,
		Families: []cellstore.Family{{Name: layout.FamilyRecord}, {Name: layout.FamilyGeometry}},
	}); err != nil {
		t.Fatal(err)
	}
	table, err := store.Table(ctx, layout.TableBounds)
	if err != nil {
		t.Fatal(err)
	}
	var l layout.LayerWriter
	l.Reset("land")
	l.BeginRegion(mvt.Polygon, 1, "a", "")
	l.Ring(layout.BufferedSquare)
	l.End()
	put := func(tile quadkey.Tile, family string, value []byte) {
		t.Helper()
		key := tile.Key()
		m := cellstore.Mutation{Row: key[:], Ops: []cellstore.Op{cellstore.Put(family, nil, value)}}
		if err := table.Apply(ctx, m); err != nil {
			t.Fatal(err)
		}
	}
	leaf, label := quadkey.Tile{Z: 2, X: 1, Y: 1}, quadkey.Tile{Z: 5, X: 11, Y: 13}
	put(leaf, "land.mvt", l.AppendTo([]byte{layout.MarkLeaf}))
	put(label, "land.label", []byte("M"))
	r, err := tiles.Open(ctx, store, tiles.Meta{SchemaVersion: tiles.SchemaVersion, Types: []tiles.TypeMeta{{Name: "land"}}})
	if err != nil {
		t.Fatal(err)
	}
	var got []quadkey.Tile
	var bytesOf [][]byte
	err = r.Walk(ctx, []tiles.Selector{{Type: "land"}}, 5, func(tile quadkey.Tile, mvt []byte) error {
		got, bytesOf = append(got, tile), append(bytesOf, bytes.Clone(mvt))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// Three quarters of the leaf have no label. The quarter with the label has three quarters
	// without it, and then the label's tile and its three siblings.
	if len(got) != 3+3+4 || !slices.Contains(got, label) {
		t.Errorf("%v", got)
	}
	if at3 := walked(t, r, []tiles.Selector{{Type: "land"}}, 3); len(at3) != 4 {
		t.Errorf("%d tiles at zoom 3", len(at3))
	}
}
