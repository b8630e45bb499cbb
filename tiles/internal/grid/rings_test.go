package grid

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestLinkedRings compares rings of linked edges with those of walks over sorted edges.
func TestLinkedRings(t *testing.T) {
	linked := 0
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.SampledFrom([]int{6, 40, 4000}).Draw(rt, "extent")
		var clip Clipper
		b := Box{int32(-n / 2), int32(-n / 2), int32(n / 2), int32(n / 2)}
		chain := drawChain(rt, n)
		edges := slices.Clone(clip.Clip(chain, WindingFromNorth(chain, b.Corner()), b, 0))
		var links, walks assembler
		if !links.link(edges) {
			return
		}
		linked++
		links.simple(edges)
		walks.seen = map[Point]int{}
		sorted := walks.sortAndCancel(slices.Clone(edges))
		for i := range sorted {
			if !walks.used[i] {
				walks.walk(sorted, i)
			}
		}
		if !slices.EqualFunc(links.rings, walks.rings, slices.Equal) {
			rt.Fatalf("rings of links are %v, of walks %v, of %v", links.rings, walks.rings, edges)
		}
	})
	if linked == 0 {
		t.Error("no edges could be linked")
	}
}

func TestLinkRefusesChoices(t *testing.T) {
	p, q, r, s := Pt(0, 0), Pt(4, 0), Pt(4, 4), Pt(0, 4)
	for name, edges := range map[string][]Edge{
		"two edges leave a vertex":        {{p, q}, {q, r}, {r, p}, {p, r}, {r, s}, {s, p}},
		"two edges end at a vertex":       {{p, q}, {q, r}, {r, q}},
		"nothing leaves the last vertex":  {{p, q}, {q, r}},
		"an edge ends where it begins":    {{p, p}, {p, q}, {q, p}},
		"the same edge twice":             {{p, q}, {p, q}, {q, p}, {q, p}},
		"more edges than mostLinked":      make([]Edge, mostLinked+1),
		"two edges end, one never begins": {{p, r}, {q, r}, {r, p}},
	} {
		if new(assembler).link(edges) {
			t.Errorf("%s: linked", name)
		}
	}
}
