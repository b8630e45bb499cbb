// Package extsort sorts more records than fit in memory: it collects runs, sorts each while the
// next one fills, spills them to one temporary file and merges them. Records that fit in memory
// never touch the disk.
//
// A [Sorter] orders by numbers, a [ByteSorter] by byte strings.
package extsort

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// MaxRecordBytes is the longest value of a record, in bytes, and MaxKeyBytes the longest
// key of a ByteSorter.
const (
	MaxRecordBytes = 16 << 20
	MaxKeyBytes    = 1<<16 - 1
)

// Sizes in bytes. A run is half the memory of a Sorter: one fills while the
// other is sorted and written.
const (
	MinMemoryBytes = 1 << 20
	entrySize      = 36 // of an entry and half of one of the scratch, which two runs share
	headSize       = 14 // of a spilled record: first bytes and length of the key, length of the value
	minBuffer      = 16 << 10
	maxBuffer      = 256 << 10
)

// Sorter orders records by a 64-bit key; records with equal keys stay in the order in which they
// were added. It belongs to one goroutine. Always close it.
type Sorter struct{ runs }

// New returns a Sorter that holds at most about memory bytes (at least MinMemoryBytes). It spills
// to a temporary file in dir, or if dir is empty in the system's directory for temporary files.
func New(dir string, memory int64) *Sorter { return &Sorter{newRuns(dir, memory)} }

// Add adds a record. It copies the value.
func (s *Sorter) Add(key uint64, value []byte) error { return s.take(key, keySize, nil, value) }

// Each calls fn for every record in order and stops at its first error. A value is valid until fn
// returns. Call Each once, after all records have been added.
func (s *Sorter) Each(fn func(key uint64, value []byte) error) error {
	return s.each(func(first uint64, _ int, _, value []byte) error { return fn(first, value) })
}

// ByteSorter orders records by keys that are byte strings, compared unsigned, a proper prefix
// first; records with equal keys stay in the order in which they were added. It belongs to one
// goroutine. Always close it.
type ByteSorter struct {
	runs
	key []byte
}

// NewBytes returns a ByteSorter, with the bounds of [New].
func NewBytes(dir string, memory int64) *ByteSorter { return &ByteSorter{runs: newRuns(dir, memory)} }

// Add adds a record. It copies key and value.
func (s *ByteSorter) Add(key, value []byte) error {
	if len(key) > MaxKeyBytes {
		return fmt.Errorf("extsort: key of %d bytes is over the limit of %d", len(key), MaxKeyBytes)
	}
	if len(key) >= keySize {
		return s.take(binary.BigEndian.Uint64(key), len(key), key[keySize:], value)
	}
	var first [keySize]byte
	copy(first[:], key)
	return s.take(binary.BigEndian.Uint64(first[:]), len(key), nil, value)
}

// Each calls fn for every record in order and stops at its first error. Key and value are valid
// until fn returns. Call Each once, after all records have been added.
func (s *ByteSorter) Each(fn func(key, value []byte) error) error {
	return s.each(func(first uint64, size int, rest, value []byte) error {
		s.key = binary.BigEndian.AppendUint64(s.key[:0], first)
		s.key = append(s.key[:min(size, keySize)], rest...)
		return fn(s.key, value)
	})
}

// runs is the common part of both sorters. A key consists of its first eight bytes as a number,
// padded with zeros, its length, and the rest. Most comparisons need only the numbers, which lie
// close together.
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

	// These are buffers of the current spill. The next spill reuses them.
	scratch []entry
	out     []byte
}

const keySize = 8

func newRuns(dir string, memory int64) runs {
	// Offsets into a run have 32 bits.
	half := int(min(max(memory, MinMemoryBytes)/2, 1<<31-MaxRecordBytes))
	return runs{dir: dir, half: half, filling: &run{}}
}

// section is the position of a sorted run in the file.
type section struct{ off, size int64 }

// take adds a record whose key has size bytes.
func (s *runs) take(first uint64, size int, rest, value []byte) error {
	if len(value) > MaxRecordBytes {
		return fmt.Errorf("extsort: record of %d bytes is over the limit of %d", len(value), MaxRecordBytes)
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

// spill passes the full run to the background goroutine and continues with the other one.
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
		// Where the system permits it, remove the open file: then a killed process leaves nothing
		// behind. Elsewhere Close removes it.
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
		s.scratch = full.sort(s.scratch)
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

// write appends a sorted run to the file.
func (s *runs) write(r *run) error {
	var size int64
	flush := func() error {
		n, err := s.file.WriteAt(s.out, s.written+size)
		size += int64(n)
		s.out = s.out[:0]
		return err
	}
	for i := range r.entries {
		e := &r.entries[i]
		s.out = binary.LittleEndian.AppendUint64(s.out, e.first)
		s.out = binary.LittleEndian.AppendUint16(s.out, e.size)
		s.out = binary.LittleEndian.AppendUint32(s.out, e.n)
		s.out = append(s.out, r.data[e.off:e.off+e.rest()+e.n]...)
		if len(s.out) >= maxBuffer {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	s.spilled = append(s.spilled, section{s.written, size})
	s.written += size
	return nil
}

// Added returns the number of records added.
func (s *runs) Added() int64 { return s.added }

// Spilled returns the number of bytes written to disk. Call it after Each has returned.
func (s *runs) Spilled() int64 { return s.written }

func (s *runs) each(fn func(first uint64, size int, rest, value []byte) error) error {
	if s.file == nil {
		r := s.filling
		r.sort(nil)
		for i := range r.entries {
			e := &r.entries[i]
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
	s.filling, s.idle, s.scratch, s.out = nil, nil, nil, nil
	return s.merge(fn)
}

// Close waits for the background goroutine and removes the temporary file. A second Close does
// nothing.
func (s *runs) Close() error {
	err := s.wait()
	s.filling, s.idle, s.scratch, s.out = nil, nil, nil, nil
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
