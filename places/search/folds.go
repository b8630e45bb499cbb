package search

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"sort"

	"quadrille/cellstore"
	"quadrille/places/internal/bulkload"
)

const (
	// maxFoldBytes bounds the table place_folds, and the memory of a Reader for it.
	maxFoldBytes = 8 << 20
	// foldChunk is the size of a row of place_folds.
	foldChunk = 64 << 10
	// foldBlock is the number of folds in a block.
	foldBlock = 16
	// foldHead is the size of the two lengths before a fold.
	foldHead = 2
)

// foldList holds all distinct folds of place_names in memory, in order. Searches for wrong letters and for
// other spellings mostly ask whether any name begins in some way, and the answer is mostly no. With
// it that takes no seek.
//
// text has, for each fold,
//
//	length of the beginning that it shares with the fold before (1) │ length of the rest (1) │ rest
//
// The first fold of each block of foldBlock folds is written in full, so a search begins there.
type foldList struct {
	text   []byte
	blocks []uint32 // where each block begins in text
}

// foldWriter builds the text of a foldList. After more than limit bytes it has none.
type foldWriter struct {
	limit  int
	folds  int // in text
	text   []byte
	last   []byte
	excess bool
}

// add adds the fold of a row. Rows must be in order.
func (w *foldWriter) add(fold []byte) {
	if w.excess || bytes.Equal(fold, w.last) {
		return
	}
	shared := 0
	if w.folds%foldBlock != 0 {
		shared = common(fold, w.last)
	}
	rest := fold[shared:]
	if len(w.text)+foldHead+len(rest) > w.limit {
		*w = foldWriter{excess: true}
		return
	}
	w.text = append(append(w.text, byte(shared), byte(len(rest))), rest...)
	w.last = append(w.last[:0], fold...)
	w.folds++
}

// write writes place_folds.
func (w *foldWriter) write(ctx context.Context, store cellstore.Store, timestamp int64) error {
	return bulkload.Fill(ctx, store, tableFolds, func(l *bulkload.Load) error {
		number := uint32(0)
		for chunk := range slices.Chunk(w.text, foldChunk) {
			key := binary.BigEndian.AppendUint32(nil, number)
			if err := l.Add(key, cellstore.Cell{Family: famFolds, Timestamp: timestamp, Value: chunk}); err != nil {
				return err
			}
			number++
		}
		return nil
	})
}

// readFolds reads a table with the given number of bytes. Errors match cellstore.ErrCorrupt for other
// content.
func readFolds(ctx context.Context, table cellstore.Table, size int64) (*foldList, error) {
	if size > maxFoldBytes {
		return nil, cellstore.CorruptRow(tableFolds, nil, "is too large")
	}
	f := &foldList{text: make([]byte, 0, size)}
	for row, err := range table.Scan(ctx, cellstore.Scan{}) {
		if err != nil {
			return nil, wrap(err)
		}
		for _, cell := range row.Cells {
			if len(cell.Value) > cap(f.text)-len(f.text) {
				return nil, cellstore.CorruptRow(tableFolds, row.Key, "has another layout")
			}
			f.text = append(f.text, cell.Value...)
		}
	}
	if len(f.text) < cap(f.text) || !f.index() {
		return nil, cellstore.CorruptRow(tableFolds, nil, "is damaged")
	}
	return f, nil
}

// index finds the blocks. It reports whether the folds in text are in order.
func (f *foldList) index() bool {
	var last []byte
	for at, n := 0, 0; at < len(f.text); n++ {
		if len(f.text)-at <= foldHead {
			return false
		}
		shared, end := int(f.text[at]), at+foldHead+int(f.text[at+1])
		if end > len(f.text) || shared > len(last) {
			return false
		}
		rest, first := f.text[at+foldHead:end], n%foldBlock == 0
		switch {
		case first && (shared > 0 || bytes.Compare(rest, last) <= 0):
			return false
		case !first && (len(rest) == 0 || shared < len(last) && rest[0] <= last[shared]):
			return false
		case first:
			f.blocks = append(f.blocks, uint32(at))
		}
		last, at = append(last[:shared], rest...), end
	}
	f.blocks = slices.Clip(f.blocks)
	return true
}

// next returns the first fold at or after from, and where it is in text. If there is none, it returns
// an empty one and the length of text. It overwrites dst.
func (f *foldList) next(dst, from []byte) (fold []byte, at int) {
	block := sort.Search(len(f.blocks), func(i int) bool { return bytes.Compare(f.first(i), from) > 0 })
	if block == 0 {
		return f.head(dst, 0)
	}
	// All folds before at are less than from. The last of them agrees with it in the first same bytes.
	same := 0
	at = int(f.blocks[block-1])
	for i := 0; i < foldBlock && at < len(f.text); i++ {
		shared, end := int(f.text[at]), at+foldHead+int(f.text[at+1])
		rest := f.text[at+foldHead : end]
		greater := shared < same
		if shared == same {
			more := common(rest, from[same:])
			same += more
			greater = same == len(from) || more < len(rest) && rest[more] > from[same]
		}
		if greater {
			return append(append(dst[:0], from[:shared]...), rest...), at
		}
		at = end
	}
	return f.head(dst, block)
}

// head returns the first fold of a block, like next.
func (f *foldList) head(dst []byte, block int) (fold []byte, at int) {
	if block == len(f.blocks) {
		return dst[:0], len(f.text)
	}
	return append(dst[:0], f.first(block)...), int(f.blocks[block])
}

// common returns the number of bytes with which both a and b begin.
func common(a, b []byte) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// first returns the first fold of a block.
func (f *foldList) first(block int) []byte {
	at := int(f.blocks[block])
	return f.text[at+foldHead : at+foldHead+int(f.text[at+1])]
}

// some reports whether a row of place_names may begin with a prefix: with a fold, the beginning of
// one, or a fold and a zero. Without folds in memory any may.
func (s *search) some(prefix []byte) bool {
	if s.r.folds == nil {
		return true
	}
	fold, whole := bytes.CutSuffix(prefix, []byte{0})
	s.near, _ = s.r.folds.next(s.near, fold)
	return bytes.HasPrefix(s.near, fold) && (!whole || len(s.near) == len(fold))
}

// asked remembers which folds a search has looked up in memory, so that it counts the same seeks as
// with gaps: one is free if an earlier one, at or before it, has led to the same fold.
type asked struct {
	text  []byte
	least map[int]span // of the texts that led to a fold, by its place in foldList.text
}

type span struct{ from, to int } // in asked.text

func (a *asked) forget() {
	if len(a.least) > 0 {
		a.text = a.text[:0]
		clear(a.least)
	}
}

// known reports whether an earlier lookup has told which fold is the first at or after from.
func (a *asked) known(from []byte, at int) bool {
	least, ok := a.least[at]
	return ok && bytes.Compare(a.text[least.from:least.to], from) <= 0
}

func (a *asked) learn(from []byte, at int) {
	a.least[at] = span{len(a.text), len(a.text) + len(from)}
	a.text = append(a.text, from...)
}
