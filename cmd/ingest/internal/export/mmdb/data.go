package mmdb

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/maphash"

	"quadrille/internal/repeats"
)

// section writes the data section. It writes pointers to values that it already has: whole records,
// and the maps, lists, texts and numbers in them.
type section struct {
	out  *bufio.Writer
	size int64

	// shape, if set, turns the text of a record into the text to write.
	shape           func(text []byte) ([]byte, error)
	languages       map[string]bool // of all names
	records, values memory
	again           repeats.Watch // of records
	plain, packed   []byte
}

// put writes a record, unless the section already has it, and returns its place.
func (s *section) put(text []byte) (record, error) {
	look := s.again.ShouldLook()
	var key [2]uint64
	if look {
		key = s.records.key(text)
		if at, known := s.records.find(key); known {
			s.again.Found()
			return ofData | record(at), nil
		}
	}
	keep := func(at uint32) {
		if look {
			s.records.keep(key, at)
		}
	}
	var err error
	if s.shape != nil {
		if text, err = s.shape(text); err != nil {
			return 0, err
		}
	}
	if s.plain, err = encode(s.plain[:0], text, s.languages); err != nil {
		return 0, err
	}
	if typ, _, _ := control(s.plain); typ != typeMap {
		return 0, fmt.Errorf("record %.40q is not a JSON object", text)
	}
	// A record must be a value and not a pointer. The memory values has only positions of values.
	if at, known := s.values.find(s.values.key(s.plain)); known {
		keep(at)
		return ofData | record(at), nil
	}
	if s.size+int64(len(s.plain)) > maxData {
		return 0, fmt.Errorf("the records take more than %d bytes, which no record of the search tree can point to; leave "+
			"fields out by --fields", maxData)
	}
	at := uint32(s.size)
	s.packed = s.packed[:0]
	s.pack(s.plain)
	if _, err := s.out.Write(s.packed); err != nil {
		return 0, err
	}
	s.size += int64(len(s.packed))
	keep(at)
	return ofData | record(at), nil
}

// pack appends a value to packed, with pointers to earlier equal values.
func (s *section) pack(b []byte) (rest []byte) {
	n := length(b)
	const shortest = 2 // bytes of a pointer
	if n > shortest {
		key := s.values.key(b[:n])
		if at, known := s.values.find(key); known {
			if p := appendPointer(s.packed, at); len(p)-len(s.packed) < n {
				s.packed = p
				return b[n:]
			}
		} else {
			s.values.keep(key, uint32(s.size)+uint32(len(s.packed)))
		}
	}
	typ, size, head := control(b)
	if typ == typeMap {
		size *= 2
	}
	if typ != typeMap && typ != typeArray {
		s.packed = append(s.packed, b[:n]...)
		return b[n:]
	}
	s.packed = append(s.packed, b[:head]...)
	b = b[head:]
	for range size {
		b = s.pack(b)
	}
	return b
}

func appendPointer(dst []byte, at uint32) []byte {
	const (
		from2 = 1 << 11
		from3 = from2 + 1<<19
		from4 = from3 + 1<<27
	)
	first := byte(typePointer << 5)
	switch {
	case at < from2:
		return append(dst, first|byte(at>>8), byte(at))
	case at < from3:
		at -= from2
		return append(dst, first|1<<3|byte(at>>16), byte(at>>8), byte(at))
	case at < from4:
		at -= from3
		return append(dst, first|2<<3|byte(at>>24), byte(at>>16), byte(at>>8), byte(at))
	}
	return binary.BigEndian.AppendUint32(append(dst, first|3<<3), at)
}

// memory maps values to their positions. It forgets the oldest values if there is no room. A key is
// two hashes of a value with separate seeds, so that equal keys mean equal values.
type memory struct {
	recent, older map[[2]uint64]uint32
	most          int // entries in either map
	seeds         [2]maphash.Seed
}

func newMemory(bytes int64) memory {
	const entry = 64 // bytes of one in a map that has just grown
	return memory{
		recent: map[[2]uint64]uint32{}, most: max(int(bytes/2/entry), 1<<10),
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
	}
}

func (m *memory) key(b []byte) [2]uint64 {
	return [2]uint64{maphash.Bytes(m.seeds[0], b), maphash.Bytes(m.seeds[1], b)}
}

func (m *memory) find(key [2]uint64) (at uint32, known bool) {
	if at, known = m.recent[key]; known {
		return at, true
	}
	if at, known = m.older[key]; known {
		m.keep(key, at)
	}
	return at, known
}

func (m *memory) keep(key [2]uint64, at uint32) {
	if len(m.recent) >= m.most {
		m.recent, m.older = make(map[[2]uint64]uint32, m.most), m.recent
	}
	m.recent[key] = at
}
