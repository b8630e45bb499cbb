package places

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

const (
	// allZoom is the zoom from which a tile shows all its places, up to maxShown.
	allZoom  = quadkey.CellZoom - partZooms + 1
	maxShown = 1000
	// maxFiltered bounds the places that a tile shows with a filter: few of them have names at a time.
	maxFiltered = 300
)

// drawing says how maps show places.
var drawing = feature.Drawing{
	Description: "Populated and other places, the most important first",
	Attributes: feature.Schema{
		{Name: "name", Kind: feature.Text},
		{Name: "code", Kind: feature.Text},
		{Name: "population", Kind: feature.Integer},
		{Name: mapPopulation, Kind: feature.Integer},
	},
	Look:       feature.LookSettlements,
	HasNames:   true,
	Importance: Importance,
}

// Tile implements feature.Tiler: it yields the places that a tile shows, the most important
// first. A place is in exactly one tile of each zoom, the one that holds its point. What is
// shown depends on the zoom; see Importance in the package documentation.
//
// With a filter it yields the most important maxFiltered places of the tile that pass. If few of
// MaxExamined places pass, it yields those.
//
// Properties are name, country, class, code, population, map_population, admin1, admin1_name, timezone and those
// of Place.Extra, as far as they are known.
func (f *Finder) Tile(ctx context.Context, t quadkey.Tile, by feature.Filter) iter.Seq2[*feature.Feature, error] {
	if by != nil {
		if err := checkTile(t); err != nil {
			return feature.SeqOfError(err)
		}
		q := &feature.Query{In: feature.Tile(t), Filter: by, Order: feature.Order{Importance: true}, Limit: maxFiltered}
		return feature.SeqOf(func(fn func(*feature.Feature) error) error {
			err := feature.Each(f.Features(ctx, q), fn)
			if errors.Is(err, feature.ErrTooMuchWork) {
				err = nil
			}
			return err
		})
	}
	return feature.SeqOf(func(fn func(*feature.Feature) error) error {
		var shown feature.Feature
		return f.eachShown(ctx, t, selectShown, func(p *point, properties []byte) error {
			of := place{id: p.id, lat: p.lat, lon: p.lon, members: properties}
			of.show(&shown)
			return fn(&shown)
		})
	})
}

// Draw implements feature.Drawer. Vector tiles need few of the properties, which are stored in binary, too.
func (f *Finder) Draw(ctx context.Context, t quadkey.Tile, by feature.Filter, pen feature.Pen) error {
	if by != nil {
		return feature.Each(f.Tile(ctx, t, by), func(of *feature.Feature) error {
			if err := pen.Begin(of.Number, of.Position); err != nil {
				return err
			}
			pen.Text("name", of.Name())
			pen.Text("code", of.Properties.Text("code"))
			for _, name := range [...]string{"population", mapPopulation} {
				if v, _ := of.Properties.Lookup(name); v.Kind() == feature.Number {
					n, _ := v.Integer()
					pen.Integer(name, n)
				}
			}
			pen.End()
			return nil
		})
	}
	return f.eachShown(ctx, t, selectPoints, func(p *point, _ []byte) error {
		if err := pen.Begin(uint64(p.id), quadkey.Position{Lat: toDegrees(p.lat), Lon: toDegrees(p.lon)}); err != nil {
			return err
		}
		pen.Text("name", string(p.name))
		pen.Text("code", string(p.code))
		if p.population > 0 {
			pen.Integer("population", int64(p.population))
		}
		if p.weight > 0 {
			pen.Integer(mapPopulation, int64(p.weight))
		}
		pen.End()
		return nil
	})
}

// eachShown calls fn with the places that a tile shows: with the properties of each for selectShown,
// and with name, code and population for selectPoints.
func (f *Finder) eachShown(ctx context.Context, t quadkey.Tile, sel *cellstore.Selection,
	fn func(p *point, properties []byte) error) error {
	if err := checkTile(t); err != nil {
		return err
	}
	if t.Z <= rollupZoom {
		return f.eachStored(ctx, t, sel, fn)
	}
	picked := f.pickers.Get().(*picker)
	defer f.pickers.Put(picked)
	if err := picked.pick(ctx, f, t); err != nil {
		return err
	}
	var p point
	for i := range picked.picked {
		x := picked.picked[i].asDrawn()
		p.id, p.lat, p.lon = x.id, x.lat, x.lon
		if sel == selectPoints {
			name, err := nameIn(x.properties)
			if err != nil {
				return err
			}
			p.name, p.code, p.population, p.weight = name, codeOf(x.qualifier), x.population, x.weight
		}
		if err := fn(&p, x.beyondID()); err != nil {
			return err
		}
	}
	return nil
}

// eachStored does the same as eachShown for a tile that has a row in place_rollup. The row has the
// points in the same order as the features.
func (f *Finder) eachStored(ctx context.Context, t quadkey.Tile, sel *cellstore.Selection,
	fn func(p *point, properties []byte) error) error {
	row := f.rows.Get().(*cellstore.Row)
	defer f.rows.Put(row)
	found, err := f.getRollup(ctx, t, sel, row)
	if err != nil || !found {
		return err
	}
	if len(row.Cells) != len(sel.Families) {
		return cellstore.CorruptRow(tableRollup, row.Key, "has another layout")
	}
	var p point
	points, whole := row.Cells[len(row.Cells)-1].Value, true
	if sel == selectPoints {
		for whole && len(points) > 0 {
			if p, points, whole = cutPoint(points); whole {
				if err := fn(&p, nil); err != nil {
					return err
				}
			}
		}
	} else {
		for object := range feature.Elements(slices.Concat([]byte{'['}, row.Cells[0].Value, []byte{']'})) {
			p, points, whole = cutPoint(points)
			_, properties, found := bytes.Cut(object, []byte(`,"properties":{`))
			if whole = whole && found && bytes.HasSuffix(properties, []byte("}}")); !whole {
				break
			}
			if err := fn(&p, properties[:len(properties)-2]); err != nil {
				return err
			}
		}
	}
	if !whole || len(points) > 0 {
		return cellstore.CorruptRow(tableRollup, row.Key, "has points and features that do not go together")
	}
	return nil
}

// picker chooses the places of a tile below the rollups.
type picker struct {
	picked []pick             // in the end, the most important first
	byPart [4 * parts]int     // the best of each part, then the best capitals, the second ones, and the best of isPart
	best   near.Best[near.ID] // the best of all places; its slots are the elements of picked
}

type pick struct {
	keptPlace
	importance uint64
}

func (a *pick) compare(b *pick) int {
	return cmp.Or(cmp.Compare(b.importance, a.importance), cmp.Compare(a.id, b.id))
}

// set copies a place into the pick.
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
		// No place of the next tier could replace one of these.
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
	if isPart(x.qualifier) { // beside a town, which was shown before
		p.offer(3*parts+part, x)
		return nil
	}
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

// complete reports whether every part has a place that outranks everything in the unread tiers.
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
		// The range covers the whole cell, which is larger than the tile.
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

// grow adds a pick, which reuses the memory of an earlier pick there, and returns its index.
func (p *picker) grow() int {
	at := len(p.picked)
	p.picked = slices.Grow(p.picked, 1)[:at+1]
	return at
}
