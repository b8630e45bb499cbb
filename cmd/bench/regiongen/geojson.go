package regiongen

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
)

// Write writes a level as a GeoJSON FeatureCollection, one feature a line, with
// the properties code and name. It holds one region at a time in memory.
func (l *Land) Write(w io.Writer, level Level) error {
	out := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprintf(out, "{\"type\":\"FeatureCollection\",\"features\":[")
	members := make([][]int32, l.Len(level))
	for i, r := range l.parent[level] {
		members[r] = append(members[r], int32(i))
	}
	var text []byte
	first := true
	for r, cells := range members {
		polygons := l.dissolve(cells)
		if len(polygons) == 0 {
			continue
		}
		text = text[:0]
		if !first {
			text = append(text, ',')
		}
		first = false
		text = append(text, "\n{\"type\":\"Feature\",\"properties\":{\"code\":\""...)
		text = append(text, levelNames[level][0])
		text = strconv.AppendInt(text, int64(r), 10)
		text = append(text, "\",\"name\":\""...)
		text = l.appendName(text, level, r)
		text = append(text, "\"},\"geometry\":"...)
		text = append(appendGeometry(text, polygons), '}')
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n]}\n")
	return out.Flush()
}

var syllables = [...]string{"ba", "dor", "el", "fen", "gar", "hol", "in", "ka", "lun", "mar", "nor", "os", "pel", "ra", "sund",
	"tor", "ul", "ven", "wald", "zen"}

func (l *Land) appendName(dst []byte, level Level, region int) []byte {
	rnd := rand.New(rand.NewPCG(l.seed, uint64(level)<<32|uint64(region)))
	start := len(dst)
	for range 2 + rnd.IntN(3) {
		dst = append(dst, syllables[rnd.IntN(len(syllables))]...)
	}
	dst[start] -= 'a' - 'A'
	return dst
}

// dissolve returns the polygons of the union of cells, each with its shell first and then its
// holes. Edges that two of the cells share are removed.
func (l *Land) dissolve(cells []int32) (polygons [][][]point) {
	type edge struct{ a, b point }
	var edges []edge
	inner := map[edge]bool{}
	for _, c := range cells {
		corners := l.cell(c)
		if len(corners) < 3 {
			continue
		}
		for i, a := range corners {
			e := edge{a, corners[(i+1)%len(corners)]}
			edges = append(edges, e)
			inner[e] = true
		}
	}
	leaving := map[point][]point{}
	for _, e := range edges {
		if !inner[edge{e.b, e.a}] {
			leaving[e.a] = append(leaving[e.a], e.b)
		}
	}
	var shells, holes [][]point
	for _, e := range edges {
		if inner[edge{e.b, e.a}] {
			continue
		}
		// Walk until the line returns to one of its vertices, and cut the ring
		// off there.
		var path []point
		place := map[point]int{}
		for at := e.a; ; {
			if from, ok := place[at]; ok {
				ring := slices.Clone(path[from:])
				for _, p := range ring {
					delete(place, p)
				}
				path = path[:from]
				if area := ringArea(ring); area > 0 {
					shells = append(shells, ring)
				} else if area < 0 {
					holes = append(holes, ring)
				}
			}
			next := leaving[at]
			if len(next) == 0 {
				break
			}
			place[at] = len(path)
			path = append(path, at)
			leaving[at] = next[:len(next)-1]
			at = next[len(next)-1]
		}
	}
	for _, s := range shells {
		polygons = append(polygons, [][]point{s})
	}
	for _, h := range holes {
		best := -1
		for i, s := range shells {
			if holds(s, h) && (best < 0 || ringArea(s) < ringArea(shells[best])) {
				best = i
			}
		}
		if best >= 0 {
			polygons[best] = append(polygons[best], h)
		}
	}
	return polygons
}

// ringArea returns twice the area of a ring, positive if it is counterclockwise.
func ringArea(r []point) (sum float64) {
	for i, p := range r {
		q := r[(i+1)%len(r)]
		sum += float64(p.x-r[0].x)*float64(q.y-r[0].y) - float64(q.x-r[0].x)*float64(p.y-r[0].y)
	}
	return sum
}

// holds reports whether a shell holds a hole, by the middle of the hole's first
// edge.
func holds(shell, hole []point) bool {
	x, y := float64(hole[0].x+hole[1].x)/2, float64(hole[0].y+hole[1].y)/2
	in := false
	for i, p := range shell {
		q := shell[(i+1)%len(shell)]
		if (float64(p.y) > y) != (float64(q.y) > y) && x < float64(p.x)+float64(q.x-p.x)*(y-float64(p.y))/float64(q.y-p.y) {
			in = !in
		}
	}
	return in
}

func appendGeometry(dst []byte, polygons [][][]point) []byte {
	if len(polygons) == 1 {
		dst = append(dst, `{"type":"Polygon","coordinates":`...)
		return append(appendPolygon(dst, polygons[0]), '}')
	}
	dst = append(dst, `{"type":"MultiPolygon","coordinates":[`...)
	for i, p := range polygons {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendPolygon(dst, p)
	}
	return append(dst, "]}"...)
}

func appendPolygon(dst []byte, rings [][]point) []byte {
	dst = append(dst, '[')
	for i, r := range rings {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '[')
		for _, p := range r {
			dst = append(appendPoint(dst, p), ',')
		}
		dst = append(appendPoint(dst, r[0]), ']')
	}
	return append(dst, ']')
}

func appendPoint(dst []byte, p point) []byte {
	dst = strconv.AppendFloat(append(dst, '['), float64(p.x)/1e7, 'f', -1, 64)
	dst = strconv.AppendFloat(append(dst, ','), float64(p.y)/1e7, 'f', -1, 64)
	return append(dst, ']')
}
