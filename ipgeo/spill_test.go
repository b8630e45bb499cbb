package ipgeo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"quadrille/internal/must"
	"quadrille/internal/testrace"
)

// scarce makes a build sort on disk and keep nested ranges there, with hardly any records in
// memory.
var scarce = budget{sort: 1, records: recordChunk + minSlots*slotBytes, answers: 1 << 10, nested: 4 << 10}

func empty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// sameRows builds ranges in ample and in scarce memory and compares the rows.
func sameRows(t *testing.T, ranges []Range) (*fakeStore, Stats) {
	t.Helper()
	var ample, little fakeStore
	dir := t.TempDir()
	want, wantStats, err := Build(t.Context(), &ample, seqOf(ranges), BuildOptions{Memory: 1 << 30})
	must.Do(t, err)
	got, gotStats, err := build(t.Context(), &little, seqOf(ranges), BuildOptions{TempDir: dir}, scarce)
	must.Do(t, err)
	empty(t, dir)
	if want != got || wantStats != gotStats {
		t.Errorf("%+v %+v, want %+v %+v", got, gotStats, want, wantStats)
	}
	if !slices.EqualFunc(ample.keys, little.keys, slices.Equal) || !slices.EqualFunc(ample.values, little.values, slices.Equal) {
		t.Error("rows differ")
	}
	return &ample, wantStats
}

// own returns a record that differs for each number.
func own(i int) Record {
	return Record{Country: Country{ISOCode: codes[i%26*2 : i%26*2+2]}, City: City{Names: Names{"en": fmt.Sprint("Place ", i)}}}
}

// Many ranges of several sources, in no order, give the same rows from many sorted runs as from
// memory. The order of disjoint ranges does not matter.
func TestBuildSpills(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	rnd := rand.New(rand.NewPCG(1, 2))
	var in []Range
	for _, v4 := range []bool{true, false} {
		at := numberOf(netip.MustParseAddr("2400::"))
		if v4 {
			at = numberOf(netip.MustParseAddr("11.0.0.0"))
		}
		for range 20_000 {
			first := at
			at = addSaturated(v4, at, 1+rnd.Int64N(40))
			in = append(in, Range{First: addrOf(v4, first), Last: addrOf(v4, at.dec()), Record: own(rnd.IntN(9000))})
		}
	}
	sorted, stats := sameRows(t, in)
	if stats.Overlaps != 0 {
		t.Errorf("%+v", stats)
	}
	rnd.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
	shuffled, _ := sameRows(t, in)
	if !slices.EqualFunc(sorted.keys, shuffled.keys, slices.Equal) || !slices.EqualFunc(sorted.values, shuffled.values, slices.Equal) {
		t.Error("rows differ by order")
	}
	for i := range in {
		wider := rnd.Int64N(1 << rnd.IntN(16))
		in[i].Source, in[i].Last = uint16(rnd.IntN(3)), addrOf(in[i].First.Is4(), addSaturated(in[i].First.Is4(), numberOf(in[i].Last), wider))
	}
	if _, stats := sameRows(t, in); stats.Overlaps < 1000 {
		t.Errorf("%+v", stats)
	}
}

// Ranges nested a thousand deep, and many that cross each other, give the same answers as a scan of
// all, with memory for only a few.
func TestBuildNestedDeep(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	const deep = 1000
	for name, bounds := range map[string]func(i int64) (first, last int64){
		"nested":        func(i int64) (first, last int64) { return i, 4*deep - i },
		"equal":         func(i int64) (first, last int64) { return i / 100, 4*deep - i/100 },
		"ever wider":    func(i int64) (first, last int64) { return i, deep + 3*i },
		"ever narrower": func(i int64) (first, last int64) { return i, 2*deep + i/2 },
		"one end":       func(i int64) (first, last int64) { return i, 2 * deep },
	} {
		t.Run(name, func(t *testing.T) {
			var in []Range
			base := numberOf(netip.MustParseAddr("11.0.0.0"))
			for i := range int64(deep) {
				first, last := bounds(i)
				in = append(in, Range{
					First: addrOf(true, addSaturated(true, base, first)), Last: addrOf(true, addSaturated(true, base, last)),
					Source: uint16(i % 2), Record: country(codes[i%26*2 : i%26*2+2]),
				})
			}
			rand.New(rand.NewPCG(3, 4)).Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
			f, _ := sameRows(t, in)
			r := openBuilt(t, f)
			var res Result
			for i := int64(-2); i < 4*deep+3; i += 7 {
				a := addrOf(true, addSaturated(true, base, i))
				must.Do(t, compare(t.Context(), r, reference(in).at, a, &res))
			}
		})
	}
}

// TestLanesBounded tests that the memory for ranges that have begun and not ended is bounded for
// all inputs.
func TestLanesBounded(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	const room, spans = 256 << 10, 30_000
	l := lanes{v4: false, dir: t.TempDir(), room: room}
	for i := range spans {
		s := span{
			first: u128{lo: uint64(i)}, last: u128{lo: 1<<32 - uint64(i)}, order: uint64(i), rank: uint32(i%3 + 1),
			record: recordRef{inline: fmt.Sprintf("%0*d", i%500+1, i)},
		}
		must.Do(t, l.push(&s, s.first))
		if i%100 != 0 {
			continue
		}
		// Count the actual memory, not the bookkeeping.
		var bytes uintptr
		for _, lane := range l.all {
			bytes += unsafe.Sizeof(span{}) * uintptr(cap(lane.heap))
			for i := range lane.heap {
				bytes += uintptr(len(lane.heap[i].record.inline))
			}
			for _, c := range lane.sections {
				bytes += unsafe.Sizeof(*c) + uintptr(c.r.Size()+cap(c.buf)+len(c.span.record.inline))
			}
		}
		if bytes > room {
			t.Fatalf("%d bytes held, counted as %d and %d", bytes, l.held, l.reading)
		}
	}
	if l.file == nil {
		t.Error("nothing was spilled")
	}
	for i := spans - 1; i >= 0; i-- {
		if _, err := l.expire(u128{lo: 1<<32 - uint64(i)}); err != nil {
			t.Fatal(err)
		}
		if top := l.lane(uint32(i%3 + 1)).top(); top == nil || top.order != uint64(i) {
			t.Fatalf("%+v answers, want range %d", top, i)
		}
	}
	if some, err := l.expire(u128{hi: 1}); some || err != nil || l.held != 0 || l.reading != 0 {
		t.Errorf("%v left, %d bytes, %v", some, l.held, err)
	}
	if err := l.close(); err != nil {
		t.Error(err)
	}
}

// Every address of a large block is a range with a record of its own.
func TestBuildEveryAddress(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	n := 1 << 17
	if testing.Short() {
		n = 1 << 14
	}
	in := make([]Range, n)
	for i := range in {
		a := addrOf(true, u128{lo: 11<<24 + uint64(i)})
		in[i] = Range{First: a, Last: a, Record: own(i)}
	}
	f, _ := sameRows(t, in)
	if got := len(rows(t, f)); got != n {
		t.Errorf("%d ranges", got)
	}
}

// A failed build leaves neither rows nor temporary files.
func TestBuildFailsCleanly(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	var in []Range
	for i := range 30_000 {
		first := addrOf(false, u128{hi: 0x2400 << 48, lo: uint64(i)})
		last := addrOf(false, u128{hi: 0x2400 << 48, lo: 1<<32 - uint64(i)})
		in = append(in, Range{First: first, Last: last, Record: own(i)})
	}
	broken := errors.New("broken")
	dir := t.TempDir()
	check := func(name string, ctx context.Context, f *fakeStore, ranges []Range, opts BuildOptions, memory budget, want error) {
		t.Helper()
		_, _, err := build(ctx, f, func(yield func(Range, error) bool) {
			for _, r := range ranges {
				if !yield(r, nil) {
					return
				}
			}
			if errors.Is(want, broken) && f.fail == nil {
				yield(Range{}, broken)
			}
		}, opts, memory)
		if !errors.Is(err, want) || len(f.keys) != 0 {
			t.Errorf("%s: %v, %d rows", name, err, len(f.keys))
		}
		empty(t, dir)
	}
	missing := filepath.Join(dir, "missing")
	check("sequence", t.Context(), &fakeStore{}, in, BuildOptions{TempDir: dir}, scarce, broken)
	check("store", t.Context(), &fakeStore{fail: broken}, in, BuildOptions{TempDir: dir}, scarce, broken)
	check("no directory to sort in", t.Context(), &fakeStore{}, in, BuildOptions{TempDir: missing}, scarce, os.ErrNotExist)
	ample := shares(0)
	ample.nested = 1
	check("no directory for nested ranges", t.Context(), &fakeStore{}, in, BuildOptions{TempDir: missing}, ample, os.ErrNotExist)
	same := slices.Repeat(in[:1], every+1) // no piece of them is finished before the end
	for name, ranges := range map[string][]Range{"cancelled": in, "cancelled before the first piece": same} {
		ctx, cancel := context.WithCancel(t.Context())
		check(name, ctx, &fakeStore{}, ranges, BuildOptions{TempDir: dir, Progress: func(stage string, done, _ int64) {
			if stage == "writing ranges" && done > 0 {
				cancel()
			}
		}}, scarce, context.Canceled)
	}
}

// A span reads back as written, and damage gives an error.
func TestSpanOnDisk(t *testing.T) {
	for _, v4 := range []bool{true, false} {
		s := span{first: u128{lo: 1}, last: u128{lo: 1<<32 - 1}, order: 1<<40 + 5, rank: 1 << 16}
		for _, s.record = range []recordRef{{}, {at: 1 << 39}, {inline: "record"}} {
			key, value := appendKey(nil, v4, s.first), s.appendValue(nil, v4)
			var got span
			if is4, err := got.decode(key, value); err != nil || is4 != v4 {
				t.Fatal(is4, err)
			}
			if d := cmp.Diff(s, got, cmp.AllowUnexported(span{}, u128{}, recordRef{})); d != "" {
				t.Error(d)
			}
			for n := range len(value) - len(s.record.inline) {
				if _, err := got.decode(key, value[:n]); !errors.Is(err, errTempFile) {
					t.Errorf("cut off after %d bytes: %v", n, err)
				}
			}
			if _, err := got.decode(key[:len(key)-1], value); !errors.Is(err, errTempFile) {
				t.Errorf("key cut off: %v", err)
			}
		}
	}
}
