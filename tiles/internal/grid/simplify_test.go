package grid

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestVertexTree compares the tree with a test of every vertex, while vertices are removed.
func TestVertexTree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.SampledFrom([]int{3, 30, 1 << 24}).Draw(rt, "extent")
		at := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) Point { return drawPoint(rt, n) }), 3, 200).Draw(rt, "vertices")
		slices.SortFunc(at, ComparePoints)
		at = slices.Compact(at)
		tree := newVertexTree(at)
		gone := make([]bool, len(at))
		vertex := rapid.IntRange(0, len(at)-1)
		for range 20 {
			a, b, c := vertex.Draw(rt, "a"), vertex.Draw(rt, "b"), vertex.Draw(rt, "c")
			want := false
			for v, p := range at {
				if v == a || v == b || v == c || gone[v] {
					continue
				}
				s, u, w := side(Edge{at[a], at[b]}, p), side(Edge{at[b], at[c]}, p), side(Edge{at[c], at[a]}, p)
				box := BoxOf([]Edge{{at[a], at[b]}, {at[b], at[c]}, {at[c], at[a]}})
				want = want || inBox(p, box) && (min(s, u, w) >= 0 || max(s, u, w) <= 0)
			}
			if got := tree.anyIn(at[a], at[b], at[c], int32(a), int32(b), int32(c)); got != want {
				rt.Fatalf("a vertex in %v %v %v: %t, want %t", at[a], at[b], at[c], got, want)
			}
			if v := vertex.Draw(rt, "removed"); !gone[v] {
				gone[v] = true
				tree.remove(int32(v))
			}
		}
	})
}

func TestTriangles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var queue, want triangles
		draw := func() {
			tr := triangle{int64(rapid.IntRange(0, 9).Draw(rt, "size")), int32(rapid.IntRange(0, 9).Draw(rt, "step"))}
			queue, want = append(queue, tr), append(want, tr)
		}
		for range rapid.IntRange(0, 20).Draw(rt, "first") {
			draw()
		}
		queue.heapify()
		for range rapid.IntRange(0, 20).Draw(rt, "later") {
			draw()
			tr := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			queue.push(tr)
		}
		slices.SortFunc(want, func(t, u triangle) int {
			if t.less(u) {
				return -1
			}
			return 1
		})
		for _, w := range want {
			if got := queue.pop(); got != w {
				rt.Fatalf("got %v, want %v", got, w)
			}
		}
	})
}
