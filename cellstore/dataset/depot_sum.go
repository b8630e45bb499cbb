package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"sync"

	"quadrille/cellstore"
)

// tableSum is a checksum of rows in any order, so that goroutines can read a
// table in parts, however it is divided. It adds the digest of each row as four
// numbers. It detects rows that were lost, added or changed by accident.
type tableSum struct {
	rows, cells, bytes int64
	lanes              [4]uint64

	h   hash.Hash
	buf []byte
	sum [sha256.Size]byte
}

func (s *tableSum) add(r *cellstore.Row) {
	if s.h == nil {
		s.h = sha256.New()
	}
	b := s.buf[:0]
	part := func(p []byte) {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
	}
	part(r.Key)
	s.h.Reset()
	for i := range r.Cells {
		c := &r.Cells[i]
		b = binary.AppendUvarint(b, uint64(len(c.Family)))
		b = append(b, c.Family...)
		part(c.Qualifier)
		b = binary.BigEndian.AppendUint64(b, uint64(c.Timestamp))
		b = binary.AppendUvarint(b, uint64(len(c.Value)))
		s.h.Write(b)
		s.h.Write(c.Value)
		b = b[:0]
		s.bytes += int64(len(c.Family) + len(c.Qualifier) + len(c.Value))
	}
	s.buf = b
	s.rows++
	s.cells += int64(len(r.Cells))
	s.bytes += int64(len(r.Key))
	sum := s.h.Sum(s.sum[:0])
	for i := range s.lanes {
		s.lanes[i] += binary.BigEndian.Uint64(sum[8*i:])
	}
}

func (s *tableSum) merge(o *tableSum) {
	s.rows += o.rows
	s.cells += o.cells
	s.bytes += o.bytes
	for i := range s.lanes {
		s.lanes[i] += o.lanes[i]
	}
}

func (s *tableSum) named(table string) TableSummary {
	var b []byte
	for _, l := range s.lanes {
		b = binary.BigEndian.AppendUint64(b, l)
	}
	return TableSummary{Name: table, Rows: s.rows, Cells: s.cells, Bytes: s.bytes, Digest: hex.EncodeToString(b)}
}

// sumTable computes the sum of a whole table. counted, unless nil, is called by
// several goroutines with the rows and bytes read since the last call.
func sumTable(ctx context.Context, s cellstore.Store, table string, workers int, counted func(rows, bytes int64)) (TableSummary, error) {
	t, err := s.Table(ctx, table)
	if err != nil {
		return TableSummary{}, err
	}
	var mu sync.Mutex
	parts := map[int]*tableSum{}
	reported := map[int]int64{}
	const every = 1024
	err = cellstore.ParallelScan(ctx, t, workers, cellstore.Scan{Selection: cellstore.Selection{Versions: cellstore.Unlimited}},
		func(_ context.Context, part int, row *cellstore.Row) error {
			mu.Lock()
			sum := parts[part]
			if sum == nil {
				sum = &tableSum{}
				parts[part] = sum
			}
			before := reported[part]
			mu.Unlock()
			sum.add(row)
			if counted != nil && sum.rows%every == 0 {
				counted(every, sum.bytes-before)
				mu.Lock()
				reported[part] = sum.bytes
				mu.Unlock()
			}
			return nil
		})
	if err != nil {
		return TableSummary{}, err
	}
	var all tableSum
	for _, sum := range parts {
		all.merge(sum)
	}
	return all.named(table), nil
}
