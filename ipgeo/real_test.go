package ipgeo

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/oschwald/maxminddb-golang/v2"

	"quadrille/internal/must"
	"quadrille/internal/testrace"
)

const realDir = "../../shared/data/ip/"

// readRanges reads a real file of start,end,country. The parser is the simplest possible, and only
// good for clean files.
func readRanges(t testing.TB, name string) []Range {
	t.Helper()
	f, err := os.Open(filepath.FromSlash(realDir + name))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("no real data: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	must.Do(t, err)
	addr := func(s string) netip.Addr {
		if a, err := netip.ParseAddr(s); err == nil {
			return a
		}
		n, ok := new(big.Int).SetString(s, 10)
		if !ok {
			t.Fatalf("%s: %q", name, s)
		}
		if strings.Contains(name, "ipv4") {
			return netip.AddrFrom4([4]byte(n.FillBytes(make([]byte, 4))))
		}
		return netip.AddrFrom16([16]byte(n.FillBytes(make([]byte, 16))))
	}
	records := map[string]Record{}
	var out []Range
	s := bufio.NewScanner(z)
	for s.Scan() {
		col := strings.Split(s.Text(), ",")
		rec, ok := records[col[2]]
		if !ok {
			rec = country(col[2])
			records[col[2]] = rec
		}
		out = append(out, Range{First: addr(col[0]), Last: addr(col[1]), Record: rec})
	}
	must.Do(t, s.Err())
	return out
}

// shelves is a reference for many ranges. A shelf holds the ranges that touch the addresses with
// some common first bits, and a lookup scans all ranges of the address's shelves. Fine shelves hold
// narrow ranges, coarse ones wider ones, and every lookup scans the widest.
type shelves struct {
	fine, coarse map[uint64]reference
	widest       reference
}

func fineShelf(a netip.Addr) uint64 {
	if a.Is4() {
		return numberOf(a).lo >> 10
	}
	return 1<<63 | numberOf(a).hi>>20
}

func coarseShelf(a netip.Addr) uint64 {
	if a.Is4() {
		return numberOf(a).lo >> 16
	}
	return 1<<63 | numberOf(a).hi>>36
}

func newShelves(ranges []Range) *shelves {
	s := &shelves{fine: map[uint64]reference{}, coarse: map[uint64]reference{}}
	put := func(r Range, on map[uint64]reference, of func(netip.Addr) uint64, most uint64) bool {
		lo, hi := of(r.First), of(r.Last)
		if hi-lo >= most {
			return false
		}
		for i := lo; i <= hi; i++ {
			on[i] = append(on[i], r)
		}
		return true
	}
	for _, r := range ranges {
		if !put(r, s.fine, fineShelf, 4) && !put(r, s.coarse, coarseShelf, 256) {
			s.widest = append(s.widest, r)
		}
	}
	return s
}

func (s *shelves) at(a netip.Addr) *Range {
	var best *Range
	for _, ref := range []reference{s.fine[fineShelf(a)], s.coarse[coarseShelf(a)], s.widest} {
		if r := ref.at(a); r != nil && (best == nil || width(r).less(width(best))) {
			best = r // equal ranges are on the same kind of shelf
		}
	}
	return best
}

// Every boundary of every row of the real files, and one address on either side of it, has the same
// answer as a scan of the ranges.
func TestRealBoundaries(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	for _, tc := range []struct {
		files    []string
		ranges   int64
		overlaps int64
		num      bool
	}{
		{files: []string{"geo-asn-country-ipv4-20231223.csv.gz"}, ranges: 130505},
		{files: []string{"asn-country-ipv4-20231223.csv.gz"}, ranges: 130163},
		{files: []string{"geo-asn-country-ipv4-20201219.csv.gz", "geo-asn-country-ipv6-20201219.csv.gz"}, ranges: 165677, num: true},
		{files: []string{"geo-whois-asn-country-ipv6-20201220.csv.gz"}, ranges: 71383, overlaps: 189},
	} {
		t.Run(tc.files[0], func(t *testing.T) {
			var ranges, numbers []Range
			for _, name := range tc.files {
				ranges = append(ranges, readRanges(t, name)...)
				if tc.num {
					numbers = append(numbers, readRanges(t, strings.Replace(name, "-2020", "-num-2020", 1))...)
				}
			}
			f, r, meta, stats := built(t, ranges, BuildOptions{})
			if stats.Ranges != tc.ranges || stats.Overlaps != tc.overlaps {
				t.Errorf("%+v", stats)
			}
			t.Logf("%+v %+v", meta, stats)
			if tc.num {
				g, _, _, _ := built(t, numbers, BuildOptions{})
				if !slices.EqualFunc(f.keys, g.keys, bytes.Equal) || !slices.EqualFunc(f.values, g.values, bytes.Equal) {
					t.Error("the decimal files build other rows")
				}
			}
			ref := newShelves(ranges)
			step := 1
			if testing.Short() {
				step = 30
			}
			var res Result
			for i := 0; i < len(ranges); i += step {
				for _, a := range []netip.Addr{ranges[i].First, ranges[i].Last, ranges[i].First.Prev(), ranges[i].Last.Next()} {
					if !a.IsValid() {
						continue
					}
					err := compare(t.Context(), r, ref.at, a, &res)
					if err == nil && res.Network.IsValid() && i%5 == 0 { // five times the work
						err = maximal(ref.at, &res)
					}
					if err != nil {
						t.Fatalf("row %d: %v", i+1, err)
					}
				}
			}
		})
	}
}

// A MaxMind database of the same data gives the same answers: at the ends of ranges, for random
// addresses, and for IPv6 addresses that embed an IPv4 address.
func TestRealAgainstMMDB(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine, and much to read")
	db, err := maxminddb.Open(filepath.FromSlash(realDir + "mmdb/country.mmdb"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("no real data: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ranges := append(readRanges(t, "geo-asn-country-ipv4-20201219.csv.gz"), readRanges(t, "geo-asn-country-ipv6-20201219.csv.gz")...)
	s := openStore(t)
	meta, _, err := Build(t.Context(), s, seqOf(ranges), BuildOptions{})
	must.Do(t, err)
	r, err := Open(t.Context(), s, meta)
	must.Do(t, err)
	var res Result
	check := func(a netip.Addr) {
		t.Helper()
		// The file has no data for 6to4 and Teredo, which a reader must resolve to IPv4.
		got, want := db.Lookup(resolve(a)), ""
		must.Do(t, got.DecodePath(&want, "country_code"))
		err := r.Lookup(t.Context(), a, &res)
		switch {
		case errors.Is(err, ErrReserved):
			if want != "" {
				t.Fatalf("%s: %v, but the database has %s", a, err, want)
			}
		case errors.Is(err, ErrNotFound):
			if want != "" {
				t.Fatalf("%s: not found, but the database has %s", a, want)
			}
		case err != nil:
			t.Fatal(err)
		case res.Country != want:
			t.Fatalf("%s: %s, the database has %q", a, res.Country, want)
		// It splits ranges into networks of its own, never larger than ours.
		case got.Prefix().Bits() < res.Network.Bits():
			t.Fatalf("%s: network %s, the database has %s", a, res.Network, got.Prefix())
		}
	}
	step := 5
	if testing.Short() {
		step = 50
	}
	for i := 0; i < len(ranges); i += step {
		for _, a := range []netip.Addr{ranges[i].First, ranges[i].Last, ranges[i].First.Prev(), ranges[i].Last.Next()} {
			if a.IsValid() {
				check(a)
			}
		}
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 50000 / step {
		v4 := addrOf(true, u128{lo: uint64(rnd.Uint32())})
		b := v4.As4()
		check(v4)
		check(netip.AddrFrom16(v4.As16()))
		check(netip.AddrFrom16([16]byte{0x20, 0x02, b[0], b[1], b[2], b[3]}))
		check(addrOf(false, u128{0x2000<<48 | rnd.Uint64()>>3, rnd.Uint64()}))
	}
}
