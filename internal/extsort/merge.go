package extsort

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// merge reads the runs through a binary heap of their next records.
func (s *runs) merge(fn func(first uint64, size int, rest, value []byte) error) error {
	size := min(max(2*s.half/len(s.spilled), minBuffer), maxBuffer)
	heap := make([]*cursor, 0, len(s.spilled))
	for i, sec := range s.spilled {
		c := &cursor{run: i, file: s.file, off: sec.off, end: sec.off + sec.size, buf: make([]byte, 0, size)}
		if err := c.next(); err != nil {
			return err
		}
		heap = append(heap, c) // runs are never empty
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		down(heap, i)
	}
	for len(heap) > 0 {
		c := heap[0]
		if err := fn(c.first, c.size, c.data[:c.split], c.data[c.split:]); err != nil {
			return err
		}
		if err := c.next(); errors.Is(err, io.EOF) {
			last := len(heap) - 1
			heap[0] = heap[last]
			heap = heap[:last]
		} else if err != nil {
			return err
		}
		down(heap, 0)
	}
	return nil
}

func down(h []*cursor, i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h); c++ {
			if h[c].before(h[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// cursor is the position of one record of a run.
type cursor struct {
	first uint64
	size  int    // of the key
	data  []byte // rest of the key and value, in buf
	split int    // length of the rest
	run   int

	file     io.ReaderAt
	off, end int64  // the part of the run that is not in buf yet
	buf      []byte // read, but not yet used
	at       int    // in buf: the record after this one
}

func (c *cursor) before(d *cursor) bool {
	if c.first != d.first {
		return c.first < d.first
	}
	if n := bytes.Compare(c.data[:c.split], d.data[:d.split]); n != 0 {
		return n < 0
	}
	return c.size < d.size || c.size == d.size && c.run < d.run
}

// next moves to the next record, or returns io.EOF after the last.
func (c *cursor) next() error {
	if len(c.buf)-c.at < headSize {
		if c.at == len(c.buf) && c.off == c.end {
			return io.EOF
		}
		if err := c.fill(headSize); err != nil {
			return err
		}
	}
	head := c.buf[c.at:]
	c.first = binary.LittleEndian.Uint64(head)
	c.size = int(binary.LittleEndian.Uint16(head[8:]))
	c.split = max(c.size, keySize) - keySize
	n := int(binary.LittleEndian.Uint32(head[10:]))
	if n > MaxRecordBytes {
		return damaged(fmt.Errorf("record of %d bytes", n))
	}
	n += headSize + c.split
	if len(c.buf)-c.at < n {
		if err := c.fill(n); err != nil {
			return err
		}
	}
	c.data = c.buf[c.at+headSize : c.at+n]
	c.at += n
	return nil
}

// fill reads until there are at least n bytes after at.
func (c *cursor) fill(n int) error {
	c.buf = c.buf[:copy(c.buf, c.buf[c.at:])]
	c.at = 0
	c.buf = slices.Grow(c.buf, max(n-len(c.buf), 0))
	begin := len(c.buf)
	c.buf = c.buf[:begin+int(min(int64(cap(c.buf)-begin), c.end-c.off))]
	if len(c.buf) < n {
		return damaged(io.ErrUnexpectedEOF)
	}
	if _, err := c.file.ReadAt(c.buf[begin:], c.off); err != nil {
		return damaged(err)
	}
	c.off += int64(len(c.buf) - begin)
	return nil
}

func damaged(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("extsort: reading back what was spilled: %w", err)
}
