// Command manyregions writes the layers of package regiongen as GeoJSON files:
// municipality.geojson, district.geojson and province.geojson.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"quadrille/cmd/bench/regiongen"
)

func main() {
	n := flag.Int("n", 140_000, "number of municipalities")
	seed := flag.Uint64("seed", 1, "seed")
	dir := flag.String("dir", ".", "directory of the files")
	flag.Parse()
	if err := write(*n, *seed, *dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(n int, seed uint64, dir string) error {
	land := regiongen.New(n, seed)
	for level := regiongen.Municipality; level <= regiongen.Province; level++ {
		f, err := os.Create(filepath.Join(dir, level.String()+".geojson"))
		if err != nil {
			return err
		}
		if err := land.Write(f, level); err != nil {
			f.Close()
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}
