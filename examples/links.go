package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"quadrille/cellstore"
)

// rolledLinks keep the links of a page as one finished value, the cheapest
// thing there is to read, and what has changed since beside it. rollUp folds
// the changes in from time to time.
//
//	row   a: (the list @ its roll-up)   d: (the deltas, "+" or "-")
//	1     (empty)=["2","3"]             3="-"  4="+"
//
// The plain designs of links, a row per link or a column per link, are those
// of [tallFollows] and [wideFollows]. A reader in the midst of a roll-up sees a
// delta both folded and not, which is the same answer. One roll-up of a page
// runs at a time.
type rolledLinks struct{ table cellstore.Table }

// change records that a link has appeared ("+") or gone ("-").
func (l rolledLinks) change(ctx context.Context, from, to, sign string) error {
	return put(ctx, l.table, from, cellstore.Put("d", []byte(to), []byte(sign)))
}

// fold returns the list of a page with the deltas up to a time in it, and the
// names of these deltas.
func (l rolledLinks) fold(ctx context.Context, from string, upTo int64) (links, deltas []string, err error) {
	var row cellstore.Row
	if _, err := l.table.Get(ctx, []byte(from), nil, &row); err != nil {
		return nil, nil, err
	}
	set := map[string]bool{}
	for _, c := range row.Cells { // family a comes before d
		switch {
		case c.Timestamp > upTo && c.Family == "a":
			return nil, nil, fmt.Errorf("links of %s are rolled up to %d already: choose a time after it, not %d", from, c.Timestamp, upTo)
		case c.Timestamp > upTo:
		case c.Family == "a":
			if err := json.Unmarshal(c.Value, &links); err != nil {
				return nil, nil, fmt.Errorf("rolled-up links of %s: %w: write the list anew", from, err)
			}
			for _, to := range links {
				set[to] = true
			}
		default:
			deltas = append(deltas, string(c.Qualifier))
			set[string(c.Qualifier)] = string(c.Value) == "+"
		}
	}
	maps.DeleteFunc(set, func(_ string, linked bool) bool { return !linked })
	return slices.Sorted(maps.Keys(set)), deltas, nil
}

// rollUp folds the deltas up to a time into the list. The time must have
// passed on the store's clock, so that no delta can join those being folded.
// The list is durable before its deltas go: a crash in between leaves only
// deltas that change nothing.
func (l rolledLinks) rollUp(ctx context.Context, from string, upTo int64) error {
	links, deltas, err := l.fold(ctx, from, upTo)
	if err != nil || len(deltas) == 0 {
		return err
	}
	list, err := json.Marshal(append([]string{}, links...))
	if err != nil {
		return err
	}
	if err := put(ctx, l.table, from, cellstore.PutAt("a", nil, upTo, list)); err != nil {
		return err
	}
	var drop []cellstore.Op
	for _, to := range deltas {
		drop = append(drop, cellstore.DeleteColumn("d", []byte(to), upTo))
	}
	return put(ctx, l.table, from, drop...)
}

func playLinks(d *demo) {
	l := rolledLinks{d.table("page_links_ro", cellstore.Family{Name: "a"}, cellstore.Family{Name: "d"})}
	show := func(what string) {
		for _, page := range []string{"1", "2", "11", "9"} {
			links, _, err := l.fold(d.ctx, page, cellstore.MaxTimestamp)
			ok(err)
			deltas := must(qualifiers(d.ctx, l.table, page, "d"))
			d.print(fmt.Sprintf("%s, links of %s", what, page), links, "of which deltas", deltas)
		}
	}
	for _, link := range [][2]string{{"1", "2"}, {"1", "3"}, {"2", "1"}, {"11", "5"}} {
		ok(l.change(d.ctx, link[0], link[1], "+"))
	}
	show("at first")
	first := d.now()
	d.pass(time.Second)
	for _, what := range []string{"rolled up", "rolled up again"} {
		for _, page := range []string{"1", "2", "11", "9"} {
			ok(l.rollUp(d.ctx, page, first))
		}
		show(what)
	}
	ok(l.change(d.ctx, "1", "3", "-"))
	ok(l.change(d.ctx, "1", "4", "+"))
	ok(l.rollUp(d.ctx, "1", first)) // too early for these deltas
	show("changed")
	second := d.now()
	d.pass(time.Second)
	ok(l.rollUp(d.ctx, "1", second))
	show("changed and rolled up")
	d.print("a roll-up to an earlier time", l.rollUp(d.ctx, "1", first) != nil)
}

// fans shard the row of a celebrity, which would outgrow a read and heat one
// server, over a fixed number of rows. Which row holds a fan follows from the
// fan's name, so one question costs one Get. All fans are one scan over as
// many ranges as there are buckets, each a single row.
//
//	row                       l:
//	bucket 1 B | celebrity    fan=""  (those with FNV-1a(fan) mod buckets = bucket)
//
// The bucket leads the key so that the rows lie apart.
type fans struct{ table cellstore.Table }

// buckets, 1 to 256, must not change once there is data.
const buckets = 8

// bucketOf spreads names evenly over the buckets.
func bucketOf(name string) string {
	h := fnv.New32a()
	h.Write([]byte(name))
	return string([]byte{byte(h.Sum32() % buckets)})
}

func (f fans) add(ctx context.Context, celebrity, fan string) error {
	return put(ctx, f.table, bucketOf(fan)+celebrity, cellstore.Put("l", []byte(fan), nil))
}

func (f fans) has(ctx context.Context, celebrity, fan string) (bool, error) {
	return has(ctx, f.table, bucketOf(fan)+celebrity, "l", fan)
}

// each calls fn with the fans of each bucket that has any.
func (f fans) each(ctx context.Context, celebrity string, fn func(fans []cellstore.Cell)) error {
	var ranges []cellstore.Range
	for i := range buckets {
		key := append([]byte{byte(i)}, celebrity...)
		// Only this key: as a prefix it would take in longer names too.
		ranges = append(ranges, cellstore.Range{From: key, To: key, ToInclusive: true})
	}
	for row, err := range f.table.Scan(ctx, cellstore.Scan{Ranges: ranges}) {
		if err != nil {
			return err
		}
		fn(row.Cells)
	}
	return nil
}

func playFans(d *demo) {
	f := fans{d.table("fans", cellstore.Family{Name: "l", Bloom: cellstore.BloomRowCol})}
	for i := range 100 {
		ok(f.add(d.ctx, "ladyada", fmt.Sprintf("fan%02d", i)))
	}
	ok(f.add(d.ctx, "ladyadamant", "fan00"))
	var names []string
	ok(f.each(d.ctx, "ladyada", func(fans []cellstore.Cell) {
		d.print("fans in a bucket", len(fans))
		for _, fan := range fans {
			names = append(names, string(fan.Qualifier))
		}
	}))
	slices.Sort(names)
	d.print("fans of ladyada", len(names), "from", names[0], "to", names[len(names)-1])
	d.print("fan42 is one", must(f.has(d.ctx, "ladyada", "fan42")))
	d.print("fan42 is one of ladyadamant", must(f.has(d.ctx, "ladyadamant", "fan42")))
}
