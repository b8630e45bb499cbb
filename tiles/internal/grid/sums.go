package grid

import (
	"cmp"
	"slices"
)

// sumVertical adds up edges along one vertical line, which may overlap in
// part, into edges that do not.
func sumVertical(edges []Edge) []Edge {
	if len(edges) == 0 {
		return nil
	}
	type event struct {
		y int32
		d int
	}
	var events []event
	for _, e := range edges {
		switch {
		case e.A.Y < e.B.Y:
			events = append(events, event{e.A.Y, 1}, event{e.B.Y, -1})
		case e.A.Y > e.B.Y:
			events = append(events, event{e.B.Y, -1}, event{e.A.Y, 1})
		}
	}
	slices.SortFunc(events, func(p, q event) int { return cmp.Compare(p.y, q.y) })
	x := edges[0].A.X
	var out []Edge
	sum := 0
	for i, ev := range events {
		if i > 0 && events[i-1].y != ev.y {
			down := Edge{Point{x, events[i-1].y}, Point{x, ev.y}}
			for range sum {
				out = append(out, down)
			}
			for range -sum {
				out = append(out, down.Reversed())
			}
		}
		sum += ev.d
	}
	return out
}

// SumLines adds up vertical and horizontal edges, line by line: where two tiles
// of a region meet, theirs are nothing together.
func SumLines(edges []Edge) []Edge {
	flip := func(e Edge) Edge { return Edge{Point{e.A.Y, e.A.X}, Point{e.B.Y, e.B.X}} }
	var lines [2][]Edge // vertical, horizontal as if they were
	for _, e := range edges {
		if e.A.X == e.B.X {
			lines[0] = append(lines[0], e)
		} else {
			lines[1] = append(lines[1], flip(e))
		}
	}
	out := edges[:0]
	for i, line := range lines {
		slices.SortFunc(line, func(e, f Edge) int { return cmp.Compare(e.A.X, f.A.X) })
		for len(line) > 0 {
			n := 1
			for n < len(line) && line[n].A.X == line[0].A.X {
				n++
			}
			for _, e := range sumVertical(line[:n]) {
				if i == 1 {
					e = flip(e)
				}
				out = append(out, e)
			}
			line = line[n:]
		}
	}
	return out
}

// Coarsen moves every vertex to the nearest multiple of 2^shift, halves up, in
// place, and cancels what collapses.
func Coarsen(edges []Edge, shift uint) []Edge {
	half := int32(1) << shift >> 1
	for i, e := range edges {
		edges[i] = Edge{
			Point{(e.A.X + half) >> shift << shift, (e.A.Y + half) >> shift << shift},
			Point{(e.B.X + half) >> shift << shift, (e.B.Y + half) >> shift << shift},
		}
	}
	return Cancel(edges)
}
