package ipgeo

import "hash/maphash"

// dedup remembers a number for each of many byte strings, in bounded memory. It
// forgets those that were not asked for in the longest time.
//
// Two hashes with separate seeds tell strings apart, 128 bits that nobody can
// aim at. CheckIndex would find a collision. What is forgotten depends on the
// order of the strings alone, and not on the seeds.
type dedup struct {
	now, before map[[2]uint64]*uint64
	most        int // strings in either map
	seeds       [2]maphash.Seed
}

func newDedup(memory int64) *dedup {
	const entry = 80 // bytes, in a map and beside it
	return &dedup{
		now: make(map[[2]uint64]*uint64), most: int(max(1, memory/entry/2)),
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
	}
}

// find returns the number of a string, which is 0 if it is new or forgotten. The
// caller sets it.
func (d *dedup) find(b []byte) *uint64 {
	key := [2]uint64{maphash.Bytes(d.seeds[0], b), maphash.Bytes(d.seeds[1], b)}
	if n, ok := d.now[key]; ok {
		return n
	}
	n, ok := d.before[key]
	if !ok {
		n = new(uint64)
	}
	if len(d.now) >= d.most {
		d.before, d.now = d.now, make(map[[2]uint64]*uint64)
	}
	d.now[key] = n
	return n
}
