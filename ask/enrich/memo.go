package enrich

import (
	"context"
	"math"
	"sync"

	"quadrille/feature"
	"quadrille/quadkey"
)

const (
	// minZoom and maxZoom bound the zoom of the tiles whose points share candidates.
	minZoom, maxZoom = 5, 14
	// maxCandidates is the number of features that are kept of a tile. Twice maxTiles is the number of tiles, and twice
	// maxMemoBytes about their memory, unless a Request says less. A tile mostly takes 1 KB, and 64 KiB for each feature at worst.
	maxCandidates = 14
	maxTiles      = 1 << 16
	maxMemoBytes  = 64 << 20
	// marginM is more than the rounding of sums of distances in metres.
	marginM = 0.01
)

// memo has what is nearest to the centres of tiles. A feature that it lacks is farther from the centre than
// all that it has, and so too far from a point near the centre to be the nearest. Goroutines share it.
type memo struct {
	most int // bytes of tiles, and of older
	zoom uint8
	mu   sync.RWMutex
	// tiles has nil for a tile that had one point so far. When it is full, its tiles become the older ones, which are
	// forgotten unless they are asked for again.
	tiles, older map[uint64]*tileCandidates
	bytes        int // of tiles
}

// tileCandidates are the nearest features of a tile's centre, the nearest first.
type tileCandidates struct {
	centre  quadkey.Position
	at      []quadkey.Position
	fromM   []float64 // distances from the centre
	cells   Cells     // of their fields, one feature after the other
	reachM  float64   // all other features are at least that far from the centre
	columns int
}

// newMemo returns the memo of a layer with a number of features, or -1. Of 65,000 features that lie where people
// live, maxCandidates are in and around a tile of zoom 11; those of four times as many are one zoom deeper.
func newMemo(features int64, most int) *memo {
	zoom := 11.0
	if features > 0 {
		zoom += math.Round((math.Log2(float64(features)) - 16) / 2)
	}
	return &memo{most: most, zoom: uint8(min(max(zoom, minZoom), maxZoom))}
}

// take returns the candidates for a point. It returns nil if there are none, and whether to build them: from
// the second point in a tile on.
func (m *memo) take(p quadkey.Position) (c *tileCandidates, tile quadkey.Tile, build bool) {
	tile, err := quadkey.TileAt(p.Lon, p.Lat, m.zoom)
	if err != nil {
		return nil, tile, false // near a pole
	}
	m.mu.RLock()
	c, recent := m.tiles[tile.Packed()]
	seen := recent
	if !recent {
		c, seen = m.older[tile.Packed()]
	}
	m.mu.RUnlock()
	if !recent {
		m.put(tile, c)
	}
	return c, tile, seen && c == nil
}

func (m *memo) put(tile quadkey.Tile, c *tileCandidates) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tiles == nil || len(m.tiles) >= maxTiles || m.bytes >= m.most {
		m.older, m.tiles, m.bytes = m.tiles, map[uint64]*tileCandidates{}, 0
	}
	if was, ok := m.tiles[tile.Packed()]; ok {
		m.bytes -= was.size()
	}
	m.bytes += c.size()
	m.tiles[tile.Packed()] = c
}

// size returns about how much memory the candidates take, in bytes.
func (c *tileCandidates) size() int {
	const slot, own = 48, 200 // of the map, and of a tileCandidates
	if c == nil {
		return slot
	}
	return slot + own + cap(c.cells.text) + 8*(cap(c.cells.ends)+3*cap(c.at))
}

// candidates reads the candidates of a tile.
func (s *nearestSource) candidates(
	ctx context.Context, tile quadkey.Tile, q feature.Query, properties *feature.Columns,
) (*tileCandidates, error) {
	b := tile.Bound()
	c := &tileCandidates{centre: quadkey.Position{Lat: (b.South + b.North) / 2, Lon: (b.West + b.East) / 2},
		reachM: math.Inf(1), columns: len(s.fields)}
	q.Near, q.Limit = &feature.Near{Position: c.centre}, maxCandidates
	cells := make([]Cells, len(s.fields))
	for f, err := range s.layer.Features(ctx, &q) {
		if err != nil {
			return nil, err
		}
		for k := range cells {
			cells[k].Reset()
		}
		s.add(cells, f, properties.ValuesOf(f.Properties))
		for k := range cells {
			c.cells.AddBytes(cells[k].At(0))
		}
		c.at, c.fromM = append(c.at, f.Position), append(c.fromM, f.DistanceM)
	}
	if len(c.at) == maxCandidates {
		c.reachM = c.fromM[maxCandidates-1]
	}
	return c, nil
}

// nearest returns the index of the nearest feature of a point and its distance. It returns false if the
// candidates do not tell.
func (c *tileCandidates) nearest(p quadkey.Position) (best int, metres float64, ok bool) {
	if c == nil || len(c.at) == 0 {
		return 0, 0, false
	}
	off := c.centre.Distance(p)
	metres = math.Inf(1)
	for i, at := range c.at {
		if c.fromM[i]-off > metres+marginM {
			break
		}
		switch d := p.Distance(at); {
		case d < metres:
			best, metres, ok = i, d, true
		case d == metres && at != c.at[best]:
			ok = false // the layer knows their order
		}
	}
	return best, metres, ok && metres < c.reachM-off-marginM
}
