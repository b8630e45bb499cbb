// Command write makes a file of places of the shape of GeoNames' allCountries.txt,
// of any size, on standard output:
//
//	go run ./cmd/internal/gazgen/write -n 1000000 > million.txt
package main

import (
	"flag"
	"fmt"
	"os"

	"quadrille/cmd/internal/gazgen"
)

func main() {
	n := flag.Int("n", 1_000_000, "how many places")
	seed := flag.Uint64("seed", 1, "another seed gives other places")
	flag.Parse()
	if *n < 0 || *n > 100_000_000 {
		fmt.Fprintln(os.Stderr, "write: -n must be 0 to 100000000")
		os.Exit(2)
	}
	if err := gazgen.WriteTSV(os.Stdout, *n, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "write:", err)
		os.Exit(1)
	}
}
