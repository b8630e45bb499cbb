package localtime

import (
	"context"
	"errors"

	"quadrille/places/zones"
)

// YearOffsets returns the offsets of a zone on 1 January and 1 July and its
// standard one, in seconds; not ok when they are not known.
func (v *View) YearOffsets(ctx context.Context, zone string, year int) (jan, jul, raw int, ok bool, err error) {
	r, ok, err := Have(&v.TimeZones)
	if !ok {
		return 0, 0, 0, false, err
	}
	jan, jul, raw, err = r.Year(ctx, zone, year)
	if errors.Is(err, zones.ErrNotFound) || errors.Is(err, zones.ErrRange) {
		return 0, 0, 0, false, nil
	}
	return jan, jul, raw, err == nil, err
}
