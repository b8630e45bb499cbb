package cellstore

import "context"

// eacher is a Reader that can scan without a copy of what it is asked.
type eacher interface {
	Each(ctx context.Context, scan *Scan, yield func(*Row, error) bool)
}

// Each calls yield as a loop over Scan does, until it returns false. It uses the memory of the
// scan, which the caller must not change until it returns, and does not change it. A reader that
// can do without a copy of what it is asked scans a few rows without allocating.
func Each(ctx context.Context, r Reader, scan *Scan, yield func(*Row, error) bool) {
	if e, ok := r.(eacher); ok {
		e.Each(ctx, scan, yield)
		return
	}
	r.Scan(ctx, *scan)(yield)
}
