package ipgeo

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// A block holds the bounds of up to 64 consecutive ranges, and where the record
// of each lies in a heap.
//
//	ranges, less 1, 1 byte · 1 if ranges have gaps between them, else 0, 1 byte
//	first address of the first range, 4 or 16 bytes
//	last addresses, packed
//	last less first address of each range, packed, if there are gaps
//	0, 1 byte · offsets of the records, packed; or, if that is shorter,
//	n, 1 byte · for each range one of n offsets, packed · n offsets, packed
//
// Packed numbers have what they share taken out: the smallest one, and the
// zeros that all end in after it is subtracted.
//
//	bits of a number: 0–57, or 128 · zeros taken out · the smallest number,
//	4 or 16 bytes, of offsets 5 · the numbers, little-endian from bit 0 of
//	the first byte, filled to whole bytes
//
// Numbers of IPv6 that differ in more than 57 bits are not packed: they have 16
// bytes, the high half first. Numbers are little-endian.
const (
	blockRanges = 64
	maxPacked   = 57 // bits that one load of 8 bytes yields from any bit on
	notPacked   = 128
	offsetBytes = 5
)

// packed is a decoded sequence of packed numbers.
type packed struct {
	base         u128
	shift, width uint
	data         []byte // with the rest of the block
}

// readPacked reads n packed numbers from the beginning of b. The smallest has size bytes.
func readPacked(b []byte, n, size int) (p packed, rest []byte, ok bool) {
	if len(b) < 2+size {
		return p, nil, false
	}
	p.width, p.shift = uint(b[0]), uint(b[1])
	switch size {
	case 4:
		p.base.lo = uint64(binary.LittleEndian.Uint32(b[2:]))
	case offsetBytes:
		p.base.lo = uint64(binary.LittleEndian.Uint32(b[2:])) | uint64(b[6])<<32
	default:
		p.base = readU128(b[2:])
	}
	if p.width > maxPacked && (p.width != notPacked || size != 16) || p.shift > 127 {
		return p, nil, false
	}
	p.data = b[2+size:]
	bytes := (n*int(p.width) + 7) / 8
	if len(p.data) < bytes {
		return p, nil, false
	}
	return p, p.data[bytes:], true
}

// small returns the packed form of number i, whose width is at most 57.
func (p *packed) small(i int) uint64 {
	bit := uint(i) * p.width
	at := bit >> 3
	if at+8 <= uint(len(p.data)) {
		return binary.LittleEndian.Uint64(p.data[at:]) >> (bit & 7) & (1<<p.width - 1)
	}
	var b [8]byte
	copy(b[:], p.data[min(at, uint(len(p.data))):])
	return binary.LittleEndian.Uint64(b[:]) >> (bit & 7) & (1<<p.width - 1)
}

// at returns number i.
func (p *packed) at(i int) u128 {
	if p.width == notPacked {
		return readU128(p.data[16*i:])
	}
	return p.base.add(u128{lo: p.small(i)}.shl(p.shift))
}

// search returns the index of the first of n ascending numbers that is not less
// than a, or n.
func (p *packed) search(n int, a u128) int {
	lo, hi := 0, n
	if p.width == notPacked {
		for lo < hi {
			if mid := int(uint(lo+hi) >> 1); p.at(mid).less(a) {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		return lo
	}
	if a.compare(p.base) <= 0 {
		return 0
	}
	over := a.sub(p.base).dec().shr(p.shift) // numbers up to it are less
	if over.hi != 0 {
		return n
	}
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); p.small(mid) <= over.lo {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// appendPacked appends numbers in packed form.
func appendPacked(dst []byte, numbers []u128, size int) []byte {
	base := slices.MinFunc(numbers, u128.compare)
	var all u128
	for _, n := range numbers {
		d := n.sub(base)
		all = u128{all.hi | d.hi, all.lo | d.lo}
	}
	shift := uint(0)
	if all != (u128{}) {
		shift = uint(all.trailingZeros())
	}
	width := all.shr(shift).bitLen()
	if width > maxPacked {
		dst = append(dst, notPacked, 0)
		dst = appendU128(dst, u128{})
		for _, n := range numbers {
			dst = appendU128(dst, n)
		}
		return dst
	}
	dst = append(dst, byte(width), byte(shift))
	if size == 16 {
		dst = appendU128(dst, base)
	} else {
		dst = appendUint(dst, base.lo, size)
	}
	var left uint64 // bits not yet appended
	var have int
	for _, n := range numbers {
		v := n.sub(base).shr(shift).lo
		left |= v << have
		have += width
		for have >= 8 {
			dst = append(dst, byte(left))
			left >>= 8
			have -= 8
		}
		// have is below 8, and a number of 57 bits fits into the other bits.
	}
	if have > 0 {
		dst = append(dst, byte(left))
	}
	return dst
}

func appendU128(dst []byte, a u128) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, a.hi), a.lo)
}

// readU128 reads an address: the high half first, each half little-endian.
func readU128(b []byte) u128 {
	b = b[:16]
	return u128{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
}

// block is a decoded block. It points into the bytes it was decoded from.
type block struct {
	v4             bool
	n              int // ranges
	first          u128
	ends           packed
	widths         packed
	gaps           bool
	records        packed
	choices        int // 0: records are the offsets
	offsets        packed
	bounds, length int // bytes of the bounds, and of the block
}

const cutBlock = "a block is cut off or has an unknown form"

// decode decodes the block at the start of b. It reports whether b holds one.
func (k *block) decode(b []byte, v4 bool) bool {
	size := 16
	if v4 {
		size = 4
	}
	if len(b) < 2+size || b[0] >= blockRanges || b[1] > 1 {
		return false
	}
	k.v4, k.n, k.gaps = v4, int(b[0])+1, b[1] == 1
	if v4 {
		k.first = u128{lo: uint64(binary.LittleEndian.Uint32(b[2:]))}
	} else {
		k.first = readU128(b[2:])
	}
	var ok bool
	rest := b[2+size:]
	if k.ends, rest, ok = readPacked(rest, k.n, size); !ok {
		return false
	}
	if k.gaps {
		if k.widths, rest, ok = readPacked(rest, k.n, size); !ok {
			return false
		}
	}
	k.bounds = len(b) - len(rest)
	if len(rest) == 0 {
		return false
	}
	k.choices = int(rest[0])
	if k.choices > blockRanges {
		return false
	}
	// The index of an alternative has the size of an IPv4 address.
	size = offsetBytes
	if k.choices > 0 {
		size = 4
	}
	if k.records, rest, ok = readPacked(rest[1:], k.n, size); !ok {
		return false
	}
	if k.choices > 0 {
		if k.offsets, rest, ok = readPacked(rest, k.choices, offsetBytes); !ok {
			return false
		}
	}
	k.length = len(b) - len(rest)
	return true
}

// find returns the index of the range that covers a, and its bounds. ok is false if a lies in a
// gap. wrong describes the damage of the block, or is "". The caller must ensure that a is not
// after the last range.
func (k *block) find(a u128) (i int, first, last u128, ok bool, wrong string) {
	const unordered = "the ranges of a block are not in order, or end before the address"
	if i = k.ends.search(k.n, a); i == k.n {
		return 0, u128{}, u128{}, false, unordered
	}
	first, last = k.at(i)
	switch {
	case last.less(a) || last.less(first) || k.v4 && last.hi|last.lo>>32 != 0:
		return 0, u128{}, u128{}, false, unordered
	case first.compare(a) <= 0:
		return i, first, last, true, ""
	case i > 0 && !k.ends.at(i-1).less(a):
		return 0, u128{}, u128{}, false, unordered
	}
	return i, first, last, false, ""
}

// at returns the bounds of range i.
func (k *block) at(i int) (first, last u128) {
	last = k.ends.at(i)
	switch {
	case k.gaps:
		return last.sub(k.widths.at(i)), last
	case i == 0:
		return k.first, last
	}
	return k.ends.at(i - 1).inc(), last
}

// offset returns the offset of the record of range i.
func (k *block) offset(i int) (uint64, bool) {
	n := k.records.at(i).lo
	if k.choices == 0 {
		return n, true
	}
	if n >= uint64(k.choices) {
		return 0, false
	}
	return k.offsets.at(int(n)).lo, true
}

// bound has the bounds of a range.
type bound struct{ first, last u128 }

// blockWriter encodes blocks and reuses its memory.
type blockWriter struct {
	numbers, choices []u128
	direct, chosen   []byte
}

// appendBounds appends the part of a block that holds the bounds.
func (w *blockWriter) appendBounds(dst []byte, v4 bool, ranges []bound) []byte {
	size := 16
	if v4 {
		size = 4
	}
	var gaps byte
	w.numbers = w.numbers[:0]
	for i, r := range ranges {
		if i > 0 && ranges[i-1].last.inc() != r.first {
			gaps = 1
		}
		w.numbers = append(w.numbers, r.last)
	}
	dst = append(dst, byte(len(ranges)-1), gaps)
	if v4 {
		dst = appendUint(dst, ranges[0].first.lo, size)
	} else {
		dst = appendU128(dst, ranges[0].first)
	}
	dst = appendPacked(dst, w.numbers, size)
	if gaps == 1 {
		for i, r := range ranges {
			w.numbers[i] = r.last.sub(r.first)
		}
		dst = appendPacked(dst, w.numbers, size)
	}
	return dst
}

// appendOffsets appends the rest of a block, in the shorter form.
func (w *blockWriter) appendOffsets(dst []byte, offsets []uint64) []byte {
	w.numbers, w.choices = w.numbers[:0], w.choices[:0]
	for _, at := range offsets {
		w.numbers = append(w.numbers, u128{lo: at})
	}
	w.direct = appendPacked(append(w.direct[:0], 0), w.numbers, offsetBytes)
	for i, n := range w.numbers {
		c := slices.Index(w.choices, n)
		if c < 0 {
			c = len(w.choices)
			w.choices = append(w.choices, n)
		}
		w.numbers[i] = u128{lo: uint64(c)}
	}
	w.chosen = appendPacked(append(w.chosen[:0], byte(len(w.choices))), w.numbers, 4)
	w.chosen = appendPacked(w.chosen, w.choices, offsetBytes)
	if len(w.chosen) < len(w.direct) {
		return append(dst, w.chosen...)
	}
	return append(dst, w.direct...)
}

func (a u128) add(b u128) u128 {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return u128{hi, lo}
}

// shl and shr shift by less than 128 bits.
func (a u128) shl(n uint) u128 {
	if n >= 64 {
		return u128{hi: a.lo << (n - 64)}
	}
	return u128{a.hi<<n | a.lo>>(64-n), a.lo << n}
}

func (a u128) shr(n uint) u128 {
	if n >= 64 {
		return u128{lo: a.hi >> (n - 64)}
	}
	return u128{a.hi >> n, a.lo>>n | a.hi<<(64-n)}
}
