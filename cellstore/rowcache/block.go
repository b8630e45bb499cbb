package rowcache

import (
	"bytes"
	"math"
	"slices"

	"quadrille/cellstore"
	"quadrille/cellstore/sieve"
)

// block is an interval of keys, from ≤ key < upto, with all rows in it that the view's selection
// shows. Only its place in the cache changes.
//
// Its rows lie in three slices without pointers, so that the garbage collector does not scan them:
// a cache of millions of rows has only a few objects per block.
type block struct {
	from []byte
	upto []byte // empty is the end of the table
	rows []rowAt
	cell []cellAt
	mem  []byte // row after row: the key, then qualifier and value of each cell

	view *view

	shard   *shard
	place   sieve.Entry[*block] // in the shard's list, which guards it, like dropped
	dropped bool
}

// rowAt is the place where a row begins. The row ends where the next one begins. After a block's
// last row, one more rowAt marks its end.
type rowAt struct{ mem, cell, key uint32 }

type cellAt struct {
	timestamp        int64
	qualifier, value uint32 // lengths
	family           uint32 // an index into the view's families
}

const (
	blockOverhead = 320 // the block, its slices' slack and its place in the index
	rowOverhead   = 12
	cellOverhead  = 24
)

func (b *block) len() int { return len(b.rows) - 1 }

func (b *block) key(i int) []byte {
	r := b.rows[i]
	return b.mem[r.mem : r.mem+r.key]
}

// seek returns the index of the first row at or after key, and whether that row has the key.
func (b *block) seek(key []byte) (int, bool) {
	low, high := 0, b.len()
	for low < high {
		m := int(uint(low+high) / 2)
		switch d := bytes.Compare(b.key(m), key); {
		case d == 0:
			return m, true
		case d < 0:
			low = m + 1
		default:
			high = m
		}
	}
	return low, false
}

// holds reports whether key lies before the end of the interval.
func (b *block) holds(key []byte) bool { return len(b.upto) == 0 || bytes.Compare(key, b.upto) < 0 }

// fill copies a row of the block into the caller's row.
func (b *block) fill(i int, row *cellstore.Row) {
	row.Reset()
	at, end := b.rows[i], b.rows[i+1]
	data := row.CopyPair(b.mem[at.mem:end.mem], nil)
	row.Key = data[:at.key:at.key]
	data = data[at.key:]
	cells := b.cell[at.cell:end.cell]
	for j := range cells {
		c := &cells[j]
		to := row.AppendBlankCell()
		to.Family, to.Timestamp = b.view.families[c.family], c.timestamp
		to.Qualifier, data = data[:c.qualifier:c.qualifier], data[c.qualifier:]
		to.Value, data = data[:c.value:c.value], data[c.value:]
	}
}

// touch records a use of the block.
func (b *block) touch() {
	b.place.Use()
	if b.shard != nil {
		b.shard.hits.Add(1)
	}
}

// builder makes a block of rows in ascending order.
type builder struct {
	view *view
	rows []rowAt
	cell []cellAt
	mem  []byte
}

func (w *builder) size() int {
	return len(w.mem) + rowOverhead*len(w.rows) + cellOverhead*len(w.cell) + blockOverhead
}

// add copies a row. It returns false if the row cannot be cached.
func (w *builder) add(row *cellstore.Row) bool {
	n := len(row.Key)
	for i := range row.Cells {
		n += len(row.Cells[i].Qualifier) + len(row.Cells[i].Value)
	}
	if n > math.MaxInt32-len(w.mem) {
		return false
	}
	w.rows = append(w.rows, rowAt{uint32(len(w.mem)), uint32(len(w.cell)), uint32(len(row.Key))})
	w.mem = append(slices.Grow(w.mem, n), row.Key...)
	for i := range row.Cells {
		c := &row.Cells[i]
		family := slices.Index(w.view.families, c.Family)
		if family < 0 {
			return false // of a schema newer than the view's
		}
		w.cell = append(w.cell, cellAt{c.Timestamp, uint32(len(c.Qualifier)), uint32(len(c.Value)), uint32(family)})
		w.mem = append(append(w.mem, c.Qualifier...), c.Value...)
	}
	return true
}

// block returns the added rows as a block of an interval, and empties the builder. The block keeps
// from and upto.
func (w *builder) block(from, upto []byte) *block {
	// Copy the slices, because those of w may be twice as large as needed.
	b := &block{from: from, upto: upto, view: w.view, cell: slices.Clone(w.cell), mem: slices.Clone(w.mem)}
	b.rows = slices.Clone(append(w.rows, rowAt{mem: uint32(len(w.mem)), cell: uint32(len(w.cell))}))
	b.place = sieve.Entry[*block]{
		Value: b,
		Size:  int64(blockOverhead + len(from) + len(upto) + cap(b.mem) + rowOverhead*cap(b.rows) + cellOverhead*cap(b.cell)),
	}
	*w = builder{view: w.view}
	return b
}

// cut returns the part of the block within an interval inside its own.
func (b *block) cut(from, upto []byte) *block {
	i, _ := b.seek(from)
	n := b.len()
	if len(upto) > 0 {
		n, _ = b.seek(upto)
	}
	part := &block{from: from, upto: upto, rows: b.rows[i : n+1], cell: b.cell, mem: b.mem, view: b.view}
	part.place = sieve.Entry[*block]{Value: part, Size: b.place.Size}
	return part
}

// after returns the smallest key greater than key.
func after(key []byte) []byte {
	next := make([]byte, len(key)+1)
	copy(next, key)
	return next
}
