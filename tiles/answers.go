package tiles

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"quadrille/cellstore"
	"quadrille/cellstore/sieve"
	"quadrille/quadkey"
	"quadrille/tiles/internal/cells"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// DefaultCacheBytes is the memory for decoded answers unless SetCacheBytes changes it.
const DefaultCacheBytes = 64 << 20

// SetCacheBytes bounds the memory for the decoded answers of all Readers of the process, in bytes.
// One answer more may be in use by each call.
func SetCacheBytes(most int64) {
	decoded.mu.Lock()
	defer decoded.mu.Unlock()
	decoded.most = max(0, most)
	decoded.shrink()
}

// CacheStats describes the memory for the decoded answers of all Readers of the process.
type CacheStats struct {
	Bytes, MaxBytes int64
	// Reads counts the answers that were read and decoded, because they were not in memory.
	Reads int64
}

// Cache returns how the memory for decoded answers is used.
func Cache() CacheStats {
	decoded.mu.Lock()
	defer decoded.mu.Unlock()
	return CacheStats{decoded.list.Size(), decoded.most, decoded.reads}
}

// decoded has the decoded answers of all Readers, so that one bound holds for all.
var decoded = answerCache{most: DefaultCacheBytes}

type answerCache struct {
	mu   sync.Mutex
	list sieve.List[*cachedAnswer]
	most int64
	// reads counts what was added to list.
	reads int64
}

// cachedAnswer is a decoded block, or the answers of a tile of zoom 8 that are divided into
// several.
type cachedAnswer struct {
	block *cells.Block
	parts []answerSlot // if they are divided
	some  []byte       // a bit for each stored part that has regions
	place sieve.Entry[*cachedAnswer]
	home  *answerSlot
}

// nothing is the answer in every slot where no region is.
var nothing = cachedAnswer{block: cells.Empty}

type answerSlot struct{ atomic.Pointer[cachedAnswer] }

// keep puts an answer into a slot, unless another goroutine was faster. It returns the answer in
// the slot.
func (c *answerCache) keep(home *answerSlot, a *cachedAnswer) *cachedAnswer {
	const overhead = 128
	if a.block == cells.Empty { // most of the world, for most types: it takes no memory
		home.CompareAndSwap(nil, &nothing)
		return &nothing
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := home.Load(); first != nil {
		return first
	}
	a.home, a.place.Value, a.place.Size = home, a, overhead+8*int64(len(a.parts))
	if a.block != nil {
		a.place.Size += a.block.Size()
	}
	home.Store(a)
	c.list.Add(&a.place)
	c.reads++
	c.shrink()
	return a
}

func (c *answerCache) shrink() {
	for c.list.Size() > c.most {
		old := c.list.Evict().Value
		old.home.CompareAndSwap(old, nil)
		for i := range old.parts { // nothing leads to them any more
			if p := old.parts[i].Load(); p != nil {
				c.list.Remove(&p.place)
			}
		}
	}
}

// answerIndex finds the decoded answers of a type by their tile of zoom 8. Its pages are few and
// stay.
type answerIndex struct {
	pages [1 << cells.Zoom]atomic.Pointer[[1 << cells.Zoom]answerSlot]
}

// slot returns the slot of a tile of zoom 8, which has a packed quadkey.
func (x *answerIndex) slot(packed uint32) *answerSlot {
	at := &x.pages[packed>>cells.Zoom]
	page := at.Load()
	if page == nil {
		page = new([1 << cells.Zoom]answerSlot)
		if !at.CompareAndSwap(nil, page) {
			page = at.Load()
		}
	}
	return &page[packed&(1<<cells.Zoom-1)]
}

// partAt returns which of the parts of divided answers has a tile of the block.
func partAt(parts []answerSlot, tile uint32) int { return int(tile) * len(parts) / cells.Tiles }

// find returns the block of a tile of zoom 13, or nil if it is not in memory. The block answers for
// span tiles.
func (x *answerIndex) find(packed, tile uint32) (b *cells.Block, span uint64) {
	span = cells.Tiles
	a := x.slot(packed).Load()
	if a != nil && a.parts != nil {
		a.place.Use()
		span /= uint64(len(a.parts))
		a = a.parts[partAt(a.parts, tile)].Load()
	}
	if a == nil {
		return nil, span
	}
	a.place.Use()
	return a.block, span
}

// answers sets s.blocks to the answers of types for a tile of zoom 13. It reads those that are not
// in memory, with one seek for each type, and a Get if the type's answers are divided. It sets
// s.span to the number of tiles around t, in the order of their packed quadkeys, for which the
// blocks answer too.
func (r *Reader) answers(ctx context.Context, s *scratch, t quadkey.Tile, types []*readerType) error {
	packed, tile := uint32(t.Ancestor(cells.Zoom).Packed()), cells.TileIn(t)
	s.blocks, s.span = s.blocks[:0], cells.Tiles
	missing, older := false, false
	for _, rt := range types {
		b, span := rt.answers.find(packed, tile)
		s.span = min(s.span, span)
		s.blocks = append(s.blocks, b)
		missing = missing || b == nil
		older = older || b == nil && rt.stamp == 0
	}
	if !missing {
		return nil
	}
	if err := r.readAnswers(ctx, s, t, types); err != nil || !older {
		return err
	}
	return r.readTiles(ctx, s, t, types)
}

// findMissing sets s.missing to the types whose answers are missing, either those with finished
// answers or the others, and s.places to where they belong in s.blocks.
func (s *scratch) findMissing(types []*readerType, finished bool) {
	s.missing, s.places = s.missing[:0], s.places[:0]
	for i, rt := range types {
		if s.blocks[i] == nil && (rt.stamp != 0) == finished {
			s.missing, s.places = append(s.missing, rt), append(s.places, i)
		}
	}
	for len(s.rows) < len(s.missing) {
		s.rows = append(s.rows, cellstore.Row{})
	}
}

// readAnswers reads the missing finished answers.
func (r *Reader) readAnswers(ctx context.Context, s *scratch, t quadkey.Tile, types []*readerType) error {
	s.findMissing(types, true)
	s.families = s.families[:0]
	for _, rt := range s.missing {
		s.families = append(s.families, rt.cells)
	}
	square := t.Ancestor(cells.Zoom)
	key := square.Key()
	if err := nextEach(ctx, square, s.missing, key[:], s.families, s.rows); err != nil {
		return err
	}
	for i, rt := range s.missing {
		a, err := rt.answerOf(&s.rows[i], square)
		if err != nil {
			return err
		}
		home := rt.answers.slot(uint32(square.Packed()))
		if a = decoded.keep(home, a); a.parts != nil {
			s.span = min(s.span, cells.Tiles/uint64(len(a.parts)))
			if a, err = rt.readPart(ctx, s, a, square, cells.TileIn(t)); err != nil {
				return err
			}
		}
		s.blocks[s.places[i]] = a.block
	}
	return nil
}

// answerOf decodes the row at or after the key of a tile of zoom 8.
func (rt *readerType) answerOf(row *cellstore.Row, square quadkey.Tile) (*cachedAnswer, error) {
	if row.Empty() {
		return &cachedAnswer{block: cells.Empty}, nil
	}
	key := square.Key()
	if own := bytes.Equal(row.Key, key[:]); !own {
		if bytes.HasPrefix(row.Key, key[:]) {
			return nil, fmt.Errorf("%w: the answers of %s in tile %v are divided, and the row that says so is gone: %s",
				ErrCorrupt, rt.Name, square, renewAnswers)
		}
		above, ok := layout.RowTile(row.Key)
		if !ok || !above.Contains(square) {
			return &cachedAnswer{block: cells.Empty}, nil
		}
	}
	return rt.decode(row, square)
}

// decode decodes finished answers.
func (rt *readerType) decode(row *cellstore.Row, square quadkey.Tile) (*cachedAnswer, error) {
	value, err := rt.seal.Open(row.Cells[0].Value, row.Key)
	switch {
	case err != nil:
	case len(value) > 1 && value[0] == layout.MarkSplit:
		if zooms := value[1]; zooms > 0 && zooms <= grid.MaxZoom-cells.Zoom && len(value) == 2+layout.PartBytes(int(zooms)) {
			return &cachedAnswer{parts: make([]answerSlot, 1<<(2*zooms)), some: bytes.Clone(value[2:])}, nil
		}
		err = errors.New("they are divided in an unknown way")
	default:
		var b *cells.Block
		if b, err = cells.Decode(value); err == nil {
			return &cachedAnswer{block: b}, nil
		}
	}
	return nil, fmt.Errorf("%w: answers of %s in tile %v: %w: %s", ErrCorrupt, rt.Name, square, err, renewAnswers)
}

// renewAnswers says what to do about damaged answers.
const renewAnswers = "run ingest boundaries again, or ingest rollback boundaries"

// readPart reads one of the parts of divided answers.
func (rt *readerType) readPart(ctx context.Context, s *scratch, of *cachedAnswer, square quadkey.Tile, tile uint32) (*cachedAnswer, error) {
	part := partAt(of.parts, tile)
	if of.some[part/8]>>(part%8)&1 == 0 {
		return decoded.keep(&of.parts[part], &cachedAnswer{block: cells.Empty}), nil
	}
	key := layout.PartKey(square.Key(), uint16(part*cells.Tiles/len(of.parts)))
	sel := cellstore.Selection{Families: []string{rt.cells}}
	if _, err := rt.bounds.Get(ctx, key, &sel, &s.part); err != nil {
		return nil, err
	}
	if s.part.Empty() {
		return nil, fmt.Errorf("%w: a part of the answers of %s in tile %v is gone: %s", ErrCorrupt, rt.Name, square, renewAnswers)
	}
	a, err := rt.decode(&s.part, square)
	switch {
	case err != nil:
		return nil, err
	case a.parts != nil:
		return nil, fmt.Errorf("%w: answers of %s in tile %v are divided twice: %s", ErrCorrupt, rt.Name, square, renewAnswers)
	}
	return decoded.keep(&of.parts[part], a), nil
}

// readTiles makes the missing answers of builds without finished ones, from the rows of the tile.
func (r *Reader) readTiles(ctx context.Context, s *scratch, t quadkey.Tile, types []*readerType) error {
	s.findMissing(types, false)
	s.span = 1
	if err := r.seek(ctx, s, t, s.missing, true); err != nil {
		return err
	}
	for i, rt := range s.missing {
		divided := rt.answers.slot(uint32(t.Ancestor(cells.Zoom).Packed()))
		row, tile, n := &s.rows[i], cells.TileIn(t), 1
		if isLeaf(row) {
			if leaf, ok := layout.RowTile(row.Key); ok && leaf.Z <= cells.Zoom {
				tile, n = 0, cells.Tiles
			}
		}
		block, err := s.blockOf(row, tile, n)
		if err != nil {
			return err
		}
		a := divided.Load()
		switch {
		case a != nil:
		case n == cells.Tiles:
			a = decoded.keep(divided, &cachedAnswer{block: block})
		default:
			a = decoded.keep(divided, &cachedAnswer{parts: make([]answerSlot, cells.Tiles)})
		}
		if a.parts != nil {
			decoded.keep(&a.parts[cells.TileIn(t)], &cachedAnswer{block: block})
		}
		s.blocks[s.places[i]] = block
	}
	return nil
}

// isLeaf reports whether a row is that of a leaf.
func isLeaf(row *cellstore.Row) bool {
	return !row.Empty() && len(row.Cells[0].Value) > 0 && row.Cells[0].Value[0] == layout.MarkLeaf
}

// blockOf makes the answers of tiles from their row, of several only if it is a leaf.
func (s *scratch) blockOf(row *cellstore.Row, tile uint32, n int) (*cells.Block, error) {
	if row.Empty() {
		return cells.Empty, nil
	}
	s.resetRows()
	if err := s.addRow(row, tile, n); err != nil {
		return nil, err
	}
	return s.rowBlock()
}

// addRow adds the answers of a row to s.rowAnswers: those of n tiles if it is a leaf, or of one
// tile. It numbers the regions in the order in which it meets them.
func (s *scratch) addRow(row *cellstore.Row, tile uint32, n int) error {
	mark, value, err := splitMark(row.Cells[0].Value)
	if err != nil {
		return err
	}
	b := &s.rowAnswers
	var leaf []int32
	if mark != layout.MarkLeaf {
		b.Begin(tile)
		defer b.End()
	}
	err = s.eachFeature(value, nil, func(f mvt.Feature, id, name []byte) error {
		number := s.numberOf(id, name)
		if mark == layout.MarkLeaf {
			leaf = append(leaf, number)
			return nil
		}
		b.Region(number)
		return s.eachRing(f, func(ring []grid.Point) error {
			if !cells.InTile(ring) {
				return fmt.Errorf("%w: a border beyond its tile", ErrCorrupt)
			}
			b.Ring(ring)
			return nil
		})
	})
	if mark == layout.MarkLeaf {
		b.Whole(tile, n, leaf...)
	}
	return err
}

// numberOf returns the number of a region in s.rowAnswers.
func (s *scratch) numberOf(id, name []byte) int32 {
	n, known := s.numbers[string(id)]
	if !known {
		n = int32(len(s.named))
		s.named = append(s.named, cells.Region{ID: string(id), Name: string(name)})
		s.numbers[s.named[n].ID] = n
	}
	return n
}

// resetRows empties s.rowAnswers.
func (s *scratch) resetRows() {
	if s.numbers == nil {
		s.numbers = map[string]int32{}
	}
	clear(s.numbers)
	s.named = s.named[:0]
	s.rowAnswers.Reset()
}

// rowBlock returns the block of s.rowAnswers.
func (s *scratch) rowBlock() (*cells.Block, error) {
	value := s.rowAnswers.AppendTo(nil, func(n int32) (id, name string) { return s.named[n].ID, s.named[n].Name })
	if len(value) == 0 {
		return cells.Empty, nil
	}
	b, err := cells.Decode(value)
	if err != nil { // such as the rows of a tile in another
		err = fmt.Errorf("%w: the rows of a tile: %w", ErrCorrupt, err)
	}
	return b, err
}

// CheckAnswers compares the finished answers of a type in a tile of zoom 8 with the rows that they
// were made of. The error matches ErrCorrupt if they differ. Builds without finished answers have
// nothing to compare.
func (r *Reader) CheckAnswers(ctx context.Context, typ string, square quadkey.Tile) error {
	rt := r.types[typ]
	switch {
	case rt == nil:
		return r.unknownType(typ)
	case rt.stamp == 0 || rt.IsLines:
		return nil
	}
	s := r.scratch.Get().(*scratch)
	defer r.scratch.Put(s)
	types := []*readerType{rt}
	want, err := r.rowsOf(ctx, s, rt, square)
	if err != nil {
		return err
	}
	at, _ := square.AtZoom(grid.MaxZoom)
	packed := at.Packed()
	for first := uint64(0); first < cells.Tiles; first += s.span {
		t, err := quadkey.TileFromPacked(grid.MaxZoom, packed+first)
		if err == nil {
			err = r.answers(ctx, s, t, types)
		}
		if err != nil {
			return err
		}
		if tile, same := cells.Compare(s.blocks[0], want, uint32(first), int(s.span)); !same {
			t, _ := quadkey.TileFromPacked(grid.MaxZoom, packed+uint64(tile))
			return fmt.Errorf("%w: the finished answers of %s in tile %v are not those of its row", ErrCorrupt, typ, t)
		}
	}
	return nil
}

// rowsOf makes the answers of a tile of zoom 8 from the rows in it.
func (r *Reader) rowsOf(ctx context.Context, s *scratch, rt *readerType, square quadkey.Tile) (*cells.Block, error) {
	if err := r.seek(ctx, s, square, []*readerType{rt}, true); err != nil {
		return nil, err
	}
	s.resetRows()
	if row := &s.rows[0]; isLeaf(row) {
		if err := s.addRow(row, 0, cells.Tiles); err != nil {
			return nil, err
		}
		return s.rowBlock()
	}
	first, last := square.KeyRange()
	for row, err := range rt.bounds.Scan(ctx, cellstore.Scan{
		Ranges:    []cellstore.Range{{From: first[:], To: last[:]}},
		Selection: cellstore.Selection{Families: []string{rt.mvt}},
	}) {
		if err != nil {
			return nil, err
		}
		t, ok := layout.RowTile(row.Key)
		if !ok || t.Z > grid.MaxZoom {
			return nil, fmt.Errorf("%w: key %x", ErrCorrupt, row.Key)
		}
		if isLeaf(row) || t.Z == grid.MaxZoom {
			at, _ := t.AtZoom(grid.MaxZoom)
			if err := s.addRow(row, cells.TileIn(at), 1<<(2*(grid.MaxZoom-t.Z))); err != nil {
				return nil, err
			}
		}
	}
	return s.rowBlock()
}
