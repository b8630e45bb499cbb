// Command manyplaces makes the tables of a gazetteer in the form of GeoNames, of any size. It
// writes one table at a time to standard output:
//
//	bin/bench/manyplaces -n 1000000 > million.txt
//	bin/bench/manyplaces -n 1000000 -table names > alternateNamesV2.txt
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"quadrille/cmd/bench/gazgen"
)

var tables = map[string]func(w io.Writer, n int, seed uint64) error{
	"places":    gazgen.WriteTSV,
	"names":     gazgen.WriteNamesTSV,
	"hierarchy": gazgen.WriteParentsTSV,
	"admin5":    gazgen.WriteAdmin5TSV,
	"admin1":    func(w io.Writer, _ int, _ uint64) error { return gazgen.WriteDivisionsTSV(w, gazgen.Admin1()) },
	"admin2":    func(w io.Writer, _ int, _ uint64) error { return gazgen.WriteDivisionsTSV(w, gazgen.Admin2()) },
}

func main() {
	n := flag.Int("n", 1_000_000, "how many places")
	seed := flag.Uint64("seed", 1, "another seed gives other places")
	table := flag.String("table", "places", "places, names, hierarchy, admin5, admin1 or admin2")
	flag.Parse()
	write := tables[*table]
	if *n < 0 || *n > 100_000_000 || write == nil {
		fmt.Fprintln(os.Stderr, "manyplaces: -n must be 0 to 100000000, and -table one of those that -help lists")
		os.Exit(2)
	}
	if err := write(os.Stdout, *n, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "manyplaces:", err)
		os.Exit(1)
	}
}
