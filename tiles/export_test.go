package tiles

import "context"

// NearestOfRows finds the nearest region of a type and reads at most the given number of rows.
func (r *Reader) NearestOfRows(ctx context.Context, lat, lon, radius float64, typ string, rows int) (Match, error) {
	return r.nearest(ctx, new(scratch), r.types[typ], lat, lon, radius, rows)
}

// PassingBytes returns the memory for Passing.
func PassingBytes() int64 { return passingCache.Load().Stats().Bytes }
