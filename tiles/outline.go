package tiles

import (
	"errors"
	"fmt"
)

// What a source draws is area: a place is in a region if the shell of one of its
// polygons winds around it, in whatever sense and however often, and no hole of
// the same polygon does. Winding numbers of several rings cannot simply be added
// up for that, because lobes of opposite senses would cancel each other. So a ring
// is brought to wind once around what it encloses, with the inside on the right,
// and then a polygon around what its shell has more than its holes. The borders of
// polygons do add up: where their sum is positive is the region.

// outliner does so for polygons of one region. Rings that are in order, which is
// nearly all, cost a sweep and stay as they are.
type outliner struct {
	noder    noder // its registry numbers shells 0 and holes 1
	repaired bool  // rings crossed themselves or each other

	ring, shell, holes []edge
	lines              []line
	drawn              []drawn
	border             []edge
}

func newOutliner() *outliner {
	return &outliner{noder: noder{reg: newRegistry(), crossings: true}}
}

// chain returns the borders of polygons in a projection, a closed chain within
// [0, worldSize] in x.
func (o *outliner) chain(polygons [][]ring, pr projection) ([]edge, error) {
	var out []edge
	for _, rings := range polygons {
		var err error
		if out, err = o.polygon(out, len(rings), func(i int, dst []edge) []edge { return appendChain(dst, rings[i], pr) }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// polygon appends the border of a polygon. appendRing appends the edges of its
// n rings, the shell the first.
func (o *outliner) polygon(dst []edge, n int, appendRing func(i int, dst []edge) []edge) ([]edge, error) {
	o.shell, o.holes = o.shell[:0], o.holes[:0]
	for i := range n {
		o.ring = appendRing(i, o.ring[:0])
		// Rings wind alone while their longitudes run on. Only the cut at the
		// antimeridian brings a hole and its shell to the same ones.
		ring, err := o.wound(o.ring)
		if err != nil {
			return nil, err
		}
		if ring = cutAtSeams(ring); i > 0 {
			o.holes = append(o.holes, ring...)
		} else if o.shell = append(o.shell, ring...); len(ring) == 0 {
			break
		}
	}
	if len(o.holes) == 0 {
		return append(dst, o.shell...), nil
	}
	border, ok, err := o.mend(o.shell, o.holes, winding.covered)
	if err != nil || !ok {
		return append(dst, border...), err
	}
	dst = append(dst, o.shell...)
	for _, e := range o.holes {
		dst = append(dst, e.reversed())
	}
	return dst, nil
}

// wound makes a ring wind once around all that it winds around. It changes the
// ring, and the result is valid until the next call.
func (o *outliner) wound(ring []edge) ([]edge, error) {
	if area2(ring) < 0 {
		for i, e := range ring {
			ring[i] = e.reversed()
		}
	}
	if border, ok, err := o.mend(ring, nil, winding.touched); err != nil || !ok {
		return border, err
	}
	return ring, nil
}

// mend tells whether shells and holes are in order, and if not it returns the
// border of what is inside, valid until the next call.
func (o *outliner) mend(shells, holes []edge, inside func(winding) bool) (border []edge, ok bool, err error) {
	reg := o.noder.reg
	o.lines = merge(appendDrawn(appendDrawn(o.lines[:0], shells, reg, 0), holes, reg, 1), reg)
	o.drawn = appendSides(o.drawn[:0], o.lines, reg)
	border, repaired, err := resolve(o.drawn, inside, o.border[:0])
	if errors.Is(err, errCrossing) {
		var lines []line
		if lines, err = o.noder.node(o.lines); err != nil {
			return nil, false, fmt.Errorf("%w: %w", ErrBadGeometry, err)
		}
		o.drawn = appendSides(o.drawn[:0], lines, reg)
		border, repaired, err = resolve(o.drawn, inside, border[:0])
	}
	o.border = border
	o.repaired = o.repaired || repaired
	return border, !repaired, err
}

// appendSides appends lines of which a registry counts shells as 0 and holes
// as 1.
func appendSides(dst []drawn, lines []line, reg *registry) []drawn {
	for _, l := range lines {
		d := drawn{a: l.a, b: l.b}
		for _, s := range reg.shares(l.who) {
			if s.region == 0 {
				d.shells = s.n
			} else {
				d.holes = s.n
			}
		}
		dst = append(dst, d)
	}
	return dst
}
