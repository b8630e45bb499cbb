package grid

import (
	"testing"

	"pgregory.net/rapid"
)

func TestEdgeTable(t *testing.T) {
	var table EdgeTable
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(1, 3).Draw(rt, "sets") {
			n := rapid.SampledFrom([]int{0, 1, 20, 300}).Draw(rt, "edges")
			table.Reset(n)
			want := map[Edge]int32{}
			for range n {
				e := Edge{drawPoint(rt, 3), drawPoint(rt, 3)}
				if was, ok := want[e]; !ok && table.Find(e) != -1 || ok && table.Find(e) != was {
					rt.Fatalf("%v has the number %d, want %d, %t", e, table.Find(e), was, ok)
				}
				if _, ok := want[e]; !ok {
					want[e] = int32(len(want))
				}
				if got := table.Number(e, int32(len(want))-1); got != want[e] {
					rt.Fatalf("%v gets the number %d, want %d", e, got, want[e])
				}
			}
		}
	})
}
