package pebblestore

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// comparer orders cell keys. Its name is stored in every database: a change
// of order needs a new name.
var comparer = &pebble.Comparer{
	Name:                 "quadrille.cell.v1",
	Split:                splitKey,
	Compare:              compareKeys,
	Equal:                bytes.Equal, // the encoding of a key is unique
	ComparePointSuffixes: compareSuffixes,
	CompareRangeSuffixes: compareSuffixes,
	AbbreviatedKey:       abbreviatedKey,
	Separator:            separator,
	Successor:            successor,
	ImmediateSuccessor:   immediateSuccessor,
	ValidateKey:          validateKey,
	FormatKey:            func(k []byte) fmt.Formatter { return formattedKey(k) },
}

func compareKeys(a, b []byte) int {
	i, j := splitKey(a), splitKey(b)
	if c := bytes.Compare(a[:i], b[:j]); c != 0 {
		return c
	}
	return compareSuffixes(a[i:], b[j:])
}

// compareSuffixes compares qualifiers, then timestamps, newest first. Comparing the bytes of both
// together would be wrong: a qualifier sorts before every longer one that starts with it, for any
// timestamps. The empty suffix of a bare prefix comes first.
func compareSuffixes(a, b []byte) int {
	if len(a) == 0 || len(b) == 0 {
		return cmp.Compare(len(a), len(b))
	}
	aq, at := splitSuffix(a)
	bq, bt := splitSuffix(b)
	if c := bytes.Compare(aq, bq); c != 0 {
		return c
	}
	return cmp.Compare(at, bt)
}

func abbreviatedKey(k []byte) uint64 {
	p := k[:splitKey(k)]
	if len(p) >= 8 {
		return binary.BigEndian.Uint64(p)
	}
	var b [8]byte
	copy(b[:], p)
	return binary.BigEndian.Uint64(b[:])
}

// separator appends a short bare prefix k with a ≤ k < b, or a itself.
func separator(dst, a, b []byte) []byte {
	ap, bp := a[:splitKey(a)], b[:splitKey(b)]
	i := commonPrefix(ap, bp)
	if i == len(ap) || i == len(bp) || ap[i] >= bp[i] {
		return append(dst, a...)
	}
	// ap[:i]+(ap[i]+1) is above every key with prefix ap. It is below bp if bp leaves room for it,
	// including the end mark. Otherwise one of the bytes after i is raised, and the result is still
	// below bp at i.
	if c := ap[i] + 1; c < bp[i] || bytes.Compare(bp[i+1:], zero) > 0 {
		if i+2 < len(a) {
			return append(append(append(dst, ap[:i]...), c), 0)
		}
		return append(dst, a...)
	}
	for j := i + 1; j < len(ap); j++ {
		if ap[j] != 0xFF {
			if j+2 < len(a) {
				return append(append(append(dst, ap[:j]...), ap[j]+1), 0)
			}
			break
		}
	}
	return append(dst, a...)
}

// successor appends a short bare prefix k ≥ a, or a itself.
func successor(dst, a []byte) []byte {
	if len(a) == 0 {
		return append(dst, 0)
	}
	p := a[:splitKey(a)]
	for i, c := range p {
		if c != 0xFF {
			if i+2 < len(a) {
				return append(append(append(dst, p[:i]...), c+1), 0)
			}
			break
		}
	}
	return append(dst, a...)
}

// immediateSuccessor appends the prefix of the row that follows a's directly.
func immediateSuccessor(dst, a []byte) []byte { return append(append(dst, a...), 0) }

var zero = []byte{0}

func validateKey(k []byte) error {
	switch {
	case len(k) == 0:
		return fmt.Errorf("pebblestore: empty key")
	case k[len(k)-1] == 0:
		return nil // a bare prefix
	}
	i := splitKey(k)
	s := k[i:]
	tail := shortTail
	if len(s) > 0 && s[len(s)-1] == longMark {
		tail = longTail
	}
	switch {
	case len(s) < tail, tail == longTail && len(s)-longTail+shortTail <= maxShort:
		return fmt.Errorf("pebblestore: key %x has a bad suffix length", k)
	case i > 0 && k[i-1] != 0:
		return fmt.Errorf("pebblestore: key %x has no end of row before its suffix", k)
	}
	return nil
}

// formattedKey prints a key for people.
type formattedKey []byte

func (k formattedKey) Format(s fmt.State, _ rune) {
	i := splitKey(k)
	if i == len(k) {
		fmt.Fprintf(s, "%q", []byte(k))
		return
	}
	q, t := splitSuffix(k[i:])
	fmt.Fprintf(s, "%q:%q@%d", []byte(k[:i]), q, int64(^t))
}
