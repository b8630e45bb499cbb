package points

import (
	"math"

	"quadrille/feature"
)

// Nodes of the tree keep a signature of the points below them. It has 64 bits. Each text or boolean
// in the properties, alone or in a list, sets one bit. A filter for some values can skip nodes that
// lack the bits of all these values. For properties with many values see summary.

// maxSignedValue bounds the length of a value that sets a bit, in bytes of compact JSON. Longer
// values are descriptions, which are not used in filters.
const maxSignedValue = 42

// valueHash returns the hash of a value. Stores contain such hashes, so it must not change. Name
// and value are in compact form.
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

// bitOf returns the bit of a hash in signatures.
func bitOf(hash uint64) uint64 { return 1 << (hash >> 48 & 63) }

// masks appends sets of bits. The signature of a point that fulfils the filter has at least
// one bit of each set. few reports whether signatures have all values of a property.
func masks(dst []uint64, f *feature.Expression, few func(name string) bool) []uint64 {
	for _, e := range f.Equalities() {
		if !few(e.QuotedName) {
			continue
		}
		var set uint64
		for _, value := range e.Values {
			if len(value) > maxSignedValue {
				set = 0
				break
			}
			set |= bitOf(valueHash(e.QuotedName, value))
		}
		if set != 0 && set != math.MaxUint64 {
			dst = append(dst, set)
		}
	}
	return dst
}
