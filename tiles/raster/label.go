package raster

import (
	"bytes"
	"cmp"
	"image"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
	people  float64
	order   int
	class   int // 1 more than the index of its colour in Tile.Paint; 0 if it is not painted
	capital bool
	part    bool    // of a town, and counts a quarter
	place   bool    // Style.Places applies
	shown   bool    // with its name
	ranked  bool    // by the source, not by people
	cluster bool    // its text is a number, on its disc
	disc    float64 // the radius of the dot, in pixels of a tile of 256
	apart   float64 // from the dots of more important places, in the same pixels
	text    []byte
	box     image.Rectangle // empty if nothing can be written
}

// maxNames bounds the names of a tile that are considered: the most important ones, which are the
// same for all nearby tiles.
const maxNames = 256

// maxDots bounds the points of a tile that have dots. A dot costs less than a name.
const maxDots = 4096

// discOf returns the radius of the dot for a point that represents a number of points. The largest
// discs hardly touch if four of them are side by side in a tile.
func discOf(radius float64, count float64) float64 {
	if count <= 1 {
		return radius
	}
	return 2*radius + 2.6*(1+min(math.Log10(count), 5))
}

// Name is a name in a picture.
type Name struct {
	Type   string // of the region, or the layer of a point
	ID     string // the attribute id, if it is a text
	Number uint64 // of the feature
	Text   string
	Label  bool // of a region
	Look   TextStyle
	Box    image.Rectangle // pixels from the picture's corner
}

// Names returns the names that the picture of a tile shows at least in part, the most important
// first. Its errors are those of AppendPNG.
func (r *Renderer) Names(t *Tile) (all []Name, err error) {
	err = r.with(t.Scale, func(c *canvas) error {
		err := r.arrange(c, t)
		for n := range c.visible {
			all = append(all, Name{n.typ, string(n.id), n.num, string(n.text), n.label, n.look.Text, n.box})
		}
		return err
	})
	return all, err
}

// visible yields the written names, the most important first.
func (c *canvas) visible(yield func(*name) bool) {
	for i := range c.names {
		if n := &c.names[i]; n.shown && n.box.Overlaps(image.Rect(0, 0, c.size, c.size)) && !yield(n) {
			return
		}
	}
}

// drawPoints draws dots, then names.
func (r *Renderer) drawPoints(c *canvas, t *Tile) error {
	if err := r.arrange(c, t); err != nil {
		return err
	}
	if err := c.drawDots(t.Zoom >= r.style.Places.DotsFrom, t.Paint); err != nil {
		return err
	}
	for n := range c.visible {
		c.text.breakLines(n.look.face, n.text, n.look.Text.Size, n.look.Text.Spacing)
		if err := c.write(n.look, n.box, c.pad()); err != nil {
			return err
		}
	}
	return nil
}

// arrange lists the points of a tile and of the tiles around it, the most important first. It marks
// the names that touch no name of higher priority as shown.
func (r *Renderer) arrange(c *canvas, t *Tile) error {
	c.names, c.upper = c.names[:0], c.upper[:0]
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
	c.lift(t.Zoom)
	c.names = slices.DeleteFunc(c.names, func(n name) bool { return n.place && !r.wanted(&n, t.Zoom) })
	slices.SortFunc(c.names, comparePriority)
	if t.Zoom <= r.style.Places.DotDistanceMaxZoom {
		c.keepApart(&r.style.Places, t)
	}
	for i := range c.names {
		c.place(i)
	}
	frame := image.Rect(0, 0, c.size, c.size)
	for i := range c.names {
		n := &c.names[i]
		n.shown = n.box.Overlaps(frame.Inset(-maxDot*c.scale-MaxNameReachPx)) && (n.cluster || c.unobstructed(i))
	}
	return nil
}

// around is the distance from a capital, in degrees, within which places count for the capital.
// mostAround bounds this distance in pixels, so that all these places lie in the tiles around.
const (
	around     = 0.25
	mostAround = 150
)

// lift gives a capital the weight of the greatest place around it that is not a capital: New Delhi
// gets Delhi's.
func (c *canvas) lift(zoom int) {
	near := min(around/360*math.Exp2(float64(zoom))*tileSize, mostAround) * float64(c.scale)
	for i := range c.names {
		n := &c.names[i]
		if !n.place || !n.capital {
			continue
		}
		for j := range c.names {
			if o := &c.names[j]; o.place && !o.capital && math.Abs(n.x-o.x) <= near && math.Abs(n.y-o.y) <= near {
				n.people, n.rank = max(n.people, o.people), min(n.rank, o.rank-1)
			}
		}
	}
}

// wanted reports whether a zoom shows a place with n's population.
func (r *Renderer) wanted(n *name, zoom int) bool {
	least := r.style.Places.MinPopulation
	if n.capital {
		least = r.style.Places.MinPopulationOfCapital
	}
	return zoom >= len(least) || n.people >= least[max(zoom, 0)]
}

// equator is the length of the equator in km.
const equator = 40075.017

// keepApart drops places that are too near to more important ones, even if the more important ones
// are dropped themselves. So nearby tiles make the same decision, unless the city that displaces a
// place lies beyond the tiles around.
func (c *canvas) keepApart(rule *PlaceStyle, t *Tile) {
	world := math.Exp2(float64(t.Zoom)) * float64(c.size)
	kept := c.names[:0]
	places := c.places[:0]
	for _, n := range c.names {
		if n.place {
			// Mercator's scale is 1/cos φ = cosh(π − 2πy), y from 0 in the north to 1.
			stretch := 1.
			if y := (float64(t.Row)*float64(c.size) + n.y) / world; !t.PlateCarree {
				stretch = math.Cosh(math.Pi * (1 - 2*y))
			}
			around := min(rule.AroundCity.KM/equator*world*stretch, min(rule.AroundCity.PX, mostAround)*float64(c.scale))
			crowded := slices.ContainsFunc(places, func(o [3]float64) bool {
				away := math.Hypot(n.x-o[0], n.y-o[1])
				return away < max(rule.DotDistancePx, n.apart)*float64(c.scale) || away < around && o[2] >= rule.AroundCity.People &&
					o[2] > rule.AroundCity.Times*n.people
			})
			places = append(places, [3]float64{n.x, n.y, n.people})
			if crowded && !n.capital {
				continue
			}
		}
		kept = append(kept, n)
	}
	clear(c.names[len(kept):])
	c.names, c.places = kept, places
}

// spot returns the pixels of a name's dot.
func (c *canvas) spot(n *name) image.Rectangle {
	if n.label || n.disc == 0 {
		return image.Rectangle{}
	}
	r := (n.disc + 1) * float64(c.scale)
	return image.Rect(int(math.Floor(n.x-r)), int(math.Floor(n.y-r)), int(math.Ceil(n.x+r)), int(math.Ceil(n.y+r)))
}

// clear reports whether a box touches no region's name and no dot of higher priority than name i,
// and no marker of any priority.
func (c *canvas) clear(i int, box image.Rectangle) bool {
	for j := range c.names {
		n := &c.names[j]
		if j < i && n.label && n.box.Overlaps(box) || j != i && (j < i || n.look.KeepDotsClear) && c.spot(n).Overlaps(box) {
			return false
		}
	}
	return true
}

// within reports whether a box is within MaxNameReachPx of the point of a name. Only then nearby tiles
// consider it.
func (c *canvas) within(n *name, box image.Rectangle) bool {
	reach := MaxNameReachPx * c.scale
	at := image.Pt(int(math.Floor(n.x)), int(math.Floor(n.y)))
	return box.In(image.Rect(at.X-reach, at.Y-reach, at.X+reach, at.Y+reach))
}

// clearOfCapitals reports whether a box touches no capital's dot.
func (c *canvas) clearOfCapitals(_ int, box image.Rectangle) bool {
	return !slices.ContainsFunc(c.names, func(n name) bool { return n.place && n.capital && c.spot(&n).Overlaps(box) })
}

// unobstructed reports whether name i and its dot touch no name of higher priority, and the name
// touches no dot of higher priority and no marker.
func (c *canvas) unobstructed(i int) bool {
	box, own := c.names[i].box, c.spot(&c.names[i])
	for j := range c.names {
		n := &c.names[j]
		if j < i && (n.box.Overlaps(box) || n.box.Overlaps(own)) || j != i && (j < i || n.look.KeepDotsClear) && c.spot(n).Overlaps(box) {
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
		cmp.Compare(a.class, b.class), // dots of one colour are drawn together
		bytes.Compare(a.id, b.id), cmp.Compare(a.num, b.num), bytes.Compare(a.text, b.text),
		cmp.Compare(a.y, b.y), cmp.Compare(a.x, b.x),
	)
}

// gather adds the points of a tile whose corner is at dx, dy in the drawn tile's pixels. The tile
// is the drawn one or one of those around it.
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
		if look.Text.Size == 0 && (label || look.Dot.Radius == 0) || label && look.OnlyAsLand && typ != drawn.Land {
			continue
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
			if !label && drawn.Paint.of(c.view.Name) && n.disc == look.Dot.Radius { // no cluster
				if n.class, err = drawn.Paint.choose(&c.view, f); err != nil {
					return err
				}
				n.class++
			}
			if n.cluster {
				n.look = look.count
			}
			if !n.look.Text.names(n.rank, drawn.Zoom) {
				continue
			}
			if typ == placesType && !n.ranked && len(r.places) > 0 {
				r.settle(&n)
			} else if label {
				n.look = look.sized(n.rank, drawn.Zoom)
			}
			n.order = n.look.Turn
			if label && n.rank >= look.Text.bound(drawn.Zoom-1) {
				n.order = max(n.order, look.LateTurn)
			}
			if n.look.Text.UpperCase {
				n.text = c.capitals(n.text)
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
				continue // it belongs to another tile
			}
			n.x, n.y = float64(p.X)*scale+dx, float64(p.Y)*scale+dy
			c.names = append(c.names, n)
		}
	}
}

// settle gives a place the look of its tier. For a great capital it adds GreatCapitalBonus to the population.
func (r *Renderer) settle(n *name) {
	p := &r.style.Places
	tier := 1
	weight := n.people
	if n.capital && n.people >= p.MinGreatCapital {
		tier, weight = 0, n.people+p.GreatCapitalBonus
	}
	if n.part {
		weight /= 4
	}
	for tier > 0 && tier < len(r.places)-1 && n.people < p.Tiers[tier].MinPopulation {
		tier++
	}
	ring := 0
	if n.capital {
		ring = 1
	}
	n.place, n.rank, n.look = true, -weight, r.places[min(tier, len(r.places)-1)][ring]
	n.disc = n.look.Dot.Radius
	if tier < len(p.Tiers) {
		n.apart = p.Tiers[tier].DistancePx
	}
}

// names reports whether a zoom shows the name of a region with the given rank.
func (t *TextStyle) names(rank float64, zoom int) bool {
	return zoom >= t.FromZoom && (t.ToZoom == 0 || zoom <= t.ToZoom) && rank < t.bound(zoom) &&
		!(zoom >= 0 && zoom < len(t.MinRanks) && rank < t.MinRanks[zoom])
}

// bound returns the rank below which a zoom shows the names of regions.
func (t *TextStyle) bound(zoom int) float64 {
	switch {
	case zoom < 0:
		return 0
	case zoom < len(t.MaxRanks):
		return t.MaxRanks[zoom]
	}
	return math.Inf(1)
}

// sized returns the look of a region's name, by the number of zooms for which it has been shown.
func (l *look) sized(rank float64, zoom int) *look {
	last := len(l.sizes) - 1
	for i, one := range l.sizes[:last] {
		if rank < l.Text.bound(zoom-last-1+i) {
			return one
		}
	}
	return l.sizes[last]
}

// capitals returns a name in capital letters.
func (c *canvas) capitals(text []byte) []byte {
	start := len(c.upper)
	for _, r := range string(text) {
		c.upper = utf8.AppendRune(c.upper, unicode.ToUpper(r))
	}
	return c.upper[start:]
}

// read reads the attributes of a name. Points without a rank are ranked by population, the largest
// first. Points that represent several points come before all others.
func (n *name) read(v *mvt.LayerView, f mvt.Feature) error {
	n.rank = math.MaxFloat64
	err := v.EachTag(f, func(key, value []byte) bool {
		switch string(key) {
		case "id", "region": // of a point, and of a region's label
			n.id, _ = mvt.StringValue(value)
		case "name":
			n.text, _ = mvt.StringValue(value)
		case "rank":
			if v, ok := mvt.NumberValue(value); ok && !math.IsNaN(v) {
				n.rank, n.ranked = v, true
			}
		case "population", "map_population": // the second one follows, if there is one
			if v, ok := mvt.NumberValue(value); ok && !math.IsNaN(v) {
				n.people = v
			}
		case "code":
			code, _ := mvt.StringValue(value)
			n.capital, n.part = string(code) == "PPLC", string(code) == "PPLX"
		case "point_count_abbreviated":
			n.text, _ = mvt.StringValue(value)
			n.cluster = true
		case "point_count":
			if v, ok := mvt.NumberValue(value); ok && v > 0 {
				n.rank, n.ranked = -v*1e12, true
				n.disc = discOf(n.disc, v)
			}
		}
		return true
	})
	if !n.ranked && n.people != 0 {
		n.rank = -n.people
	}
	return err
}

// pad returns the padding around a name for its halo and some space, in pixels.
func (c *canvas) pad() int { return 3 * c.scale }

// place computes the pixels of name i. Its corner is on a whole pixel, which is the same in every
// tile. The name of a dot takes the first side that touches no fixed item of higher priority:
// right, left, above, below.
func (c *canvas) place(i int) {
	n := &c.names[i]
	t := &n.look.Text
	if t.Size == 0 || len(n.text) == 0 {
		return
	}
	w, h := c.text.breakLines(n.look.face, n.text, t.Size, t.Spacing)
	if len(c.text.lines) == 0 {
		return
	}
	size := t.Size * float64(c.scale)
	width := int(math.Ceil(w*size)) + 2*c.pad()
	height := int(math.Ceil(h*size)) + 2*c.pad()
	x, y := int(math.Floor(n.x)), int(math.Floor(n.y))
	at := func(left, top int) image.Rectangle { return image.Rect(left, top, left+width, top+height) }
	off := int(n.disc*float64(c.scale)) + c.scale // the padding gives enough space
	sides := [4]image.Rectangle{at(x+off, y-height/2), at(x-off-width, y-height/2), at(x-width/2, y-off-height), at(x-width/2, y+off)}
	isClear := c.clear
	if n.cluster {
		n.box = at(x-width/2, y-height/2)
		return
	}
	if n.label { // it gives way to capitals' dots, which do not move either
		centre := at(x-width/2, y-height/2)
		sides = [4]image.Rectangle{centre, centre.Add(image.Pt(0, height)), centre.Sub(image.Pt(0, height))}
		isClear = c.clearOfCapitals
	}
	for _, box := range sides {
		if box.Empty() || !c.within(n, box) {
			continue
		}
		if n.box.Empty() {
			n.box = box
		}
		if isClear(i, box) {
			n.box = box
			return
		}
	}
}

// drawDots draws the dots of the points that are not labels, the most important on top. Without
// bare, points without a shown name get no dot, except markers.
func (c *canvas) drawDots(bare bool, paint *Paint) error {
	for i := len(c.names) - 1; i >= 0; {
		l, disc, class := c.names[i].look, c.names[i].disc, c.names[i].class
		p := pen{c: c, inner: disc * float64(c.scale), outer: (disc + 1) * float64(c.scale)}
		drawn := false
		for ; i >= 0 && c.names[i].look == l && c.names[i].disc == disc && c.names[i].class == class; i-- {
			n := &c.names[i]
			if n.label || l.Dot.Radius == 0 || !l.KeepDotsClear && !n.shown && !bare {
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
		if ink := l.Dot.Color; drawn {
			if class > 0 {
				ink = paint.Colors[class-1]
			}
			p.lay(ink, l.Dot.Rim)
		}
	}
	return nil
}
