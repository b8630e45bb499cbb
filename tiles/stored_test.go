package tiles_test

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quadrille/cellstore"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// storedWorld is the exact border of every region of a type, assembled from all rows of zoom 13,
// all leaves and the polar rows. Here it is the reference for lookups. Other tests compare it with
// the source.
type storedWorld struct {
	typ   string
	ids   []string
	edges [][]grid.Edge    // in grid units, cut at ±180° and at the limits of the tiles
	caps  [][2][]grid.Edge // beyond the limits of the tiles, in plate carrée
}

func newStoredWorld(t testing.TB, store cellstore.Store, typ string) *storedWorld {
	t.Helper()
	w := &storedWorld{typ: typ}
	table, err := store.Table(context.Background(), layout.TableBounds)
	if err != nil {
		t.Fatal(err)
	}
	var view mvt.LayerView
	var c grid.Clipper
	index := map[string]int{}
	region := func(id []byte) int {
		i, ok := index[string(id)]
		if !ok {
			i = len(w.ids)
			index[string(id)] = i
			w.ids = append(w.ids, string(id))
			w.edges, w.caps = append(w.edges, nil), append(w.caps, [2][]grid.Edge{})
		}
		return i
	}
	scan := cellstore.Scan{Selection: cellstore.Selection{Families: []string{typ + layout.FamilyMVT}}}
	for row, err := range table.Scan(context.Background(), scan) {
		if err != nil {
			t.Fatal(err)
		}
		mark, value := row.Cells[0].Value[0], row.Cells[0].Value[1:]
		tile, ok := layout.RowTile(row.Key)
		if ok && tile.Z < grid.MaxZoom && mark != layout.MarkLeaf {
			continue
		}
		if _, _, err := mvt.NextLayer(value, &view); err != nil {
			t.Fatal(err)
		}
		for k := range view.Len() {
			f, err := view.Feature(k)
			if err != nil {
				t.Fatal(err)
			}
			i := region(view.StringTag(f, layout.TagID))
			switch {
			case !ok && row.Key[len(row.Key)-1] == 'N':
				w.caps[i][0] = append(w.caps[i][0], edgesOf(t, f, grid.Pt(0, layout.NorthCap.Y0))...)
			case !ok:
				w.caps[i][1] = append(w.caps[i][1], edgesOf(t, f, grid.Pt(0, layout.SouthCap.Y0))...)
			case mark == layout.MarkLeaf:
				w.edges[i] = append(w.edges[i], grid.Perimeter(grid.TileBox(int(tile.Z), tile.X, tile.Y, false))...)
			default:
				b := grid.TileBox(int(tile.Z), tile.X, tile.Y, false)
				corner := b.Corner()
				edges := edgesOf(t, f, corner)
				for _, p := range c.Polygons(edges, grid.WindingFromNorth(edges, corner), b, 0) {
					for _, ring := range p {
						for j, q := range ring {
							w.edges[i] = append(w.edges[i], grid.Edge{A: q, B: ring[(j+1)%len(ring)]})
						}
					}
				}
			}
		}
	}
	order := make([]int, len(w.ids))
	for i := range order {
		order[i] = i
		// Edges of neighbouring tiles along a common line cancel out.
		var frames []grid.Edge
		free := w.edges[i][:0]
		for _, e := range w.edges[i] {
			if e.A.X == e.B.X && e.A.X&4095 == 0 || e.A.Y == e.B.Y && e.A.Y&4095 == 0 {
				frames = append(frames, e)
			} else {
				free = append(free, e)
			}
		}
		w.edges[i] = append(free, grid.SumAxisEdges(frames)...)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(w.ids[a], w.ids[b]) })
	sorted := &storedWorld{typ: typ}
	for _, i := range order {
		sorted.ids = append(sorted.ids, w.ids[i])
		sorted.edges, sorted.caps = append(sorted.edges, w.edges[i]), append(sorted.caps, w.caps[i])
	}
	return sorted
}

// edgesOf returns the edges of a polygon feature, moved to an origin.
func edgesOf(t testing.TB, f mvt.Feature, origin grid.Point) (edges []grid.Edge) {
	t.Helper()
	at := func(p mvt.XY) grid.Point { return grid.Pt(origin.X+p.X, origin.Y+p.Y) }
	var p mvt.Path
	for p.Reset(f); ; {
		pts, _, ok, err := p.Next(nil)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return edges
		}
		for i, q := range pts {
			edges = append(edges, grid.Edge{A: at(q), B: at(pts[(i+1)%len(pts)])})
		}
	}
}

// vertex returns a vertex of some region's border, in degrees.
func (w *storedWorld) vertex(rnd *rand.Rand) (lon, lat float64) {
	for {
		i := rnd.IntN(len(w.ids))
		edges, which := w.edges[i], rnd.IntN(3)
		if which < 2 {
			edges = w.caps[i][which]
		}
		if len(edges) == 0 {
			continue
		}
		p := edges[rnd.IntN(len(edges))].A
		lat = 90 - float64(p.Y)/grid.WorldSize*360
		if which == 2 {
			lat = layout.MercatorLat(float64(p.Y))
		}
		return math.Remainder(float64(p.X)/grid.WorldSize*360-180, 360), lat
	}
}
