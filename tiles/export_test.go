package tiles

import "context"

// NearestOfRows looks for the nearest region of a type in so many rows.
func (r *Reader) NearestOfRows(ctx context.Context, lat, lon, radius float64, typ string, rows int) (Match, error) {
	return r.nearest(ctx, new(scratch), r.types[typ], lat, lon, radius, rows)
}
