package pebblestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
)

// Splits implements cellstore.Table, by the size of the data on disk. Data still in memory does not
// count.
func (t *table) Splits(ctx context.Context, n int) ([]cellstore.Range, error) {
	parts, err := t.splits(ctx, n)
	if err != nil {
		return nil, fail("Splits", t.name, nil, err)
	}
	return parts, nil
}

// splitBlocks is the least number of blocks in a part. Sizes are known only in whole blocks.
const splitBlocks = 4

func (t *table) splits(ctx context.Context, n int) ([]cellstore.Range, error) {
	ctx, done, err := t.job(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if n < 1 {
		return nil, fmt.Errorf("%w: %d parts", cellstore.ErrBadRange, n)
	}
	s := splitter{t: t, lay: t.lay.Load()}
	defer s.close()
	if err := s.open(); err != nil || s.first == nil {
		return []cellstore.Range{{}}, err
	}
	total, err := s.before(nil)
	if err != nil {
		return nil, err
	}
	n = min(n, 1+int(total/uint64(splitBlocks*s.lay.Schema.Families[0].BlockSize)))
	parts := []cellstore.Range{{}}
	low := s.first
	for i := 1; i < n; i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		key, err := s.find(low, total/uint64(n)*uint64(i))
		if err != nil {
			return nil, err
		}
		if key == nil {
			break
		}
		if bytes.Compare(key, low) > 0 {
			parts[len(parts)-1].To = key
			parts = append(parts, cellstore.Range{From: key})
			low = key
		}
	}
	return parts, nil
}

// splitter finds rows by the amount of data before them.
type splitter struct {
	t           *table
	lay         *layout
	its         []*pebble.Iterator // by index of layout.fams
	first, last []byte             // rows of the table
	key         []byte
}

func (s *splitter) open() error {
	for f := range s.lay.fams {
		fam := &s.lay.fams[f]
		it, err := s.t.db.NewIter(&pebble.IterOptions{LowerBound: fam.lower, UpperBound: fam.upper})
		if err != nil {
			return err
		}
		s.its = append(s.its, it)
		if it.First() {
			if row := rowOf(it.Key()); s.first == nil || bytes.Compare(row, s.first) < 0 {
				s.first = bytes.Clone(row)
			}
			it.Last()
			if row := rowOf(it.Key()); s.last == nil || bytes.Compare(row, s.last) > 0 {
				s.last = bytes.Clone(row)
			}
		}
		if err := it.Error(); err != nil {
			return err
		}
	}
	return nil
}

func rowOf(key []byte) []byte {
	if n := splitKey(key); n >= 2 {
		return key[1 : n-1]
	}
	return nil
}

func (s *splitter) close() {
	for _, it := range s.its {
		s.t.retired.add(iteratorStats(it))
		_ = it.Close() // calls have returned its errors
	}
}

// before returns the bytes on disk of all rows before a row. A nil row means the end of the table.
func (s *splitter) before(row []byte) (uint64, error) {
	var sum uint64
	for f := range s.lay.fams {
		fam := &s.lay.fams[f]
		to := fam.upper
		if row != nil {
			s.key = appendPrefix(s.key[:0], fam.byte, row)
			to = s.key
		}
		size, err := s.t.db.EstimateDiskUsage(fam.lower, to)
		if err != nil {
			return 0, err
		}
		sum += size
	}
	return sum, nil
}

// at returns the first row of the table at or after key, or nil if there is none.
func (s *splitter) at(key []byte) ([]byte, error) {
	var first []byte
	for f, it := range s.its {
		s.key = appendPrefix(s.key[:0], s.lay.fams[f].byte, key)
		if it.SeekGE(s.key) {
			if row := rowOf(it.Key()); first == nil || bytes.Compare(row, first) < 0 {
				first = append(first[:0:0], row...)
			}
		} else if err := it.Error(); err != nil {
			return nil, err
		}
	}
	return first, nil
}

// find returns the first row after low with at least want bytes of data before it, or nil. It
// bisects the range of keys, as numbers that begin where the ends of the range differ.
func (s *splitter) find(low []byte, want uint64) ([]byte, error) {
	high := append(bytes.Clone(s.last), 0)
	var best []byte
	for {
		middle := between(low, high)
		if middle == nil {
			return best, nil
		}
		row, err := s.at(middle)
		if err != nil {
			return nil, err
		}
		if row == nil || bytes.Compare(row, high) >= 0 {
			high = middle
			continue
		}
		size, err := s.before(row)
		if err != nil {
			return nil, err
		}
		if size >= want {
			best, high = row, middle
		} else {
			low = append(row, 0)
		}
	}
}

// between returns a key near the middle of low and high, or nil if they are so near to each other
// that the difference does not matter.
func between(low, high []byte) []byte {
	n := commonPrefix(low, high)
	a, b := number(low[n:]), number(high[n:])
	if b-a < 2 {
		return nil
	}
	return binary.BigEndian.AppendUint64(bytes.Clone(low[:n]), a+(b-a)/2)
}

// number returns the first eight bytes of a key as a number.
func number(key []byte) uint64 {
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}
