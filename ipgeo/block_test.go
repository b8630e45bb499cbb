package ipgeo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"quadrille/cellstore"
	"quadrille/internal/must"
)

// drawBlock draws disjoint ranges, near to each other and far apart.
func drawBlock(t *rapid.T, v4 bool) (ranges []bound) {
	width := 128
	if v4 {
		width = 32
	}
	next := u128{lo: rapid.Uint64Range(0, 1<<24).Draw(t, "start")}
	if rapid.Bool().Draw(t, "high") {
		next = next.add(u128{lo: 1}.shl(uint(width - 1)))
	}
	step := func(name string) u128 {
		n := u128{lo: rapid.Uint64Range(0, 300).Draw(t, name)}.shl(rapid.UintRange(0, uint(width-14)).Draw(t, "shift"))
		if rapid.Bool().Draw(t, "small") {
			n = n.shr(uint(width - 22))
		}
		return n
	}
	gaps := rapid.Bool().Draw(t, "gaps")
	for range rapid.IntRange(1, blockRanges).Draw(t, "n") {
		first := next
		if gaps {
			first = first.add(step("gap"))
		}
		last := first.add(step("size"))
		if first.less(next) || last.less(first) || last.bitLen() > width || last.inc().bitLen() > width || last.inc() == (u128{}) {
			break
		}
		ranges = append(ranges, bound{first, last})
		next = last.inc()
	}
	if len(ranges) == 0 {
		return []bound{{next, next}}
	}
	return ranges
}

// TestBlock tests that a lookup in an encoded block gives the same answer as a scan of its ranges.
func TestBlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v4 := rapid.Bool().Draw(t, "v4")
		ranges := drawBlock(t, v4)
		offsets := make([]uint64, len(ranges))
		for i := range offsets {
			offsets[i] = rapid.Uint64Range(0, 1<<rapid.IntRange(0, 40).Draw(t, "bits")-1).Draw(t, "offset")
			if i > 0 && rapid.Bool().Draw(t, "again") {
				offsets[i] = offsets[rapid.IntRange(0, i-1).Draw(t, "which")]
			}
		}
		var w blockWriter
		b := w.appendOffsets(w.appendBounds(nil, v4, ranges), offsets)
		length := len(b)
		b = append(b, make([]byte, rapid.IntRange(0, 9).Draw(t, "after"))...)
		var k block
		if !k.decode(b, v4) || k.n != len(ranges) || k.length != length {
			t.Fatalf("%+v of %d ranges, %d bytes", k, len(ranges), length)
		}
		for i, r := range ranges {
			if first, last := k.at(i); first != r.first || last != r.last {
				t.Fatalf("range %d is %v-%v, want %v", i, first, last, r)
			}
			if at, ok := k.offset(i); !ok || at != offsets[i] {
				t.Fatalf("offset %d is %d, want %d", i, at, offsets[i])
			}
			for _, a := range []u128{r.first, r.last, r.first.dec(), r.last.inc()} {
				want := slices.IndexFunc(ranges, func(r bound) bool { return r.first.compare(a) <= 0 && a.compare(r.last) <= 0 })
				got, first, last, ok, wrong := k.find(a)
				if after := ranges[len(ranges)-1].last.less(a); after != (wrong != "") {
					t.Fatalf("%v: %q", a, wrong)
				}
				if ok != (want >= 0) || ok && (got != want || ranges[got] != bound{first, last}) {
					t.Fatalf("%v: range %d (%v), want %d", a, got, ok, want)
				}
			}
		}
		for n := range length { // cut off anywhere
			if k.decode(b[:n], v4) {
				t.Fatalf("%d of %d bytes are a block", n, length)
			}
		}
	})
}

// TestAnswerRoundTrip tests that an answer that the builder splits into a record is read back
// unchanged, in every form.
func TestAnswerRoundTrip(t *testing.T) {
	check := func(sections []byte) {
		t.Helper()
		var p splitter
		if wrong := p.split(sections); wrong != "" {
			t.Fatal(wrong)
		}
		var heap []byte
		var at [answerParts]uint64
		for i, part := range p.part {
			at[i] = uint64(len(heap))
			heap = append(heap, appendSection(nil, 0, part)[min(1, len(part)):]...)
		}
		record := uint64(len(heap))
		heap = p.appendRecord(heap, &at)
		var a answer
		if wrong := a.record(heap, record); wrong != "" {
			t.Fatal(wrong)
		}
		if got := a.appendSections(nil); !bytes.Equal(got, sections) || !a.equal(&p.answer) {
			t.Fatalf("%q, want %q", got, sections)
		}
		stored := a
		stored.cell, stored.cellKind = a.cellOf(), cellStored
		if a.cellKind != cellNone && !a.equal(&stored) {
			t.Fatal("a stored cell makes another answer")
		}
		for n := range heap {
			a.record(heap[:n], record) // no panic
		}
	}
	for _, r := range []Record{
		full, paris, {Location: at(1e-7, 1)}, {Location: at(48.8566, 2.3522)},
		{Location: at(float64(float32(23.1317)), float64(float32(113.266)))},
		{Location: Location{TimeZone: "Europe/Paris"}}, {Location: Location{AccuracyRadius: 5}}, {Postal: Postal{Code: "1"}},
		{Extra: map[string]any{"quadkey": "0"}}, {Traits: Traits{AutonomousSystemNumber: 1}}, {Traits: Traits{ISP: "x"}},
	} {
		var e encoder
		b, err := e.encode(&r)
		must.Do(t, err)
		m := merger{records: newRecordSet(0)}
		check([]byte(m.answer([]recordRef{{inline: string(b)}})))
	}
	// These members are never written by a builder, or only in another form.
	check(appendSection(nil, sectionCity, `"postal":{"code":"1"},"city":{}`))
	check(appendSection(nil, sectionCity, `"other":1`))
	check(appendSection(appendSection(nil, sectionCity, `"location":{"latitude":1.0,"longitude":2}`), sectionCoordinates,
		appendCoordinates(nil, 1, 2)))
	check(appendSection(appendSection(nil, sectionOwn, `"quadkey":"0000000000000000"`), sectionCoordinates, appendCoordinates(nil, 1, 2)))
}

// TestLongPart tests that a part of an answer that is too long is refused both by the builder and
// by a lookup.
func TestLongPart(t *testing.T) {
	for _, over := range []int{0, 1} {
		part := bytes.Repeat([]byte("x"), maxPart+over)
		var a answer
		heap := append(binary.AppendUvarint(nil, uint64(len(part))), part...)
		at := uint64(len(heap))
		heap = (&answer{part: [answerParts][]byte{partOfCity: part}}).appendRecord(heap, new([answerParts]uint64))
		if wrong := a.record(heap, at); (wrong != "") != (over > 0) {
			t.Errorf("%d over: %q", over, wrong)
		}
		rows := newRowBuilder(func(_, _ []byte) error { return nil })
		must.Do(t, rows.put(true, u128{lo: 1}, u128{lo: 2}, string(appendSection(nil, sectionCity, part))))
		if err := rows.flush(); (err != nil) != (over > 0) {
			t.Errorf("%d over: %v", over, err)
		}
	}
}

// TestIndexMemory tests that BuildIndex with almost no cache writes a larger index with the same
// answers.
func TestIndexMemory(t *testing.T) {
	ranges := manySources()
	for i := range 3000 {
		a := addrOf(true, u128{lo: 11<<24 + uint64(i)*2})
		ranges = append(ranges, Range{First: a, Last: a, Record: country(codes[i%40*2 : i%40*2+2])})
	}
	_, r, _, _ := built(t, ranges, BuildOptions{})
	large, _ := indexed(t, r)
	path := filepath.Join(t.TempDir(), IndexFileName)
	if _, err := BuildIndex(t.Context(), r, path, IndexOptions{Memory: 1}); err != nil {
		t.Fatal(err)
	}
	small, err := OpenIndex(path)
	must.Do(t, err)
	defer small.Close()
	must.Do(t, CheckIndex(t.Context(), r, small, nil))
	if len(small.heap) <= len(large.heap) {
		t.Errorf("%d bytes without memory, %d with", len(small.heap), len(large.heap))
	}
	var x, y Result
	for _, a := range probes(ranges) {
		sameAnswer(t, large, small, a, &x, &y)
	}
}

// For any bytes of a row, lookups and walks end in an answer or an error.
func FuzzRow(f *testing.F) {
	store, _, _, _ := built(f, append(manySources(), many("80.1.0.0", 100, country("AA"))...), BuildOptions{})
	for i := range store.keys {
		f.Add(store.keys[i], store.values[i])
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		s := &fakeStore{schema: store.schema, keys: [][]byte{key}, values: [][]byte{value}, timestamps: []int64{0}}
		r, err := Open(t.Context(), s, Meta{Layout: Layout, Rows4: 1})
		must.Do(t, err)
		var res Result
		for _, a := range append(probes(manySources()), netip.MustParseAddr("80.1.0.7")) {
			err := r.Lookup(t.Context(), a, &res)
			switch {
			case err == nil:
				if res.Addr.Less(res.First) || res.Last.Less(res.Addr) || !res.Network.Contains(res.Addr) {
					t.Fatalf("%s: %+v", a, res)
				}
				res.AppendFields(nil, Fields{}, "de")
			case !errors.Is(err, cellstore.ErrCorrupt) && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrReserved) &&
				!errors.Is(err, ErrBadAddress):
				t.Fatal(err)
			}
		}
		for res, err := range r.All(t.Context()) {
			if err != nil && !errors.Is(err, cellstore.ErrCorrupt) || err == nil && res.Last.Less(res.First) {
				t.Fatal(err, res)
			}
		}
	})
}
