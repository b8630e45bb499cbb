package cellstore

import "bytes"

// Cell is one version of one column.
type Cell struct {
	Family    string
	Qualifier []byte
	Timestamp int64
	Value     []byte
}

// Row receives the cells of one row, in the order of the package
// documentation. The zero Row is ready for use, and reusing one across reads
// makes them free of allocation.
type Row struct {
	Key   []byte
	Cells []Cell

	// arena holds the bytes of Key and of the qualifiers and values in Cells.
	arena []byte
}

// Reset empties the row and keeps its memory.
func (r *Row) Reset() {
	r.Key = nil
	r.Cells = r.Cells[:0]
	r.arena = r.arena[:0]
}

// SetKey copies key into the row. It is for drivers.
func (r *Row) SetKey(key []byte) { r.Key = r.CopyPair(key, nil) }

// AppendCell copies a cell into the row. It is for drivers.
func (r *Row) AppendCell(family string, qualifier []byte, timestamp int64, value []byte) {
	n := len(qualifier)
	copied := r.CopyPair(qualifier, value)
	c := r.AppendBlankCell()
	c.Family, c.Timestamp = family, timestamp
	c.Qualifier, c.Value = copied[:n:n], copied[n:]
}

// CopyPair copies a and b into the row's memory, one after the other, and returns
// the copy. It is for drivers whose key and qualifier are parts of one slice, to copy both at once.
func (r *Row) CopyPair(a, b []byte) []byte {
	used, n := len(r.arena), len(a)+len(b)
	if n > cap(r.arena)-used {
		// Slices of the old arena stay valid, because the garbage collector keeps it.
		used, r.arena = 0, make([]byte, 0, max(n, 2*cap(r.arena), 64))
	}
	r.arena = r.arena[:used+n]
	copied := r.arena[used : used+n : used+n]
	copy(copied, a)
	copy(copied[len(a):], b)
	return copied
}

// AppendBlankCell appends a cell and returns it for a driver to fill in place. The driver
// must set all fields, since the cell still has those of an earlier read. To make
// a cell and copy it would cost more than to fill it.
func (r *Row) AppendBlankCell() *Cell {
	n := len(r.Cells)
	if n < cap(r.Cells) {
		r.Cells = r.Cells[:n+1]
	} else {
		r.Cells = append(r.Cells, Cell{})
	}
	return &r.Cells[n]
}

// Empty reports whether the row has no cells, that is, whether the read that
// filled it found nothing.
func (r *Row) Empty() bool { return len(r.Cells) == 0 }

// Value returns the newest value of a column in the row, and whether the
// column is there. An empty value is a value.
func (r *Row) Value(family string, qualifier []byte) ([]byte, bool) {
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Family == family && bytes.Equal(c.Qualifier, qualifier) {
			return c.Value, true
		}
	}
	return nil, false
}

// Clone returns a copy that shares no memory with r.
func (r *Row) Clone() *Row {
	c := &Row{}
	c.SetKey(r.Key)
	for i := range r.Cells {
		s := &r.Cells[i]
		c.AppendCell(s.Family, s.Qualifier, s.Timestamp, s.Value)
	}
	return c
}

// PrefixEnd returns the smallest key greater than every key that starts with
// prefix, or nil, meaning the end of the table, when there is none.
func PrefixEnd(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xFF {
			end := append([]byte(nil), prefix[:i+1]...)
			end[i]++
			return end
		}
	}
	return nil
}
