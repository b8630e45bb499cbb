// Package extsort sorts more records than fit in memory: it collects runs,
// sorts each while the next one fills, spills them to one temporary file and
// merges them. What fits in memory never touches the disk.
package extsort

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// MaxRecord is the longest value of a record, in bytes.
const MaxRecord = 16 << 20

// Sizes in bytes. A run is half the memory of a Sorter: one fills while the
// other is sorted and written.
const (
	MinMemory = 1 << 20
	entrySize = 16 // of an entry, counted against the memory
	headSize  = 12 // of a spilled record: key, length of the value
	minBuffer = 16 << 10
	maxBuffer = 256 << 10
)

// Sorter orders records by a 64-bit key; records of equal keys keep the order
// they were added in. One goroutine uses it. Close it in any case.
type Sorter struct {
	dir     string
	half    int
	file    *os.File
	written int64
	spilled []section
	filling *run
	idle    *run
	pending chan error // receives once per spill in progress; nil when none
}

// section is where a sorted run lies in the file.
type section struct{ off, size int64 }

type entry struct {
	key    uint64
	off, n uint32 // the value, in run.data
}

type run struct {
	entries []entry
	data    []byte
}

// New returns a Sorter that holds at most about memory bytes (at least
// MinMemory) and spills to a temporary file in dir, or in the system's
// directory for them when dir is empty.
func New(dir string, memory int64) *Sorter {
	// Offsets into a run are 32 bits.
	half := int(min(max(memory, MinMemory)/2, 1<<31-MaxRecord))
	return &Sorter{dir: dir, half: half, filling: &run{}}
}

// Add takes a record. The value is copied.
func (s *Sorter) Add(key uint64, value []byte) error {
	if len(value) > MaxRecord {
		return fmt.Errorf("extsort: record of %d bytes is over the limit of %d", len(value), MaxRecord)
	}
	r := s.filling
	if len(r.entries) > 0 && r.size()+entrySize+len(value) > s.half {
		if err := s.spill(); err != nil {
			return err
		}
		r = s.filling
	}
	r.add(key, value, s.half)
	return nil
}

func (r *run) size() int { return len(r.data) + entrySize*len(r.entries) }

func (r *run) add(key uint64, value []byte, limit int) {
	if need := len(r.data) + len(value); need > cap(r.data) {
		// append would overshoot the limit when it grows the last time.
		grown := make([]byte, len(r.data), max(need, min(limit, 2*cap(r.data)+minBuffer)))
		copy(grown, r.data)
		r.data = grown
	}
	r.entries = append(r.entries, entry{key, uint32(len(r.data)), uint32(len(value))})
	r.data = append(r.data, value...)
}

func (r *run) sort() {
	slices.SortFunc(r.entries, func(a, b entry) int {
		if c := cmp.Compare(a.key, b.key); c != 0 {
			return c
		}
		return cmp.Compare(a.off, b.off)
	})
}

// spill hands the filling run to the background and goes on with the other.
func (s *Sorter) spill() error {
	if err := s.wait(); err != nil {
		return err
	}
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, "sort-*.tmp")
		if err != nil {
			return fmt.Errorf("extsort: %w", err)
		}
		s.file = f
		// Where the system lets an open file go nameless, a killed process
		// leaves nothing behind; elsewhere Close removes it.
		os.Remove(f.Name())
	}
	full := s.filling
	if s.filling = s.idle; s.filling == nil {
		s.filling = &run{}
	}
	s.idle = nil
	done := make(chan error, 1)
	s.pending = done
	go func() {
		full.sort()
		err := s.write(full)
		full.entries, full.data = full.entries[:0], full.data[:0]
		s.idle = full // read only after done has been received
		done <- err
	}()
	return nil
}

func (s *Sorter) wait() error {
	if s.pending == nil {
		return nil
	}
	err := <-s.pending
	s.pending = nil
	if err != nil {
		return fmt.Errorf("extsort: spilling to disk: %w; free some space or allow more memory", err)
	}
	return nil
}

func (s *Sorter) write(r *run) error {
	w := bufio.NewWriterSize(io.NewOffsetWriter(s.file, s.written), maxBuffer)
	var head [headSize]byte
	var size int64
	for _, e := range r.entries {
		binary.LittleEndian.PutUint64(head[:], e.key)
		binary.LittleEndian.PutUint32(head[8:], e.n)
		if _, err := w.Write(head[:]); err != nil {
			return err
		}
		if _, err := w.Write(r.data[e.off : e.off+e.n]); err != nil {
			return err
		}
		size += headSize + int64(e.n)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	s.spilled = append(s.spilled, section{s.written, size})
	s.written += size
	return nil
}

// Spilled is how many bytes have been written to disk. It may be called once
// Each has returned.
func (s *Sorter) Spilled() int64 { return s.written }

// Each calls fn for every record in order and stops at its first error. A
// value is valid until fn returns. Nothing can be added afterwards, and Each
// is called once.
func (s *Sorter) Each(fn func(key uint64, value []byte) error) error {
	if s.file == nil {
		r := s.filling
		r.sort()
		for _, e := range r.entries {
			if err := fn(e.key, r.data[e.off:e.off+e.n]); err != nil {
				return err
			}
		}
		return nil
	}
	if len(s.filling.entries) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	if err := s.wait(); err != nil {
		return err
	}
	s.filling, s.idle = nil, nil
	return s.merge(fn)
}

// merge reads the runs through a binary heap of their next records.
func (s *Sorter) merge(fn func(uint64, []byte) error) error {
	size := min(max(2*s.half/len(s.spilled), minBuffer), maxBuffer)
	heap := make([]*cursor, 0, len(s.spilled))
	for i, sec := range s.spilled {
		c := &cursor{run: i, r: bufio.NewReaderSize(io.NewSectionReader(s.file, sec.off, sec.size), size)}
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
		if err := fn(c.key, c.value); err != nil {
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

// cursor is at one record of a run.
type cursor struct {
	key   uint64
	value []byte // in the reader's buffer, or in long
	run   int
	r     *bufio.Reader
	held  int // bytes of the reader's buffer that value still needs
	long  []byte
}

func (c *cursor) before(d *cursor) bool {
	return c.key < d.key || c.key == d.key && c.run < d.run
}

// next moves to the next record, or returns io.EOF after the last.
func (c *cursor) next() error {
	if c.held > 0 {
		if _, err := c.r.Discard(c.held); err != nil {
			return damaged(err)
		}
		c.held = 0
	}
	head, err := c.r.Peek(headSize)
	if errors.Is(err, io.EOF) && len(head) == 0 {
		return io.EOF
	}
	if err != nil {
		return damaged(err)
	}
	c.key = binary.LittleEndian.Uint64(head)
	n := int(binary.LittleEndian.Uint32(head[8:]))
	if n > MaxRecord {
		return damaged(fmt.Errorf("record of %d bytes", n))
	}
	if headSize+n <= c.r.Size() {
		b, err := c.r.Peek(headSize + n)
		if err != nil {
			return damaged(err)
		}
		c.value, c.held = b[headSize:], headSize+n
		return nil
	}
	if _, err := c.r.Discard(headSize); err != nil {
		return damaged(err)
	}
	c.long = slices.Grow(c.long[:0], n)[:n]
	if _, err := io.ReadFull(c.r, c.long); err != nil {
		return damaged(err)
	}
	c.value = c.long
	return nil
}

func damaged(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("extsort: reading back what was spilled: %w", err)
}

// Close waits for the background and removes the temporary file. A second
// Close does nothing.
func (s *Sorter) Close() error {
	err := s.wait()
	s.filling, s.idle = nil, nil
	if s.file == nil {
		return err
	}
	f := s.file
	s.file = nil
	err = errors.Join(err, f.Close())
	if rm := os.Remove(f.Name()); rm != nil && !errors.Is(rm, os.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	return err
}
