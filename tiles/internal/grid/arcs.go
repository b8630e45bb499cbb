package grid

import "slices"

// An arc is a run of lines between two junctions: places where other lines
// begin, or where the regions on the two sides change. Each arc is simplified
// once for all regions that share it, with its ends fixed.

// arcs are the arcs of an arrangement whose lines meet at vertices only. Their
// vertices are one sequence, arc after arc. A place in the sequence is called a
// step. When vertices are dropped, the steps of an arc remain linked.
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
func newArcs(lines []Line, reg *ShareSets) *arcs {
	a := &arcs{at: make([]Point, 0, 2*len(lines))}
	for _, l := range lines {
		a.at = append(a.at, l.A, l.B)
	}
	sortPoints(a.at)
	a.at = slices.Clip(slices.Compact(a.at))
	n := newNetwork(lines, a.at, reg)
	a.steps = make([]int32, 0, len(lines)+len(lines)/8)
	for v := range int32(len(a.at)) {
		if n.junction(v) {
			for _, i := range n.linesAt(v) {
				if !n.done[i] {
					a.walk(n, v, i)
				}
			}
		}
	}
	// Lines left over are rings without a junction: islands.
	for i := range int32(len(lines)) {
		if !n.done[i] {
			a.walk(n, n.ends[i][0], i)
		}
	}
	a.link()
	return a
}

// walk adds the arc that leaves vertex v along line i.
func (a *arcs) walk(n *network, v, i int32) {
	who := n.leaving(i, v)
	first := int32(len(a.steps))
	a.steps = append(a.steps, v)
	for start := v; ; {
		n.done[i] = true
		v = other(n.ends[i], v)
		a.steps = append(a.steps, v)
		if v == start || n.junction(v) {
			break
		}
		i = other([2]int32(n.linesAt(v)), i)
	}
	a.arcs = append(a.arcs, arc{first, int32(len(a.steps)) - 1, who})
}

func other(pair [2]int32, one int32) int32 {
	if pair[0] == one {
		return pair[1]
	}
	return pair[0]
}

// network finds the lines at each vertex of an arrangement.
type network struct {
	lines    []Line
	vertices []Point
	reg      *ShareSets
	ends     [][2]int32 // vertices of each line
	around   []int32    // lines at each vertex, vertex after vertex
	starts   []int32    // of each vertex in around
	done     []bool     // lines that are in an arc already
}

func newNetwork(lines []Line, vertices []Point, reg *ShareSets) *network {
	n := &network{
		lines: lines, vertices: vertices, reg: reg,
		ends:   make([][2]int32, len(lines)),
		around: make([]int32, 2*len(lines)),
		starts: make([]int32, len(vertices)+1),
		done:   make([]bool, len(lines)),
	}
	a := 0
	for i, l := range lines {
		for vertices[a] != l.A {
			a++ // lines are sorted
		}
		n.ends[i] = [2]int32{int32(a), int32(placeAfter(vertices, a, l.B))}
		n.starts[n.ends[i][0]+1]++
		n.starts[n.ends[i][1]+1]++
	}
	for i := 1; i < len(n.starts); i++ {
		n.starts[i] += n.starts[i-1]
	}
	fill := slices.Clone(n.starts[:len(vertices)])
	for i, e := range n.ends {
		for _, v := range e {
			n.around[fill[v]] = int32(i)
			fill[v]++
		}
	}
	return n
}

// placeAfter returns the index of a point in sorted points. The index is greater than after, and
// usually near it.
func placeAfter(points []Point, after int, p Point) int {
	from, to := after+1, after+1
	for step := 1; to < len(points) && ComparePoints(points[to], p) < 0; step *= 2 {
		from, to = to+1, to+step
	}
	i, _ := slices.BinarySearchFunc(points[from:min(to+1, len(points))], p, ComparePoints)
	return from + i
}

func (n *network) linesAt(v int32) []int32 { return n.around[n.starts[v]:n.starts[v+1]] }

// leaving returns the share set of line i in the direction that leaves vertex v.
func (n *network) leaving(i, v int32) int32 {
	if n.ends[i][0] == v {
		return n.lines[i].ShareSet
	}
	return n.reg.reversed(n.lines[i].ShareSet)
}

// junction reports whether arcs end at vertex v.
func (n *network) junction(v int32) bool {
	at := n.linesAt(v)
	x := n.vertices[v].X
	return len(at) != 2 || x == 0 || x == WorldSize ||
		n.leaving(at[0], v) != n.reg.reversed(n.leaving(at[1], v))
}

// link links the steps of each arc.
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

// point returns the point of a step.
func (a *arcs) point(step int32) Point { return a.at[a.steps[step]] }

// Lines returns the arrangement after simplification.
func (a *arcs) Lines(reg *ShareSets) []Line {
	n := 0
	for _, arc := range a.arcs {
		for s := arc.first; a.next[s] != noStep; s = a.next[s] {
			n++
		}
	}
	out := make([]Line, 0, n)
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
