package raster

import (
	"bytes"
	"cmp"
	"image"
	"math"
	"slices"
	"strings"

	"quadrille/tiles/mvt"
)

// name is a point with the text written at it.
type name struct {
	x, y    float64 // pixels from the drawn tile's corner
	look    *look
	typ     string
	label   bool // of a region: centred, without a dot
	rank    float64
	id      []byte
	num     uint64
	weight  float64
	order   int
	capital bool
	ranked  bool    // by the source, not by weight
	disc    float64 // the radius of the dot, in pixels of a tile of 256
	text    []byte
	box     image.Rectangle // empty if nothing can be written
}

// A capital counts as a city of this many people more. It then wins against its
// neighbours, but not against the world's great cities.
const (
	greatCapital = 200_000
	capitalBonus = 2_000_000
)

// maxNames bounds the names of a tile that are considered. They are the most
// important ones, which are the same for each tile nearby.
const maxNames = 256

// maxDots bounds the points of a tile that have dots. A dot costs less than a name.
const maxDots = 4096

// discOf returns the radius of the dot for a point that stands for a number of
// points. The largest discs touch when 16 stand side by side in a tile.
func discOf(radius float64, count float64) float64 {
	if count <= 1 {
		return radius
	}
	return min(radius+1+math.Floor(math.Log10(count)), 8)
}

// drawPoints draws dots, then the names that touch no name of higher priority.
func (r *Renderer) drawPoints(c *canvas, t *Tile) error {
	c.names = c.names[:0]
	for i, tile := range t.Points {
		start := len(c.names)
		if err := r.gather(c, tile, t, float64((i%3-1)*c.size), float64((i/3-1)*c.size)); err != nil {
			return err
		}
		own := c.names[start:]
		if len(own) > maxNames {
			slices.SortFunc(own, comparePriority)
			for j := maxNames; j < len(own); j++ {
				own[j].text = nil
			}
			dots := min(len(own), maxDots)
			clear(own[dots:])
			c.names = c.names[:start+dots]
		}
	}
	defer func() { clear(c.names) }() // they refer to the caller's bytes
	slices.SortFunc(c.names, comparePriority)
	for i := range c.names {
		c.place(&c.names[i])
	}
	for i := range c.names {
		c.stepAside(i)
	}
	if err := c.drawDots(); err != nil {
		return err
	}
	frame := image.Rect(0, 0, c.size, c.size)
	for i := len(c.names) - 1; i >= 0; i-- {
		n := &c.names[i]
		if !n.box.Overlaps(frame) || !c.unobstructed(i) {
			continue
		}
		c.text.breakLines(n.look.face, n.text, n.look.Text.Size)
		if err := c.write(n.look, n.box, c.pad()); err != nil {
			return err
		}
	}
	return nil
}

// stepAside moves the name of a dot from above the dot to below it, if a region's name of
// higher priority is in the way. Names of regions do not move, so all tiles nearby decide
// alike.
func (c *canvas) stepAside(i int) {
	n := &c.names[i]
	if n.label || n.box.Empty() || c.clear(i, n.box) {
		return
	}
	below := n.box.Add(image.Pt(0, n.box.Dy()+2*int(n.disc*float64(c.scale))-c.pad()))
	if c.clear(i, below) && c.within(n, below) {
		n.box = below
	}
}

// clear reports whether no region's name of higher priority than name i touches a box.
func (c *canvas) clear(i int, box image.Rectangle) bool {
	for j := range c.names[:i] {
		if c.names[j].label && c.names[j].box.Overlaps(box) {
			return false
		}
	}
	return true
}

// within reports whether a box is as near to the point of a name as tiles nearby look.
func (c *canvas) within(n *name, box image.Rectangle) bool {
	reach := Reach * c.scale
	at := image.Pt(int(math.Floor(n.x)), int(math.Floor(n.y)))
	return box.In(image.Rect(at.X-reach, at.Y-reach, at.X+reach, at.Y+reach))
}

// unobstructed reports whether no name of higher priority touches name i.
func (c *canvas) unobstructed(i int) bool {
	box := c.names[i].box
	for j := range c.names[:i] {
		if c.names[j].box.Overlaps(box) {
			return false
		}
	}
	return true
}

// comparePriority orders names by type, rank and id. Equal names are ordered by
// their relative position, which is the same in every tile.
func comparePriority(a, b name) int {
	return cmp.Or(
		cmp.Compare(a.order, b.order), strings.Compare(a.typ, b.typ), cmp.Compare(a.rank, b.rank),
		bytes.Compare(a.id, b.id), cmp.Compare(a.num, b.num), bytes.Compare(a.text, b.text),
		cmp.Compare(a.y, b.y), cmp.Compare(a.x, b.x),
	)
}

// gather adds the points of a tile beside the drawn one, whose corner is at dx,
// dy.
func (r *Renderer) gather(c *canvas, tile []byte, drawn *Tile, dx, dy float64) error {
	for {
		rest, ok, err := mvt.NextLayer(tile, &c.view)
		if err != nil {
			return err
		}
		if !ok {
			return nil
		}
		tile = rest
		typ, label := typeOf(c.view.Name)
		look := r.look(typ)
		if look.Text.Size == 0 && (label || look.Dot.Radius == 0) || label && look.Lands && typ != drawn.Land {
			continue
		}
		most, share := math.Inf(1), look.Dot.Share
		if label {
			share = look.Text.Share
		}
		if share > 0 {
			most = share * math.Pow(3, float64(drawn.Zoom))
		}
		scale := float64(c.size) / float64(c.view.Extent)
		for i := range c.view.Len() {
			f, err := c.view.Feature(i)
			if err != nil {
				return err
			}
			if f.Type != mvt.Point {
				continue
			}
			n := name{look: look, typ: typ, label: label, num: f.ID, disc: look.Dot.Radius}
			if err := n.read(&c.view, f); err != nil {
				return err
			}
			if n.rank >= most || !n.ranked && drawn.Zoom < len(look.Least) && n.weight < look.Least[max(drawn.Zoom, 0)] {
				continue
			}
			if n.capital && r.capital != nil && look.Least != nil {
				n.look, n.disc = r.capital, r.capital.Dot.Radius
			}
			n.order = n.look.Order
			if great := n.look.Great; great.Weight > 0 && !n.ranked && n.weight >= great.Weight {
				n.order = great.Order
			}
			c.path.Reset(f)
			pts, _, ok, err := c.path.Next(c.points[:0])
			if err != nil {
				return err
			}
			c.points = pts
			if !ok || len(pts) == 0 {
				continue
			}
			p, end := pts[0], int32(c.view.Extent)
			if p.X < 0 || p.Y < 0 || p.X >= end || p.Y >= end {
				continue // another tile's
			}
			n.x, n.y = float64(p.X)*scale+dx, float64(p.Y)*scale+dy
			c.names = append(c.names, n)
		}
	}
}

// read reads the attributes of a name. Points without a rank are ranked by population, largest
// first, where a great capital counts as two million people more. Points that stand for many come
// before all others.
func (n *name) read(v *mvt.View, f mvt.Feature) error {
	n.rank = math.MaxFloat64
	err := v.EachTag(f, func(key, value []byte) bool {
		switch string(key) {
		case "id":
			n.id, _ = mvt.StringValue(value)
		case "name":
			n.text, _ = mvt.StringValue(value)
		case "rank":
			if v, ok := mvt.NumberValue(value); ok && !math.IsNaN(v) {
				n.rank, n.ranked = v, true
			}
		case "population":
			if v, ok := mvt.NumberValue(value); ok && !math.IsNaN(v) {
				n.weight = v
			}
		case "code":
			code, _ := mvt.StringValue(value)
			n.capital = string(code) == "PPLC"
		case "point_count":
			if v, ok := mvt.NumberValue(value); ok && v > 0 {
				n.rank, n.ranked = -v*1e12, true
				n.disc = discOf(n.disc, v)
			}
		}
		return true
	})
	if n.capital && n.weight >= greatCapital {
		n.weight += capitalBonus
	}
	if !n.ranked && n.weight != 0 {
		n.rank = -n.weight
	}
	return err
}

// pad is the room around a name for its halo and some air, in pixels.
func (c *canvas) pad() int { return 3 * c.scale }

// place computes the pixels a name takes. Its corner is on a whole pixel, which
// is the same in every tile.
func (c *canvas) place(n *name) {
	t := &n.look.Text
	if t.Size == 0 || len(n.text) == 0 {
		return
	}
	w, h := c.text.breakLines(n.look.face, n.text, t.Size)
	if len(c.text.lines) == 0 {
		return
	}
	size := t.Size * float64(c.scale)
	width := int(math.Ceil(w*size)) + 2*c.pad()
	height := int(math.Ceil(h*size)) + 2*c.pad()
	x, y := int(math.Floor(n.x))-width/2, int(math.Floor(n.y))-height/2
	if !n.label {
		// The name goes above the dot. The padding gives enough air.
		y = int(math.Floor(n.y)) - height - int(n.disc*float64(c.scale)) + c.pad()/2
	}
	box := image.Rect(x, y, x+width, y+height)
	if c.within(n, box) {
		n.box = box
	}
}

// drawDots draws the dots of the points that are not labels, the most important
// on top.
func (c *canvas) drawDots() error {
	for i := len(c.names) - 1; i >= 0; {
		l, disc := c.names[i].look, c.names[i].disc
		p := pen{c: c, inner: disc * float64(c.scale), outer: (disc + 1) * float64(c.scale)}
		drawn := false
		for ; i >= 0 && c.names[i].look == l && c.names[i].disc == disc; i-- {
			n := &c.names[i]
			if n.label || l.Dot.Radius == 0 {
				continue
			}
			if !drawn {
				drawn = true
				p.lift()
			}
			if err := p.segment(n.x, n.y, n.x, n.y); err != nil {
				return err
			}
		}
		if drawn {
			p.lay(l.Dot.Color, l.Dot.Rim)
		}
	}
	return nil
}
