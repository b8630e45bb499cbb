package ipgeo

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// TestDedup tests that a dedup gives the same results as a map. It may only forget a string that
// was not among the last ones for which it has room.
func TestDedup(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for _, memory := range []int64{0, 2 * hashedBytes * 64, 1 << 20} {
		d := newDedup(memory)
		room := d.most * 3 / 4 // of one table; the other remembers as many
		last := map[uint64]int{}
		number := map[uint64]uint64{}
		for i := range 20_000 {
			v := rnd.Uint64N(uint64(1 + rnd.IntN(2*room+10)))
			n, known := d.find(d.key(binary.AppendUvarint(nil, v)), uint64(i))
			if at, ok := last[v]; known && (!ok || n != number[v]) || !known && n != uint64(i) {
				t.Fatalf("%d is number %d, known %v; it was number %d at %d", v, n, known, number[v], at)
			} else if ok && !known && i-at < room-1 {
				t.Fatalf("%d of step %d was forgotten at %d, with room for %d", v, at, i, room)
			}
			last[v], number[v] = i, n
		}
	}
}
