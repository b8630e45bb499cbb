// Command examples runs example designs of tables on the cell store and prints their answers.
//
//	go run ./examples               all designs
//	go run ./examples ids series    two of them
//
// Each design is the smallest realistic version of a system that people build on a wide-column
// store. Its comment shows the rows. The code is for reading and copying: it shows the parts of the
// row key and their order, the families, the qualifiers, the use of timestamps, and the order of
// writes, so that a crash leaves only unused rows.
//
// The designs run on pebblestore. Any other driver gives the same answers.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"slices"
	"strings"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
)

type design struct {
	name string
	play func(*demo)
}

var designs = []design{
	{"visits", playVisits},
	{"follows", playFollows},
	{"series", playSeries},
	{"ids", playIDs},
	{"articles", playArticles},
	{"salted-keys", playSaltedKeys},
}

func main() {
	dir := must(os.MkdirTemp("", "examples"))
	store := must(pebblestore.Open(dir, nil))
	err := playAll(context.Background(), store, os.Stdout, os.Args[1:])
	ok(store.Close())
	ok(os.RemoveAll(dir))
	if err != nil {
		log.Fatal(err)
	}
}

// playAll runs the named designs, or all of them without names.
func playAll(ctx context.Context, store cellstore.Store, out io.Writer, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(designs, func(d design) bool { return d.name == name }) {
			return fmt.Errorf("no design is called %s: run without a name to see them all", name)
		}
	}
	for _, d := range designs {
		if len(names) == 0 || slices.Contains(names, d.name) {
			fmt.Fprintf(out, "\n== %s ==\n", d.name)
			d.play(&demo{ctx, store, out})
		}
	}
	return nil
}

// demo has the environment of a design: a store, and a writer for the output.
type demo struct {
	ctx   context.Context
	store cellstore.Store
	out   io.Writer
}

func (d *demo) print(label string, answers ...any) {
	line := label + ": " + fmt.Sprintln(answers...)
	fmt.Fprintln(d.out, strings.TrimRight(line, " \n"))
}

// table creates a table and opens it.
func (d *demo) table(name string, families ...cellstore.Family) cellstore.Table {
	ok(d.store.CreateTable(d.ctx, cellstore.Schema{Table: name, Families: families}))
	return must(d.store.Table(d.ctx, name))
}

// ok and must end the program on an error. The designs themselves return their errors; only the
// code that runs them does not.
func ok(err error) {
	if err != nil {
		panic(err)
	}
}

func must[T any](v T, err error) T {
	ok(err)
	return v
}

// put writes to one row.
func put(ctx context.Context, t cellstore.Table, row string, ops ...cellstore.Op) error {
	return t.Apply(ctx, cellstore.Mutation{Row: []byte(row), Ops: ops})
}

// column returns the selection of one column.
func column(family, qualifier string) *cellstore.Selection {
	return &cellstore.Selection{Columns: []cellstore.Column{{Family: family, Qualifier: []byte(qualifier)}}}
}

// has reports whether a row has a column.
func has(ctx context.Context, t cellstore.Table, row, family, qualifier string) (bool, error) {
	var r cellstore.Row
	return t.Get(ctx, []byte(row), column(family, qualifier), &r)
}

// value reads one column. A missing column has the value "".
func value(ctx context.Context, t cellstore.Table, row, family, qualifier string) (string, error) {
	var r cellstore.Row
	_, err := t.Get(ctx, []byte(row), column(family, qualifier), &r)
	v, _ := r.Value(family, []byte(qualifier))
	return string(v), err
}

// qualifiers returns the columns of a row in a family.
func qualifiers(ctx context.Context, t cellstore.Table, row, family string) ([]string, error) {
	var r cellstore.Row
	_, err := t.Get(ctx, []byte(row), &cellstore.Selection{Families: []string{family}}, &r)
	var names []string
	for _, c := range r.Cells {
		names = append(names, string(c.Qualifier))
	}
	return names, err
}

// suffixes returns the rests of the keys that begin with a prefix.
func suffixes(ctx context.Context, t cellstore.Table, prefix string) ([]string, error) {
	var found []string
	for row, err := range t.Scan(ctx, cellstore.Scan{Ranges: []cellstore.Range{cellstore.Prefix([]byte(prefix))}}) {
		if err != nil {
			return nil, err
		}
		found = append(found, string(row.Key[len(prefix):]))
	}
	return found, nil
}

// number writes 8 bytes, big-endian, as a counter is.
func number(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// count reads a counter.
func count(value []byte) int64 { return int64(binary.BigEndian.Uint64(value)) }

// newestFirst encodes a time of 0 or later as 8 bytes that sort the latest time first; timeOf
// decodes it.
func newestFirst(ms int64) string { return string(number(math.MaxInt64 - ms)) }

func timeOf(key []byte) int64 { return math.MaxInt64 - count(key) }
