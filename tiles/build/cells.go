package build

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"slices"

	"quadrille/quadkey"
	"quadrille/tiles/internal/cells"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// splitBytes is the size from which on the answers of a tile of zoom 8 are divided into several
// rows. A lookup decodes one of them, which takes about a millisecond at this size.
const splitBytes = 128 << 10

// prepareAnswers gives the regions of each layer their order in answers: the smallest bounds first,
// as records have them. The order of drawing decides between equal ones.
func (b *build) prepareAnswers() {
	b.stamp = b.levels.stamp(b.sourceRegions())
	for i := range b.layers {
		l := &b.layers[i]
		if l.seal = cells.NewSeal(b.stamp, l.typ); l.lines {
			continue
		}
		size := make(map[*region]float64, len(l.regions))
		for _, r := range l.regions {
			size[r] = r.recordBounds().SquareDegrees()
		}
		l.byRank = slices.Clone(l.regions)
		slices.SortFunc(l.byRank, func(r, s *region) int {
			return cmp.Or(cmp.Compare(size[r], size[s]), cmp.Compare(s.area, r.area), cmp.Compare(r.number, s.number))
		})
		for n, r := range l.byRank {
			r.rank = int32(n)
		}
	}
}

// stamp returns a hash of the borders and names of all regions. It depends neither on the order of
// the lines nor on the numbers of their share sets, which vary between builds of one source.
func (lv *levels) stamp(regions []*region) uint32 {
	var buf []byte
	hash := func(seed uint32, values ...int32) uint32 {
		buf = buf[:0]
		for _, v := range values {
			buf = binary.LittleEndian.AppendUint32(buf, uint32(v))
		}
		return crc32.Update(seed, crc32.IEEETable, buf)
	}
	all := lv.reg.All()
	sets := make([]uint32, len(all))
	for i, set := range all {
		for _, s := range set {
			sets[i] += hash(0, s.Region, s.Times)
		}
	}
	sum := uint32(0)
	for _, l := range lv.lines[grid.MaxZoom] {
		sum += hash(sets[l.ShareSet], l.A.X, l.A.Y, l.B.X, l.B.Y)
	}
	for _, r := range regions {
		sum = crc32.Update(sum, crc32.IEEETable, r.feature)
	}
	return max(sum, 1)
}

// cellWriter collects the finished answers of each layer in the current tile of zoom 8, and makes
// rows of them.
type cellWriter struct {
	b      *build
	layers []cells.Builder
	value  []byte
	parts  []cellPart
	part   cells.Builder
	tile   tileAnswers
	ring   []grid.Point
}

// cellPart is a row of answers that were divided.
type cellPart struct {
	first  uint16
	family int
	value  []byte
}

func newCellWriter(b *build) *cellWriter {
	return &cellWriter{b: b, layers: make([]cells.Builder, len(b.layers))}
}

// leaf adds a leaf to the answers of a layer. A leaf of zoom 8 or above gets a row at once.
func (w *cellWriter) leaf(rows *rows, t quadkey.Tile, layer int, shown level) {
	l := &w.b.layers[layer]
	regions := make([]int32, 0, 4)
	for _, g := range shown {
		regions = append(regions, l.shown[g.region].rank)
	}
	if t.Z > cells.Zoom {
		first, _ := t.AtZoom(grid.MaxZoom)
		w.layers[layer].Whole(cells.TileIn(first), 1<<(2*(grid.MaxZoom-t.Z)), regions...)
		return
	}
	w.part.Reset()
	w.part.Whole(0, cells.Tiles, regions...)
	key := t.Key()
	rows.cell(l.familyCells, "", func(dst []byte) []byte { return append(dst, w.encode(layer, &w.part, key[:])...) })
}

// encode returns the sealed answers of a layer, valid until the next call. It returns nothing if
// there are none.
func (w *cellWriter) encode(layer int, answers *cells.Builder, key []byte) []byte {
	l := &w.b.layers[layer]
	w.value = answers.AppendTo(w.value[:0], func(n int32) (id, name string) {
		return l.byRank[n].id, l.byRank[n].name
	})
	if len(w.value) > 0 {
		w.value = l.seal.Append(w.value, key)
	}
	return w.value
}

// finish adds the answers of a tile of zoom 8 to its row, which must be the last one begun. It
// empties the answers of all layers. Rows for answers that were divided wait for writeParts.
func (w *cellWriter) finish(rows *rows, t quadkey.Tile) {
	key := t.Key()
	for i := range w.layers {
		answers := &w.layers[i]
		value := w.encode(i, answers, key[:])
		if len(value) == 0 {
			continue
		}
		if len(value) > splitBytes {
			value = w.split(i, key, value)
		}
		rows.cell(w.b.layers[i].familyCells, "", func(dst []byte) []byte { return append(dst, value...) })
		answers.Reset()
	}
}

// split divides the answers of a layer into rows of tiles of one zoom, and returns the value that
// says so: the first zoom at which all rows are short, or the last that makes them much shorter.
// Where the names of regions that hold everything are most of a row, it returns whole.
func (w *cellWriter) split(layer int, key quadkey.Key, whole []byte) []byte {
	whole = slices.Clone(whole)
	zooms, largest := 0, len(whole)
	for largest > splitBytes && zooms < grid.MaxZoom-cells.Zoom {
		next := 0
		w.eachPart(layer, key, zooms+1, func(_ uint16, value []byte) { next = max(next, len(value)) })
		if next > largest/4*3 {
			break
		}
		zooms, largest = zooms+1, next
	}
	if zooms == 0 {
		return whole
	}
	n := cells.Tiles >> (2 * zooms)
	divided := append([]byte{layout.MarkSplit, byte(zooms)}, make([]byte, layout.PartBytes(zooms))...)
	w.eachPart(layer, key, zooms, func(first uint16, value []byte) {
		part := int(first) / n
		divided[2+part/8] |= 1 << (part % 8)
		w.parts = append(w.parts, cellPart{first, w.b.layers[layer].familyCells, slices.Clone(value)})
	})
	return w.b.layers[layer].seal.Append(divided, key[:])
}

// eachPart calls fn with the parts of the answers of a layer that are not empty, by their first
// tiles.
func (w *cellWriter) eachPart(layer int, key quadkey.Key, zooms int, fn func(first uint16, value []byte)) {
	n := cells.Tiles >> (2 * zooms)
	for first := 0; first < cells.Tiles; first += n {
		w.part.Reset()
		w.part.Append(&w.layers[layer], first, n)
		if value := w.encode(layer, &w.part, layout.PartKey(key, uint16(first))); len(value) > 0 {
			fn(uint16(first), value)
		}
	}
}

// writeParts adds the rows of divided answers after the row of their tile of zoom 8.
func (w *cellWriter) writeParts(rows *rows, t quadkey.Tile) {
	slices.SortFunc(w.parts, func(p, q cellPart) int { return cmp.Or(cmp.Compare(p.first, q.first), p.family-q.family) })
	for i := 0; i < len(w.parts); {
		first := w.parts[i].first
		rows.begin(t.Key())
		rows.keys[len(rows.keys)-1].part = layout.PartKey(t.Key(), first)
		for ; i < len(w.parts) && w.parts[i].first == first; i++ {
			rows.cell(w.parts[i].family, "", func(dst []byte) []byte { return append(dst, w.parts[i].value...) })
		}
		rows.end()
	}
	w.parts = w.parts[:0]
}

// tileAnswers are the answers of a layer in a tile with borders. nil collects nothing.
type tileAnswers struct {
	*cells.Builder
	w *cellWriter
}

// begin starts a tile with borders. It returns nil above zoom 13, which has no answers of its own,
// and for a nil cellWriter.
func (w *cellWriter) begin(t quadkey.Tile, layer int) *tileAnswers {
	if w == nil || t.Z < grid.MaxZoom {
		return nil
	}
	w.tile = tileAnswers{&w.layers[layer], w}
	w.tile.Begin(cells.TileIn(t))
	return &w.tile
}

// whole adds a region that holds the whole tile.
func (a *tileAnswers) whole(r *region) {
	if a != nil {
		a.Region(r.rank)
		a.Ring(layout.BufferedSquare)
	}
}

// polygons adds the polygons of a region, cut to the buffered tile with the given corner.
func (a *tileAnswers) polygons(r *region, polys []grid.Polygon, corner grid.Point) {
	if a == nil {
		return
	}
	a.Region(r.rank)
	for _, p := range polys {
		for _, points := range p {
			ring := a.w.ring[:0]
			for _, q := range points {
				ring = append(ring, q.In(corner, 0))
			}
			a.Ring(ring)
			a.w.ring = ring
		}
	}
}

func (a *tileAnswers) end() {
	if a != nil {
		a.End()
	}
}

// handOver moves the answers of a task below zoom 8 to its rows.
func (w *cellWriter) handOver(rows *rows) {
	if rows.answers == nil {
		rows.answers = make([]cells.Builder, len(w.layers))
	}
	w.layers, rows.answers = rows.answers, w.layers
	for i := range w.layers {
		w.layers[i].Reset()
	}
}

// join adds the answers of a task that are of a part of a tile of zoom 8. The task of the tile
// itself comes after these, and gets the answers of all.
func (w *cellWriter) join(rows *rows, t *task) {
	switch {
	case t.tile.Z > cells.Zoom:
		for i := range rows.answers {
			w.layers[i].Append(&rows.answers[i], 0, cells.Tiles)
		}
	case t.tile.Z == cells.Zoom && !t.deep:
		if len(rows.keys) == 0 {
			rows.begin(t.tile.Key())
		}
		w.finish(rows, t.tile)
		rows.end()
		w.writeParts(rows, t.tile)
	}
}
