package pebblestore

import (
	"encoding/binary"
	"math/bits"
)

const (
	// The length field of a suffix has one byte if the suffix has up to maxShort bytes. For a
	// longer suffix it has two bytes and the mark longMark.
	maxShort = 254
	longMark = 255

	timestampLen = 8
	shortTail    = timestampLen + 1
	longTail     = timestampLen + 3
)

// newestFirst is the inverted timestamp that sorts before every stored one.
const newestFirst = 0

func invert(timestamp int64) uint64 { return ^uint64(timestamp) }

// appendPrefix appends the prefix of a row: the key that sorts before all of
// its cells and after everything before them.
func appendPrefix(dst []byte, family byte, row []byte) []byte {
	dst = append(dst, family)
	dst = append(dst, row...)
	return append(dst, 0)
}

// appendSuffix appends a column and an inverted timestamp.
func appendSuffix(dst, qualifier []byte, inverted uint64) []byte {
	return appendTail(append(dst, qualifier...), len(qualifier), inverted)
}

// appendTail appends the part of a key after a qualifier of n bytes.
func appendTail(dst []byte, n int, inverted uint64) []byte {
	dst = binary.BigEndian.AppendUint64(dst, inverted)
	if n += shortTail; n <= maxShort {
		return append(dst, byte(n))
	}
	n += longTail - shortTail
	return append(dst, byte(n>>8), byte(n), longMark)
}

// splitKey returns the length of the prefix of a key. A key with an impossible length field counts
// as a bare prefix. Only a damaged file can have such a key.
func splitKey(k []byte) int {
	if len(k) == 0 {
		return 0
	}
	n := int(k[len(k)-1])
	if n == longMark {
		if len(k) < 3 {
			return len(k)
		}
		n = int(k[len(k)-3])<<8 | int(k[len(k)-2])
	}
	if n > len(k) {
		return len(k)
	}
	return len(k) - n
}

// splitSuffix returns the qualifier and the inverted timestamp of a suffix. A suffix that is too
// short for a timestamp is treated as a qualifier only.
func splitSuffix(s []byte) (qualifier []byte, inverted uint64) {
	tail := shortTail
	if len(s) > 0 && s[len(s)-1] == longMark {
		tail = longTail
	}
	n := len(s) - tail
	if n < 0 {
		return s, newestFirst
	}
	return s[:n], binary.BigEndian.Uint64(s[n:])
}

// commonPrefix returns the length of the common prefix of a and b.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if d := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); d != 0 {
			return i + bits.TrailingZeros64(d)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
