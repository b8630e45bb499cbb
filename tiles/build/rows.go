package build

import (
	"slices"

	"quadrille/quadkey"
)

// rows collects finished rows in order.
type rows struct {
	keys  []rowRef
	cells []cellRef
	bytes []byte
}

type rowRef struct {
	key   quadkey.Key
	cells int // end of its cells
}

type cellRef struct {
	family    int // index into build.families, which are sorted by name
	qualifier string
	end       int // end of its value in bytes
	start     int
}

func (r *rows) reset() {
	r.keys, r.cells, r.bytes = r.keys[:0], r.cells[:0], r.bytes[:0]
}

func (r *rows) begin(k quadkey.Key) { r.keys = append(r.keys, rowRef{key: k}) }

func (r *rows) cell(family int, qualifier string, value func([]byte) []byte) {
	start := len(r.bytes)
	r.bytes = value(r.bytes)
	r.cells = append(r.cells, cellRef{family, qualifier, len(r.bytes), start})
}

// end finishes a row: its cells in the store's order, or no row at all.
func (r *rows) end() {
	first := 0
	if len(r.keys) > 1 {
		first = r.keys[len(r.keys)-2].cells
	}
	if len(r.cells) == first {
		r.keys = r.keys[:len(r.keys)-1]
		return
	}
	// Within a family the regions came in order; families interleave.
	slices.SortStableFunc(r.cells[first:], func(a, b cellRef) int { return a.family - b.family })
	r.keys[len(r.keys)-1].cells = len(r.cells)
}
