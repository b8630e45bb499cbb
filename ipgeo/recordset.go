package ipgeo

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
)

// recordRef refers to an encoded record, which is in a recordSet or, if that
// was full, in the reference itself.
type recordRef struct {
	at     uint64
	inline string // no record is empty
}

// recordSet holds distinct encoded records in bounded memory. It never forgets
// a record: a full set takes no new records, but still finds the old ones. Its
// memory has no pointers for the garbage collector to follow.
type recordSet struct {
	left   int64 // bytes of memory not yet used
	seed   maphash.Seed
	slots  []uint64 // open addressing: 24 bits of the hash, then position + 1; 0 is empty
	count  int
	chunks [][]byte // each record after its length, a uvarint
}

const (
	// recordChunk is the size of a chunk. It is a multiple of the largest record.
	recordChunk  = 1 << 20
	positionBits = 40
	minSlots     = 1 << 8
	slotBytes    = 8
)

func newRecordSet(memory int64) *recordSet {
	return &recordSet{left: memory, seed: maphash.MakeSeed()}
}

// put returns the position of a record. It returns false if the record is new and there is no room
// for it.
func (s *recordSet) put(record []byte) (at uint64, ok bool) {
	h := maphash.Bytes(s.seed, record)
	i, found := s.find(h, record)
	if found {
		return s.slots[i]&(1<<positionBits-1) - 1, true
	}
	if 4*(s.count+1) > 3*len(s.slots) {
		if !s.grow() {
			return 0, false
		}
		i, _ = s.find(h, record)
	}
	if at, ok = s.append(record); ok {
		s.slots[i] = h>>positionBits<<positionBits | (at + 1)
		s.count++
	}
	return at, ok
}

// find returns the slot of a record, or the empty one where it belongs.
func (s *recordSet) find(h uint64, record []byte) (i uint64, found bool) {
	if len(s.slots) == 0 {
		return 0, false
	}
	mask := uint64(len(s.slots) - 1)
	for i = h & mask; s.slots[i] != 0; i = (i + 1) & mask {
		slot := s.slots[i]
		if slot>>positionBits == h>>positionBits && bytes.Equal(s.record(slot&(1<<positionBits-1)-1), record) {
			return i, true
		}
	}
	return i, false
}

func (s *recordSet) grow() bool {
	n := max(minSlots, 2*len(s.slots))
	if s.left < int64(n)*slotBytes {
		return false
	}
	s.left -= int64(n-len(s.slots)) * slotBytes
	old := s.slots
	s.slots = make([]uint64, n)
	mask := uint64(n - 1)
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		i := maphash.Bytes(s.seed, s.record(slot&(1<<positionBits-1)-1)) & mask
		for s.slots[i] != 0 {
			i = (i + 1) & mask
		}
		s.slots[i] = slot
	}
	return true
}

func (s *recordSet) append(record []byte) (at uint64, ok bool) {
	n := len(s.chunks)
	if n == 0 || len(s.chunks[n-1])+binary.MaxVarintLen32+len(record) > recordChunk {
		if s.left < recordChunk {
			return 0, false
		}
		s.left -= recordChunk
		size := recordChunk
		if n == 0 { // the first chunk grows, so small builds stay small
			size = recordChunk >> 8
		}
		s.chunks = append(s.chunks, make([]byte, 0, size))
		n++
	}
	c := s.chunks[n-1]
	if need := len(c) + binary.MaxVarintLen32 + len(record); need > cap(c) {
		c = append(make([]byte, 0, min(recordChunk, 2*need)), c...)
	}
	at = uint64(n-1)*recordChunk + uint64(len(c))
	s.chunks[n-1] = append(binary.AppendUvarint(c, uint64(len(record))), record...)
	return at, true
}

// record returns the record at a position that put returned.
func (s *recordSet) record(at uint64) []byte {
	b := s.chunks[at/recordChunk][at%recordChunk:]
	n, k := binary.Uvarint(b)
	return b[k : k+int(n)]
}
