package voronoi

import (
	"cmp"
	"math"
	"slices"

	"quadrille/quadkey"
)

// UnitsPerDegree is the precision of positions.
const UnitsPerDegree = 1e7

// Position is a position in units of 1e-7 degrees.
type Position struct{ Lat, Lon int32 }

// PositionOf returns the position nearest to a point in degrees.
func PositionOf(lat, lon float64) Position { return Position{toUnits(lat), toUnits(lon)} }

func toUnits(degrees float64) int32 { return int32(math.Round(degrees * UnitsPerDegree)) }

// Degrees returns the coordinates in degrees.
func (p Position) Degrees() (lon, lat float64) {
	return float64(p.Lon) / UnitsPerDegree, float64(p.Lat) / UnitsPerDegree
}

// Distance returns the quadkey.Distance from a point, in metres.
func (p Position) Distance(lon, lat float64) float64 {
	plon, plat := p.Degrees()
	return quadkey.Distance(lon, lat, plon, plat)
}

func (p Position) vec() vec { return vecOf(p.Degrees()) }

// Site is a position that competes for being the nearest one.
type Site struct {
	Position
	Ref  uint32 // what is there; of several at one position it is the least
	Note uint16 // what else the row says about it
}

// Sites are all the positions that compete, in the order of their cells. The zero value has none.
type Sites struct {
	cells []quadkey.Cell
	list  []Site
	from  int // the first site of the last cell
}

// Grow makes room for n more sites.
func (s *Sites) Grow(n int) {
	s.cells, s.list = slices.Grow(s.cells, n), slices.Grow(s.list, n)
}

// Len returns the number of sites added so far, with repeated positions of the last cell.
func (s *Sites) Len() int { return len(s.list) }

// Add adds a site in a cell. Cells must come in their order. Of several sites at one position the
// one with the least Ref is kept.
func (s *Sites) Add(cell quadkey.Cell, site Site) {
	if n := len(s.cells); n > 0 && s.cells[n-1] != cell {
		s.endCell()
	}
	s.cells, s.list = append(s.cells, cell), append(s.list, site)
}

// endCell leaves out repeated positions of the last cell. Equal positions are in one cell.
func (s *Sites) endCell() {
	last := s.list[s.from:]
	slices.SortFunc(last, func(a, b Site) int {
		return cmp.Or(cmp.Compare(a.Lat, b.Lat), cmp.Compare(a.Lon, b.Lon), cmp.Compare(a.Ref, b.Ref))
	})
	last = slices.CompactFunc(last, func(a, b Site) bool { return a.Position == b.Position })
	s.from += len(last)
	s.list, s.cells = s.list[:s.from], s.cells[:s.from]
}
