package sieve

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// plain implements the same policy with a slice, the oldest entry first.
type plain struct {
	ids  []int
	used map[int]bool
	hand int // an index
}

func (p *plain) remove(id int) {
	if i := slices.Index(p.ids, id); i >= 0 {
		p.ids = slices.Delete(p.ids, i, i+1)
		if i < p.hand {
			p.hand--
		}
	}
}

func (p *plain) evict() int {
	for {
		p.hand %= len(p.ids)
		id := p.ids[p.hand]
		if !p.used[id] {
			p.remove(id)
			return id
		}
		p.used[id] = false
		p.hand++
	}
}

func TestListAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l List[int]
		want := plain{used: map[int]bool{}}
		entries := map[int]*Entry[int]{}
		var evicted int64
		for id := range rapid.IntRange(1, 120).Draw(t, "operations") {
			switch op := rapid.IntRange(0, 5).Draw(t, "operation"); {
			case op < 2:
				entries[id] = &Entry[int]{Value: id, Size: int64(id % 7)}
				l.Add(entries[id])
				// A hand that has passed the newest entry begins again at the oldest, even if
				// entries are added.
				if want.hand == len(want.ids) {
					want.hand = 0
				}
				want.ids = append(want.ids, id)
			case op < 4 && len(want.ids) > 0:
				some := rapid.SampledFrom(want.ids).Draw(t, "used")
				entries[some].Use()
				want.used[some] = true
			case op == 4 && len(want.ids) > 0:
				evicted++
				if e, id := l.Evict(), want.evict(); e.Value != id {
					t.Fatalf("%d was evicted, and its turn is %d's", e.Value, id)
				}
			case op == 5 && len(entries) > 0:
				// An entry that has already been removed may be removed again.
				some := rapid.IntRange(0, id).Draw(t, "removed")
				if e := entries[some]; e != nil {
					l.Remove(e)
					want.remove(some)
				}
			}
			var size int64
			var ids []int
			for e := l.oldest; e != nil; e = e.newer {
				ids = append(ids, e.Value)
				size += e.Size
			}
			if !slices.Equal(ids, want.ids) || l.Size() != size || l.Len() != len(ids) || l.Evicted() != evicted {
				t.Fatalf("%v of %d bytes, %d counted, %d evicted; %v is right", ids, l.Size(), l.Len(), l.Evicted(), want.ids)
			}
		}
	})
}

func TestEvictOfNone(t *testing.T) {
	var l List[string]
	if e := l.Evict(); e != nil {
		t.Errorf("an empty list evicts %q", e.Value)
	}
}
