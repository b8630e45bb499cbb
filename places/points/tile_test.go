package points_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"quadrille/internal/must"
	"quadrille/places/points"
	"quadrille/quadkey"
)

// scattered returns points as in real data: evenly spread, around cities, in rows, and many at one
// position.
func scattered(r *rand.Rand, n int) []points.Point {
	list := make([]points.Point, n)
	var cities [8][3]float64
	for i := range cities {
		cities[i] = [3]float64{r.Float64()*150 - 75, r.Float64()*340 - 170, math.Pow(10, -4*r.Float64())}
	}
	for i := range list {
		p := &list[i]
		p.ID = fmt.Sprint(i)
		c := &cities[r.IntN(len(cities))]
		switch i % 8 {
		case 0:
			p.Lat, p.Lon = r.Float64()*180-90, r.Float64()*360-180
		case 4:
			p.Lat, p.Lon = r.Float64()*2, 180-360*float64(r.IntN(2)) // both longitudes are in the first column
		case 1:
			p.Lat, p.Lon = c[0], c[1]
		case 2:
			p.Lat, p.Lon = 10, float64(i)/float64(n)*90
		default:
			p.Lat, p.Lon = c[0]+r.NormFloat64()*c[2], c[1]+r.NormFloat64()*c[2]
		}
	}
	return list
}

// TestTilesAgree reads all tiles of a zoom that may have points. Each point is in one tile, and no
// two items are near each other, even across borders of tiles.
func TestTilesAgree(t *testing.T) {
	const apart = 32 // pixels
	r := rand.New(rand.NewPCG(4, 7))
	for _, n := range []int{1, 40, 300, 3000, 20000} {
		list := scattered(r, n)
		c := build(t, list, points.BuildOptions{})
		for z := uint8(0); z <= quadkey.MaxZoom; z += 1 + uint8(r.IntN(3)) {
			tiles := map[quadkey.Tile]bool{}
			at := map[string]*points.Point{}
			for i := range list {
				p := &list[i]
				tile := must.Get(quadkey.TileAt(p.Lon, p.Lat, z)).In(t)
				at[p.ID], tiles[tile] = p, true
				// A point of a cluster may be shown beyond a border.
				for dx := -1; dx <= 1; dx++ {
					for dy := -1; dy <= 1; dy++ {
						if x, y := int(tile.X)+dx, int(tile.Y)+dy; x >= 0 && y >= 0 && x < 1<<z && y < 1<<z {
							tiles[quadkey.Tile{Z: z, X: uint32(x), Y: uint32(y)}] = true
						}
					}
				}
			}
			seen, sum := map[string]bool{}, int64(0)
			side := math.Ldexp(512, int(z))
			near := map[[2]int][][2]float64{}
			for tile := range tiles {
				must.Do(t, c.ShowTile(t.Context(), tile, func(s *points.Shown) error {
					if in := must.Get(quadkey.TileAt(s.Lon, s.Lat, z)).In(t); in != tile {
						t.Errorf("tile %v shows what is in %v", tile, in)
					}
					if p := at[s.ID]; s.Count == 0 && (p == nil || seen[s.ID] || math.Abs(p.Lat-s.Lat) > 1e-6 || math.Abs(p.Lon-s.Lon) > 1e-6) {
						t.Errorf("tile %v shows the point %q at %v, %v; want each point once, where it is", tile, s.ID, s.Lat, s.Lon)
					}
					seen[s.ID] = true
					sum += max(s.Count, 1)
					x, y := quadkey.Project(s.Lon, s.Lat)
					x, y = x*side, y*side
					col, row := int(x/apart), int(y/apart)
					for dx := -1; dx <= 1; dx++ {
						for dy := -1; dy <= 1; dy++ {
							for _, o := range near[[2]int{col + dx, row + dy}] {
								if d := math.Hypot(o[0]-x, o[1]-y); d < apart-1 {
									t.Errorf("%d points at zoom %d: something is %.1f pixels from %v, %v of tile %v, want %d", n, z, d, s.Lat, s.Lon, tile, apart)
								}
							}
						}
					}
					near[[2]int{col, row}] = append(near[[2]int{col, row}], [2]float64{x, y})
					return nil
				}))
			}
			if sum != int64(n) {
				t.Errorf("zoom %d shows %d points, want %d", z, sum, n)
			}
			if t.Failed() {
				return
			}
		}
	}
}
