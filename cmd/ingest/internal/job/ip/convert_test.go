package ip

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"quadrille/cmd/ingest/internal/iprecord"
	"quadrille/internal/testrace"
	"quadrille/ipgeo"
)

// The keeper finds exactly the conversion kept for a key, within its memory, whether records
// repeat or not.
func TestKeeper(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine, and two million records")
	if unsafe.Sizeof(kept{}) != keptBytes {
		t.Errorf("a slot has %d bytes", unsafe.Sizeof(kept{}))
	}
	const room = 1 << 20
	k := (&converter{memory: 2 * room}).keeper()
	rnd := rand.New(rand.NewPCG(1, 2))
	var found [3]int
	const all = 10 << 16
	for phase, of := range []int{2000, 1 << 30, 2000} {
		for i := range all {
			n := rnd.IntN(of)
			key := k.key(fmt.Append(nil, n))
			v := k.find(key)
			want := fmt.Sprint("record ", n)
			if v == nil {
				v = k.keep(key, conversion{err: errors.New(want)})
			} else {
				found[phase]++
			}
			if v.err.Error() != want {
				t.Fatalf("%v, want %s, after %d of phase %d", v.err, want, i, phase)
			}
		}
	}
	if found[0] < all*9/10 || found[1] > all/10 || found[2] < all/2 {
		t.Errorf("found %d", found)
	}
	if len(k.slots)*keptBytes > room {
		t.Errorf("%d slots", len(k.slots))
	}

	// These are records that the build does not copy, and refusals.
	detail := fmt.Sprintf("%01000d", 0)
	k = (&converter{memory: 2 * room}).keeper()
	for i := range 3 * room / 1000 {
		made := conversion{err: &iprecord.Refusal{Reason: ipgeo.ReasonRecord, Detail: detail}}
		if i%2 == 0 {
			var err error
			made = conversion{}
			if made.record, err = ipgeo.Prepare(&ipgeo.Record{City: ipgeo.City{Names: ipgeo.Names{"en": fmt.Sprintf("%01000d", i)}}}); err != nil {
				t.Fatal(err)
			}
		}
		key := k.key(fmt.Append(nil, i))
		if k.find(key) != nil {
			t.Fatal("found before it was kept")
		}
		v := k.keep(key, made)
		k.used(v, v.record.Size())
		held, text := int64(0), 0
		for j := range k.slots {
			held += k.slots[j].size()
			text += k.slots[j].record.Size()
			if k.slots[j].err != nil {
				text += len(detail)
			}
		}
		if held != k.held || held > room+2000 || int64(text) > held {
			t.Fatalf("%d bytes held, counted as %d", held, k.held)
		}
	}
}
