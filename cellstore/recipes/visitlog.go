package recipes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"quadrille/cellstore"
)

// Cookie names a visitor. All are of one length, so that none is a prefix of
// another.
type Cookie [8]byte

// Session is one row of a [VisitLog].
type Session struct {
	Cookie Cookie
	Start  int64 // ms since 1970
	// Pages are the distinct ones of each family, sorted by name.
	Referer, Search, Product, Checkout []string
}

// VisitLog keeps what the visitors of a shop did, a row per session, the
// latest session of a visitor first:
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
// The start counts down in the key, so the first row at or after a cookie is
// its latest session: one limited scan, however many older ones follow. A page
// is a column, and MaxVersions is 1: a page seen again replaces its cell, and
// the cells of a row are the distinct pages, never counted twice and never
// growing with the clicks. The four kinds are families since most questions
// are about one of them and must not read the others.
//
// A VisitLog may be used by any number of goroutines.
type VisitLog struct{ visits, similar cellstore.Table }

func visitLogSchemas() []cellstore.Schema {
	return []cellstore.Schema{
		{Table: "visits", Families: []cellstore.Family{
			{Name: "referer"}, {Name: "search"}, {Name: "product"}, {Name: "checkout"}}},
		{Table: "similar", Families: []cellstore.Family{{Name: "with"}}},
	}
}

// OpenVisitLog opens the tables visits and similar.
func OpenVisitLog(ctx context.Context, s cellstore.Store) (*VisitLog, error) {
	visits, err := s.Table(ctx, "visits")
	if err != nil {
		return nil, err
	}
	similar, err := s.Table(ctx, "similar")
	if err != nil {
		return nil, err
	}
	return &VisitLog{visits, similar}, nil
}

func sessionKey(c Cookie, start int64) []byte { return reversed(c[:], start) }

// Visit writes that a page of a family (referer, search, product or checkout)
// was seen at a time, in the session that began at start; both ms since 1970,
// 0 or later. It may be repeated after a failure.
func (v *VisitLog) Visit(ctx context.Context, c Cookie, start int64, family, page string, at int64) error {
	if start < 0 {
		return fmt.Errorf("session of cookie %x starts at %d: pass ms since 1970", c, start)
	}
	return v.visits.Apply(ctx, cellstore.Mutation{
		Row: sessionKey(c, start),
		Ops: []cellstore.Op{cellstore.PutAt(family, []byte(page), at, nil)},
	})
}

// Latest reads the latest n sessions of a visitor, the newest first. With
// families, only those are read, and sessions without any of them passed over.
func (v *VisitLog) Latest(ctx context.Context, c Cookie, n int, families ...string) ([]Session, error) {
	if n < 1 {
		return nil, nil
	}
	var out []Session
	for row, err := range v.visits.Scan(ctx, cellstore.Scan{
		Ranges:    []cellstore.Range{cellstore.Prefix(c[:])},
		Selection: cellstore.Selection{Families: families},
		Limit:     n,
		Batch:     n,
	}) {
		if err != nil {
			return nil, err
		}
		s, err := readSession(row)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func readSession(row *cellstore.Row) (Session, error) {
	if len(row.Key) != 16 {
		return Session{}, fmt.Errorf("%w: session key %x is not of 16 bytes", cellstore.ErrCorrupt, row.Key)
	}
	s := Session{
		Cookie: Cookie(row.Key),
		Start:  math.MaxInt64 - int64(binary.BigEndian.Uint64(row.Key[8:])),
	}
	for _, c := range row.Cells {
		page := string(c.Qualifier)
		switch c.Family {
		case "referer":
			s.Referer = append(s.Referer, page)
		case "search":
			s.Search = append(s.Search, page)
		case "product":
			s.Product = append(s.Product, page)
		case "checkout":
			s.Checkout = append(s.Checkout, page)
		}
	}
	return s, nil
}

// CountCoVisits adds a finished session to the similarity of its products:
// every two of them were visited together once more. One increment per product
// covers all its partners. Call it once per session: an increment may not be
// repeated, and after a failure a part of the products may have been counted.
func (v *VisitLog) CountCoVisits(ctx context.Context, c Cookie, start int64) error {
	var row cellstore.Row
	sel := &cellstore.Selection{Families: []string{"product"}}
	if _, err := v.visits.Get(ctx, sessionKey(c, start), sel, &row); err != nil {
		return err
	}
	for i, product := range row.Cells {
		inc := cellstore.Increment{Row: product.Qualifier, Durability: cellstore.Async}
		for j, other := range row.Cells {
			if i != j {
				inc.Deltas = append(inc.Deltas, cellstore.Delta{Family: "with", Qualifier: other.Qualifier, By: 1})
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

// Similar is a product and how many sessions visited it together with another.
type Similar struct {
	Product  string
	CoVisits int64
}

// Similar returns up to n products that were visited with one, the most often
// first, and of equals the first by name.
func (v *VisitLog) Similar(ctx context.Context, product string, n int) ([]Similar, error) {
	var row cellstore.Row
	if _, err := v.similar.Get(ctx, []byte(product), nil, &row); err != nil {
		return nil, err
	}
	all := make([]Similar, 0, len(row.Cells))
	for _, c := range row.Cells {
		count, err := counter(c.Value)
		if err != nil {
			return nil, err
		}
		all = append(all, Similar{string(c.Qualifier), count})
	}
	slices.SortStableFunc(all, func(a, b Similar) int { return cmp.Compare(b.CoVisits, a.CoVisits) })
	return all[:min(max(n, 0), len(all))], nil
}

func visitLogRecipes() []Recipe {
	return []Recipe{{Name: "visit log", Schemas: visitLogSchemas(), Check: checkVisitLog}}
}

func checkVisitLog(ctx context.Context, s cellstore.Store, clock *Clock) error {
	log, err := OpenVisitLog(ctx, s)
	if err != nil {
		return err
	}
	now := clock.Now()
	ann, bob := Cookie([]byte("ann\x00\x00\x00\x00\x00")), Cookie(bytes.Repeat([]byte{0xFF}, 8))
	for _, v := range []struct {
		cookie       Cookie
		start        int64
		family, page string
		after        int64
	}{
		{ann, now - 9000, "referer", "news.example", 0},
		{ann, now - 9000, "product", "kettle", 10},
		{ann, now - 9000, "product", "teapot", 20},
		{ann, now - 9000, "checkout", "kettle", 30},
		{ann, now - 5000, "search", "tea cosy", 0},
		{ann, now - 5000, "product", "teapot", 10},
		{ann, now - 5000, "product", "cosy", 20},
		{ann, now - 5000, "product", "teapot", 30}, // again
		{bob, now - 7000, "product", "teapot", 0},
		{bob, now - 7000, "product", "kettle", 10},
		{bob, now - 7000, "product", "cup", 20},
	} {
		if err := log.Visit(ctx, v.cookie, v.start, v.family, v.page, v.start+v.after); err != nil {
			return err
		}
	}
	for _, start := range []struct {
		cookie Cookie
		at     int64
	}{{ann, now - 9000}, {ann, now - 5000}, {bob, now - 7000}, {bob, now - 1}} {
		if err := log.CountCoVisits(ctx, start.cookie, start.at); err != nil {
			return err
		}
	}

	for _, q := range []struct {
		what     string
		cookie   Cookie
		n        int
		families []string
		want     []Session
	}{
		{"latest session", ann, 1, nil, []Session{
			{Cookie: ann, Start: now - 5000, Search: []string{"tea cosy"}, Product: []string{"cosy", "teapot"}}}},
		{"latest checkout", ann, 1, []string{"checkout"}, []Session{
			{Cookie: ann, Start: now - 9000, Checkout: []string{"kettle"}}}},
		{"all products", ann, 10, []string{"product"}, []Session{
			{Cookie: ann, Start: now - 5000, Product: []string{"cosy", "teapot"}},
			{Cookie: ann, Start: now - 9000, Product: []string{"kettle", "teapot"}}}},
		{"the last cookie", bob, 10, nil, []Session{
			{Cookie: bob, Start: now - 7000, Product: []string{"cup", "kettle", "teapot"}}}},
		{"a stranger", Cookie{}, 1, nil, nil},
	} {
		got, err := log.Latest(ctx, q.cookie, q.n, q.families...)
		if err != nil {
			return err
		}
		if err := expect(q.what, got, q.want); err != nil {
			return err
		}
	}
	for _, q := range []struct {
		product string
		n       int
		want    []Similar
	}{
		{"teapot", 3, []Similar{{"kettle", 2}, {"cosy", 1}, {"cup", 1}}},
		{"kettle", 1, []Similar{{"teapot", 2}}},
		{"cosy", 9, []Similar{{"teapot", 1}}},
		{"spoon", 9, nil},
	} {
		got, err := log.Similar(ctx, q.product, q.n)
		if err != nil {
			return err
		}
		if err := expect("similar to "+q.product, got, q.want); err != nil {
			return err
		}
	}
	// Seen three times in one session, and one cell: the first version has
	// been replaced, not added to.
	var row cellstore.Row
	sel := &cellstore.Selection{Families: []string{"product"}, Versions: cellstore.Unlimited}
	if _, err := log.visits.Get(ctx, sessionKey(ann, now-5000), sel, &row); err != nil {
		return err
	}
	return expect("cells of the session", len(row.Cells), 2)
}
