package grid

import "errors"

// A source draws areas: a place is in a region if the shell of one of its polygons winds around it,
// in either sense and any number of times, and no hole of the same polygon does. Adding up the
// winding numbers of several rings does not give that, because lobes of opposite senses would
// cancel each other. So each ring is first changed to wind once around what it encloses, with the
// inside on the right. Then each polygon is changed to wind once around what is in its shell and
// not in its holes. The borders of polygons can be added up: the region is where their sum is
// positive.

// Outliner computes the border of one region from its polygons, as described above. Nearly all
// rings are valid: they cost a sweep and stay as they are.
type Outliner struct {
	noder    Noder // its ShareSets number shells 0 and holes 1
	Repaired bool  // rings crossed themselves or each other
	denied   int   // of maxBeyond

	ring, shell, holes []Edge
	lines              []Line
	drawn              []CountedLine
	border             []Edge
}

// NewOutliner returns an outliner for the polygons of one region.
func NewOutliner() *Outliner {
	return &Outliner{noder: Noder{ShareSets: NewShareSets(), MayCross: true}}
}

// Polygon appends the border of a polygon. appendRing appends the edges of ring
// i of n; the shell is the first.
func (o *Outliner) Polygon(dst []Edge, n int, appendRing func(i int, dst []Edge) []Edge) ([]Edge, error) {
	o.shell, o.holes = o.shell[:0], o.holes[:0]
	for i := range n {
		o.ring = appendRing(i, o.ring[:0])
		// Each ring is handled separately while its longitudes are unwrapped. Only the cut at the
		// antimeridian brings a hole and its shell to the same longitudes.
		ring, err := o.windOnce(o.ring)
		if err != nil {
			return nil, err
		}
		if ring = CutAtSeams(ring); i > 0 {
			o.holes = append(o.holes, ring...)
		} else if o.shell = append(o.shell, ring...); len(ring) == 0 {
			break
		}
	}
	if len(o.holes) == 0 {
		return append(dst, o.shell...), nil
	}
	border, ok, err := o.mend(o.shell, o.holes, Winding.Covered)
	if err != nil || !ok {
		return append(dst, border...), err
	}
	dst = append(dst, o.shell...)
	for _, e := range o.holes {
		dst = append(dst, e.Reversed())
	}
	return dst, nil
}

// LimitCrossings sets how many crossings in excess of four per line are resolved; the default is 2²⁰.
func (o *Outliner) LimitCrossings(n int) {
	o.denied = maxBeyond - n
	o.noder.beyond = o.denied
}

// Dissolve returns the border of the union of polygons whose borders were added up, as Polygon does. Its
// edges meet at vertices only.
func (o *Outliner) Dissolve(chain []Edge) ([]Edge, error) {
	n := Noder{ShareSets: NewShareSets(), MayCross: true, beyond: o.denied}
	lines, err := n.Node(MergeLines(AppendLines(nil, chain, n.ShareSets, 0), n.ShareSets))
	if err != nil {
		return nil, err
	}
	border, _, err := Resolve(AppendCounted(nil, lines, n.ShareSets), Winding.Covered, nil)
	return border, err
}

// windOnce makes a ring wind once around everything that it encloses. It
// changes the ring. The result is valid until the next call.
func (o *Outliner) windOnce(ring []Edge) ([]Edge, error) {
	if Area2(ring) < 0 {
		for i, e := range ring {
			ring[i] = e.Reversed()
		}
	}
	if border, ok, err := o.mend(ring, nil, Winding.touched); err != nil || !ok {
		return border, err
	}
	return ring, nil
}

// mend reports whether shells and holes are valid. If not, it returns the
// border of the inside, valid until the next call.
func (o *Outliner) mend(shells, holes []Edge, inside func(Winding) bool) (border []Edge, ok bool, err error) {
	border, repaired, err := o.resolve(shells, holes, inside)
	if errors.Is(err, errCrossing) {
		var lines []Line
		if lines, err = o.noder.Node(o.lines); err != nil {
			return nil, false, err
		}
		o.drawn = AppendCounted(o.drawn[:0], lines, o.noder.ShareSets)
		border, repaired, err = Resolve(o.drawn, inside, border[:0])
	}
	o.border = border
	o.Repaired = o.Repaired || repaired
	return border, !repaired, err
}

// resolve does the same as Resolve, for the edges of shells and holes. It leaves their lines in
// o.lines.
func (o *Outliner) resolve(shells, holes []Edge, inside func(Winding) bool) (border []Edge, repaired bool, err error) {
	reg := o.noder.ShareSets
	o.lines = MergeLines(AppendLines(AppendLines(o.lines[:0], shells, reg, 0), holes, reg, 1), reg)
	o.drawn = AppendCounted(o.drawn[:0], o.lines, reg)
	o.border, repaired, err = Resolve(o.drawn, inside, o.border[:0])
	return o.border, repaired, err
}

// AppendCounted appends lines whose ShareSets have number 0 for shells and 1 for holes.
func AppendCounted(dst []CountedLine, lines []Line, reg *ShareSets) []CountedLine {
	for _, l := range lines {
		d := CountedLine{A: l.A, B: l.B}
		for _, s := range reg.Shares(l.ShareSet) {
			if s.Region == 0 {
				d.Shells = s.Times
			} else {
				d.holes = s.Times
			}
		}
		dst = append(dst, d)
	}
	return dst
}
