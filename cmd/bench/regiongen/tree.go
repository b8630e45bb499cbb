package regiongen

import (
	"cmp"
	"slices"
)

// tree finds the sites nearest to a place. It halves them alternately along x and y.
type tree struct {
	sites []site
	order []int32 // of the sites: the middle site of each part divides it
}

// found is a site with its squared distance.
type found struct {
	index    int32
	distance float64
}

func newTree(sites []site) *tree {
	t := &tree{sites: sites, order: make([]int32, len(sites))}
	for i := range t.order {
		t.order[i] = int32(i)
	}
	t.split(t.order, true)
	return t
}

func (t *tree) split(part []int32, byX bool) {
	if len(part) < 2 {
		return
	}
	slices.SortFunc(part, func(a, b int32) int {
		p, q := t.sites[a], t.sites[b]
		if byX {
			return cmp.Or(cmp.Compare(p.x, q.x), cmp.Compare(a, b))
		}
		return cmp.Or(cmp.Compare(p.y, q.y), cmp.Compare(a, b))
	})
	middle := len(part) / 2
	t.split(part[:middle], !byX)
	t.split(part[middle+1:], !byX)
}

// nearest returns the k nearest sites, or all if there are fewer, nearest
// first. It uses dst.
func (t *tree) nearest(at site, k int, dst []found) []found {
	dst = dst[:0]
	var visit func(part []int32, byX bool)
	visit = func(part []int32, byX bool) {
		if len(part) == 0 {
			return
		}
		middle := len(part) / 2
		i := part[middle]
		s := t.sites[i]
		dx, dy := at.x-s.x, at.y-s.y
		if f := (found{i, dx*dx + dy*dy}); len(dst) < k || f.distance < dst[k-1].distance {
			if len(dst) == k {
				dst = dst[:k-1]
			}
			n, _ := slices.BinarySearchFunc(dst, f, func(a, b found) int { return cmp.Compare(a.distance, b.distance) })
			dst = slices.Insert(dst, n, f)
		}
		across := dx
		if !byX {
			across = dy
		}
		here, there := part[:middle], part[middle+1:]
		if across > 0 {
			here, there = there, here
		}
		visit(here, !byX)
		if len(dst) < k || across*across < dst[len(dst)-1].distance {
			visit(there, !byX)
		}
	}
	visit(t.order, true)
	return dst
}
