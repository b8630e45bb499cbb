package tiles

import (
	"bytes"
	"math"

	"quadrille/cellstore"
	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

const (
	// A box of at most this many tiles of zoom 13 is read in full.
	coverBoxTiles  = 1 << 13
	coverBoxRanges = 64
)

// ranges returns runs of cells that the region lies in. box is the region's bounding box.
func (c *cover) ranges(box quadkey.Box) ([]quadkey.Range, error) {
	if w := windowOf(box); w.tilesAt(grid.MaxZoom) > coverBoxTiles {
		var row cellstore.Row
		sel := cellstore.Selection{Families: []string{layout.FamilyGeometry}}
		ok, err := c.rt.regions.Get(c.ctx, layout.RegionKey(c.rt.KeyByte, c.ids[0]), &sel, &row)
		if err != nil {
			return nil, err
		}
		if ok {
			m := newCoverMask()
			if err := m.add(row.Cells[0].Value); err != nil {
				return nil, err
			}
			return m.ranges(), nil
		}
	}
	return quadkey.CoverBox(box, coverBoxRanges)
}

// coverMask marks the tiles of a zoom in which a region can lie: those at most a tile away from an
// edge of its geometry, and those inside.
type coverMask struct {
	tiles   []uint8
	middles [maskSide]float64 // latitude of the middle of each row
}

const (
	maskZoom = 8
	maskSide = 1 << maskZoom
)

// These are flags of a tile in the mask.
const (
	maskNear uint8 = 1 << iota // in the mask
	maskEdge                   // the tile's neighbours are in the mask too
	maskTurn                   // an odd number of edges passes between the middles of the tile and of the one west of it
)

func newCoverMask() *coverMask {
	m := &coverMask{tiles: make([]uint8, maskSide*maskSide)}
	for y := range m.middles {
		m.middles[y] = layout.MercatorLat((float64(y) + 0.5) * grid.WorldSize / maskSide)
	}
	return m
}

// maskPoint is a position of a geometry in degrees, and its place in the mask.
type maskPoint struct {
	lon, lat float64
	x, y     int // beyond the latitudes of the tiles, the row at that edge
}

func maskPointAt(lon, lat float64) maskPoint {
	limited := max(-quadkey.MaxLatitude, min(quadkey.MaxLatitude, lat))
	place := func(v float64) int { return min(max(int(v*maskSide/grid.WorldSize), 0), maskSide-1) }
	return maskPoint{lon, lat, place(layout.GridX(lon)), place(layout.MercatorY(limited))}
}

// add adds a stored geometry.
func (m *coverMask) add(geometry []byte) error {
	for ring := range bytes.SplitSeq(geometry, []byte("]]")) {
		var last maskPoint
		started := false
		_, err := eachPosition(ring, func(lon, lat float64) bool {
			p := maskPointAt(lon, lat)
			if started {
				m.edge(last, p)
			}
			last, started = p, true
			return false
		})
		if err != nil {
			return err
		}
	}
	m.fill()
	return nil
}

// edge adds an edge, which is straight in degrees.
func (m *coverMask) edge(a, b maskPoint) {
	if a.x == b.x && a.y == b.y {
		m.near(a.x, a.y)
	} else {
		// An oblique edge is divided, because the pieces have small boxes.
		n := max(a.x-b.x, b.x-a.x, a.y-b.y, b.y-a.y)
		from := a
		for i := 1; i <= n; i++ {
			to := b
			if i < n {
				f := float64(i) / float64(n)
				to = maskPointAt(a.lon+f*(b.lon-a.lon), a.lat+f*(b.lat-a.lat))
			}
			for y := min(from.y, to.y); y <= max(from.y, to.y); y++ {
				for x := min(from.x, to.x); x <= max(from.x, to.x); x++ {
					m.near(x, y)
				}
			}
			from = to
		}
	}
	for y := min(a.y, b.y); y <= max(a.y, b.y); y++ {
		middle := m.middles[y]
		if (a.lat >= middle) == (b.lat >= middle) {
			continue
		}
		lon := a.lon + (middle-a.lat)/(b.lat-a.lat)*(b.lon-a.lon)
		// This is the first tile whose middle is east of the edge.
		if x := int(math.Floor(layout.GridX(lon)*maskSide/grid.WorldSize + 0.5)); x < maskSide {
			m.tiles[y*maskSide+max(x, 0)] ^= maskTurn
		}
	}
}

// near marks a tile and its neighbours.
func (m *coverMask) near(x, y int) {
	if m.tiles[y*maskSide+x]&maskEdge != 0 {
		return
	}
	m.tiles[y*maskSide+x] |= maskEdge
	for v := max(y-1, 0); v <= min(y+1, maskSide-1); v++ {
		for u := x - 1; u <= x+1; u++ {
			m.tiles[v*maskSide+u&(maskSide-1)] |= maskNear
		}
	}
}

// fill marks the tiles whose middle is inside. A tile without an edge is inside
// as a whole or not at all.
func (m *coverMask) fill() {
	for y := range maskSide {
		inside := false
		for x := range maskSide {
			t := &m.tiles[y*maskSide+x]
			if *t&maskTurn != 0 {
				inside = !inside
			}
			if inside {
				*t |= maskNear
			}
		}
	}
}

// ranges returns the cells of the mask.
func (m *coverMask) ranges() (out []quadkey.Range) {
	for p := range uint64(maskSide * maskSide) {
		t, err := quadkey.TileFromPacked(maskZoom, p)
		if err != nil || m.tiles[t.Y*maskSide+t.X]&maskNear == 0 {
			continue
		}
		first, last := t.CellRange()
		if n := len(out); n > 0 && out[n-1].Last+1 == first {
			out[n-1].Last = last
		} else {
			out = append(out, quadkey.Range{First: first, Last: last})
		}
	}
	return out
}
