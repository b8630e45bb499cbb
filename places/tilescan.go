package places

import (
	"context"
	"fmt"

	"quadrille/cellstore"
	"quadrille/quadkey"
)

// tileScan reads the places of tiles, one tier at a time, and counts them.
type tileScan struct {
	examined int
	place    place // the one at hand

	scan   cellstore.Scan
	ranges [1]cellstore.Range
	family [1]string
	bounds [8]byte
}

// read calls fn for each place in the cells of a tile. The place is valid until
// fn returns.
func (r *tileScan) read(ctx context.Context, f *Finder, t quadkey.Tile, tier uint8, fn func(*place)) error {
	first, last := t.CellRange()
	r.ranges[0].From, r.ranges[0].To = cellRange(r.bounds[:0], first, last)
	r.family[0] = tierNames[tier]
	r.scan.Ranges, r.scan.Families = r.ranges[:], r.family[:]
	for row, err := range f.tiles.Scan(ctx, r.scan) {
		if err != nil {
			return fmt.Errorf("places: %w", err)
		}
		if r.examined++; r.examined > MaxExamined {
			return fmt.Errorf("%w: %d places looked at without finding as many as are wanted: give a smaller area, ask for fewer, or relax the filters",
				ErrTooMuchWork, MaxExamined)
		}
		if r.place, err = parsePlace(row); err != nil {
			return err
		}
		fn(&r.place)
	}
	return nil
}
