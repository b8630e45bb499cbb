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
			table.Reset(rapid.IntRange(0, n).Draw(rt, "expected"))
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

// TestEdgeTableGrows tests that a table takes the memory of its distinct edges.
func TestEdgeTableGrows(t *testing.T) {
	var table EdgeTable
	table.Reset(100_000_000)
	if len(table.slots) > 4*mostExpected {
		t.Errorf("%d slots before any edge", len(table.slots))
	}
	for round := range int32(2) {
		for i := range int32(3 * mostExpected) {
			e := Edge{Point{i, 0}, Point{i, round}}
			if n := table.Number(e, i); n != i || table.Find(e) != i {
				t.Fatalf("edge %d is %d", i, n)
			}
		}
		table.Reset(1)
	}
}
