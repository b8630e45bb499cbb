package layertest

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"quadrille/feature"
	"quadrille/quadkey"
)

// drawing checks the Drawing of a layer: the interfaces that it promises, and what a Drawer draws.
func (j *judge) drawing() {
	d := j.about.Drawing
	if d == nil {
		return
	}
	tiler, ok := j.l.(feature.Tiler)
	if !ok {
		j.Errorf("a layer without tiles has a Drawing")
		return
	}
	if _, names := j.l.(feature.Namer); names != d.HasNames {
		j.Errorf("the Drawing says %v of names in languages, the layer %v", d.HasNames, names)
	}
	drawer, ok := j.l.(feature.Drawer)
	if !ok || len(j.all) == 0 {
		return
	}
	at := j.all[j.r.IntN(len(j.all))].Position
	for z := range uint8(quadkey.MaxZoom + 1) {
		t, err := quadkey.TileAt(at.Lon, at.Lat, z)
		if err != nil {
			j.Errorf("the tile of %v: %v", at, err)
			return
		}
		p := &pen{of: d}
		err = feature.Each(tiler.Tile(j.Context(), t, nil), func(f *feature.Feature) error {
			p.want = append(p.want, sketch{f.Number, f.Position})
			return nil
		})
		if err = errors.Join(err, drawer.Draw(j.Context(), t, nil, p), p.err); err != nil {
			j.Errorf("tile %v: %v", t, err)
		}
		if p.open || !slices.EqualFunc(p.got, p.want, sketch.same) {
			j.Errorf("tile %v draws %v, and has %v", t, p.got, p.want)
		}
		stop := errors.New("stop")
		if err := drawer.Draw(j.Context(), t, nil, &pen{of: d, stop: stop}); len(p.want) > 0 && !errors.Is(err, stop) {
			j.Errorf("tile %v goes on after an error of the pen: %v", t, err)
		}
	}
}

// sketch is a drawn feature of a tile.
type sketch struct {
	number uint64
	at     quadkey.Position
}

// same allows for the rounding of stored positions.
func (a sketch) same(b sketch) bool {
	return a.number == b.number && math.Abs(a.at.Lat-b.at.Lat) < 1e-6 && math.Abs(a.at.Lon-b.at.Lon) < 1e-6
}

// pen notes what is drawn. Attributes are those of the Drawing, in its order.
type pen struct {
	of        *feature.Drawing
	stop      error // of Begin
	got, want []sketch
	open      bool
	next      int // of the Attributes
	err       error
}

func (p *pen) Begin(number uint64, at quadkey.Position) error {
	if p.open {
		p.err = fmt.Errorf("%d begins inside of another feature", number)
	}
	p.open, p.next = true, 0
	p.got = append(p.got, sketch{number, at})
	return p.stop
}

func (p *pen) attribute(name string, kind feature.Kind) {
	i := slices.IndexFunc(p.of.Attributes, func(f feature.Field) bool { return f.Name == name && f.Kind == kind })
	if !p.open || i < p.next {
		p.err = fmt.Errorf("%s, of kind %v, is no attribute of the Drawing, or out of its order", name, kind)
	}
	p.next = i + 1
}

func (p *pen) Text(name, _ string)          { p.attribute(name, feature.Text) }
func (p *pen) Integer(name string, _ int64) { p.attribute(name, feature.Integer) }
func (p *pen) Boolean(name string, _ bool)  { p.attribute(name, feature.Boolean) }
func (p *pen) End()                         { p.open = false }
