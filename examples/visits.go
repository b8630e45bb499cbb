package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"quadrille/cellstore"
)

// visitLog stores the visits to a shop, with one row per session and the latest session of a
// visitor first:
//
//	visits   row: cookie (8) | MaxInt64 − start (8, big-endian)
//	         │
//	         ├─ referer  : page  → empty, at the time of the visit
//	         ├─ search   : words → empty
//	         ├─ product  : id    → empty
//	         └─ checkout : id    → empty
//
//	similar  row: product id ── with : other product id → counter
//
// The start in the key is inverted, so later sessions come first. Therefore the first row at or
// after a cookie is its latest session: a scan with a limit finds it, however many older sessions
// follow. All cookies have the same length, so none is a prefix of another. A page is a column and
// MaxVersions is 1: a repeated visit replaces the cell, so a row contains the distinct pages and
// does not grow with the clicks. The four kinds are families because most queries are about one of
// them and must not read the others.
type visitLog struct{ visits, similar cellstore.Table }

// visit records that a page of a family was seen in the session that began at start. Times are in
// ms since 1970. It may be repeated after a failure.
func (v visitLog) visit(ctx context.Context, cookie string, start int64, family, page string, at int64) error {
	return put(ctx, v.visits, cookie+newestFirst(start), cellstore.PutAt(family, []byte(page), at, nil))
}

type session struct {
	start int64
	pages map[string][]string // by family, sorted by name
}

// latest reads the latest n sessions of a visitor, newest first. If families
// are given, it reads only these, and skips sessions that have none of them.
func (v visitLog) latest(ctx context.Context, cookie string, n int, families ...string) ([]session, error) {
	var found []session
	for row, err := range v.visits.Scan(ctx, cellstore.Scan{
		Ranges:    []cellstore.Range{cellstore.Prefix([]byte(cookie))},
		Selection: cellstore.Selection{Families: families},
		Limit:     n,
		Batch:     n,
	}) {
		if err != nil {
			return nil, err
		}
		s := session{timeOf(row.Key[len(cookie):]), map[string][]string{}}
		for _, c := range row.Cells {
			s.pages[c.Family] = append(s.pages[c.Family], string(c.Qualifier))
		}
		found = append(found, s)
	}
	return found, nil
}

// countCoVisits adds a finished session to the counts of common visits: each pair of its products
// has been visited together once more. One increment per product covers all its partners. Call it
// only once per session: an increment must not be repeated, and after a failure some products may
// have been counted.
func (v visitLog) countCoVisits(ctx context.Context, cookie string, start int64) error {
	products, err := qualifiers(ctx, v.visits, cookie+newestFirst(start), "product")
	if err != nil {
		return err
	}
	for _, product := range products {
		inc := cellstore.Increment{Row: []byte(product), Durability: cellstore.Async}
		for _, other := range products {
			if other != product {
				inc.Deltas = append(inc.Deltas, cellstore.Delta{Family: "with", Qualifier: []byte(other), By: 1})
			}
		}
		if len(inc.Deltas) == 0 {
			continue
		}
		if _, err := v.similar.Increment(ctx, inc, nil); err != nil {
			return err
		}
	}
	return nil
}

// similarTo returns up to n products that were visited together with a given one, and how often
// each was. The most frequent comes first. Products with equal counts are sorted by name.
func (v visitLog) similarTo(ctx context.Context, product string, n int) ([]string, error) {
	var row cellstore.Row
	if _, err := v.similar.Get(ctx, []byte(product), nil, &row); err != nil {
		return nil, err
	}
	slices.SortStableFunc(row.Cells, func(a, b cellstore.Cell) int { return cmp.Compare(count(b.Value), count(a.Value)) })
	var best []string
	for _, c := range row.Cells[:min(n, len(row.Cells))] {
		best = append(best, fmt.Sprintf("%s %d×", c.Qualifier, count(c.Value)))
	}
	return best, nil
}

func playVisits(d *demo) {
	log := visitLog{
		visits: d.table("visits", cellstore.Family{Name: "referer"}, cellstore.Family{Name: "search"},
			cellstore.Family{Name: "product"}, cellstore.Family{Name: "checkout"}),
		similar: d.table("similar", cellstore.Family{Name: "with"}),
	}
	const ann, bob = "ann\x00\x00\x00\x00\x00", "\xff\xff\xff\xff\xff\xff\xff\xff"
	for i, v := range []struct {
		cookie       string
		start        int64
		family, page string
	}{
		{ann, 1000, "referer", "news.example"},
		{ann, 1000, "product", "kettle"},
		{ann, 1000, "product", "teapot"},
		{ann, 1000, "checkout", "kettle"},
		{ann, 5000, "search", "tea cosy"},
		{ann, 5000, "product", "teapot"},
		{ann, 5000, "product", "cosy"},
		{ann, 5000, "product", "teapot"}, // seen again
		{bob, 3000, "product", "teapot"},
		{bob, 3000, "product", "kettle"},
		{bob, 3000, "product", "cup"},
	} {
		ok(log.visit(d.ctx, v.cookie, v.start, v.family, v.page, v.start+int64(i)))
	}
	d.print("latest session", must(log.latest(d.ctx, ann, 1)))
	d.print("latest checkout", must(log.latest(d.ctx, ann, 1, "checkout")))
	d.print("all products", must(log.latest(d.ctx, ann, 10, "product")))
	d.print("the last cookie", must(log.latest(d.ctx, bob, 10)))
	d.print("a stranger", must(log.latest(d.ctx, "stranger", 1)))

	// The teapot was seen three times in one session, but is one cell with one version.
	var row cellstore.Row
	versions := &cellstore.Selection{Families: []string{"product"}, Versions: cellstore.Unlimited}
	must(log.visits.Get(d.ctx, []byte(ann+newestFirst(5000)), versions, &row))
	d.print("cells of the session's products", len(row.Cells))

	ok(log.countCoVisits(d.ctx, ann, 1000))
	ok(log.countCoVisits(d.ctx, ann, 5000))
	ok(log.countCoVisits(d.ctx, bob, 3000))
	ok(log.countCoVisits(d.ctx, bob, 9000)) // no such session
	d.print("similar to teapot", must(log.similarTo(d.ctx, "teapot", 3)))
	d.print("similar to kettle", must(log.similarTo(d.ctx, "kettle", 1)))
	d.print("similar to spoon", must(log.similarTo(d.ctx, "spoon", 9)))
}
