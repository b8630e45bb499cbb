package recipes

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"quadrille/cellstore"
)

// LinkEdges keeps page links as a list of edges, a row per link. A link is one
// Get, the links of a page are a prefix, and no row grows. Page ids are
// decimal text, so links come in text order: 10 before 2.
//
//	row   x:
//	1-2   (empty)=""
//	1-3   (empty)=""
//	2-1   (empty)=""
type LinkEdges struct{ T cellstore.Table }

// Link records a link. Page ids must not contain the separator "-".
func (l LinkEdges) Link(ctx context.Context, from, to string) error {
	if from == "" || strings.Contains(from+to, "-") {
		return fmt.Errorf("link from %q to %q: a page id must not be empty or contain %q", from, to, "-")
	}
	return l.T.Apply(ctx, cellstore.Mutation{Row: []byte(from + "-" + to), Ops: []cellstore.Op{cellstore.Put("x", nil, nil)}})
}

// Links lists where a page links to.
func (l LinkEdges) Links(ctx context.Context, from string) ([]string, error) {
	return keySuffixes(ctx, l.T, []byte(from+"-"))
}

// Has reports whether one page links to another.
func (l LinkEdges) Has(ctx context.Context, from, to string) (bool, error) {
	var row cellstore.Row
	return l.T.Get(ctx, []byte(from+"-"+to), nil, &row)
}

// LinkLists keeps page links as adjacency lists, a row per page and a column
// per link: fewer keys, and all links of a page change and are read as one.
//
//	row   l:
//	1     2=""  3=""
//	2     1=""
type LinkLists struct{ T cellstore.Table }

// Link records a link.
func (l LinkLists) Link(ctx context.Context, from, to string) error {
	return l.T.Apply(ctx, cellstore.Mutation{Row: []byte(from), Ops: []cellstore.Op{cellstore.Put("l", []byte(to), nil)}})
}

// Links lists where a page links to.
func (l LinkLists) Links(ctx context.Context, from string) ([]string, error) {
	return columnsOf(ctx, l.T, from, "l")
}

// Has reports whether one page links to another, and reads no other link.
func (l LinkLists) Has(ctx context.Context, from, to string) (bool, error) {
	var row cellstore.Row
	return l.T.Get(ctx, []byte(from), oneColumn("l", to), &row)
}

// RolledLinks keeps the links of a page as one finished value, the cheapest
// thing there is to read, and what has changed since beside it. RollUp folds
// the changes in from time to time.
//
//	row   a: (the list @ its roll-up)   d: (the deltas, "+" or "-")
//	1     (empty)=["2","3"]             3="-"  4="+"
//
// A reader in the midst of a roll-up sees a delta both folded and not, which
// is the same answer. One roll-up of a page runs at a time.
type RolledLinks struct{ T cellstore.Table }

// Change records that a link has appeared or gone.
func (l RolledLinks) Change(ctx context.Context, from, to string, there bool) error {
	sign := "-"
	if there {
		sign = "+"
	}
	return l.T.Apply(ctx, cellstore.Mutation{Row: []byte(from), Ops: []cellstore.Op{cellstore.Put("d", []byte(to), []byte(sign))}})
}

// Links lists where a page links to.
func (l RolledLinks) Links(ctx context.Context, from string) ([]string, error) {
	links, _, err := l.fold(ctx, from, cellstore.MaxTimestamp)
	return links, err
}

// fold reads a row and returns its list with the deltas up to upTo in it, and
// their names.
func (l RolledLinks) fold(ctx context.Context, from string, upTo int64) (links, deltas []string, err error) {
	var row cellstore.Row
	if _, err := l.T.Get(ctx, []byte(from), nil, &row); err != nil {
		return nil, nil, err
	}
	set := map[string]bool{}
	for _, c := range row.Cells { // family a comes before d
		switch {
		case c.Family == "a":
			if c.Timestamp > upTo {
				return nil, nil, fmt.Errorf("links of %s are rolled up to %d already: choose a time after it, not %d", from, c.Timestamp, upTo)
			}
			if err := json.Unmarshal(c.Value, &links); err != nil {
				return nil, nil, fmt.Errorf("rolled-up links of %s: %w: write the list anew", from, err)
			}
			for _, to := range links {
				set[to] = true
			}
		case c.Timestamp <= upTo:
			deltas = append(deltas, string(c.Qualifier))
			set[string(c.Qualifier)] = string(c.Value) == "+"
		}
	}
	links = nil
	for to, there := range set {
		if there {
			links = append(links, to)
		}
	}
	slices.Sort(links)
	return links, deltas, nil
}

// RollUp folds the deltas up to upTo into the list. upTo, in ms, must have
// passed on the store's clock, so that no delta can join those being folded.
// The list is durable before its deltas go: a crash in between leaves only
// deltas that change nothing.
func (l RolledLinks) RollUp(ctx context.Context, from string, upTo int64) error {
	links, deltas, err := l.fold(ctx, from, upTo)
	if err != nil || len(deltas) == 0 {
		return err
	}
	list, err := json.Marshal(append([]string{}, links...))
	if err != nil {
		return err
	}
	if err := l.T.Apply(ctx, cellstore.Mutation{Row: []byte(from), Ops: []cellstore.Op{cellstore.PutAt("a", nil, upTo, list)}}); err != nil {
		return err
	}
	drop := cellstore.Mutation{Row: []byte(from)}
	for _, to := range deltas {
		drop.Ops = append(drop.Ops, cellstore.DeleteColumn("d", []byte(to), upTo))
	}
	return l.T.Apply(ctx, drop)
}

// Fans shards the row of a celebrity, which would outgrow a read and heat one
// server, over a fixed number of rows. Which one holds a fan follows from the
// fan's name, so one question costs one Get; all fans are one scan over as
// many ranges as there are buckets, each a single row.
//
//	row                       l:
//	bucket 1 B | celebrity    fan=""  (those with FNV-1a(fan) mod Buckets = bucket)
//
// Buckets, 1 to 256, must not change once there is data. The bucket leads the
// key so that the rows lie apart.
type Fans struct {
	T       cellstore.Table
	Buckets int
}

// bucketOf spreads names evenly over 1 to 256 buckets.
func bucketOf(name []byte, buckets int) byte {
	h := fnv.New32a()
	h.Write(name)
	return byte(h.Sum32() % uint32(buckets))
}

func (f Fans) row(celebrity, fan string) []byte {
	return append([]byte{bucketOf([]byte(fan), f.Buckets)}, celebrity...)
}

// Add records a fan.
func (f Fans) Add(ctx context.Context, celebrity, fan string) error {
	return f.T.Apply(ctx, cellstore.Mutation{Row: f.row(celebrity, fan), Ops: []cellstore.Op{cellstore.Put("l", []byte(fan), nil)}})
}

// Has reports whether one is a fan of the other.
func (f Fans) Has(ctx context.Context, celebrity, fan string) (bool, error) {
	var row cellstore.Row
	return f.T.Get(ctx, f.row(celebrity, fan), oneColumn("l", fan), &row)
}

// Each calls fn with the fans of each bucket that has any, sorted within it.
func (f Fans) Each(ctx context.Context, celebrity string, fn func(fans []string) error) error {
	ranges := make([]cellstore.Range, f.Buckets)
	for i := range ranges {
		key := append([]byte{byte(i)}, celebrity...)
		// Only this key: as a prefix it would take in longer names too.
		ranges[i] = cellstore.Range{From: key, To: key, ToInclusive: true}
	}
	for row, err := range f.T.Scan(ctx, cellstore.Scan{Ranges: ranges}) {
		if err != nil {
			return err
		}
		if err := fn(qualifiersOf(row, "l")); err != nil {
			return err
		}
	}
	return nil
}

func linkRecipes() []Recipe {
	columns := cellstore.Family{Name: "l", Bloom: cellstore.BloomRowCol}
	return []Recipe{
		recipe("page links as edges, as lists and rolled up", checkLinks, schema("page_page", cellstore.Family{Name: "x"}),
			schema("page_links", columns), schema("page_links_ro", cellstore.Family{Name: "a"}, cellstore.Family{Name: "d"})),
		recipe("the sharded row of a celebrity", checkFans, schema("fans", columns)),
	}
}

func checkLinks(ctx context.Context, v *verdict, t []cellstore.Table, clock *Clock) {
	edges, lists, rolled := LinkEdges{t[0]}, LinkLists{t[1]}, RolledLinks{t[2]}
	for _, l := range [][2]string{{"1", "2"}, {"1", "3"}, {"2", "1"}, {"11", "5"}} {
		v.ok(edges.Link(ctx, l[0], l[1]))
		v.ok(lists.Link(ctx, l[0], l[1]))
		v.ok(rolled.Change(ctx, l[0], l[1], true))
	}
	agree := func(from string, want ...string) {
		for _, l := range []interface {
			Links(ctx context.Context, from string) ([]string, error)
		}{edges, lists, rolled} {
			got, err := l.Links(ctx, from)
			v.list(fmt.Sprintf("%T: links of %s", l, from), got, err, want...)
		}
	}
	all := func() { agree("1", "2", "3"); agree("2", "1"); agree("11", "5"); agree("9") }
	all()
	for to, want := range map[string]bool{"3": true, "9": false} {
		got, err := edges.Has(ctx, "1", to)
		v.is("edge 1-"+to, got, want, err)
		got, err = lists.Has(ctx, "1", to)
		v.is("link 1-"+to, got, want, err)
	}
	// Rolling up changes no answer, nor does doing it again.
	first := clock.Now()
	clock.Advance(1e9)
	for range 2 {
		for _, page := range []string{"1", "2", "11", "9"} {
			v.ok(rolled.RollUp(ctx, page, first))
		}
		all()
	}
	var row cellstore.Row
	found, err := rolled.T.Get(ctx, []byte("1"), &cellstore.Selection{Families: []string{"d"}}, &row)
	v.is("deltas of 1 after the roll-up", found, false, err)
	v.ok(rolled.Change(ctx, "1", "3", false))
	v.ok(rolled.Change(ctx, "1", "4", true))
	v.ok(rolled.RollUp(ctx, "1", first)) // too early for these deltas
	changed := func() {
		got, err := rolled.Links(ctx, "1")
		v.list("changed links of 1", got, err, "2", "4")
	}
	changed()
	second := clock.Now()
	clock.Advance(1e9)
	v.ok(rolled.RollUp(ctx, "1", second))
	changed()
}

func checkFans(ctx context.Context, v *verdict, t []cellstore.Table, _ *Clock) {
	fans := Fans{T: t[0], Buckets: 8}
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprintf("fan%02d", i))
		v.ok(fans.Add(ctx, "ladyada", want[i]))
	}
	v.ok(fans.Add(ctx, "ladyadamant", "fan00"))
	var got []string
	rows := 0
	err := fans.Each(ctx, "ladyada", func(some []string) error { rows++; got = append(got, some...); return nil })
	v.set("fans of ladyada", got, err, want...)
	v.is("the fans fill every bucket", rows == fans.Buckets, true, nil)
	has, err := fans.Has(ctx, "ladyada", "fan42")
	v.is("fan42", has, true, err)
	has, err = fans.Has(ctx, "ladyadamant", "fan42")
	v.is("fan42 of another", has, false, err)
}

// keysOf lists the keys of the rows in a range without their first skip bytes.
func keysOf(ctx context.Context, t cellstore.Table, r cellstore.Range, skip int) ([]string, error) {
	var keys []string
	for row, err := range t.Scan(ctx, cellstore.Scan{Ranges: []cellstore.Range{r}}) {
		if err != nil {
			return nil, err
		}
		keys = append(keys, string(row.Key[skip:]))
	}
	return keys, nil
}

// keySuffixes lists what follows a prefix in the keys that start with it.
func keySuffixes(ctx context.Context, t cellstore.Table, prefix []byte) ([]string, error) {
	return keysOf(ctx, t, cellstore.Prefix(prefix), len(prefix))
}
