package ipgeo

import (
	"encoding/binary"
	"errors"
)

// span is an accepted range, or a cut. A cut removes its addresses from all ranges. With order
// privateCut it removes them only from the ranges of sources that may not locate private networks.
// If the set of records was full, the span has its record itself.
type span struct {
	first, last u128
	order       uint64 // in which the ranges were given
	rank        uint32 // of the source, from 1; 0 marks a cut
	record      recordRef
}

const privateCut = 1

// wins orders the overlapping spans of one source. The first one answers.
func (s *span) wins(t *span) bool {
	if c := s.last.sub(s.first).compare(t.last.sub(t.first)); c != 0 {
		return c < 0
	}
	return s.order < t.order
}

// size returns the approximate memory of s in a heap, in bytes. It counts the fixed part twice,
// because the heap's slice may have grown to twice its length.
func (s *span) size() int64 {
	const fixed = 2 * 72
	return fixed + int64(len(s.record.inline))
}

// On disk a span is a key and a value. The key is that of a row that ends at the span's first
// address. The value is the last address, rank and order as uvarints, and the record. The record is
// a uvarint, which is twice the position in the set plus one, or zero and then the encoded record.

func (s *span) appendValue(dst []byte, v4 bool) []byte {
	dst = appendAddr(dst, v4, s.last)
	dst = binary.AppendUvarint(dst, uint64(s.rank))
	dst = binary.AppendUvarint(dst, s.order)
	if s.record.inline != "" {
		return append(append(dst, 0), s.record.inline...)
	}
	return binary.AppendUvarint(dst, s.record.at<<1|1)
}

// errTempFile is returned if a temporary file has changed since it was written.
var errTempFile = errors.New("a temporary file was changed or damaged; check the disk and build again")

// decode reads a span. It copies what it keeps.
func (s *span) decode(key, value []byte) (v4 bool, err error) {
	if len(key) == 0 {
		return false, errTempFile
	}
	v4 = key[0] == prefix4
	var ok, also bool
	s.first, _, ok = readAddr(key[1:], v4)
	s.last, value, also = readAddr(value, v4)
	if !ok || !also {
		return false, errTempFile
	}
	var fields [3]uint64
	for i := range fields {
		field, n := binary.Uvarint(value)
		if n <= 0 {
			return false, errTempFile
		}
		fields[i], value = field, value[n:]
	}
	s.rank, s.order = uint32(fields[0]), fields[1]
	s.record = recordRef{at: fields[2] >> 1}
	if fields[2] == 0 {
		s.record.inline = string(value)
	}
	return v4, nil
}
