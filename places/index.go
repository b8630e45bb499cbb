package places

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"quadrille/cellstore"
	"quadrille/quadkey"
)

// place_index, rows of the family summary:
//
//	's' │ tier (1) │ chunk (4)     cells (4 each), ascending: every sampleEvery-th
//	'q' │ tier (1) │ class.code    what a group of places has: see group
//	'c' │ tier (1) │ country (2)   the same
const (
	kindSample  = 's'
	kindCode    = 'q'
	kindCountry = 'c'

	sampleEvery = 16
	sampleChunk = 16 << 10 // cells per row

	// maxCodes bounds the different class.code of a data set; GeoNames has 681.
	maxCodes = 4096
)

// gridZoom is the zoom of the tiles whose set a group has.
const gridZoom = 6

// grid is a set of tiles of zoom gridZoom, by packed quadkey, so that the
// descendants of any tile are a run of bits.
type grid [1 << (2 * gridZoom) / 64]uint64

const gridShift = 2 * (quadkey.CellZoom - gridZoom)

func (g *grid) add(c quadkey.Cell) {
	bit := uint32(c) >> gridShift
	g[bit/64] |= 1 << (bit % 64)
}

// meets reports whether a tile of the set has one of the cells first to last,
// which are those of one tile.
func (g *grid) meets(first, last quadkey.Cell) bool {
	from, to := uint32(first)>>gridShift, uint32(last)>>gridShift
	if to-from < 63 { // within one word: runs of a tile are aligned
		return g[from/64]>>(from%64)&(1<<(to-from+1)-1) != 0
	}
	for i := from / 64; i <= to/64; i++ {
		if g[i] != 0 {
			return true
		}
	}
	return false
}

func (g *grid) or(o *grid) {
	for i := range g {
		g[i] |= o[i]
	}
}

func (g *grid) and(o *grid) {
	for i := range g {
		g[i] &= o[i]
	}
}

// group sums up the places of a tier with one feature code or country.
type group struct {
	count         uint64
	maxPopulation uint64
	grid          grid
}

func (g *group) add(c quadkey.Cell, population uint64) {
	g.count++
	g.maxPopulation = max(g.maxPopulation, population)
	g.grid.add(c)
}

const groupSize = 16 + len(grid{})*8

func (g *group) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, g.count)
	dst = binary.BigEndian.AppendUint64(dst, g.maxPopulation)
	for _, w := range g.grid {
		dst = binary.BigEndian.AppendUint64(dst, w)
	}
	return dst
}

func (g *group) parse(v []byte) bool {
	if len(v) != groupSize {
		return false
	}
	g.count = binary.BigEndian.Uint64(v)
	g.maxPopulation = binary.BigEndian.Uint64(v[8:])
	for i := range g.grid {
		g.grid[i] = binary.BigEndian.Uint64(v[16+8*i:])
	}
	return true
}

// index is what a Finder knows of one tier without reading.
type index struct {
	count     uint64
	samples   []quadkey.Cell
	codes     map[string]*group // by class.code
	countries map[country]*group
	all       grid
}

func newIndex() *index {
	return &index{codes: map[string]*group{}, countries: map[country]*group{}}
}

// add takes the tier's places in the order of their cells.
func (x *index) add(c quadkey.Cell, p *place) error {
	if x.count%sampleEvery == 0 {
		x.samples = append(x.samples, c)
	}
	x.count++
	g := x.codes[string(p.qualifier)]
	if g == nil {
		if len(x.codes) == maxCodes {
			return fmt.Errorf("%w: place %d brings the different feature codes to more than %d; check that they are codes",
				ErrInvalidPlace, p.id, maxCodes)
		}
		g = &group{}
		x.codes[string(p.qualifier)] = g
	}
	g.add(c, p.population)
	if p.country == (country{}) {
		return nil
	}
	g = x.countries[p.country]
	if g == nil {
		g = &group{}
		x.countries[p.country] = g
	}
	g.add(c, p.population)
	return nil
}

// mask returns the tiles that can hold places the filter lets pass, and
// whether there are any.
func (x *index) mask(f *filter, g *grid) bool {
	if f.none() {
		*g = x.all
		return x.count > 0
	}
	*g = grid{}
	found := false
	for q, c := range x.codes {
		if c.maxPopulation >= f.minPopulation && f.code(q) {
			g.or(&c.grid)
			found = true
		}
	}
	if f.country != (country{}) {
		c := x.countries[f.country]
		if c == nil || c.maxPopulation < f.minPopulation {
			return false
		}
		g.and(&c.grid)
	}
	return found
}

// writeIndex writes place_index.
func writeIndex(indexes *[tiers]*index, ts int64, emit func(key []byte, c cellstore.Cell) error) error {
	var key, value []byte
	put := func() error {
		return emit(key, cellstore.Cell{Family: famSummary, Timestamp: ts, Value: value})
	}
	head := func(kind byte, tier int) { key = append(key[:0], kind, byte(tier)) }
	for tier, x := range indexes {
		countries := make([]country, 0, len(x.countries))
		for c := range x.countries {
			countries = append(countries, c)
		}
		slices.SortFunc(countries, func(a, b country) int { return slices.Compare(a[:], b[:]) })
		for _, c := range countries {
			head(kindCountry, tier)
			key = append(key, c[:]...)
			value = x.countries[c].append(value[:0])
			if err := put(); err != nil {
				return err
			}
		}
	}
	for tier, x := range indexes {
		codes := make([]string, 0, len(x.codes))
		for q := range x.codes {
			codes = append(codes, q)
		}
		slices.Sort(codes)
		for _, q := range codes {
			head(kindCode, tier)
			key = append(key, q...)
			value = x.codes[q].append(value[:0])
			if err := put(); err != nil {
				return err
			}
		}
	}
	for tier, x := range indexes {
		n := uint32(0)
		for chunk := range slices.Chunk(x.samples, sampleChunk) {
			head(kindSample, tier)
			key = binary.BigEndian.AppendUint32(key, n)
			n++
			value = value[:0]
			for _, c := range chunk {
				value = c.AppendKey(value)
			}
			if err := put(); err != nil {
				return err
			}
		}
	}
	return nil
}

// readIndex reads what writeIndex wrote.
func readIndex(ctx context.Context, table cellstore.Table) (*[tiers]*index, error) {
	var indexes [tiers]*index
	for i := range indexes {
		indexes[i] = newIndex()
	}
	for row, err := range table.Scan(ctx, cellstore.Scan{}) {
		if err != nil {
			return nil, err
		}
		if len(row.Key) < 2 || row.Key[1] >= tiers || len(row.Cells) != 1 {
			return nil, corrupt(tableIndex, row.Key, "has another layout")
		}
		x, rest, value := indexes[row.Key[1]], row.Key[2:], row.Cells[0].Value
		ok := false
		switch row.Key[0] {
		case kindCountry:
			g := &group{}
			if ok = len(rest) == 2 && g.parse(value); ok {
				x.countries[country(rest)] = g
			}
		case kindCode:
			g := &group{}
			if ok = g.parse(value); ok {
				x.codes[string(rest)] = g
				x.count += g.count
				x.all.or(&g.grid)
			}
		case kindSample:
			ok = len(value)%4 == 0
			for ; ok && len(value) > 0; value = value[4:] {
				x.samples = append(x.samples, quadkey.Cell(binary.BigEndian.Uint32(value)))
			}
		}
		if !ok {
			return nil, corrupt(tableIndex, row.Key, "has another layout")
		}
	}
	for tier, x := range indexes {
		if want := (x.count + sampleEvery - 1) / sampleEvery; uint64(len(x.samples)) != want || !slices.IsSorted(x.samples) || x.count > math.MaxUint32 {
			return nil, corrupt(tableIndex, []byte{kindSample, byte(tier)}, "does not fit the others")
		}
	}
	return &indexes, nil
}
