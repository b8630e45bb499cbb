package points_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/places/points"
	"quadrille/quadkey"
)

// plain is a wrapper that hides the type of an area.
type plain struct{ feature.Area }

// TestClusterMembers queries the members of all clusters of a zoom: each point is in one cluster
// or shown alone, and each cluster has its declared number.
func TestClusterMembers(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 8))
	whole, split := 0, 0 // parts of clusters
	defer func() {
		if whole == 0 || split == 0 {
			t.Errorf("%d parts of clusters are whole cells and %d are not", whole, split)
		}
	}()
	for _, n := range []int{1, 40, 300, 1500} {
		list := scattered(r, n)
		if n == 1500 { // with more in a cell than a page may examine
			for i := range list[:n/2] {
				list[i].Lat, list[i].Lon = 47.37+r.Float64()*0.002, 8.54+r.Float64()*0.002
			}
		}
		for i := range list {
			list[i].Properties = fmt.Appendf(nil, `{"even":%t}`, i%2 == 0)
		}
		c := build(t, list, points.BuildOptions{})
		evens := must.Get(feature.ParseFilter(c.Info().Schema, []feature.Term{{Name: "even", Values: []string{"true"}}})).In(t)
		for z := uint8(0); z <= quadkey.MaxZoom; z += 1 + uint8(r.IntN(4)) {
			tiles := map[quadkey.Tile]bool{}
			for i := range list {
				tile := must.Get(quadkey.TileAt(list[i].Lon, list[i].Lat, z)).In(t)
				for dx := -1; dx <= 1; dx++ { // a cluster may be shown beyond a border
					for dy := -1; dy <= 1; dy++ {
						if x, y := int(tile.X)+dx, int(tile.Y)+dy; x >= 0 && y >= 0 && x < 1<<z && y < 1<<z {
							tiles[quadkey.Tile{Z: z, X: uint32(x), Y: uint32(y)}] = true
						}
					}
				}
			}
			seen := map[string]string{}
			for tile := range tiles {
				must.Do(t, c.ShowTile(t.Context(), tile, func(s *points.Shown) error {
					if s.Count == 0 {
						seen[s.ID] += "alone "
						return nil
					}
					in, err := c.Cluster(t.Context(), s.ID, nil)
					if err != nil {
						return fmt.Errorf("zoom %d, tile %v: %w", z, tile, err)
					}
					must.Do(t, in.Cover(t.Context(), 0, func(p *feature.AreaPart) error {
						if p.Contains == nil {
							whole++
							return nil
						}
						split++
						return nil
					}))
					var got, even int64
					q := feature.Query{In: in}
					for again := true; again; { // page by page
						cursor, err := feature.Page(t.Context(), c, q, 700, func(f *feature.Feature) error {
							seen[f.ID] += s.ID + " "
							got++
							return nil
						})
						must.Do(t, err)
						if again = cursor != ""; again {
							q = feature.Query{In: in}
							must.Do(t, q.Continue(c.Info(), cursor))
						}
					}
					for f, err := range c.Features(t.Context(), &feature.Query{In: in, Filter: evens}) {
						must.Do(t, err)
						if seen[f.ID] != s.ID+" " || must.Get(strconv.Atoi(f.ID)).In(t)%2 != 0 {
							t.Errorf("%s passes a filter of the cluster %s, and is in %q", f.ID, s.ID, seen[f.ID])
						}
						even++
					}
					for i := range list {
						if seen[list[i].ID] == s.ID+" " && i%2 == 0 {
							even--
						}
					}
					counted := must.Get(c.Count(t.Context(), &feature.Query{In: in})).In(t)
					covered := must.Get(c.Count(t.Context(), &feature.Query{In: plain{in}})).In(t)
					if got != s.Count || counted != s.Count || covered != s.Count || even != 0 {
						t.Errorf("%d points at zoom %d: %d, %d and %d of cluster %s, which says %d", n, z, got, counted, covered, s.ID, s.Count)
					}
					return nil
				}))
			}
			for _, p := range list {
				if of := seen[p.ID]; of == "" || len(of) > 0 && countWords(of) != 1 {
					t.Fatalf("%d points at zoom %d: %s at %v, %v is in %q", n, z, p.ID, p.Lat, p.Lon, of)
				}
			}
		}
	}
}

func countWords(text string) (n int) {
	for _, c := range text {
		if c == ' ' {
			n++
		}
	}
	return n
}

// TestNoCluster tests that ids which no tile has are refused.
func TestNoCluster(t *testing.T) {
	c := build(t, []points.Point{{ID: "a", Lat: 1, Lon: 2}, {ID: "b", Lat: 1, Lon: 2}, {ID: "c", Lat: 50, Lon: 60}}, points.BuildOptions{})
	found := ""
	must.Do(t, c.ShowTile(t.Context(), quadkey.Tile{}, func(s *points.Shown) error {
		if s.Count > 0 {
			found = s.ID
		}
		return nil
	}))
	if _, err := c.Cluster(t.Context(), found, nil); err != nil {
		t.Error(found, err)
	}
	for _, id := range []string{
		"",
		"-",
		"0",
		"0-",
		"-0",
		"0-0",
		"00-1",
		"23-1",
		"0-" + found,
		found + " ",
		"0-ZZ",
		"8-" + fmt.Sprint(uint64(math.MaxUint64)),
		"255-1",
		"0-+1",
		"0-_1",
		"1" + found,
	} {
		if in, err := c.Cluster(t.Context(), id, nil); !errors.Is(err, points.ErrNoCluster) {
			t.Errorf("%q: %v, %v", id, in, err)
		}
	}
}
