package ipgeo

import "hash/maphash"

// dedup remembers a number for each of many byte strings, in bounded memory. It
// forgets those that were not asked for in the longest time.
//
// Two hashes with separate seeds tell strings apart, 128 bits that nobody can
// aim at. CheckIndex would find a collision. What is forgotten depends on the
// order of the strings alone, and not on the seeds.
type dedup struct {
	now, before map[[2]uint64]uint64
	most        int // strings in either map
	seeds       [2]maphash.Seed
}

func newDedup(memory int64) *dedup {
	const entry = 100 // bytes in a map that grows
	return &dedup{
		now: make(map[[2]uint64]uint64), most: int(max(1, memory/entry/2)),
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
	}
}

// find returns the number of a string. If the string is new or forgotten, it
// remembers next for it and returns that.
func (d *dedup) find(b []byte, next uint64) (n uint64, known bool) {
	key := [2]uint64{maphash.Bytes(d.seeds[0], b), maphash.Bytes(d.seeds[1], b)}
	if n, ok := d.now[key]; ok {
		return n, true
	}
	n, known = d.before[key]
	if !known {
		n = next
	}
	if len(d.now) >= d.most {
		d.before, d.now = d.now, make(map[[2]uint64]uint64)
	}
	d.now[key] = n
	return n, known
}
