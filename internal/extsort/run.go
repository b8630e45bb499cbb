package extsort

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// entry is a record. The rest of its key and its value lie in run.data, one after the other.
type entry struct {
	first  uint64
	off, n uint32 // n is the length of the value
	size   uint16 // length of the key
}

// rest returns the number of bytes of the key that are in run.data.
func (e *entry) rest() uint32 { return uint32(max(e.size, keySize) - keySize) }

type run struct {
	entries []entry
	data    []byte
}

func (r *run) size() int { return len(r.data) + entrySize*len(r.entries) }

func (r *run) add(e entry, rest, value []byte, limit int) {
	if need := len(r.data) + len(rest) + len(value); need > cap(r.data) {
		// append would exceed the limit at the last growth.
		grown := make([]byte, len(r.data), max(need, min(limit, 2*cap(r.data)+minBuffer)))
		copy(grown, r.data)
		r.data = grown
	}
	r.entries = append(r.entries, e)
	r.data = append(append(r.data, rest...), value...)
}

// sort sorts the entries. It returns the scratch memory that it was given, or
// larger memory that it allocated instead.
func (r *run) sort(scratch []entry) []entry {
	r.sortFrom(r.entries, 0, &scratch)
	return scratch
}

const (
	// fewEntries is the number of entries up to which they are sorted by comparing.
	fewEntries = 128
	// mostWords is the number of eight-byte words of a key that radix sorts by; the rest is
	// compared.
	mostWords = 6
)

// sortFrom sorts entries whose keys share the first bytes. Their field first contains the next
// eight bytes. Groups with the same eight are sorted by the bytes after them.
func (r *run) sortFrom(list []entry, word int, scratch *[]entry) {
	if len(list) < fewEntries || word == mostWords {
		slices.SortFunc(list, r.compare)
		return
	}
	radix(list, scratch)
	done := uint16(keySize * (word + 1)) // bytes of the keys that are in order
	for len(list) > 0 {
		n, longest, shortest := 1, list[0].size, list[0].size
		for n < len(list) && list[n].first == list[0].first {
			longest, shortest = max(longest, list[n].size), min(shortest, list[n].size)
			n++
		}
		switch group := list[:n]; {
		case n == 1 || longest == shortest && longest <= done:
			// radix keeps the order of equal entries.
		case n < fewEntries || longest <= done:
			slices.SortFunc(group, r.compare)
		default:
			first := group[0].first
			for i := range group {
				group[i].first = r.word(&group[i], word)
			}
			r.sortFrom(group, word+1, scratch)
			for i := range group {
				group[i].first = first
			}
		}
		list = list[n:]
	}
}

// compare orders entries by their fields first, and by the whole rests if these are equal.
func (r *run) compare(a, b entry) int {
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
	// Records without data have the offset of the record after them.
	return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(a.n, b.n))
}

// word returns eight bytes of the rest of a key as a number, padded with zeros.
func (r *run) word(e *entry, word int) uint64 {
	rest := r.data[e.off : e.off+e.rest()]
	rest = rest[min(keySize*word, len(rest)):]
	if len(rest) >= keySize {
		return binary.BigEndian.Uint64(rest)
	}
	var padded [keySize]byte
	copy(padded[:], rest)
	return binary.BigEndian.Uint64(padded[:])
}

// radix sorts entries by their field first, byte by byte from the last, and skips the bytes that
// all have in common. It keeps the order of equal entries.
func radix(list []entry, scratch *[]entry) {
	var counts [keySize][256]uint32
	sorted, last := true, uint64(0)
	for i := range list {
		v := list[i].first
		sorted, last = sorted && v >= last, v
		for digit := range counts {
			counts[digit][byte(v>>(8*digit))]++
		}
	}
	if sorted {
		return
	}
	if cap(*scratch) < len(list) {
		*scratch = make([]entry, len(list))
	}
	from, to := list, (*scratch)[:len(list)]
	for digit := range counts {
		shift := 8 * digit
		if counts[digit][byte(list[0].first>>shift)] == uint32(len(list)) {
			continue
		}
		var at [256]uint32
		sum := uint32(0)
		for b, n := range counts[digit] {
			at[b] = sum
			sum += n
		}
		for i := range from {
			b := byte(from[i].first >> shift)
			to[at[b]] = from[i]
			at[b]++
		}
		from, to = to, from
	}
	if &from[0] != &list[0] {
		copy(list, from)
	}
}
