package points

import (
	"math"
	"strconv"

	"quadrille/internal/instant"
)

// Nodes of the tree keep a signature of the points below them: 64 bits, of which each
// text and boolean of their properties sets one, alone or in a list. A filter for some
// values need not look at nodes that lack the bits of all. See summary for properties
// of many values.

// maxSignedValue bounds the values that set a bit, in bytes of compact JSON.
// Longer ones are descriptions, which nobody filters by.
const maxSignedValue = 42

// valueHash is the hash of a value. It is kept in stores. Name and value are in
// compact form.
func valueHash[N string | []byte](name N, value []byte) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h := uint64(offset)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * prime
	}
	for _, c := range value {
		h = (h ^ uint64(c)) * prime
	}
	return h * 0x9e3779b97f4a7c15
}

// bitOf is the bit of a hash in signatures.
func bitOf(hash uint64) uint64 { return 1 << (hash >> 48 & 63) }

// masks appends sets of bits: points that match have a bit of each set in their
// signature. few reports of which properties signatures have all values.
func (f *Filter) masks(dst []uint64, few func(name string) bool) []uint64 {
	if f == nil {
		return dst
	}
	for i := range f.conditions {
		c := &f.conditions[i]
		if c.op != OpEquals || c.typ != Text && c.typ != Boolean && c.typ != Texts || !few(c.key[:len(c.key)-1]) {
			continue
		}
		var set uint64
		for j := range c.values {
			if len(c.values[j].text) > maxSignedValue {
				set = 0
				break
			}
			set |= bitOf(valueHash(c.key[:len(c.key)-1], c.values[j].text))
		}
		if set != 0 && set != math.MaxUint64 {
			dst = append(dst, set)
		}
	}
	return dst
}

// sortKey returns a number that is in the order of a field's values, for which
// ok is true: numbers as float64, times to 100 nanoseconds, false before true.
// Values closer than that can have the same key.
func sortKey(object []byte, f Field) (key uint64, ok bool) {
	value, ok := member(object, f.Name)
	if !ok {
		return 0, false
	}
	switch f.Type {
	case Number:
		if !isNumber(value) {
			return 0, false
		}
		v, err := strconv.ParseFloat(string(value), 64)
		if err != nil {
			return 0, false
		}
		key = math.Float64bits(v)
		if key>>63 != 0 {
			return ^key, true
		}
		return key | 1<<63, true
	case Boolean:
		if string(value) == "true" {
			return 1, true
		}
		return 0, string(value) == "false"
	case Time:
		if !isText(value) {
			return 0, false
		}
		t, ok := instant.Parse(value[1 : len(value)-1])
		if !ok {
			return 0, false
		}
		// The first second of the year 0 is 0. A key of nanoseconds would end within 600 years.
		return uint64(t.Unix()+62_167_219_200)*1e7 + uint64(t.Nanosecond()/100), true
	}
	return 0, false
}

// sortable reports whether sortKey knows an order of the values of a type.
func sortable(t Type) bool { return t == Number || t == Boolean || t == Time }
