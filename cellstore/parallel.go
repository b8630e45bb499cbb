package cellstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// ParallelScan scans a table with up to workers goroutines; 0 means one per processor. It divides
// the table with Splits, and each part is scanned by one goroutine, in the order of the scan; parts
// are numbered from 0 to workers-1 in key order. Calls of fn for different parts overlap, those for
// one part do not, so results kept per part need no lock. The Row is valid until fn returns.
//
// The first error, of fn or of a scan, cancels the context that fn receives, and is returned when
// all calls have ended. A Limit cannot apply across parts, so it is refused with ErrBadRange. Each
// part is a scan of its own, with the consistency of Scan. To see the whole table at one moment,
// take a Snapshot and scan it by the ranges of Splits.
func ParallelScan(ctx context.Context, t Table, workers int, scan Scan, fn func(ctx context.Context, part int, row *Row) error) error {
	if scan.Limit != 0 {
		return &Error{Op: "ParallelScan", Table: t.Schema().Table,
			Err: fmt.Errorf("%w: limit %d: stop by returning an error from fn", ErrBadRange, scan.Limit)}
	}
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	parts, err := t.Splits(ctx, workers)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for i, part := range parts {
		own := scan
		if own.Ranges = cutAll(scan.Ranges, part, scan.Reverse); len(own.Ranges) == 0 {
			continue
		}
		g.Go(func() error {
			for row, err := range t.Scan(ctx, own) {
				if err != nil {
					return err
				}
				if len(part.To) > 0 && bytes.Compare(row.Key, part.To) >= 0 {
					continue // the inclusive high end of a reverse scan
				}
				if err := fn(ctx, i, row); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// Concurrently calls fn for 0 to n-1, all at once, the first of them on the
// caller's goroutine. The first failure cancels the context of the other calls
// and is returned. Drivers use it if each family takes a call of its own.
func Concurrently(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error {
	if n == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	for i := 1; i < n; i++ {
		g.Go(func() error { return fn(ctx, i) })
	}
	err := fn(ctx, 0)
	if err != nil {
		cancel()
	}
	// If a failure cancelled another call, the failure is returned.
	if others := g.Wait(); others != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = others
	}
	return err
}

// cutAll cuts the ranges of a scan to one part of the table. No ranges mean the
// whole table.
func cutAll(ranges []Range, part Range, reverse bool) []Range {
	if len(ranges) == 0 {
		ranges = []Range{{}}
	}
	var out []Range
	for _, r := range ranges {
		if reverse {
			r = cutBack(r, part)
		} else {
			r = cut(r, part)
		}
		low, high := r.From, r.To
		if reverse {
			low, high = high, low
		}
		if d := bytes.Compare(low, high); len(high) == 0 || d < 0 || d == 0 && r.ToInclusive {
			out = append(out, r)
		}
	}
	return out
}

func cut(r, part Range) Range {
	if bytes.Compare(r.From, part.From) < 0 {
		r.From = part.From
	}
	if len(part.To) > 0 && (len(r.To) == 0 || bytes.Compare(part.To, r.To) <= 0) {
		r.To, r.ToInclusive = part.To, false
	}
	return r
}

// cutBack does the same as cut for the range of a reverse scan. Its high end is inclusive, and may
// include the first row of the next part.
func cutBack(r, part Range) Range {
	if len(part.To) > 0 && (len(r.From) == 0 || bytes.Compare(part.To, r.From) <= 0) {
		r.From = part.To
	}
	if bytes.Compare(r.To, part.From) < 0 {
		r.To, r.ToInclusive = part.From, true
	}
	return r
}
