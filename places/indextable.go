package places

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"quadrille/cellstore"
	"quadrille/quadkey"
)

// place_index, rows of the family summary:
//
//	'b' │ tier (1) │ chunk (4)   per block: greatest population (8), importance (8), importance of class A (8)
//	'g' │ tier (1)               the set of zoom-6 tiles that have places: 512 bytes
//	'p' │ tier (1) │ class.code │ 0 │ country (2) │ populated (1)
//	                             a group: number of places (8), greatest population (8), blocks
//	's' │ tier (1) │ chunk (4)   cells (4 each), ascending: of every sampleEvery-th place
//
// The group of places that belong to no other has an empty class.code.
const (
	kindBlock  = 'b'
	kindGrid   = 'g'
	kindGroup  = 'p'
	kindSample = 's'

	sampleChunk = 16 << 10 // cells per row
	blockChunk  = 2 << 10  // blocks per row
	blockSize   = 24
)

// writeIndex writes place_index.
func writeIndex(indexes *[tiers]*indexer, ts int64, emit func(key []byte, c cellstore.Cell) error) error {
	w := &indexWriter{ts: ts, emit: emit}
	for _, write := range []func(tier int, x *indexer) error{w.blocks, w.grid, w.groups, w.samples} {
		for tier, x := range indexes {
			if err := write(tier, x); err != nil {
				return err
			}
		}
	}
	return nil
}

type indexWriter struct {
	ts         int64
	emit       func(key []byte, c cellstore.Cell) error
	key, value []byte
}

func (w *indexWriter) row(kind byte, tier int) {
	w.key, w.value = append(w.key[:0], kind, byte(tier)), w.value[:0]
}

func (w *indexWriter) put() error {
	return w.emit(w.key, cellstore.Cell{Family: famSummary, Timestamp: w.ts, Value: w.value})
}

func (w *indexWriter) blocks(tier int, x *indexer) error {
	n := uint32(0)
	for chunk := range slices.Chunk(x.index.blocks, blockChunk) {
		w.row(kindBlock, tier)
		w.key = binary.BigEndian.AppendUint32(w.key, n)
		n++
		for i := range chunk {
			for _, v := range [...]uint64{chunk[i].maxPopulation, chunk[i].rank, chunk[i].areaRank} {
				w.value = binary.BigEndian.AppendUint64(w.value, v)
			}
		}
		if err := w.put(); err != nil {
			return err
		}
	}
	return nil
}

func (w *indexWriter) grid(tier int, x *indexer) error {
	if x.count == 0 {
		return nil
	}
	w.row(kindGrid, tier)
	for _, word := range x.index.grid {
		w.value = binary.BigEndian.AppendUint64(w.value, word)
	}
	return w.put()
}

func (w *indexWriter) groups(tier int, x *indexer) error {
	return x.eachGroup(func(k groupKey, qualifier string, g *growing) error {
		w.row(kindGroup, tier)
		populated := byte(0)
		if k.populated {
			populated = 1
		}
		w.key = append(append(w.key, qualifier...), 0, k.country[0], k.country[1], populated)
		w.value = binary.BigEndian.AppendUint64(w.value, g.count)
		w.value = binary.BigEndian.AppendUint64(w.value, g.maxPopulation)
		w.value = append(w.value, g.list...)
		return w.put()
	})
}

func (w *indexWriter) samples(tier int, x *indexer) error {
	n := uint32(0)
	for chunk := range slices.Chunk(x.index.samples, sampleChunk) {
		w.row(kindSample, tier)
		w.key = binary.BigEndian.AppendUint32(w.key, n)
		n++
		for _, c := range chunk {
			w.value = c.AppendKey(w.value)
		}
		if err := w.put(); err != nil {
			return err
		}
	}
	return nil
}

// readIndex reads the rows of writeIndex.
func readIndex(ctx context.Context, table cellstore.Table) (*[tiers]*index, error) {
	var indexes [tiers]*index
	for i := range indexes {
		indexes[i] = &index{every: sampleEvery[i]}
	}
	for row, err := range table.Scan(ctx, cellstore.Scan{}) {
		if err != nil {
			return nil, err
		}
		if len(row.Key) < 2 || row.Key[1] >= tiers || len(row.Cells) != 1 {
			return nil, cellstore.CorruptRow(tableIndex, row.Key, "has another layout")
		}
		x, rest, value := indexes[row.Key[1]], row.Key[2:], row.Cells[0].Value
		ok := false
		switch row.Key[0] {
		case kindBlock:
			ok = x.readBlocks(value)
		case kindGrid:
			ok = x.readGrid(value)
		case kindGroup:
			ok = x.readGroup(string(rest), value)
		case kindSample:
			ok = len(value)%4 == 0
			for ; ok && len(value) > 0; value = value[4:] {
				x.samples = append(x.samples, quadkey.Cell(binary.BigEndian.Uint32(value)))
			}
		}
		if !ok {
			return nil, cellstore.CorruptRow(tableIndex, row.Key, "has another layout")
		}
	}
	for tier, x := range indexes {
		if !x.fits() {
			return nil, cellstore.CorruptRow(tableIndex, []byte{kindSample, byte(tier)}, "does not fit the others")
		}
	}
	return &indexes, nil
}

func (x *index) readBlocks(value []byte) bool {
	for ; len(value) >= blockSize; value = value[blockSize:] {
		x.blocks = append(x.blocks, block{
			binary.BigEndian.Uint64(value), binary.BigEndian.Uint64(value[8:]), binary.BigEndian.Uint64(value[16:]),
		})
	}
	return len(value) == 0
}

func (x *index) readGrid(value []byte) bool {
	if len(value) != 8*len(x.grid) {
		return false
	}
	for i := range x.grid {
		x.grid[i] = binary.BigEndian.Uint64(value[8*i:])
	}
	return true
}

func (x *index) readGroup(rest string, value []byte) bool {
	code, tail, ok := strings.Cut(rest, "\x00")
	// The first zero byte ends the code. The zero bytes of an unknown country come after it.
	if !ok || len(tail) != 3 || tail[2] > 1 || len(value) < 17 {
		return false
	}
	g := group{
		code: anyCode, country: country{tail[0], tail[1]}, maxPopulation: binary.BigEndian.Uint64(value[8:]),
	}
	count := binary.BigEndian.Uint64(value)
	if count == 0 || count > math.MaxUint32 || uint64(len(x.lists)+len(value)) > math.MaxUint32 {
		return false
	}
	if code != "" {
		if n := len(x.codes); n == 0 || x.codes[n-1] != code {
			if n == maxCodes || n > 0 && x.codes[n-1] > code {
				return false
			}
			x.codes = append(x.codes, code)
		}
		g.code = uint16(len(x.codes) - 1)
	}
	g.count = uint32(count)
	x.count += count
	x.lists = append(x.lists, value[16:]...)
	g.end = uint32(len(x.lists))
	x.groups = append(x.groups, g)
	return true
}

// fits reports whether the parts are consistent, and releases spare memory.
func (x *index) fits() bool {
	if x.count > math.MaxUint32 || !slices.IsSorted(x.samples) ||
		uint64(len(x.samples)) != (x.count+uint64(x.every)-1)/uint64(x.every) || uint64(len(x.blocks)) != blockCount(x.count) {
		return false
	}
	from := uint32(0)
	for i := range x.groups {
		n, ok := 0, true
		x.eachBlock(from, x.groups[i].end, func(b uint32) {
			n++
			ok = ok && b < uint32(len(x.blocks))
		})
		if !ok || n == 0 || n > int(x.groups[i].count) {
			return false
		}
		from = x.groups[i].end
	}
	x.supers = make([]block, (len(x.blocks)+superBlocks-1)/superBlocks)
	for i := range x.blocks {
		x.supers[i/superBlocks].add(&x.blocks[i])
	}
	x.samples, x.blocks, x.lists, x.groups = slices.Clip(x.samples), slices.Clip(x.blocks), slices.Clip(x.lists), slices.Clip(x.groups)
	return true
}

// eachBlock calls fn for the blocks of a list.
func (x *index) eachBlock(from, to uint32, fn func(b uint32)) {
	list, at := x.lists[from:to], uint64(0)
	for len(list) > 0 {
		v, n := binary.Uvarint(list)
		if n <= 0 {
			fn(math.MaxUint32) // readIndex refuses it
			return
		}
		list, at = list[n:], min(at+v, math.MaxUint32)
		fn(uint32(at))
	}
}
