// Package extsort sorts more records than fit in memory: it collects runs,
// sorts each while the next one fills, spills them to one temporary file and
// merges them. What fits in memory never touches the disk.
//
// A [Sorter] orders by numbers, a [ByteSorter] by byte strings.
package extsort

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// MaxRecord is the longest value of a record, in bytes, and MaxKey the longest
// key of a ByteSorter.
const (
	MaxRecord = 16 << 20
	MaxKey    = 1<<16 - 1
)

// Sizes in bytes. A run is half the memory of a Sorter: one fills while the
// other is sorted and written.
const (
	MinMemory = 1 << 20
	entrySize = 24 // of an entry, counted against the memory
	headSize  = 14 // of a spilled record: first bytes and length of the key, length of the value
	minBuffer = 16 << 10
	maxBuffer = 256 << 10
)

// Sorter orders records by a 64-bit key; records of equal keys keep the order
// they were added in. One goroutine uses it. Close it in any case.
type Sorter struct{ runs }

// New returns a Sorter that holds at most about memory bytes (at least
// MinMemory) and spills to a temporary file in dir, or in the system's
// directory for them when dir is empty.
func New(dir string, memory int64) *Sorter { return &Sorter{newRuns(dir, memory)} }

// Add takes a record. The value is copied.
func (s *Sorter) Add(key uint64, value []byte) error { return s.take(key, keySize, nil, value) }

// Each calls fn for every record in order and stops at its first error. A
// value is valid until fn returns. Nothing can be added afterwards, and Each
// is called once.
func (s *Sorter) Each(fn func(key uint64, value []byte) error) error {
	return s.each(func(first uint64, _ int, _, value []byte) error { return fn(first, value) })
}

// ByteSorter orders records by keys that are byte strings, compared unsigned, a
// proper prefix first; records of equal keys keep the order they were added in.
// One goroutine uses it. Close it in any case.
type ByteSorter struct {
	runs
	key []byte
}

// NewBytes returns a ByteSorter, with the bounds of [New].
func NewBytes(dir string, memory int64) *ByteSorter { return &ByteSorter{runs: newRuns(dir, memory)} }

// Add takes a record. Key and value are copied.
func (s *ByteSorter) Add(key, value []byte) error {
	if len(key) > MaxKey {
		return fmt.Errorf("extsort: key of %d bytes is over the limit of %d", len(key), MaxKey)
	}
	if len(key) >= keySize {
		return s.take(binary.BigEndian.Uint64(key), len(key), key[keySize:], value)
	}
	var first [keySize]byte
	copy(first[:], key)
	return s.take(binary.BigEndian.Uint64(first[:]), len(key), nil, value)
}

// Each calls fn for every record in order and stops at its first error. Key and
// value are valid until fn returns. Nothing can be added afterwards, and Each
// is called once.
func (s *ByteSorter) Each(fn func(key, value []byte) error) error {
	return s.each(func(first uint64, size int, rest, value []byte) error {
		s.key = binary.BigEndian.AppendUint64(s.key[:0], first)
		s.key = append(s.key[:min(size, keySize)], rest...)
		return fn(s.key, value)
	})
}

// runs is what both sorters are. A key is its first eight bytes as a number,
// padded with zeros, its length, and the rest: most comparisons end at the
// number, which lies beside the others.
type runs struct {
	dir     string
	half    int
	file    *os.File
	added   int64
	written int64
	spilled []section
	filling *run
	idle    *run
	pending chan error // receives once per spill in progress; nil when none
}

const keySize = 8

func newRuns(dir string, memory int64) runs {
	// Offsets into a run are 32 bits.
	half := int(min(max(memory, MinMemory)/2, 1<<31-MaxRecord))
	return runs{dir: dir, half: half, filling: &run{}}
}

// section is where a sorted run lies in the file.
type section struct{ off, size int64 }

// entry is a record whose rest of the key and value lie in run.data, one after
// the other.
type entry struct {
	first  uint64
	off, n uint32 // n is the length of the value
	size   uint16 // length of the key
}

// rest is how many bytes of the key are in run.data.
func (e *entry) rest() uint32 { return uint32(max(e.size, keySize) - keySize) }

type run struct {
	entries []entry
	data    []byte
}

// take adds a record whose key has size bytes.
func (s *runs) take(first uint64, size int, rest, value []byte) error {
	if len(value) > MaxRecord {
		return fmt.Errorf("extsort: record of %d bytes is over the limit of %d", len(value), MaxRecord)
	}
	r := s.filling
	if len(r.entries) > 0 && r.size()+entrySize+len(rest)+len(value) > s.half {
		if err := s.spill(); err != nil {
			return err
		}
		r = s.filling
	}
	s.added++
	r.add(entry{first, uint32(len(r.data)), uint32(len(value)), uint16(size)}, rest, value, s.half)
	return nil
}

func (r *run) size() int { return len(r.data) + entrySize*len(r.entries) }

func (r *run) add(e entry, rest, value []byte, limit int) {
	if need := len(r.data) + len(rest) + len(value); need > cap(r.data) {
		// append would overshoot the limit when it grows the last time.
		grown := make([]byte, len(r.data), max(need, min(limit, 2*cap(r.data)+minBuffer)))
		copy(grown, r.data)
		r.data = grown
	}
	r.entries = append(r.entries, e)
	r.data = append(append(r.data, rest...), value...)
}

func (r *run) sort() {
	slices.SortFunc(r.entries, func(a, b entry) int {
		if a.first != b.first {
			if a.first < b.first {
				return -1
			}
			return 1
		}
		if c := bytes.Compare(r.data[a.off:a.off+a.rest()], r.data[b.off:b.off+b.rest()]); c != 0 {
			return c
		}
		if c := cmp.Compare(a.size, b.size); c != 0 {
			return c
		}
		return cmp.Compare(a.off, b.off)
	})
}

// spill hands the filling run to the background and goes on with the other.
func (s *runs) spill() error {
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

func (s *runs) wait() error {
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

func (s *runs) write(r *run) error {
	w := bufio.NewWriterSize(io.NewOffsetWriter(s.file, s.written), maxBuffer)
	var head [headSize]byte
	var size int64
	for _, e := range r.entries {
		binary.LittleEndian.PutUint64(head[:], e.first)
		binary.LittleEndian.PutUint16(head[8:], e.size)
		binary.LittleEndian.PutUint32(head[10:], e.n)
		if _, err := w.Write(head[:]); err != nil {
			return err
		}
		n := e.rest() + e.n
		if _, err := w.Write(r.data[e.off : e.off+n]); err != nil {
			return err
		}
		size += headSize + int64(n)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	s.spilled = append(s.spilled, section{s.written, size})
	s.written += size
	return nil
}

// Added is how many records have been added.
func (s *runs) Added() int64 { return s.added }

// Spilled is how many bytes have been written to disk. It may be called once
// Each has returned.
func (s *runs) Spilled() int64 { return s.written }

func (s *runs) each(fn func(first uint64, size int, rest, value []byte) error) error {
	if s.file == nil {
		r := s.filling
		r.sort()
		for _, e := range r.entries {
			at := e.off + e.rest()
			if err := fn(e.first, int(e.size), r.data[e.off:at], r.data[at:at+e.n]); err != nil {
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
func (s *runs) merge(fn func(first uint64, size int, rest, value []byte) error) error {
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

// cursor is at one record of a run.
type cursor struct {
	first   uint64
	size    int    // of the key
	data    []byte // rest of the key and value; in the reader's buffer, or in long
	split   int    // length of the rest
	run     int
	r       *bufio.Reader
	pending int // bytes of the reader's buffer that data still needs
	long    []byte
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
	if c.pending > 0 {
		if _, err := c.r.Discard(c.pending); err != nil {
			return damaged(err)
		}
		c.pending = 0
	}
	head, err := c.r.Peek(headSize)
	if errors.Is(err, io.EOF) && len(head) == 0 {
		return io.EOF
	}
	if err != nil {
		return damaged(err)
	}
	c.first = binary.LittleEndian.Uint64(head)
	c.size = int(binary.LittleEndian.Uint16(head[8:]))
	c.split = max(c.size, keySize) - keySize
	n := int(binary.LittleEndian.Uint32(head[10:]))
	if n > MaxRecord {
		return damaged(fmt.Errorf("record of %d bytes", n))
	}
	n += c.split
	if headSize+n <= c.r.Size() {
		b, err := c.r.Peek(headSize + n)
		if err != nil {
			return damaged(err)
		}
		c.data, c.pending = b[headSize:], headSize+n
		return nil
	}
	if _, err := c.r.Discard(headSize); err != nil {
		return damaged(err)
	}
	c.long = slices.Grow(c.long[:0], n)[:n]
	if _, err := io.ReadFull(c.r, c.long); err != nil {
		return damaged(err)
	}
	c.data = c.long
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
func (s *runs) Close() error {
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
