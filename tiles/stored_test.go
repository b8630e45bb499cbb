package tiles

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quadrille/cellstore"
	"quadrille/tiles/mvt"
)

// lookupShare divides the number of random lookups: the race detector makes the
// references slow.
var lookupShare = 1

// buildShare divides the number of shapes that are built to tiles: the race
// detector makes a build take ten times as long. Their rings are always checked.
var buildShare = 1

// storedWorld is the exact border of every region of a type, put together from
// all rows of zoom 13, all leaves and the polar rows. That these are the source
// is for other tests; here it is what lookups are compared with.
type storedWorld struct {
	typ   string
	ids   []string
	edges [][]edge    // in grid units, cut at ±180° and at the limits of the tiles
	caps  [][2][]edge // beyond them, in plate carrée
}

func newStoredWorld(t testing.TB, r *Reader, typ string) *storedWorld {
	t.Helper()
	w := &storedWorld{typ: typ}
	s := new(scratch)
	index := map[string]int{}
	region := func(id []byte) int {
		i, ok := index[string(id)]
		if !ok {
			i = len(w.ids)
			index[string(id)] = i
			w.ids = append(w.ids, string(id))
			w.edges, w.caps = append(w.edges, nil), append(w.caps, [2][]edge{})
		}
		return i
	}
	scan := cellstore.Scan{Selection: cellstore.Selection{Families: []string{typ + familyMVT}}}
	for row, err := range r.bounds.Scan(context.Background(), scan) {
		if err != nil {
			t.Fatal(err)
		}
		mark, value, err := splitMark(row.Cells[0].Value)
		if err != nil {
			t.Fatal(err)
		}
		tile, ok := rowTile(row.Key)
		if ok && tile.Z < MaxZoom && mark != markLeaf {
			continue
		}
		err = s.eachFeature(value, nil, func(f mvt.Feature, id, _ []byte) error {
			i := region(id)
			switch {
			case !ok:
				c, y0 := 0, northCap.y0
				if row.Key[len(row.Key)-1] == 'S' {
					c, y0 = 1, southCap.y0
				}
				return s.eachEdge(f, func(e edge) {
					w.caps[i][c] = append(w.caps[i][c], edge{point{e.a.x, e.a.y + y0}, point{e.b.x, e.b.y + y0}})
				})
			case mark == markLeaf:
				w.edges[i] = append(w.edges[i], perimeter(tileBox(int(tile.Z), tile.X, tile.Y, false))...)
				return nil
			}
			polys, err := s.crop(f, tile, tile, false)
			at := func(p point) point { return point{int32(tile.X)<<12 + p.x, int32(tile.Y)<<12 + p.y} }
			for _, p := range polys {
				for _, ring := range p {
					for j, q := range ring {
						w.edges[i] = append(w.edges[i], edge{at(q), at(ring[(j+1)%len(ring)])})
					}
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	order := make([]int, len(w.ids))
	for i := range order {
		order[i] = i
		// Tiles' edges along a common line are nothing together.
		var frames []edge
		free := w.edges[i][:0]
		for _, e := range w.edges[i] {
			if e.a.x == e.b.x && e.a.x&4095 == 0 || e.a.y == e.b.y && e.a.y&4095 == 0 {
				frames = append(frames, e)
			} else {
				free = append(free, e)
			}
		}
		w.edges[i] = append(free, sumLines(frames)...)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(w.ids[a], w.ids[b]) })
	sorted := &storedWorld{typ: typ}
	for _, i := range order {
		sorted.ids = append(sorted.ids, w.ids[i])
		sorted.edges, sorted.caps = append(sorted.edges, w.edges[i]), append(sorted.caps, w.caps[i])
	}
	return sorted
}

// vertex is a vertex of some region's border, in degrees.
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
		p := edges[rnd.IntN(len(edges))].a
		lat = 90 - float64(p.y)/worldSize*360
		if which == 2 {
			lat = mercatorLat(float64(p.y))
		}
		return math.Remainder(float64(p.x)/worldSize*360-180, 360), lat
	}
}
