package ipgeo

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"testing"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"

	"github.com/oschwald/maxminddb-golang/v2"
)

// benchAddrs draws addresses with the distribution of traffic: inside ranges, three in four IPv4.
func benchAddrs(ranges []Range) []netip.Addr {
	var v4, v6 []Range
	for _, r := range ranges {
		if r.First.Is4() {
			v4 = append(v4, r)
		} else {
			v6 = append(v6, r)
		}
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	out := make([]netip.Addr, 1<<16)
	for i := range out {
		of := v4
		if i%4 == 3 {
			of = v6
		}
		r := of[rnd.IntN(len(of))]
		w := width(&r)
		n := u128{lo: rnd.Uint64()}
		if w.hi == 0 && w.lo != ^uint64(0) {
			n.lo %= w.lo + 1
		}
		first := numberOf(r.First)
		n.lo += first.lo // wider IPv6 ranges begin at multiples of 2^64
		n.hi = first.hi
		out[i] = addrOf(r.First.Is4(), n)
	}
	return out
}

// benchStore builds the real country files of 2020 on disk, like a generation.
func benchStore(b *testing.B) (*pebblestore.Store, Meta, []netip.Addr) {
	b.Helper()
	ranges := append(readRanges(b, "geo-asn-country-ipv4-20201219.csv.gz"), readRanges(b, "geo-asn-country-ipv6-20201219.csv.gz")...)
	for i := range ranges {
		ranges[i].Record.Continent = Continent{Code: "EU", Names: Names{"en": "Europe"}}
	}
	s, meta := builtOnDisk(b, ranges)
	return s, meta, benchAddrs(ranges)
}

// builtOnDisk builds a table in a store and reopens the store as a server does.
func builtOnDisk(b *testing.B, ranges []Range) (*pebblestore.Store, Meta) {
	b.Helper()
	dir := b.TempDir()
	s, err := pebblestore.Open(dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	meta, _, err := Build(b.Context(), s, seqOf(ranges), BuildOptions{})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	if s, err = pebblestore.Open(dir, &pebblestore.Options{ReadOnly: true}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s, meta
}

func BenchmarkLookup(b *testing.B) {
	s, meta, addrs := benchStore(b)
	r, err := Open(b.Context(), s, meta)
	if err != nil {
		b.Fatal(err)
	}
	var res Result
	var bytes int
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := r.Lookup(b.Context(), addrs[i%len(addrs)], &res); err != nil {
			b.Fatal(addrs[i%len(addrs)], err)
		}
		bytes += len(res.JSON)
	}
	if bytes == 0 {
		b.Fatal("no answers")
	}
}

// BenchmarkRawSeek measures the store alone. Lookup may cost only little more.
func BenchmarkRawSeek(b *testing.B) {
	s, _, addrs := benchStore(b)
	table, err := s.Table(b.Context(), tableName)
	if err != nil {
		b.Fatal(err)
	}
	keys := make([][]byte, len(addrs))
	for i, a := range addrs {
		keys[i] = appendKey(nil, a.Is4(), numberOf(a))
	}
	var row cellstore.Row
	var bytes int
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		k := keys[i%len(keys)]
		end := end6
		if k[0] == prefix4 {
			end = end4
		}
		if found, err := table.Next(b.Context(), k, end, nil, &row); err != nil || !found {
			b.Fatal(found, err)
		}
		bytes += len(row.Cells[0].Value)
	}
	if bytes == 0 {
		b.Fatal("no answers")
	}
}

// BenchmarkMMDB measures maxminddb-golang on the same data. It decodes the content of the file: the
// country code.
func BenchmarkMMDB(b *testing.B) {
	db, err := maxminddb.Open(filepath.FromSlash(realDir + "mmdb/country.mmdb"))
	if err != nil {
		b.Skip("no real data: ", err)
	}
	defer db.Close()
	ranges := append(readRanges(b, "geo-asn-country-ipv4-20201219.csv.gz"), readRanges(b, "geo-asn-country-ipv6-20201219.csv.gz")...)
	addrs := benchAddrs(ranges)
	var rec struct {
		Code string `maxminddb:"country_code"`
	}
	var bytes int
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := db.Lookup(addrs[i%len(addrs)]).Decode(&rec); err != nil {
			b.Fatal(err)
		}
		bytes += len(rec.Code)
	}
	if bytes == 0 {
		b.Fatal("no answers")
	}
}

// BenchmarkBuild builds four million ranges of both IP versions, in no order, a tenth of them
// inside others.
func BenchmarkBuild(b *testing.B) {
	const n = 4_000_000
	records := make([]Record, 0, len(codes)/2)
	for i := 0; i < len(codes); i += 2 {
		records = append(records, country(codes[i:i+2]))
	}
	seq := func(yield func(Range, error) bool) {
		rnd := rand.New(rand.NewPCG(7, 8))
		var buf [16]byte
		for i := range n {
			r := Range{Record: records[rnd.IntN(len(records))]}
			// A permutation of the numbers below 2²², so that starts differ.
			at := uint32(i) * 0x9E3779B1 & (1<<22 - 1)
			if i%4 != 3 {
				binary.BigEndian.PutUint32(buf[:4], 11<<24+at<<9)
				r.First = netip.AddrFrom4([4]byte(buf[:4]))
				host := uint32(255)
				if i%10 == 0 {
					host = 2047
				}
				binary.BigEndian.PutUint32(buf[:4], 11<<24+at<<9|host)
				r.Last = netip.AddrFrom4([4]byte(buf[:4]))
			} else {
				buf = [16]byte{0x24}
				binary.BigEndian.PutUint32(buf[1:], at<<8)
				r.First = netip.AddrFrom16(buf)
				for j := 5; j < 16; j++ {
					buf[j] = 0xff
				}
				r.Last = netip.AddrFrom16(buf)
			}
			if !yield(r, nil) {
				return
			}
		}
	}
	var rows, overlaps int64
	b.ReportAllocs()
	for b.Loop() {
		s, err := pebblestore.Open(b.TempDir(), nil)
		if err != nil {
			b.Fatal(err)
		}
		meta, stats, err := Build(b.Context(), s, seq, BuildOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		rows, overlaps = meta.Rows4+meta.Rows6, stats.Overlaps
	}
	b.ReportMetric(float64(rows), "rows")
	b.ReportMetric(float64(overlaps), "overlaps")
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "ranges/s")
}

func BenchmarkReserved(b *testing.B) {
	_, r, _, _ := built(b, nil, BuildOptions{})
	a := netip.MustParseAddr("192.168.1.1")
	var res Result
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Lookup(b.Context(), a, &res); !errors.Is(err, ErrReserved) {
			b.Fatal(err)
		}
	}
}
