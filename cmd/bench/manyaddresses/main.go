// Manyaddresses writes a geofeed (RFC 8805) of single IPv4 addresses, each with a place of its own,
// for builds of full size:
//
//	bin/bench/manyaddresses -n 50000000 | gzip -1 >many.csv.gz
//	bin/bench/manyaddresses -n 16777216 -block 11 | gzip -1 >block.csv.gz
//
// The same flags give the same bytes everywhere.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"

	"quadrille/ipgeo"
)

func main() {
	n := flag.Int("n", 1_000_000, "how many `addresses`")
	block := flag.Int("block", -1,
		"take the addresses in order from this /8 on, such as `11`; otherwise they are scattered over all of IPv4, in no order")
	flag.Parse()
	if *n < 0 || *block > 223 {
		fmt.Fprintln(os.Stderr, "manyaddresses: give -n 0 or more and -block 0 to 223")
		os.Exit(2)
	}
	if err := write(os.Stdout, *n, *block); err != nil {
		fmt.Fprintln(os.Stderr, "manyaddresses:", err)
		os.Exit(1)
	}
}

var countries = [...]string{"AR", "AU", "BR", "CA", "CH", "CN", "DE", "ES", "FR", "GB", "ID", "IN", "IT", "JP", "KR", "MX",
	"NL", "PL", "SE", "US"}

// write writes n lines, or one for each public address if there are fewer.
func write(w io.Writer, n, block int) error {
	out := bufio.NewWriterSize(w, 1<<20)
	var line []byte
	for i, written := uint64(0), 0; written < n && i < 1<<32; i++ {
		number := uint32(i) * 0x9E3779B1 // odd, so every number comes once
		if block >= 0 {
			if number = uint32(block)<<24 + uint32(i); uint64(number) != uint64(block)<<24+i {
				break // the last address
			}
		}
		a := netip.AddrFrom4([4]byte{byte(number >> 24), byte(number >> 16), byte(number >> 8), byte(number)})
		if b, ok := ipgeo.SpecialBlockOf(a); ok && !b.Global {
			continue
		}
		line = append(a.AppendTo(line[:0]), ',')
		line = append(line, countries[number%uint32(len(countries))]...)
		line = strconv.AppendInt(append(line, ",,Place "...), int64(written), 10)
		if _, err := out.Write(append(line, ",\n"...)); err != nil {
			return err
		}
		written++
	}
	return out.Flush()
}
