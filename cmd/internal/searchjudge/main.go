// Command searchjudge asks a server what several hundred texts name, and compares the
// answers with what people expect. `make bench` runs it.
//
//	go run ./cmd/internal/searchjudge --demo data --full ../shared/data
//
// queries.tsv holds the texts. The set says on which data a text has its answer: demo,
// full or both. near is a position that the text is asked from. want lists the right
// answers with " | " between them: a kind or the type of a region, a country, and mostly
// a position with a distance in kilometres.
//
//	place US 45.52345,-122.67621 15
//
// People wrote the expectations; what a server answers is no source of them. The positions
// are those of the publishers: GeoNames (CC BY 4.0, https://www.geonames.org), OurAirports
// and Natural Earth. A test compares those of places and airports with the publishers' files.
//
// The figures are success at 1, success at 5 and the mean reciprocal rank. No figure
// depends on the machine. The files testdata/demo.failing and testdata/full.failing record
// the texts whose first answer is wrong, so that a change shows in them what it mends and
// what it breaks; --update writes them.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/alecthomas/kong"
)

type cli struct {
	Demo   string `default:"data" type:"path" help:"Data directory with the demo's data; without places it is skipped."`
	Full   string `default:"../shared/data" type:"path" help:"Publishers' files that the full data is made from; skipped if they are absent."`
	Bin    string `type:"path" help:"Directory with ingest and tileserver; they are built if not given."`
	Record string `default:"cmd/internal/searchjudge/testdata" type:"path" help:"Directory of the recorded files."`
	Update bool   `help:"Write the recorded files instead of comparing with them."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	kong.Parse(&c, kong.Description("Compare what the server finds with what people expect."))
	if err := c.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "searchjudge:", err)
		os.Exit(1)
	}
}

func (c *cli) run(ctx context.Context) (err error) {
	queries, err := readQueries(table)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "searchjudge-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	p := binaries{c.Bin}
	var judged []judgement
	for _, set := range []string{setDemo, setFull} {
		data := c.Demo
		if set == setFull {
			data = filepath.Join(scratch, "data")
		}
		if missing := c.absent(set); missing != "" {
			fmt.Fprintf(os.Stderr, "the %s data is skipped: there is no %s\n", set, missing)
			continue
		}
		if p.dir == "" {
			p.dir = scratch
			if err := p.build(ctx); err != nil {
				return err
			}
		}
		if set == setFull {
			if err := p.ingestFull(ctx, data, c.Full); err != nil {
				return err
			}
		}
		j, err := p.judge(ctx, data, set, queries)
		if err != nil {
			return err
		}
		judged = append(judged, j)
		if err := c.record(&j); err != nil {
			return err
		}
	}
	if len(judged) == 0 {
		return errors.New("there is no data to judge: run make demo, or name the demo's data with --demo")
	}
	_, err = os.Stdout.WriteString(figures(judged))
	return err
}

// absent returns the path that a set needs and that is not there.
func (c *cli) absent(set string) string {
	path := filepath.Join(c.Demo, "places")
	if set == setFull {
		path = c.Full
	}
	if _, err := os.Stat(path); err != nil {
		return path
	}
	return ""
}

// record compares the failing queries with those of the recorded file, or writes it.
func (c *cli) record(j *judgement) error {
	path := filepath.Join(c.Record, j.set+".failing")
	now := j.failing()
	if c.Update {
		return os.WriteFile(path, now, 0o644)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(before, now) {
		fmt.Fprintf(os.Stderr, "%s has changed (- before, + now):\n%s", path, difference(before, now))
	}
	return nil
}
