package build

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// Tiles are measured before any is written. Bounds on the bytes of an edge and of a region show
// that most cannot be too large. The few others are encoded and compressed as in a build. The
// bounds count a region only in tiles in which it has a line. A region that covers a whole tile
// takes only a few bytes there, and many regions cover one tile only if they overlap.

// These are bounds on the compressed bytes that a region adds to a tile, in either form: for each
// of its edges, and for the region itself with an id and a name.
const (
	edgeBytes   = 12
	regionBytes = 100
)

// boundBytes bounds the compressed bytes of a region in a tile, without its edges.
func (r *region) boundBytes() int { return regionBytes + 3*len(r.id) + 2*len(r.name) }

// tileSize is the size of an encoded tile.
type tileSize struct {
	tile   quadkey.Tile
	layers []layerSize
}

// layerSize is the size of a layer in a tile.
type layerSize struct {
	bytes int // compressed size of the larger of the two forms
	value int // the largest value to be stored
	edges int
	heads []int32 // the regions that give its polygons their names
}

// bytes returns an upper bound on the compressed size of all layers together: they compress
// together at least as well as one by one.
func (t *tileSize) bytes() (sum int) {
	for i := range t.layers {
		sum += t.layers[i].bytes
	}
	return sum
}

// value returns the largest value to be stored, with its layer.
func (t *tileSize) value() (layer, value int) {
	for i := range t.layers {
		if t.layers[i].value > value {
			layer, value = i, t.layers[i].value
		}
	}
	return layer, value
}

// view is the arrangement at one zoom with the regions that the zoom shows.
type view struct {
	zoom  int
	lines []grid.Line
	// shown has the regions by layer, with the merged ones, in the order of their cells.
	shown [][]*region
	count int // numbers of regions
}

// meter measures some or all tiles of a view.
type meter struct {
	b      *build
	view   *view
	reg    *grid.ShareSets
	walker walker
	heavy  []quadkey.Key // tiles that may be too large, sorted
	absent []placed      // regions without a polygon at this zoom, by place
	found  []tileSize
	tile   []byte
	gz     *gzip.Writer
	label  layout.LayerWriter
}

// placed is a region with the tile of the view that holds its label, approximately.
type placed struct {
	tile  quadkey.Tile
	key   quadkey.Key
	layer int
	r     *region
}

// measure returns the tiles of a view that may have more than limit compressed bytes, each with its
// size. A tile that it leaves out is within the limit.
func (b *build) measure(ctx context.Context, v *view, reg *grid.ShareSets, limit int) ([]tileSize, error) {
	m := &meter{b: b, view: v, reg: reg}
	if m.findHeavy(limit); len(m.heavy) == 0 {
		return nil, ctx.Err()
	}
	scratch := &build{opts: b.opts, families: b.families}
	for i, l := range b.layers {
		l.shown = v.shown[i]
		scratch.layers = append(scratch.layers, l)
	}
	root := m.root()
	parts := make([]meter, min(b.opts.Workers, mostMeters, len(m.heavy)))
	group, ctx := errgroup.WithContext(ctx)
	for i := range parts {
		p := &parts[i]
		*p = *m
		p.heavy = m.heavy[i*len(m.heavy)/len(parts) : (i+1)*len(m.heavy)/len(parts)]
		p.walker = walker{b: scratch, rows: new(rows)}
		p.gz = gzip.NewWriter(nil)
		group.Go(func() error { return p.visit(ctx, &root) })
	}
	err := group.Wait()
	var found []tileSize
	for i := range parts {
		found = append(found, parts[i].found...)
	}
	return found, err
}

// tileRegion is a region that has a line in a tile.
type tileRegion struct {
	tile   quadkey.Tile
	region int32
}

// sumZoom is the deepest zoom at which every tile has a sum of its own.
const sumZoom = 9

// findHeavy bounds the size of every tile by the lines in it, and sets heavy.
func (m *meter) findHeavy(limit int) {
	byNumber := make([]*region, m.view.count)
	layerOf := make([]int, m.view.count)
	for i, shown := range m.view.shown {
		for _, r := range shown {
			byNumber[r.number], layerOf[r.number] = r, i
		}
	}
	present := make([]bool, m.view.count)
	weight := m.weights(byNumber, present)
	at := func(l grid.Line, z int) (x, y int) { // no line crosses a tile line
		last := int32(1)<<z - 1
		shift := grid.TileShift(z)
		return int(min(max((l.A.X+l.B.X)/2>>shift, 0), last)), int(min(max((l.A.Y+l.B.Y)/2>>shift, 0), last))
	}
	tooMany := func(n int) bool { return n+n/8 > limit } // an eighth more for the buffer
	zoom := min(m.view.zoom, sumZoom)
	sums := make([]int, 1<<(2*zoom))
	for _, l := range m.view.lines {
		x, y := at(l, zoom)
		sums[y<<zoom|x] += weight[l.ShareSet]
	}
	m.findAbsent(byNumber, layerOf, present)
	for _, p := range m.absent {
		t := p.tile.Ancestor(uint8(zoom))
		sums[int(t.Y)<<zoom|int(t.X)] += p.r.boundBytes()
	}
	heavy := map[quadkey.Tile]int{}
	for i, n := range sums {
		if tooMany(n) {
			heavy[quadkey.Tile{Z: uint8(zoom), X: uint32(i & (1<<zoom - 1)), Y: uint32(i >> zoom)}] = n
		}
	}
	if len(heavy) > 0 {
		// In the remaining tiles, count each region once.
		exact := map[quadkey.Tile]int{}
		seen := map[tileRegion]bool{}
		for _, l := range m.view.lines {
			if x, y := at(l, zoom); tooMany(sums[y<<zoom|x]) {
				x, y := at(l, m.view.zoom)
				t := quadkey.Tile{Z: uint8(m.view.zoom), X: uint32(x), Y: uint32(y)}
				for _, s := range m.reg.Shares(l.ShareSet) {
					exact[t] += edgeBytes
					if in := (tileRegion{t, s.Region}); !seen[in] {
						seen[in] = true
						exact[t] += byNumber[s.Region].boundBytes()
					}
				}
			}
		}
		for _, p := range m.absent {
			if _, ok := heavy[p.tile.Ancestor(uint8(zoom))]; ok {
				exact[p.tile] += p.r.boundBytes()
			}
		}
		heavy = exact
	}
	for t, n := range heavy {
		if tooMany(n) {
			m.heavy = append(m.heavy, t.Key())
		}
	}
	slices.SortFunc(m.heavy, compareKeys)
}

// weights returns, by set of shares, an upper bound on the bytes of a line. It marks in present the
// regions that have lines.
func (m *meter) weights(byNumber []*region, present []bool) []int {
	var weight []int
	for _, l := range m.view.lines {
		if n := int(l.ShareSet) + 1 - len(weight); n > 0 {
			weight = append(weight, make([]int, n)...)
		}
		if weight[l.ShareSet] > 0 {
			continue
		}
		for _, s := range m.reg.Shares(l.ShareSet) {
			present[s.Region] = true
			// A tile may contain a single line of a region.
			weight[l.ShareSet] += edgeBytes + byNumber[s.Region].boundBytes()
		}
	}
	return weight
}

// findAbsent finds the regions that have a label but no polygon at this zoom.
func (m *meter) findAbsent(byNumber []*region, layerOf []int, present []bool) {
	for number, r := range byNumber {
		if r == nil || present[number] || r.area == 0 || r.merged > 0 || int(r.shown) > m.view.zoom {
			continue
		}
		lon, lat := r.middle()
		if t, err := quadkey.TileAt(lon, lat, uint8(m.view.zoom)); err == nil {
			m.absent = append(m.absent, placed{t, t.Key(), layerOf[number], r})
		}
	}
	slices.SortFunc(m.absent, func(p, q placed) int {
		return cmp.Or(compareKeys(p.key, q.key), cmp.Compare(p.r.number, q.r.number))
	})
}

func compareKeys(k, l quadkey.Key) int { return bytes.Compare(k[:], l[:]) }

// middle returns the middle of a region's bounds, within the latitudes of tiles.
func (r *region) middle() (lon, lat float64) {
	lon, lat = (r.bounds[0]+r.bounds[2])/2, (r.bounds[1]+r.bounds[3])/2
	if r.bounds[0] > r.bounds[2] {
		if lon += 180; lon >= 180 {
			lon -= 360
		}
	}
	return lon, max(-quadkey.MaxLatitude, min(quadkey.MaxLatitude, lat))
}

// root returns the node of the whole world. Its only level is the zoom of the view.
func (m *meter) root() node {
	outer := grid.TileBox(0, 0, 0, true)
	n := node{quadkey.Tile{}, make([]layerNode, len(m.b.layers))}
	borders := grid.EdgesByRegion(m.view.lines, m.reg, m.view.count)
	for i := range m.b.layers {
		levels := make([]level, m.view.zoom+1)
		for j, r := range m.view.shown[i] {
			edges := borders[r.number]
			w := grid.PeriodicWinding(edges, outer.Corner())
			around := grid.Copies(edges, outer)
			borders[r.number] = nil
			if len(around) > 0 || w > 0 {
				levels[m.view.zoom] = append(levels[m.view.zoom], group{int32(j), w, around})
			}
		}
		n.layers[i] = layerNode{layer: i, kind: kindOf(levels), levels: levels}
	}
	return n
}

// visit measures the heavy tiles of a node that has such tiles.
func (m *meter) visit(ctx context.Context, n *node) error {
	if int(n.tile.Z) == m.view.zoom {
		m.found = append(m.found, m.weigh(n))
		return ctx.Err()
	}
	mem := &m.walker.mem
	for _, t := range n.tile.Children() {
		first, last := t.KeyRange()
		if i, _ := slices.BinarySearchFunc(m.heavy, first, compareKeys); i == len(m.heavy) || compareKeys(m.heavy[i], last) > 0 {
			continue
		}
		mark := mem.mark()
		c := mem.child(n, t)
		if err := m.visit(ctx, &c); err != nil {
			return err
		}
		mem.release(mark)
	}
	return nil
}

// weigh encodes a tile.
func (m *meter) weigh(n *node) tileSize {
	size := tileSize{n.tile, make([]layerSize, len(m.b.layers))}
	key := n.tile.Key()
	from, _ := slices.BinarySearchFunc(m.absent, key, func(p placed, k quadkey.Key) int { return compareKeys(p.key, k) })
	for i := range n.layers {
		ln := &n.layers[i]
		layer := &m.walker.b.layers[ln.layer]
		s := &size.layers[ln.layer]
		rows := m.walker.rows
		rows.reset()
		// A row that is a leaf at this zoom may be mixed because of deeper
		// zooms. It has the same polygons.
		if ln.kind != nodeEmpty {
			m.walker.mixed(n.tile, ln)
		}
		m.label.Reset(layer.typ + layout.LayerLabel)
		for _, g := range ln.levels[0] {
			r := layer.shown[g.region]
			s.heads = append(s.heads, r.head)
			s.edges += len(g.edges)
			if r.named() {
				m.addLabel(r, len(g.edges))
			}
		}
		for _, p := range m.absent[from:] {
			if p.key != key {
				break
			}
			if p.layer == ln.layer {
				s.heads = append(s.heads, p.r.head)
				m.addLabel(p.r, 0)
			}
		}
		m.tile = m.tile[:0]
		for _, c := range rows.cells {
			s.value = max(s.value, c.end-c.start)
			if c.family == layer.familyMVT {
				m.tile = append(m.tile, rows.bytes[c.start+1:c.end]...)
			}
		}
		labels := m.label.AppendTo(nil)
		s.value = max(s.value, len(labels)+1)
		s.bytes = m.compressed(append(m.tile, labels...))
		m.tile = m.tile[:0]
		for _, c := range rows.cells {
			if c.family == layer.family {
				m.tile = append(append(m.tile, rows.bytes[c.start+1:c.end]...), ',')
			}
		}
		s.bytes = max(s.bytes, m.compressed(m.tile))
	}
	return size
}

// addLabel adds a label of a region at an arbitrary place, because its size hardly depends on the
// place.
func (m *meter) addLabel(r *region, at int) {
	m.label.BeginLabel(r.tag, r.id, r.name, int64(r.number))
	m.label.Point(grid.Pt(int32(r.tag)&(mvt.Extent-1), int32(r.tag>>12+uint64(at))&(mvt.Extent-1)))
	m.label.End()
}

// compressed returns the size of b after gzip.
func (m *meter) compressed(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	var n counter
	m.gz.Reset(&n)
	_, _ = m.gz.Write(b) // a counter does not fail
	_ = m.gz.Close()
	return int(n)
}

// counter counts the bytes written to it.
type counter int

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}
