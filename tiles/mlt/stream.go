package mlt

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// These are the types of streams, with their numbers in the format.
const (
	streamPresent       = 0x00
	streamData          = 0x10
	streamTextDict      = 0x11 // texts that offsets point to
	streamVertices      = 0x13
	streamVertexOffsets = 0x20
	streamTextOffsets   = 0x22
	streamTextLengths   = 0x30
	streamGeometries    = 0x31
	streamParts         = 0x32
	streamRings         = 0x33
	streamDictLengths   = 0x36
)

// These are the encodings of streams, numbered as in the format. A stream has a first and a second
// logical technique, and a way to write the integers.
const (
	encodingBytes            = 0
	encodingVarint           = 2
	encodingDelta            = 1<<5 | encodingVarint
	encodingComponents       = 2<<5 | encodingVarint
	encodingRuns             = 3<<5 | encodingVarint
	encodingDeltaRuns        = 1<<5 | 3<<2 | encodingVarint
	encodingRunsOfBytes      = 3 << 5 // of bits
	maxByteRun, minRun       = 130, 3
	maxLiteral               = 128
	plain               ways = 1
	delta               ways = 2
	runs                ways = 4
	deltaRuns           ways = 8
)

// ways is a set of allowed encodings of integers.
type ways uint8

// ints encodes streams of integers.
type ints struct {
	deltas []uint64
	packed []uint64
}

// append appends a stream of integers in the shortest of several encodings, or the
// simplest of equally short ones. The caller has zigzag-coded signed integers. The
// deltas of unsigned integers are zigzag-coded here, as the specification requires.
func (s *ints) append(b []byte, stream byte, values []uint64, signed bool, may ways) []byte {
	best, encoding, size := values, byte(encodingVarint), varints(values)
	if may&runs != 0 {
		if n, count := runLengths(values); n < size {
			encoding, size = encodingRuns, n
			s.packed = appendRuns(s.packed[:0], values, count)
			best = s.packed
		}
	}
	count := 0
	if may&(delta|deltaRuns) != 0 && !signed {
		s.deltas = s.deltas[:0]
		var before, all uint64
		for _, v := range values {
			d := zigzag(int64(v - before))
			s.deltas = append(s.deltas, d)
			before, all = v, all|d
		}
		// Decoders compute in 32 bits, or in doubles, in which the sign would be lost.
		if all > math.MaxUint32 {
			may &^= delta | deltaRuns
		}
		if n := varints(s.deltas); may&delta != 0 && n < size {
			best, encoding, size = s.deltas, encodingDelta, n
		}
		if n, runs := runLengths(s.deltas); may&deltaRuns != 0 && n < size {
			encoding, count = encodingDeltaRuns, runs
		}
	}
	if encoding == encodingDeltaRuns {
		s.packed = appendRuns(s.packed[:0], s.deltas, count)
		best, size = s.packed, varints(s.packed)
	} else if encoding == encodingRuns {
		size = varints(best)
	}
	b = appendStream(b, stream, encoding, len(best), size)
	if encoding == encodingRuns || encoding == encodingDeltaRuns {
		b = binary.AppendUvarint(b, uint64(len(best)/2))
		b = binary.AppendUvarint(b, uint64(len(values)))
	}
	for _, v := range best {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

// appendStream appends the head of a stream.
func appendStream(b []byte, stream, encoding byte, values, size int) []byte {
	b = append(b, stream, encoding)
	b = binary.AppendUvarint(b, uint64(values))
	return binary.AppendUvarint(b, uint64(size))
}

// varints returns the number of bytes of integers as varints.
func varints(values []uint64) (n int) {
	for _, v := range values {
		n += varint(v)
	}
	return n
}

func varint(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// runLengths returns the number of bytes of integers as run lengths, including the longer head of
// such a stream, and the number of runs.
func runLengths(values []uint64) (size, count int) {
	for i := 0; i < len(values); {
		n := runAt(values, i)
		size += varint(uint64(n)) + varint(values[i])
		count++
		i += n
	}
	return size + varint(uint64(count)) + varint(uint64(len(values))), count
}

func runAt(values []uint64, i int) int {
	n := 1
	for i+n < len(values) && values[i+n] == values[i] {
		n++
	}
	return n
}

// appendRuns appends the lengths of the runs, and then their values.
func appendRuns(dst, values []uint64, count int) []uint64 {
	for i := 0; i < len(values); {
		n := runAt(values, i)
		dst = append(dst, uint64(n))
		i += n
	}
	for i := 0; i < len(values); i += runAt(values, i) {
		dst = append(dst, values[i])
	}
	return dst[:2*count]
}

// appendBools appends a stream of bits, the first bit lowest in its byte. The bytes are run-length
// coded as in ORC: a head n below 128 means that the next byte is repeated n+3 times, a greater
// head that 256−n literal bytes follow. bit is called once for each index, in order.
func (e *Encoder) appendBools(b []byte, stream byte, n int, bit func(i int) bool) []byte {
	packed := e.bits[:0]
	for i := range n {
		if i%8 == 0 {
			packed = append(packed, 0)
		}
		if bit(i) {
			packed[i/8] |= 1 << (i % 8)
		}
	}
	bitmap := len(packed)
	same := func(i int) int {
		k := 1
		for i+k < bitmap && k < maxByteRun && packed[i+k] == packed[i] {
			k++
		}
		return k
	}
	for i := 0; i < bitmap; {
		if k := same(i); k >= minRun {
			packed = append(packed, byte(k-minRun), packed[i])
			i += k
			continue
		}
		k := 1
		for i+k < bitmap && k < maxLiteral && same(i+k) < minRun {
			k++
		}
		packed = append(packed, byte(-k))
		packed = append(packed, packed[i:i+k]...)
		i += k
	}
	e.bits = packed
	b = appendStream(b, stream, encodingRunsOfBytes, n, len(packed)-bitmap)
	return append(b, packed[bitmap:]...)
}

func zigzag(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }
