package points

import (
	"context"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"quadrille/cellstore"
	"quadrille/internal/must"
	"quadrille/quadkey"
)

// emptyTable is a Table that only makes snapshots.
type emptyTable struct{ cellstore.Table }

func (emptyTable) Snapshot(context.Context) (cellstore.Snapshot, error) { return emptySnapshot{}, nil }

type emptySnapshot struct{ cellstore.Snapshot }

func (emptySnapshot) Close() error { return nil }

// treeModel is a tree with the points that it should count.
type treeModel struct {
	views   *views
	tree    *tree
	points  map[int]counted
	arrived []counted // expected, not settled yet
	asked   []*asked
	next    int // id of a point
}

// asked is a running search. It must find the points of its state that have at least one of its
// bits.
type asked struct {
	view     *view
	state    map[int]counted
	mask     uint64 // 0 for none
	frontier []branch
	found    map[int]bool
}

// drawCounted draws points so close to each other that leaves become full, and that some points
// have the same key.
func drawCounted(t *rapid.T, label string) counted {
	near := rapid.SampledFrom([][2]int32{{0, 0}, {473000000, 85000000}, {900000000, 100000000}, {-100000000, 1800000000}}).Draw(t, label)
	spread := rapid.SampledFrom([]int32{1, 50, 1_000_000}).Draw(t, "spread")
	lat := max(min(near[0]+rapid.Int32Range(-spread, spread).Draw(t, "lat"), 90*unitsPerDegree), -90*unitsPerDegree)
	lon := max(min(near[1]+rapid.Int32Range(-spread, spread).Draw(t, "lon"), 180*unitsPerDegree), -180*unitsPerDegree)
	return counted{positionOf(lat, lon), 1 << rapid.IntRange(0, 5).Draw(t, "bit")}
}

func newTreeModel(t *rapid.T) *treeModel {
	tree := newTree()
	m := &treeModel{views: newViews(emptyTable{}, tree), tree: tree, points: map[int]counted{}}
	m.views.behind = rapid.SampledFrom([]uint64{1, 30, 200, maxBehind}).Draw(t, "behind")
	return m
}

// commit makes a step of a collection: points arrive, move, leave or change their bits. It
// sometimes fails.
func (m *treeModel) commit(t *rapid.T) {
	var left []counted
	after := maps.Clone(m.points)
	arrive := func(id int, c counted) {
		m.arrived = append(m.arrived, c)
		after[id] = c
	}
	for range rapid.IntRange(0, 60).Draw(t, "arrive") {
		m.next++
		arrive(m.next, drawCounted(t, "near"))
	}
	ids := slices.Sorted(maps.Keys(m.points))
	skip := rapid.IntRange(1, 5).Draw(t, "skip")
	most := rapid.SampledFrom([]int{0, 3, 3}).Draw(t, "most") // with 0 all leave
	for i := rapid.IntRange(0, 4).Draw(t, "first"); i < len(ids); i += skip {
		id := ids[i]
		old := m.points[id]
		switch rapid.IntRange(0, most).Draw(t, "change") {
		case 0:
			left = append(left, counted{position: old.position})
			delete(after, id)
		case 1:
			left = append(left, counted{position: old.position})
			arrive(id, drawCounted(t, "to"))
		case 2:
			old.bits = drawCounted(t, "other").bits
			m.tree.mark(&old)
			after[id] = old
		}
	}
	m.tree.expect(m.arrived)
	m.check(t)
	arrived := m.arrived
	m.arrived = nil
	if rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
		m.tree.forget(arrived)
		return
	}
	m.points = after
	full := m.tree.settle(arrived, left, nil)
	m.views.committed(left)
	m.check(t)
	m.sweep(t)
	for _, tile := range full {
		if b := m.tree.find(tile); b.leaf && b.tile == tile && b.count > leafPoints {
			m.views.divide(&b, within(m.points, tile))
			m.check(t)
		}
	}
}

// sweep does the work between commits. After it the tree holds only points that running searches
// need.
func (m *treeModel) sweep(t *rapid.T) {
	m.views.sweep()
	if n := uint64(len(m.held())); n > m.views.behind {
		t.Fatalf("%d points are held, at most %d should be", n, m.views.behind)
	}
	m.check(t)
}

func within(points map[int]counted, tile quadkey.Tile) (list []counted) {
	for _, c := range points {
		if tile == c.key.Tile(tile.Z) {
			list = append(list, c)
		}
	}
	return list
}

// ask begins a search of the newest state.
func (m *treeModel) ask(t *rapid.T) {
	v := must.Get(m.views.acquire(t.Context())).In(t)
	a := &asked{view: v, state: maps.Clone(m.points), found: map[int]bool{}, frontier: []branch{m.tree.root()}}
	if rapid.Bool().Draw(t, "filter") {
		a.mask = 1 << rapid.IntRange(0, 5).Draw(t, "mask")
	}
	m.asked = append(m.asked, a)
}

// step continues a search, for a while or to its end.
func (m *treeModel) step(t *rapid.T) {
	if len(m.asked) == 0 {
		t.Skip("none asks")
	}
	i := rapid.IntRange(0, len(m.asked)-1).Draw(t, "search")
	a := m.asked[i]
	for steps := rapid.SampledFrom([]int{1, 3, 1 << 30}).Draw(t, "steps"); steps > 0 && len(a.frontier) > 0; steps-- {
		b := a.frontier[0]
		a.frontier = a.frontier[1:]
		if !a.view.blind.Load() && (b.count+b.held == 0 || a.mask != 0 && b.bits&a.mask == 0) {
			continue
		}
		if four, divided := m.tree.children(&b); divided && !a.view.blind.Load() {
			a.frontier = append(a.frontier, four[:]...)
			continue
		}
		for id, c := range a.state {
			if c.key.Tile(b.tile.Z) == b.tile && a.wants(c) {
				if a.found[id] {
					t.Fatalf("point %d is found twice", id)
				}
				a.found[id] = true
			}
		}
	}
	if len(a.frontier) > 0 {
		return
	}
	for id, c := range a.state {
		if a.wants(c) && !a.found[id] {
			t.Fatalf("point %d of bits %b is not found in %v", id, c.bits, c.key.Tile(quadkey.MaxZoom))
		}
	}
	m.views.release(a.view)
	m.asked = slices.Delete(m.asked, i, i+1)
}

func (a *asked) wants(c counted) bool { return a.mask == 0 || c.bits&a.mask != 0 }

// check compares the tree with the points.
func (m *treeModel) check(t *rapid.T) {
	used := map[uint32]bool{}
	var visit func(b branch)
	visit = func(b branch) {
		var want node
		list := within(m.points, b.tile)
		for i := range list {
			want.take(&list[i])
		}
		var held uint32
		for _, c := range m.held() {
			if c.key.Tile(b.tile.Z) == b.tile {
				held++
				want.bits |= c.bits
			}
		}
		if n := m.tree.nodes[b.at]; n.count != want.count || n.held != held || n.lat != want.lat || n.lon != want.lon ||
			n.bits&want.bits != want.bits {
			t.Fatalf("%v: %+v, want %+v and %d held", b.tile, n, want, held)
		}
		if four, divided := m.tree.children(&b); divided {
			first := m.tree.nodes[b.at].child
			if used[first] {
				t.Fatalf("%v shares its children", b.tile)
			}
			used[first] = true
			for i := range four {
				visit(four[i])
			}
		}
	}
	visit(m.tree.root())
	free := map[uint32]bool{}
	for _, first := range m.tree.free {
		if used[first] || free[first] {
			t.Fatalf("nodes %d are free twice or in use", first)
		}
		free[first] = true
	}
	m.checkRuns(t)
}

// held returns the points that the tree has but does not count: expected arrivals, and points that
// have left but that running searches may need.
func (m *treeModel) held() []counted {
	list := slices.Clone(m.arrived)
	for _, left := range m.views.left {
		list = append(list, left...)
	}
	return list
}

// checkRuns checks the counts and searches of some runs of keys.
func (m *treeModel) checkRuns(t *rapid.T) {
	first := drawCounted(t, "first").key
	last := max(first, drawCounted(t, "last").key)
	var parts []keyRange
	n := m.tree.count(&keyRange{first, last}, &parts)
	want := int64(0)
	for _, c := range m.points {
		if c.key < first || c.key > last {
			continue
		}
		want++
		for _, p := range parts {
			if c.key >= p.first && c.key <= p.last {
				n++
			}
		}
	}
	if n != want {
		t.Fatalf("%d points from %x to %x, want %d", n, first, last, want)
	}
	for _, a := range m.asked {
		if a.view.blind.Load() {
			continue
		}
		var masks []uint64
		if a.mask != 0 {
			masks = append(masks, a.mask)
		}
		missed := 0
		for _, c := range a.state {
			if c.key >= first && c.key <= last && a.wants(c) {
				missed++
			}
		}
		for from := first; ; {
			run, rest, found := m.tree.run(from, last, masks)
			if found && (run.first < from || run.last > last || run.first > run.last) {
				t.Fatalf("run %x from %x to %x", run, from, last)
			}
			for _, c := range a.state {
				if found && c.key >= run.first && c.key <= run.last && a.wants(c) {
					missed--
				}
			}
			if rest <= from || rest > last {
				break
			}
			from = rest
		}
		if missed != 0 {
			t.Fatalf("runs from %x to %x miss %d points", first, last, missed)
		}
	}
}

// While points arrive, leave and change during searches, the tree counts each point at its
// position, and every search finds the points of its own state, each once.
func TestTreeOfViews(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newTreeModel(t)
		t.Repeat(map[string]func(*rapid.T){"commit": m.commit, "ask": m.ask, "step": m.step, "sweep": m.sweep})
		for _, a := range slices.Clone(m.asked) {
			m.views.release(a.view)
		}
		m.asked = nil
		var left []counted // all
		for _, id := range slices.Sorted(maps.Keys(m.points)) {
			left = append(left, counted{position: m.points[id].position})
		}
		m.points = nil
		m.tree.settle(nil, left, nil)
		m.views.committed(left)
		m.sweep(t)
		if n := len(m.views.alive) + len(m.views.blind) + len(m.views.left) + len(m.views.unlinked); n > 0 {
			t.Fatalf("%d things are kept for nobody", n)
		}
		if n := len(m.tree.nodes) - 4*len(m.tree.free); n > 5 || m.tree.root().held > 0 {
			t.Fatalf("%d nodes of no points, %+v", n, m.tree.root())
		}
	})
}
