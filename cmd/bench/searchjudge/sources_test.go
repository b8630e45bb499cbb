package main

import (
	"compress/gzip"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"quadrille/cmd/bench/judged"
)

// TestPositionsOfSources looks every expected place and airport up in the publishers'
// files, without the readers of this repository.
func TestPositionsOfSources(t *testing.T) {
	shared := filepath.Join("..", "..", "..", "..", "shared", "data")
	if _, err := os.Stat(shared); err != nil {
		t.Skip("there are no publishers' files in " + shared)
	}
	type spot struct{ kind, country, lat, lon string }
	known := map[spot]bool{}
	add := func(kind, country, lat, lon string) { known[spot{kind, country, rounded(lat), rounded(lon)}] = true }
	for _, name := range []string{"cities15000", "cities5000"} {
		rows, err := judged.Rows(filepath.Join(shared, "geonames", name+".zip"))
		if err != nil {
			t.Fatal(err)
		}
		for _, cells := range rows {
			add("place", cells[8], cells[4], cells[5])
		}
	}
	f, err := os.Open(filepath.Join(shared, "airports", "ourairports-airports.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows := csv.NewReader(z)
	for {
		cells, err := rows.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		add("airport", cells[8], cells[4], cells[5])
	}
	for _, h := range halves {
		looked := 0
		for line := range strings.Lines(h.text) {
			cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			for want := range strings.SplitSeq(cells[4], " | ") {
				w := strings.Fields(want)
				if len(w) != 4 || w[0] != "place" && w[0] != "airport" {
					continue
				}
				lat, lon, _ := strings.Cut(w[2], ",")
				if looked++; !known[spot{w[0], w[1], rounded(lat), rounded(lon)}] {
					t.Errorf("%s.tsv: %q: no source has %s", h.name, cells[2], want)
				}
			}
		}
		if looked < 300 {
			t.Errorf("looked %d positions of %s.tsv up", looked, h.name)
		}
	}
}

// rounded returns a number with the five decimals of the table.
func rounded(text string) string {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return strconv.FormatFloat(v, 'f', 5, 64)
}
