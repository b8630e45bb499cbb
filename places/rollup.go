package places

import (
	"encoding/binary"
	"slices"

	"quadrille/cellstore"
	"quadrille/internal/jsontext"
	"quadrille/quadkey"
)

// MaxCountedZoom is the deepest zoom of a tile whose places are counted.
const MaxCountedZoom = 10

const (
	// rollupZoom is the deepest zoom with a row in place_rollup.
	rollupZoom = MaxCountedZoom
	// partZooms is the number of zooms from a tile down to its parts: a tile shows one place of
	// each of its 4×4 parts, or two great ones, and in addition a metropolis near a greater place (up to
	// zoom 9), and up to two capitals: New Delhi next to Delhi, Damascus next to Beirut.
	partZooms = 2
	parts     = 1 << (2 * partZooms)
	// deepest is the zoom of the quarters of the parts of the deepest tiles.
	deepest = rollupZoom + partZooms + 1
	// great is the least importance at which a place may be shown in addition to the best place of
	// its part. Such a place must also be the best one of another quarter of the part: Amsterdam
	// next to Brussels.
	great = notArea | (tiers-high)<<weightBits | 300_000
	// metropolis is the least importance at which a place is shown beside a greater one in the same quarter
	// of its part, but in another quarter of that: Giza next to Cairo.
	metropolis = notArea | (tiers-high)<<weightBits | 1_000_000
)

// shown is a place chosen to be shown, with copies of its stored fields.
type shown struct {
	importance uint64
	id         uint32
	feature    []byte
	point      []byte
}

// before reports whether a place comes before another, the more important first.
func (a *shown) before(importance uint64, id uint32) bool {
	return a.importance > importance || a.importance == importance && a.id < id
}

func (a *shown) set(b *shown) {
	a.importance, a.id = b.importance, b.id
	a.feature = append(a.feature[:0], b.feature...)
	a.point = append(a.point[:0], b.point...)
}

// rollup makes the rows of place_rollup in one pass over the places in the order of their cells. It
// keeps the state of the current tile of each zoom. When the pass leaves a tile, it writes the
// tile's row and adds its counts to the counts of the parent. The best place of the tile becomes a
// candidate of the parent, and is shown by the ancestor that is partZooms higher. Descendants are
// written before ancestors, as in the order of tile keys.
type rollup struct {
	emit func(key []byte, c cellstore.Cell) error
	ts   int64

	started bool
	cell    quadkey.Cell
	best    [deepest + 1]shown
	filled  [deepest + 1]bool
	second  [deepest + 1]shown    // the best outside the quarter of best; importance 0 for none
	near    [deepest + 1]shown    // the best second of a quarter
	capital [deepest + 1][2]shown // the best capitals; importance 0 for none
	tiles   [rollupZoom + 1]rollupTile

	key     [5]byte
	counter [8]byte
	out     []byte
}

type rollupTile struct {
	counts [27]uint64 // by class: 0 unknown, 1 A, …
	shown  [5 * parts]shown
	n      int
}

func (r *rollup) add(c quadkey.Cell, p *place) error {
	if r.started && c != r.cell {
		if err := r.leave(c); err != nil {
			return err
		}
	}
	r.started, r.cell = true, c
	class := 0
	if p.qualifier[0] != '.' {
		class = int(p.qualifier[0]-'A') + 1
	}
	r.tiles[rollupZoom].counts[class]++
	if isPart(p.qualifier) {
		return nil
	}

	if isCapital(p) {
		if c := r.capitalFor(deepest, p.importance(), p.id); c != nil {
			if err := c.show(p); err != nil {
				return err
			}
		}
	}
	b := &r.best[deepest]
	if r.filled[deepest] && b.before(p.importance(), p.id) {
		return nil
	}
	r.filled[deepest] = true
	return b.show(p)
}

// capitalFor makes room for a capital in the current tile of a zoom, if the capital is one of the
// two best.
func (r *rollup) capitalFor(z int, importance uint64, id uint32) *shown {
	two := &r.capital[z]
	switch {
	case !two[0].before(importance, id):
		two[0], two[1] = two[1], two[0]
		return &two[0]
	case !two[1].before(importance, id):
		return &two[1]
	}
	return nil
}

// show copies a place into s.
func (a *shown) show(p *place) error {
	name, err := nameOf(p.properties)
	if err != nil {
		return err
	}
	a.importance, a.id = p.importance(), p.id
	p = p.asDrawn()
	a.feature = appendFeature(a.feature[:0], p)
	a.point = appendPoint(a.point[:0], p, name)
	return nil
}

// finish writes the remaining tiles.
func (r *rollup) finish() error {
	if !r.started {
		return nil
	}
	return r.close(0)
}

// leave closes the current tiles that do not contain c.
func (r *rollup) leave(c quadkey.Cell) error {
	changed := r.cell ^ c
	for z := 1; z <= deepest; z++ {
		if changed>>(2*(quadkey.CellZoom-z)) != 0 {
			return r.close(z)
		}
	}
	return nil
}

// close closes the current tiles of zoom from and deeper, deepest first.
func (r *rollup) close(from int) error {
	for z := deepest; z >= from; z-- {
		if r.filled[z] {
			b := &r.best[z]
			r.filled[z] = false
			if z >= partZooms && z-partZooms <= rollupZoom {
				t := &r.tiles[z-partZooms]
				t.shown[t.n].set(b)
				t.n++
				if r.second[z].importance >= great {
					t.shown[t.n].set(&r.second[z])
					t.n++
				}
				for _, c := range []*shown{&r.near[z], &r.capital[z][0], &r.capital[z][1]} {
					if c.importance > 0 && !slices.ContainsFunc(t.shown[:t.n], func(s shown) bool { return s.id == c.id }) {
						t.shown[t.n].set(c)
						t.n++
					}
				}
			}
			if s := &r.second[z]; z > 0 && s.importance >= metropolis && s.before(r.near[z-1].importance, r.near[z-1].id) {
				r.near[z-1].set(s)
			}
			r.second[z].importance, r.near[z].importance = 0, 0
			for i := range r.capital[z] {
				c := &r.capital[z][i]
				if c.importance > 0 && z > 0 {
					if up := r.capitalFor(z-1, c.importance, c.id); up != nil {
						up.set(c)
					}
				}
				c.importance = 0
			}
			if z > 0 {
				r.offer(z-1, b)
			}
		}
		if z > rollupZoom {
			continue
		}
		t := &r.tiles[z]
		if err := r.write(z, t); err != nil {
			return err
		}
		if z > 0 {
			for class, n := range t.counts {
				r.tiles[z-1].counts[class] += n
			}
		}
		t.counts, t.n = [27]uint64{}, 0
	}
	return nil
}

// offer offers a place to the current tile of zoom z: b is the best place of a quarter of the tile.
func (r *rollup) offer(z int, b *shown) {
	best, second := &r.best[z], &r.second[z]
	switch {
	case !r.filled[z]:
		r.filled[z] = true
		best.set(b)
	case b.before(best.importance, best.id):
		*best, *second = *second, *best
		best.set(b)
	case b.before(second.importance, second.id):
		second.set(b)
	}
}

func (r *rollup) write(z int, t *rollupTile) error {
	r.key = r.cell.Tile().Ancestor(uint8(z)).Key()
	for class, n := range t.counts {
		if n == 0 {
			continue
		}
		binary.BigEndian.PutUint64(r.counter[:], n)
		c := cellstore.Cell{Family: famCounts, Timestamp: r.ts, Value: r.counter[:]}
		if class > 0 {
			c.Qualifier = []byte{'A' + byte(class-1)}
		}
		if err := r.emit(r.key[:], c); err != nil {
			return err
		}
	}
	list := t.shown[:t.n]
	slices.SortFunc(list, func(a, b shown) int {
		if a.before(b.importance, b.id) {
			return -1
		}
		return 1
	})
	r.out = r.out[:0]
	for i := range list {
		r.out = append(jsontext.Next(r.out), list[i].feature...)
	}
	if err := r.emit(r.key[:], cellstore.Cell{Family: famGeoJSON, Timestamp: r.ts, Value: r.out}); err != nil {
		return err
	}
	r.out = r.out[:0]
	for i := range list {
		r.out = append(r.out, list[i].point...)
	}
	return r.emit(r.key[:], cellstore.Cell{Family: famPoints, Timestamp: r.ts, Value: r.out})
}
