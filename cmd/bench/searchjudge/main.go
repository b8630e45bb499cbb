// Command searchjudge searches for several hundred texts on a server, and compares the answers with
// people's expectations. `make bench` runs it.
//
//	bin/bench/searchjudge --demo data --full ../shared/data
//
// queries.tsv and fresh.tsv have the texts, and each file is judged separately. The texts of
// fresh.tsv were written without knowledge of the server's search. The column set says on which
// data a text has its answer: demo, full or both. near is the position of the user. want lists the
// right answers with " | " between them: a kind or the type of a region, a country, and mostly a
// position with a distance in kilometres.
//
//	place US 45.52345,-122.67621 15
//
// The word nothing stands for an answer without results.
//
// People wrote the expectations, and no answer of a server is a source of them. The positions are
// those of the publishers: GeoNames (CC BY 4.0, https://www.geonames.org), OurAirports and Natural
// Earth. A test compares the positions of places and airports with the publishers' files.
//
// The figures are success at 1, success at 5 and the mean reciprocal rank. No figure depends on the
// machine. The files testdata/demo.failing and testdata/full.failing record the texts of
// queries.tsv whose first answer is wrong, so that they show which texts a change repairs and which
// it breaks. testdata/demo-fresh.failing and testdata/full-fresh.failing are the same for
// fresh.tsv. --update writes them.
package main

import (
	"context"
	"os"

	"quadrille/cmd/bench/judged"
)

type cli struct{ judged.Options }

func main() {
	var c cli
	judged.Main("searchjudge", "Compare what the server finds with what people expect.", &c, c.run)
}

func (c *cli) run(ctx context.Context) error {
	queries, err := readHalves()
	if err != nil {
		return err
	}
	var judgements []judgement
	err = c.Each(ctx, func(ctx context.Context, site, set string) error {
		j, err := ask(ctx, site, set, queries)
		if err != nil {
			return err
		}
		judgements = append(judgements, j)
		for _, h := range halves {
			if err := c.CompareRecord(recorded(set, h.name), j.failing(h.name)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = os.Stdout.WriteString(figures(judgements))
	return err
}
