package ipgeo

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"quadrille/internal/must"
)

// Ranges with prepared records, shared or not, used in one build or in several, give the same table
// as ranges with the records themselves.
func TestPrepared(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var shared []*PreparedRecord
		var records []Record
		for _, code := range []string{"CH", "DE", "FR"} {
			r := country(code)
			p, err := Prepare(&r)
			must.Do(t, err)
			records, shared = append(records, r), append(shared, &p)
		}
		n := rapid.IntRange(1, 30).Draw(t, "n")
		plain, prepared := make([]Range, n), make([]Range, n)
		for i := range n {
			first := rapid.Uint32Range(0x01000000, 0x01000400).Draw(t, "first")
			last := first + rapid.Uint32Range(0, 300).Draw(t, "length")
			of := rapid.IntRange(0, len(records)-1).Draw(t, "record")
			plain[i] = Range{
				First: netip.AddrFrom4([4]byte{byte(first >> 24), byte(first >> 16), byte(first >> 8), byte(first)}),
				Last:  netip.AddrFrom4([4]byte{byte(last >> 24), byte(last >> 16), byte(last >> 8), byte(last)}),
			}
			prepared[i] = plain[i]
			plain[i].Record, prepared[i].Prepared = records[of], shared[of]
		}
		var want, got fakeStore
		if _, _, err := Build(t.Context(), &want, seqOf(plain), BuildOptions{}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got = fakeStore{}
			if _, _, err := build(t.Context(), &got, seqOf(prepared), BuildOptions{}, drawBudget(t)); err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(got.values, want.values, slices.Equal) || !slices.EqualFunc(got.keys, want.keys, slices.Equal) {
				t.Fatal("rows differ")
			}
		}
	})
	if _, err := Prepare(&Record{}); !errors.Is(err, errEmptyRecord) {
		t.Errorf("an empty record: %v", err)
	}
	zero := Range{First: netip.MustParseAddr("8.0.0.0"), Last: netip.MustParseAddr("8.0.0.9"), Prepared: new(PreparedRecord)}
	var bad *BadRangeError
	if _, _, err := Build(t.Context(), &fakeStore{}, seqOf([]Range{zero}), BuildOptions{}); !errors.As(err, &bad) ||
		bad.Reason != ReasonRecord || !errors.Is(err, errEmptyRecord) {
		t.Errorf("the zero value: %v", err)
	}
	r := country("AA")
	p, err := Prepare(&r)
	must.Do(t, err)
	before := p.Size()
	p.ref(newRecordSet(0))
	if p.Size() != before {
		t.Error("let go of a record for which there was no room")
	}
	p.ref(newRecordSet(1 << 30))
	if before == 0 || p.Size() != 0 {
		t.Errorf("%d bytes after %d", p.Size(), before)
	}
}

// A set finds its records, even when it is full, and stays within its memory.
func TestRecordSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		memory := rapid.SampledFrom([]int64{0, recordChunk, recordChunk + 4*minSlots*slotBytes, 8 * recordChunk}).Draw(t, "memory")
		s := newRecordSet(memory)
		known := map[string]uint64{}
		size := rapid.SampledFrom([]int{2, 300, 5000, maxRecord}).Draw(t, "size")
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for range rapid.IntRange(1, 600).Draw(t, "records") {
			b := make([]byte, size)
			n := rnd.IntN(500)
			b[0], b[size-1] = byte(n), byte(n>>8)
			at, ok := s.put(b)
			if old, found := known[string(b)]; found != ok && found || found && at != old {
				t.Fatalf("record at %d, %v; was at %d", at, ok, old)
			}
			if ok {
				known[string(b)] = at
			}
		}
		for b, at := range known {
			if string(s.record(at)) != b {
				t.Fatalf("another record at %d", at)
			}
		}
		var used int64
		for _, c := range s.chunks {
			used += int64(cap(c))
		}
		if used += int64(len(s.slots)) * slotBytes; used > memory || s.left < 0 {
			t.Fatalf("%d bytes used and %d left of %d", used, s.left, memory)
		}
	})
}
