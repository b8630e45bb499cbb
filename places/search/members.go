package search

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// members holds the JSON members of the places in finished answers. It looks
// them up in the order of ids, which is the order of their table. They are used
// in the order of names. Places of one prefix lie all over the table, so one
// pass over the table is much quicker than single reads.
type members struct {
	dir    string
	memory int64

	ids    []uint32
	recent [1 << 14]uint32 // ids that were just added, by their low bits
	bound  int             // of len(ids), at which duplicates are removed

	offsets []int64 // of each place's members, and the end
	data    []byte  // all members, or the last few if there is a file
	file    *os.File
	size    int64 // of the file's content

	kept *simplelru.LRU[int, []byte] // by index in ids, when there is a file
}

const maxKept = 1 << 16 // places in kept: some 25 MB with members of the usual length

func newMembers(dir string, memory int64) *members {
	return &members{dir: dir, memory: memory, bound: 1 << 16}
}

// want records that a place is in an answer.
func (m *members) want(id uint32) {
	if r := &m.recent[id%uint32(len(m.recent))]; *r != id {
		*r = id
		if m.ids = append(m.ids, id); len(m.ids) >= m.bound {
			m.compact()
			m.bound = max(m.bound, 2*len(m.ids))
		}
	}
}

func (m *members) compact() {
	slices.Sort(m.ids)
	m.ids = slices.Compact(m.ids)
}

// gather looks up every wanted place. It calls step with the number of places looked up so far and
// the total. It ends with the first error.
func (m *members) gather(lookup func(uint32, []byte) ([]byte, error), step func(done, total int64) error) (err error) {
	m.compact()
	m.offsets = make([]int64, 0, len(m.ids)+1)
	// The buffer is allocated at once, because growing it step by step would briefly take up to
	// twice the memory.
	const usualSize = 256
	m.data = make([]byte, 0, min(m.memory+usualSize, int64(len(m.ids))*usualSize))
	for i, id := range m.ids {
		m.offsets = append(m.offsets, m.size+int64(len(m.data)))
		if m.data, err = lookup(id, m.data); err != nil {
			return fmt.Errorf("looking up place %d: %w", id, err)
		}
		if int64(len(m.data)) > m.memory {
			if err := m.spill(); err != nil {
				return fmt.Errorf("writing a temporary file: %w; free some space or allow more memory", err)
			}
		}
		if err := step(int64(i+1), int64(len(m.ids))); err != nil {
			return err
		}
	}
	m.offsets = append(m.offsets, m.size+int64(len(m.data)))
	if m.file != nil {
		return m.spill()
	}
	return nil
}

func (m *members) spill() error {
	if m.file == nil {
		f, err := os.CreateTemp(m.dir, "members-*.tmp")
		if err != nil {
			return err
		}
		m.file = f
		if m.kept, err = simplelru.NewLRU[int, []byte](maxKept, nil); err != nil {
			return err
		}
		os.Remove(f.Name()) // some systems cannot remove an open file; close then removes it
	}
	n, err := m.file.WriteAt(m.data, m.size)
	m.size += int64(n)
	// From now on a small buffer is sufficient.
	m.memory = min(m.memory, 1<<20)
	m.data = m.data[:0]
	if int64(cap(m.data)) > 2*m.memory {
		m.data = nil
	}
	return err
}

// append appends the members of a place.
func (m *members) append(dst []byte, id uint32) ([]byte, error) {
	i, ok := slices.BinarySearch(m.ids, id)
	if !ok {
		return nil, errors.New("temporary file is damaged")
	}
	from, to := m.offsets[i], m.offsets[i+1]
	if m.file == nil {
		return append(dst, m.data[from:to]...), nil
	}
	data, ok := m.kept.Get(i)
	if !ok {
		data = make([]byte, to-from)
		if _, err := m.file.ReadAt(data, from); err != nil {
			return nil, fmt.Errorf("reading a temporary file: %w", err)
		}
		m.kept.Add(i, data)
	}
	return append(dst, data...), nil
}

func (m *members) close() error {
	m.ids, m.offsets, m.data, m.kept = nil, nil, nil, nil
	if m.file == nil {
		return nil
	}
	f := m.file
	m.file = nil
	err := f.Close()
	if rm := os.Remove(f.Name()); rm != nil && !errors.Is(rm, os.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	return err
}
