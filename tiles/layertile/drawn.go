package layertile

import (
	"context"

	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// writeDrawn writes the features of a layer by its Drawing.
func (l *layer) writeDrawn(ctx context.Context, from feature.Tiler, d *feature.Drawing) error {
	p := &pen{ctx: ctx, from: from, drawing: d, layer: l}
	if of, ok := from.(feature.Drawer); ok {
		return of.Draw(ctx, l.tile, l.Filter, p)
	}
	return feature.Each(from.Tile(ctx, l.tile, l.Filter), func(f *feature.Feature) error {
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
	*layer
	local string // the name of the feature in the language
}

func (p *pen) Begin(number uint64, at quadkey.Position) (err error) {
	if p.local, err = p.Names.Of(p.ctx, p.from, p.drawing, number); err != nil {
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
	case p.local != "" && p.Names.Instead:
		p.TagString(name, p.local)
	default:
		p.TagString(name, value)
		p.text(p.Names.Key(), tiles.Shorten(p.local))
	}
}

func (p *pen) Integer(name string, value int64) { p.TagInt(name, value) }

func (p *pen) Boolean(name string, value bool) { p.TagBool(name, value) }
