package pmtiles

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Entry is an entry of a directory: a run of tiles with one content, or, with a run of 0, a leaf
// directory. Offsets count from the start of the section of tiles or of leaf directories.
type Entry struct {
	ID, Offset  uint64
	Length, Run uint32
}

// AppendDirectory appends a directory, not compressed.
func AppendDirectory(dst []byte, entries []Entry) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(entries)))
	var last uint64
	for _, e := range entries {
		dst = binary.AppendUvarint(dst, e.ID-last)
		last = e.ID
	}
	for _, e := range entries {
		dst = binary.AppendUvarint(dst, uint64(e.Run))
	}
	for _, e := range entries {
		dst = binary.AppendUvarint(dst, uint64(e.Length))
	}
	for i, e := range entries {
		if i > 0 && e.Offset == entries[i-1].Offset+uint64(entries[i-1].Length) {
			dst = append(dst, 0) // follows the previous one directly
		} else {
			dst = binary.AppendUvarint(dst, e.Offset+1)
		}
	}
	return dst
}

// ErrDirectory is matched by errors about directories that no writer should have made.
var ErrDirectory = errors.New("a directory is damaged")

// DecodeDirectory appends the entries of an uncompressed directory, whose number most bounds. It
// refuses further entries, ids that do not increase, runs that overlap, and sums that overflow. The
// caller checks that the contents lie in their section.
func DecodeDirectory(dst []Entry, b []byte, most int) ([]Entry, error) {
	d := decoder{rest: b}
	n := d.number("the number of entries", math.MaxUint64)
	switch {
	case d.err != nil:
		return dst, d.err
	case n == 0:
		return dst, fmt.Errorf("%w: it has no entries", ErrDirectory)
	case n > uint64(len(d.rest))/4: // each has four numbers of a byte at least
		return dst, fmt.Errorf("%w: %d entries in %d bytes", ErrDirectory, n, len(b))
	case n > uint64(most):
		return dst, fmt.Errorf("%w: %d entries, and at most %d are read", ErrDirectory, n, most)
	}
	first := len(dst)
	dst = slices.Grow(dst, int(n))[:first+int(n)]
	list := dst[first:]
	var id uint64
	for i := range list {
		step := d.number("an id", tileIDs-1-id)
		if i > 0 && step == 0 {
			d.fail("an id comes twice")
		}
		id += step
		list[i] = Entry{ID: id}
	}
	for i := range list {
		e := &list[i]
		next := uint64(tileIDs)
		if i+1 < len(list) {
			next = list[i+1].ID
		}
		e.Run = uint32(d.number("a run", min(next-e.ID, math.MaxUint32)))
	}
	for i := range list {
		if list[i].Length = uint32(d.number("a length", math.MaxUint32)); list[i].Length == 0 {
			d.fail("a content has no bytes")
		}
	}
	for i := range list {
		e := &list[i]
		switch v := d.number("an offset", math.MaxInt64); {
		case v > 0:
			e.Offset = v - 1
		case i == 0:
			d.fail("the first offset follows none")
		default:
			e.Offset = list[i-1].Offset + uint64(list[i-1].Length)
		}
	}
	if d.err == nil && len(d.rest) > 0 {
		d.fail("something follows the entries")
	}
	if d.err != nil {
		return dst[:first], d.err
	}
	return dst, nil
}

// decoder reads numbers until one is invalid.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) number(what string, most uint64) uint64 {
	if d.err != nil {
		return 0
	}
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.fail("it ends within " + what)
		return 0
	}
	d.rest = d.rest[n:]
	if v > most {
		d.fail(what + " is too large")
		return 0
	}
	return v
}

func (d *decoder) fail(why string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", ErrDirectory, why)
	}
}
