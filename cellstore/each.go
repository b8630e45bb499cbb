package cellstore

import "context"

// eacher is a Reader that can scan without a copy of the scan.
type eacher interface {
	Each(ctx context.Context, scan *Scan, yield func(*Row, error) bool)
}

// Each calls yield as a loop over Scan does, until it returns false. It uses the scan's own memory.
// It does not change the scan, and the caller must not change it until Each returns. With a reader
// that needs no copy of the scan, a read of a few rows does not allocate.
func Each(ctx context.Context, r Reader, scan *Scan, yield func(*Row, error) bool) {
	if e, ok := r.(eacher); ok {
		e.Each(ctx, scan, yield)
		return
	}
	r.Scan(ctx, *scan)(yield)
}
