package ipgeo

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"quadrille/cellstore"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
)

// indexed builds the index of a table and opens it.
func indexed(t testing.TB, r *Reader) (*Index, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), IndexFileName)
	stats, err := BuildIndex(t.Context(), r, path, IndexOptions{})
	must.Do(t, err)
	st, err := os.Stat(path)
	must.Do(t, err)
	if stats.Rows4 != r.meta.Rows4 || stats.Rows6 != r.meta.Rows6 || stats.Bytes != st.Size() {
		t.Fatalf("%+v of %+v, the file has %d bytes", stats, r.meta, st.Size())
	}
	ix, err := OpenIndex(path)
	must.Do(t, err)
	t.Cleanup(func() { ix.Close() })
	must.Do(t, CheckIndex(t.Context(), r, ix, nil))
	return ix, path
}

// sameAnswer compares the answers of two lookups for an address.
func sameAnswer(t interface{ Fatalf(string, ...any) }, r, ix Lookuper, a netip.Addr, x, y *Result) {
	e, f := r.Lookup(context.Background(), a, x), ix.Lookup(context.Background(), a, y)
	if (e == nil) != (f == nil) || e != nil && e.Error() != f.Error() {
		t.Fatalf("%s: table %v, index %v", a, e, f)
	}
	if x.Addr != y.Addr || x.Network != y.Network || x.First != y.First || x.Last != y.Last || x.Country != y.Country || x.ASN() != y.ASN() ||
		x.lat != y.lat || x.lon != y.lon || x.located != y.located {
		t.Fatalf("%s: table %+v, index %+v", a, x, y)
	}
	for i, b := range [][2][]byte{
		{x.JSON, y.JSON},
		{x.country, y.country},
		{x.city, y.city},
		{x.traits, y.traits},
		{x.network, y.network},
		{x.object, y.object},
		{x.own, y.own},
	} {
		if !bytes.Equal(b[0], b[1]) {
			t.Fatalf("%s: part %d: table %s, index %s", a, i, b[0], b[1])
		}
	}
}

// probes returns the addresses at which answers change, and some others.
func probes(ranges []Range) []netip.Addr {
	out := []netip.Addr{
		{}, netip.MustParseAddr("0.0.0.0"), netip.MustParseAddr("255.255.255.255"), netip.MustParseAddr("1.0.0.0"),
		netip.MustParseAddr("::"), netip.MustParseAddr("::2"), netip.MustParseAddr("2001:200::"), netip.MustParseAddr("192.0.0.9"),
		netip.MustParseAddr("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), netip.MustParseAddr("10.0.0.1"),
	}
	for _, r := range ranges {
		for _, a := range []netip.Addr{r.First, r.Last, r.First.Prev(), r.Last.Next()} {
			if a.IsValid() {
				out = append(out, a)
			}
		}
	}
	return out
}

// The index and the table give the same answers, at every boundary and beside it.
func TestIndexAgainstTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), IndexFileName)
	rapid.Check(t, func(rt *rapid.T) {
		ranges := drawSources(rt)
		f := &fakeStore{}
		meta, _, err := Build(context.Background(), f, seqOf(ranges), BuildOptions{})
		if err != nil {
			rt.Fatal(err)
		}
		r, err := Open(context.Background(), f, meta)
		if err != nil {
			rt.Fatal(err)
		}
		// This is BuildIndex and OpenIndex without durability.
		file, err := os.Create(path)
		if err != nil {
			rt.Fatal(err)
		}
		defer file.Close()
		if _, err := writeIndex(context.Background(), r, file, IndexOptions{}); err != nil {
			rt.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			rt.Fatal(err)
		}
		ix, err := parseIndex(data)
		if err != nil {
			rt.Fatal(err)
		}
		if err := CheckIndex(context.Background(), r, ix, nil); err != nil {
			rt.Fatal(err)
		}
		var x, y Result
		for _, a := range append(probes(ranges), drawAddr(rt, true, "any"), drawAddr(rt, false, "any")) {
			sameAnswer(rt, r, ix, a, &x, &y)
			first, last, _, ok := ix.Bounds(a)
			if ok != y.First.IsValid() || first != y.First || last != y.Last {
				rt.Fatalf("%s: bounds %s–%s, %v, want %s–%s", a, first, last, ok, y.First, y.Last)
			}
		}
	})
}

func TestIndexDeterministic(t *testing.T) {
	_, r, _, _ := built(t, manySources(), BuildOptions{})
	_, a := indexed(t, r)
	_, b := indexed(t, r)
	x, err := os.ReadFile(a)
	must.Do(t, err)
	y, err := os.ReadFile(b)
	must.Do(t, err)
	if !bytes.Equal(x, y) {
		t.Error("two builds differ")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(a), "*")); len(left) != 1 {
		t.Errorf("left %v", left)
	}
	// It replaces an existing file that is open.
	if _, err := BuildIndex(t.Context(), r, a, IndexOptions{}); err != nil {
		t.Error(err)
	}
}

// manySources returns countries, cities and networks of several sources.
func manySources() []Range {
	var out []Range
	add := func(source uint16, first, last string, r Record) {
		out = append(out, Range{First: netip.MustParseAddr(first), Last: netip.MustParseAddr(last), Source: source, Record: r})
	}
	add(0, "80.0.0.0", "80.0.255.255", country("FR"))
	add(0, "2a00::", "2a00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", country("FR"))
	add(1, "80.0.1.0", "80.0.1.255", full)
	add(1, "2a00:1::", "2a00:1:ffff:ffff:ffff:ffff:ffff:ffff", full)
	add(2, "80.0.1.128", "80.0.2.127", Record{Traits: Traits{AutonomousSystemNumber: 64500, ISP: "Example"}})
	add(2, "81.0.0.0", "81.0.0.0", Record{Traits: Traits{AutonomousSystemNumber: 64501}})
	add(2, "2a00:1:8000::", "2a00:2::", Record{Traits: Traits{AutonomousSystemNumber: 64500}})
	return out
}

// A lookup allocates nothing, and reading one value allocates at most its copy.
func TestIndexCost(t *testing.T) {
	_, r, _, _ := built(t, manySources(), BuildOptions{})
	ix, _ := indexed(t, r)
	var res Result
	for _, tc := range []struct {
		addr string
		want error
	}{
		{"80.0.1.9", nil}, {"2a00:1::9", nil}, {"::ffff:80.0.1.9", nil}, {"9.9.9.9", ErrNotFound}, {"2c00::",
			ErrNotFound}, {"10.0.0.1", ErrReserved},
	} {
		a := netip.MustParseAddr(tc.addr)
		lookup := func() {
			if err := ix.Lookup(t.Context(), a, &res); !errors.Is(err, tc.want) {
				t.Fatalf("%s: %v", a, err)
			}
			if _, _, _, ok := ix.Bounds(a); ok != (tc.want == nil) {
				t.Fatalf("%s: %v", a, ok)
			}
		}
		lookup()
		if n := testing.AllocsPerRun(100, lookup); n != 0 && !testrace.Enabled {
			t.Errorf("%s: %v allocations", a, n)
		}
	}
	if err := ix.Lookup(t.Context(), netip.Addr{}, &res); !errors.Is(err, ErrBadAddress) {
		t.Error(err)
	}
}

func TestIndexClosed(t *testing.T) {
	_, r, _, _ := built(t, manySources(), BuildOptions{})
	ix, _ := indexed(t, r)
	var res Result
	a := netip.MustParseAddr("80.0.1.9")
	must.Do(t, ix.Lookup(t.Context(), a, &res))
	for range 2 {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(res.CityJSON()) == 0 || res.Field("city.names.en") == nil { // the value is a copy
		t.Error("the answer went with the index")
	}
	if err := ix.Lookup(t.Context(), a, &res); !errors.Is(err, cellstore.ErrClosed) {
		t.Error(err)
	}
	if _, _, _, ok := ix.Bounds(a); ok {
		t.Error("bounds after Close")
	}
	if err := ix.Verify(t.Context()); !errors.Is(err, cellstore.ErrClosed) {
		t.Error(err)
	}
}

// CheckIndex detects a file that is not the index of the table.
func TestIndexDamage(t *testing.T) {
	f, r, _, _ := built(t, manySources(), BuildOptions{})
	_, path := indexed(t, r)
	good, err := os.ReadFile(path)
	must.Do(t, err)
	write := func(b []byte) string {
		p := filepath.Join(t.TempDir(), IndexFileName)
		must.Do(t, os.WriteFile(p, b, 0o600))
		return p
	}
	for name, b := range map[string][]byte{
		"empty": {}, "short": good[:100], "cut off": good[:len(good)-8], "longer": append(slices.Clone(good), 0),
		"other file":  append([]byte("SQLite format 3"), make([]byte, 200)...),
		"ranges":      altered(good, 17, 9),
		"blocks":      altered(good, 32, 9),
		"huge":        altered(good, 23, 0xff),
		"block bytes": altered(good, 87, 0xff),
		"heap bytes":  altered(good, 95, 0xff),
		"shift":       altered(good, 56, 99),
	} {
		if _, err := OpenIndex(write(b)); !errors.Is(err, cellstore.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := OpenIndex(write(altered(good, 8, 9))); !errors.Is(err, cellstore.ErrLayout) {
		t.Errorf("version: %v", err)
	}
	if _, err := OpenIndex(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	for at := indexHeader; at < len(good); at += 1 + len(good)/200 {
		b := slices.Clone(good)
		b[at] ^= 0x55
		ix, err := parseIndex(b)
		must.Do(t, err)
		if err := ix.Verify(t.Context()); !errors.Is(err, cellstore.ErrCorrupt) {
			t.Errorf("byte %d: Verify %v", at, err)
		}
		if err := CheckIndex(t.Context(), r, ix, nil); !errors.Is(err, cellstore.ErrCorrupt) {
			t.Errorf("byte %d: CheckIndex %v", at, err)
		}
	}
	// This is an index of another table.
	_, other, _, _ := built(t, manySources()[1:], BuildOptions{})
	ix, _ := indexed(t, other)
	if err := CheckIndex(t.Context(), r, ix, nil); !errors.Is(err, cellstore.ErrCorrupt) {
		t.Error(err)
	}
	if _, more, _, _ := built(t, append(manySources(), rng("9.0.0.0-9.0.0.1 AA")), BuildOptions{}); true {
		ix, _ := indexed(t, more)
		if err := CheckIndex(t.Context(), r, ix, nil); !errors.Is(err, cellstore.ErrCorrupt) {
			t.Error(err)
		}
	}

	// A failed build leaves no file.
	p := filepath.Join(t.TempDir(), IndexFileName)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := BuildIndex(cancelled, r, p, IndexOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	short := &Reader{table: r.table, meta: Meta{Layout: Layout, Rows4: r.meta.Rows4 - 1, Rows6: r.meta.Rows6}}
	if _, err := BuildIndex(t.Context(), short, p, IndexOptions{}); !errors.Is(err, cellstore.ErrCorrupt) {
		t.Error(err)
	}
	f.fail = errors.New("disk on fire")
	if _, err := BuildIndex(t.Context(), r, p, IndexOptions{}); !errors.Is(err, f.fail) {
		t.Error(err)
	}
	if left, _ := filepath.Glob(p + "*"); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// Damage in the directory gives an error or has no effect. It never makes a range disappear.
func TestIndexDirectoryDamage(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	ranges := append(manySources(), many("80.1.0.0", 300, country("AA"))...)
	ranges = append(ranges, many("2400::", 300, country("BB"))...)
	ranges = append(ranges, rngs("80.2.0.0-80.2.0.9 CC", "2401::-2401::9 CC")...)
	_, r, _, _ := built(t, ranges, BuildOptions{})
	_, path := indexed(t, r)
	good, err := os.ReadFile(path)
	must.Do(t, err)
	whole, err := parseIndex(good)
	must.Do(t, err)
	if whole.v4.n < 5 || whole.v6.n < 5 {
		t.Fatalf("%d and %d blocks", whole.v4.n, whole.v6.n)
	}
	var ats []int // of bytes to damage
	add := func(section []byte, step int) {
		from := cap(good) - cap(section)
		for i := 0; i < len(section); i += step {
			ats = append(ats, from+i)
		}
	}
	for _, f := range []family{whole.v4, whole.v6} {
		add(f.jump, 4001)
		add(f.last, 3)
		add(f.at, 1)
	}
	// These entries lead to the blocks of many ranges.
	bucket := whole.v4.bucket(numberOf(netip.MustParseAddr("80.1.0.0")).lo)
	add(whole.v4.jump[4*bucket:4*(bucket+3)], 1)
	as := probes(ranges)
	var x, y Result
	damaged := 0
	for _, at := range ats {
		b := slices.Clone(good)
		b[at] ^= byte(1 << (at % 8))
		ix, err := parseIndex(b)
		must.Do(t, err)
		for _, a := range as {
			want, got := whole.Lookup(t.Context(), a, &x), ix.Lookup(t.Context(), a, &y)
			switch {
			case errors.Is(got, cellstore.ErrCorrupt):
				damaged++
			case (want == nil) != (got == nil) || want != nil && want.Error() != got.Error() || x.First != y.First || !bytes.Equal(x.JSON, y.JSON):
				t.Fatalf("byte %d: %s: %v, want %v", at, a, got, want)
			}
		}
	}
	if damaged == 0 {
		t.Error("nothing was found out")
	}
}

// altered returns a copy with one byte changed and the header's checksum set.
func altered(b []byte, at int, to byte) []byte {
	b = slices.Clone(b)
	b[at] = to
	seal(b)
	return b
}

func seal(b []byte) {
	if len(b) >= indexHeader {
		binary.LittleEndian.PutUint32(b[124:], crc32.Checksum(b[:124], castagnoli))
	}
}

// For any bytes of an index file, opening and lookups end in an answer or an error.
func FuzzIndex(f *testing.F) {
	_, r, _, _ := built(f, manySources(), BuildOptions{})
	_, path := indexed(f, r)
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	// Half a megabyte of jump tables is too much to mutate, so the input is pairs of offset and
	// value.
	ix, err := parseIndex(good)
	if err != nil {
		f.Fatal(err)
	}
	heap := indexHeader + (len(ix.blocks)+7)&^7
	ats := []int{
		0,
		16,
		24,
		32,
		40,
		48,
		56,
		64,
		72,
		80,
		88,
		heap - 8,
		heap + len(ix.heap),
		len(good) - 8,
		len(good) - 400,
		len(good) - jumpEntries*4,
	}
	for i := 0; i < len(ix.blocks); i += 4 {
		ats = append(ats, indexHeader+i)
	}
	for i := 0; i < len(ix.heap); i += 16 {
		ats = append(ats, heap+i)
	}
	for _, at := range ats {
		f.Add(uint32(at), uint64(1)<<63|1, uint32(at), uint64(3), []byte{80, 0, 1, 9})
	}
	f.Add(uint32(0), binary.LittleEndian.Uint64(good), uint32(8), binary.LittleEndian.Uint64(good[8:]),
		[]byte("\x2a\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, at1 uint32, v1 uint64, at2 uint32, v2 uint64, addr []byte) {
		b := slices.Clone(good)
		for _, c := range []struct {
			at uint32
			v  uint64
		}{{at1, v1}, {at2, v2}} {
			binary.LittleEndian.PutUint64(b[int(c.at)%(len(b)-8):], c.v)
		}
		seal(b)
		ix, err := parseIndex(b)
		if err != nil {
			if !errors.Is(err, cellstore.ErrCorrupt) && !errors.Is(err, cellstore.ErrLayout) {
				t.Fatal(err)
			}
			return
		}
		as := probes(manySources())
		if a, ok := netip.AddrFromSlice(addr); ok {
			as = append(as, a)
		}
		var res Result
		for _, a := range as {
			err := ix.Lookup(t.Context(), a, &res)
			if err == nil && (res.Addr.Less(res.First) || res.Last.Less(res.Addr) || !res.Network.Contains(res.Addr)) {
				t.Fatalf("%s: %+v", a, res)
			}
			if err == nil {
				res.Field("city.names.en")
				res.Field("subdivisions.0.names.en")
				res.AppendFields(nil, Fields{}, "de")
			} else if !errors.Is(err, cellstore.ErrCorrupt) && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrReserved) &&
				!errors.Is(err, ErrBadAddress) {
				t.Fatal(err)
			}
			ix.Bounds(a)
		}
	})
}

// The jump tables work for any distribution of rows: all in one network of 64 bits, at both ends of
// the address space, or as wide as possible.
func TestIndexSpread(t *testing.T) {
	for _, in := range [][]Range{
		many("2400::", 500, country("AA")),
		rngs("::2-::3 AA", "feff:ffff:ffff:ffff::-feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff BB"),
		rngs("::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff AA", "0.0.0.0-255.255.255.255 BB"),
		rngs("8.8.8.8-8.8.8.8 AA", "2400::8-2400::8 BB"),
		rngs("1.0.0.0-1.0.0.0 AA", "223.255.255.255-223.255.255.255 BB"),
		nil,
	} {
		_, r, _, _ := built(t, in, BuildOptions{})
		ix, _ := indexed(t, r)
		var x, y Result
		for _, a := range probes(in) {
			sameAnswer(t, r, ix, a, &x, &y)
		}
		for i := range 1 << 12 { // inside every 16th bucket of IPv4, and of as many networks
			sameAnswer(t, r, ix, netip.AddrFrom4([4]byte{byte(i >> 4), byte(i << 4), 0x80}), &x, &y)
			sameAnswer(t, r, ix, netip.AddrFrom16([16]byte{byte(i >> 4), byte(i << 4), 0x80, 15: 1}), &x, &y)
			sameAnswer(t, r, ix, netip.AddrFrom16([16]byte{0x24, 14: byte(i >> 8), 15: byte(i)}), &x, &y)
		}
	}
}
