package grid

import "slices"

// An arc is a run of lines between two junctions: places where other lines
// begin, or where the regions on the two sides change. Arcs are what is
// simplified, each once for all regions that share it, with its ends fixed.

// arcs are the arcs of an arrangement whose lines meet at vertices only. Their
// vertices stand in one sequence, arc after arc; a place in it is called a
// step. As vertices are dropped, the steps of an arc remain linked.
type arcs struct {
	at         []Point // of each vertex
	steps      []int32 // vertex of each step
	prev, next []int32 // step before and after, −1 at the ends of an arc
	arcs       []arc
}

// arc is an arc's first step and its regions as seen along it.
type arc struct {
	first, last int32
	set         int32
}

// noStep marks the ends of arcs.
const noStep = -1

// newArcs cuts an arrangement into arcs. Lines must be sorted.
func newArcs(lines []Line, reg *Registry) *arcs {
	a := &arcs{}
	for _, l := range lines {
		a.at = append(a.at, l.A, l.B)
	}
	slices.SortFunc(a.at, ComparePoints)
	a.at = slices.Clip(slices.Compact(a.at))
	find := func(p Point) int32 {
		i, _ := slices.BinarySearchFunc(a.at, p, ComparePoints)
		return int32(i)
	}
	// The lines at each vertex: one after another in around, from starts on.
	ends := make([][2]int32, len(lines))
	starts := make([]int32, len(a.at)+1)
	for i, l := range lines {
		ends[i] = [2]int32{find(l.A), find(l.B)}
		starts[ends[i][0]+1]++
		starts[ends[i][1]+1]++
	}
	for i := 1; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	around := make([]int32, 2*len(lines))
	fill := slices.Clone(starts[:len(a.at)])
	for i, e := range ends {
		for _, v := range e {
			around[fill[v]] = int32(i)
			fill[v]++
		}
	}
	// who along a line that leaves vertex v.
	leaving := func(i, v int32) int32 {
		if ends[i][0] == v {
			return lines[i].Set
		}
		return reg.reversed(lines[i].Set)
	}
	junction := func(v int32) bool {
		at := around[starts[v]:starts[v+1]]
		x := a.at[v].X
		return len(at) != 2 || x == 0 || x == WorldSize ||
			leaving(at[0], v) != reg.reversed(leaving(at[1], v))
	}
	done := make([]bool, len(lines))
	walk := func(v, i int32) {
		who := leaving(i, v)
		first := int32(len(a.steps))
		a.steps = append(a.steps, v)
		for start := v; ; {
			done[i] = true
			if ends[i][0] == v {
				v = ends[i][1]
			} else {
				v = ends[i][0]
			}
			a.steps = append(a.steps, v)
			if v == start || junction(v) {
				break
			}
			at := around[starts[v]:starts[v+1]]
			if i == at[0] {
				i = at[1]
			} else {
				i = at[0]
			}
		}
		a.arcs = append(a.arcs, arc{first, int32(len(a.steps)) - 1, who})
	}
	for v := range int32(len(a.at)) {
		if junction(v) {
			for _, i := range around[starts[v]:starts[v+1]] {
				if !done[i] {
					walk(v, i)
				}
			}
		}
	}
	// What remains are rings without a junction: islands.
	for i := range int32(len(lines)) {
		if !done[i] {
			walk(ends[i][0], i)
		}
	}
	a.link()
	return a
}

// link joins the steps of each arc.
func (a *arcs) link() {
	a.prev = make([]int32, len(a.steps))
	a.next = make([]int32, len(a.steps))
	for i := range a.steps {
		a.prev[i], a.next[i] = int32(i)-1, int32(i)+1
	}
	for _, arc := range a.arcs {
		a.prev[arc.first], a.next[arc.last] = noStep, noStep
	}
}

// point returns the place of a step.
func (a *arcs) point(step int32) Point { return a.at[a.steps[step]] }

// Lines returns the arrangement that remains.
func (a *arcs) Lines(reg *Registry) []Line {
	var out []Line
	for _, arc := range a.arcs {
		back := reg.reversed(arc.set)
		for s := arc.first; a.next[s] != noStep; s = a.next[s] {
			p, q := a.point(s), a.point(a.next[s])
			switch {
			case p == q:
			case Edge{p, q}.Upward():
				out = append(out, Line{p, q, arc.set})
			default:
				out = append(out, Line{q, p, back})
			}
		}
	}
	return out
}
