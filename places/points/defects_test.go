package points

import (
	"context"
	"fmt"
	"testing"
	"time"

	"quadrille/feature"
	"quadrille/quadkey"
)

// halves is an area of the world in two parts. It calls between once, after the first part.
type halves struct {
	between  func()
	contains func(quadkey.Position) (bool, error)
}

func (h *halves) String() string { return "halves" }

func (h *halves) Cover(_ context.Context, _ quadkey.Cell, fn func(p *feature.AreaPart) error) error {
	world := quadkey.Tile{}.Children()
	for i, tiles := range [2][2]quadkey.Tile{{world[0], world[1]}, {world[2], world[3]}} {
		if i == 1 {
			h.between()
		}
		p := feature.AreaPart{Contains: h.contains}
		p.Cells.First, _ = tiles[0].CellRange()
		_, p.Cells.Last = tiles[1].CellRange()
		if err := fn(&p); err != nil {
			return err
		}
	}
	return nil
}

// A count of several parts shows one moment: points that move from one part to another meanwhile
// count once.
func TestCountOfPartsIsOfOneMoment(t *testing.T) {
	const n = 100
	everything := func(quadkey.Position) (bool, error) { return true, nil }
	for name, contains := range map[string]func(quadkey.Position) (bool, error){"whole": nil, "mixed": everything} {
		for _, from := range []float64{-20, 20} {
			t.Run(fmt.Sprint(name, " from ", from), func(t *testing.T) {
				c, _ := liveAt(t, Meta{})
				put := func(lat float64) {
					t.Helper()
					writes := make([]Write, n)
					for i := range writes {
						writes[i] = Write{Kind: Put, ID: fmt.Sprint(i), Lat: lat, Lon: float64(i)}
					}
					mustWrite(t, c, writes...)
				}
				put(from)
				got, err := c.CountIn(t.Context(), &halves{func() { put(-from) }, contains}, nil, time.Time{})
				if err != nil || got != n {
					t.Errorf("%d points, want %d: %v", got, n, err)
				}
			})
		}
	}
}

// A move that does not change a point's key, for example near a pole, still changes the mean
// position.
func TestMeanOfPointsThatKeepTheirKey(t *testing.T) {
	c, _ := liveAt(t, Meta{})
	for _, lat := range []float64{86, 89.5, 87} {
		mustWrite(t, c, Write{Kind: Put, ID: "a", Lat: lat, Lon: 10})
		if got, want := c.index().tree.root().lat, int64(toUnits(lat)); got != want {
			t.Errorf("the sum of latitudes is %d, want %d", got, want)
		}
	}
	mustWrite(t, c, Write{Kind: Delete, ID: "a"})
	if b := c.index().tree.root(); b.count != 0 || b.lat != 0 || b.lon != 0 {
		t.Errorf("of no points: %+v", b)
	}
}

// TestClustersAreOfOneMoment tests that a tile with clusters shows the state of a single moment,
// like any other answer.
func TestClustersAreOfOneMoment(t *testing.T) {
	const n = 600
	c, _ := liveAt(t, Meta{})
	put := func(west float64) {
		t.Helper()
		writes := make([]Write, n)
		for i := range writes {
			writes[i] = Write{Kind: Put, ID: fmt.Sprint(i), Lat: 20, Lon: 100 + float64(i%300)/10}
			if i%2 == 0 {
				writes[i].Lon -= west
			}
		}
		mustWrite(t, c, writes...)
	}
	put(90)
	shown, moved := int64(0), false
	err := c.ShowTile(t.Context(), quadkey.Tile{}, func(s *Shown) error {
		shown += max(s.Count, 1)
		if !moved {
			moved = true
			put(0) // the shown points move to the position of the others
		}
		return nil
	})
	if err != nil || shown != n {
		t.Errorf("%d points are shown, want %d: %v", shown, n, err)
	}
}
