package ipgeo

import "hash/maphash"

// dedup remembers a number for each of many byte strings, in bounded memory. It forgets the strings
// that have not been looked up for the longest time.
//
// It distinguishes strings by two hashes with separate random seeds, 128 bits that no input can
// target. CheckIndex would find a collision. Which strings are forgotten depends on their order
// alone, not on the seeds.
type dedup struct {
	now, before hashTable
	most        int // slots of either table
	seeds       [2]maphash.Seed
	touched     uint64 // keeps the compiler from removing the touches
}

func newDedup(memory int64) *dedup {
	d := &dedup{most: 4, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	for 2*hashedBytes*int64(d.most)*2 <= memory {
		d.most *= 2
	}
	return d
}

// hashKey represents a string by its hash. It is not zero.
type hashKey [2]uint64

// key returns the key of a string, and starts to fetch its slots: the tables are larger than any
// cache, and memory serves many requests at once hardly slower than one.
func (d *dedup) key(b []byte) hashKey {
	key := hashKey{maphash.Bytes(d.seeds[0], b), maphash.Bytes(d.seeds[1], b) | 1}
	d.touched += d.now.touch(key) + d.before.touch(key)
	return key
}

// find returns the number of the string with the given key. If the string is new or forgotten, find
// remembers next as its number and returns next.
func (d *dedup) find(key hashKey, next uint64) (n uint64, known bool) {
	slot := d.now.find(key)
	if slot != nil && slot.key == key {
		return slot.n, true
	}
	n, known = next, false
	if old := d.before.find(key); old != nil && old.key == key {
		n, known = old.n, true
	}
	if d.now.full() {
		d.makeRoom()
		slot = d.now.find(key)
	}
	*slot = hashed{key, n}
	d.now.count++
	return n, known
}

func (d *dedup) makeRoom() {
	if n := max(min(minSlots, d.most), 2*len(d.now.slots)); n <= d.most {
		d.now.resize(n)
		return
	}
	d.now, d.before = d.before, d.now
	d.now.count = 0
	if d.now.slots == nil {
		d.now.slots = make([]hashed, d.most)
	} else {
		clear(d.now.slots)
	}
}

// hashTable is a hash table of numbers with open addressing. It has no pointers for the garbage
// collector to follow.
type hashTable struct {
	slots []hashed // a power of two
	count int
}

type hashed struct {
	key hashKey // zero is empty
	n   uint64
}

const hashedBytes = 24

// find returns the slot of a key, or the empty slot where it belongs. It is nil while there are no
// slots.
func (t *hashTable) find(key hashKey) *hashed {
	if len(t.slots) == 0 {
		return nil
	}
	mask := uint64(len(t.slots) - 1)
	for i := key[0] & mask; ; i = (i + 1) & mask {
		if s := &t.slots[i]; s.key == key || s.key == (hashKey{}) {
			return s
		}
	}
}

// touch reads the first slot of a key, so that the processor loads it.
func (t *hashTable) touch(key hashKey) uint64 {
	if len(t.slots) == 0 {
		return 0
	}
	return t.slots[key[0]&uint64(len(t.slots)-1)].n
}

// full reports whether another key would make searches long.
func (t *hashTable) full() bool { return 4*(t.count+1) > 3*len(t.slots) }

func (t *hashTable) resize(slots int) {
	old := t.slots
	t.slots = make([]hashed, slots)
	for _, s := range old {
		if s.key != (hashKey{}) {
			*t.find(s.key) = s
		}
	}
}
