package tile

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// doubled is a layer for maps that draw tiles twice as large. A tile shows the features of its four
// child tiles. No feature is in two of them.
type doubled struct{ feature.Tiler }

func (d doubled) Tile(ctx context.Context, t quadkey.Tile, by feature.Filter) iter.Seq2[*feature.Feature, error] {
	return feature.SeqOf(func(fn func(*feature.Feature) error) error {
		var all []feature.Feature
		for _, part := range t.Children() {
			for f, err := range d.Tiler.Tile(ctx, part, by) {
				if err != nil {
					return err
				}
				all = append(all, f.Clone())
			}
		}
		importance := d.Info().Drawing.Importance
		slices.SortStableFunc(all, func(a, b feature.Feature) int { return cmp.Compare(importance(&b), importance(&a)) })
		for i := range all {
			if err := fn(&all[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// NameIn implements feature.Namer for a layer that does.
func (d doubled) NameIn(ctx context.Context, number uint32, lang string) (string, bool, error) {
	return d.Tiler.(feature.Namer).NameIn(ctx, number, lang)
}

// looked divides the layers of points of a set into those with a Drawing and the others.
func (set *layerSet) looked() (well, others []string) {
	for _, name := range set.points {
		if set.look(name) != nil {
			well = append(well, name)
		} else {
			others = append(others, name)
		}
	}
	return well, others
}

// writeDrawn writes the features of a layer by its Drawing.
func writeDrawn(ctx context.Context, from feature.Tiler, d *feature.Drawing, l *pointLayer) error {
	p := &pen{ctx: ctx, from: from, drawing: d, pointLayer: l}
	if of, ok := from.(feature.Drawer); ok {
		return of.Draw(ctx, l.tile, l.filter, p)
	}
	return feature.Each(from.Tile(ctx, l.tile, l.filter), func(f *feature.Feature) error {
		if err := p.Begin(f.Number, f.Position); err != nil {
			return err
		}
		for i := range d.Attributes {
			name := d.Attributes[i].Name
			if value, _ := f.Properties.Lookup(name); value.Kind() == feature.Text {
				p.Text(name, tiles.Shorten(value.Text()))
			} else {
				l.scalar(name, value)
			}
		}
		p.End()
		return nil
	})
}

// pen implements feature.Pen.
type pen struct {
	ctx     context.Context
	from    feature.Tiler
	drawing *feature.Drawing
	*pointLayer
	local string // the name of the feature in the language
}

func (p *pen) Begin(number uint64, at quadkey.Position) (err error) {
	if p.local, err = p.names.of(p.ctx, p.from, p.drawing, number); err != nil {
		return err
	}
	p.place(number, at.Lon, at.Lat)
	p.TagInt("id", int64(number))
	return nil
}

func (p *pen) Text(name, value string) {
	switch {
	case name != "name":
		p.text(name, value)
	case p.local != "" && p.names.instead:
		p.TagString(name, p.local)
	default:
		p.TagString(name, value)
		p.text(p.names.key(), tiles.Shorten(p.local))
	}
}

func (p *pen) Integer(name string, value int64) { p.TagInt(name, value) }

func (p *pen) Boolean(name string, value bool) { p.TagBool(name, value) }

// pointsZoom is the deepest zoom of tiles of layers without a Drawing. Their clusters dissolve
// gradually with the zoom, so clients must request deep tiles and not enlarge other tiles.
const pointsZoom = 22

// dataZoom is the deepest zoom that is stored. At deeper zooms clients enlarge its tiles, although
// the server could also cut deeper tiles.
const dataZoom = 13

// deepest returns the deepest zoom of a tileset. Clients enlarge vector tiles of stored data, as
// TileJSON also specifies. Pictures with their names are drawn for every zoom.
func (set *layerSet) deepest(drawn bool) int {
	if drawn {
		return quadkey.MaxZoom
	}
	if slices.ContainsFunc(set.points, func(name string) bool { return set.drawings[name] == nil }) {
		return pointsZoom
	}
	return dataZoom
}
