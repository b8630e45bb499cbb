package places

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"quadrille/cellstore"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

const (
	// allZoom is the zoom from which a tile shows all its places, up to maxShown.
	allZoom  = quadkey.CellZoom - partZooms + 1
	maxShown = 1000
)

// Shown is a place in a tile.
type Shown struct {
	ID         uint32
	Lat, Lon   float64 // degrees
	Name       string
	Code       string // feature code, without its class, or kind
	Population int64  // 0: unknown
}

// TilePlaces calls fn for each place that Tile shows, in the same order, and stops at its first
// error. It is there because vector tiles need few of the properties, which are stored in binary,
// too: of features they take five times as long.
func (f *Finder) TilePlaces(ctx context.Context, t quadkey.Tile, fn func(Shown) error) error {
	if err := checkTile(t); err != nil {
		return err
	}
	if t.Z <= rollupZoom {
		row := f.rows.Get().(*cellstore.Row)
		defer f.rows.Put(row)
		found, err := f.getRollup(ctx, t, selectPoints, row)
		if err != nil || !found {
			return err
		}
		for points := row.Cells[0].Value; len(points) > 0; {
			x, rest, ok := cutPoint(points)
			if !ok {
				return cellstore.CorruptRow(tableRollup, row.Key, "is cut short")
			}
			points = rest
			if err := fn(Shown{x.id, toDegrees(x.lat), toDegrees(x.lon), string(x.name), string(x.code), int64(x.population)}); err != nil {
				return err
			}
		}
		return nil
	}
	p := f.pickers.Get().(*picker)
	defer f.pickers.Put(p)
	if err := p.pick(ctx, f, t); err != nil {
		return err
	}
	for i := range p.picked {
		x := &p.picked[i].place
		name, err := nameOf(x.properties)
		if err != nil {
			return err
		}
		if err := fn(Shown{x.id, toDegrees(x.lat), toDegrees(x.lon), name, string(codeOf(x.qualifier)), int64(x.population)}); err != nil {
			return err
		}
	}
	return nil
}

// picker chooses what a tile below the rollups shows.
type picker struct {
	picked []pick             // in the end, the most important first
	byPart [3 * parts]int     // the best of each part, then the best capitals, then the second
	best   near.Best[near.ID] // the best of all the places; its slots are the elements of picked
}

type pick struct {
	keptPlace
	importance uint64
}

func (a *pick) compare(b *pick) int {
	return cmp.Or(cmp.Compare(b.importance, a.importance), cmp.Compare(a.id, b.id))
}

// set makes the pick a copy of a place.
func (a *pick) set(p *place, importance uint64) {
	a.keep(p)
	a.importance = importance
}

func (p *picker) pick(ctx context.Context, f *Finder, t quadkey.Tile) error {
	p.picked = p.picked[:0]
	p.best.Reset(maxShown, ^uint64(0), near.Cursor{})
	for i := range p.byPart {
		p.byPart[i] = -1
	}
	first, last := t.CellRange()
	var bounds [8]byte
	from, to := cellRange(bounds[:0], first, last)
	scan := cellstore.Scan{Ranges: []cellstore.Range{{From: from, To: to}}}
	for tier, family := range tierNames {
		scan.Families = []string{family}
		for row, err := range f.tiles.Scan(ctx, scan) {
			if err != nil {
				return fmt.Errorf("places: %w", err)
			}
			x, err := parsePlace(row)
			if err != nil {
				return err
			}
			if t.Z >= allZoom {
				err = p.takeAll(t, &x)
			} else {
				err = p.takeBest(t, row.Key, &x)
			}
			if err != nil {
				return err
			}
		}
		// A place of the next tier could not take the part of any of these.
		if t.Z < allZoom && tier < low && p.complete() {
			break
		}
	}
	slices.SortFunc(p.picked, func(a, b pick) int { return a.compare(&b) })
	p.picked = slices.CompactFunc(p.picked, func(a, b pick) bool { return a.id == b.id })
	return nil
}

// takeBest keeps the most important place of each part of the tile, and the two most
// important capitals.
func (p *picker) takeBest(t quadkey.Tile, key []byte, x *place) error {
	cell, err := quadkey.CellFromKey(key)
	if err != nil {
		return err
	}
	part := uint32(cell) >> (2 * (quadkey.CellZoom - partZooms - uint32(t.Z))) % parts
	p.offer(part, x)
	if isCapital(x) {
		first, second := &p.byPart[parts+part], &p.byPart[2*parts+part]
		if *first >= 0 && !p.picked[*first].after(x) {
			p.offer(2*parts+part, x)
			return nil
		}
		if *first, *second = *second, *first; *first < 0 {
			*first = p.grow()
		}
		p.picked[*first].set(x, x.importance())
	}
	return nil
}

// after reports whether a place is more important than the pick.
func (a *pick) after(x *place) bool {
	imp := x.importance()
	return a.importance < imp || a.importance == imp && a.id > x.id
}

func (p *picker) offer(slot uint32, x *place) {
	at := p.byPart[slot]
	if at < 0 {
		at = p.grow()
		p.byPart[slot] = at
	} else if !p.picked[at].after(x) {
		return
	}
	p.picked[at].set(x, x.importance())
}

// complete reports whether every part has a place that outranks all of the
// tiers that have not been read.
func (p *picker) complete() bool {
	for _, at := range p.byPart[:parts] {
		if at < 0 || p.picked[at].importance < notArea {
			return false
		}
	}
	return true
}

// takeAll keeps the maxShown most important places of the tile.
func (p *picker) takeAll(t quadkey.Tile, x *place) error {
	if t.Z > quadkey.CellZoom {
		// The range that is read is that of the whole cell.
		in, err := quadkey.TileAt(toDegrees(x.lon), toDegrees(x.lat), t.Z)
		if err != nil {
			return err
		}
		if in != t {
			return nil
		}
	}
	imp := x.importance()
	if !p.best.Wants(^imp, near.ID(x.id)) {
		return nil
	}
	at := p.best.Slot()
	p.best.Keep(^imp, near.ID(x.id))
	if at == len(p.picked) {
		p.grow()
	}
	p.picked[at].set(x, imp)
	return nil
}

// grow adds a pick, with the memory one had there before, and returns where.
func (p *picker) grow() int {
	at := len(p.picked)
	p.picked = slices.Grow(p.picked, 1)[:at+1]
	return at
}
