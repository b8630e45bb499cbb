package places

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"quadrille/cellstore"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// eachRanges is how many ranges of rows [Finder.Each] divides a box into. More rows are read
// in vain with fewer.
const eachRanges = 64

// Mark is where in the order of [Finder.Each] a place is.
type Mark struct {
	Cell quadkey.Cell
	ID   uint32
}

// Each calls fn with the places in a box in the order of their cells, and by id within a
// cell, until fn returns false. It begins after a mark; nil is the beginning. An order by
// importance, such as that of Within, has to be found anew for each page. In this one any
// number of places can be listed page by page, and a page costs what it has.
//
// The Hit has only the fields ID, Lat, Lon, Population and JSON, and is used again for the
// next. It is nil for a place that had to be read and is outside the box, so that fn can
// bound the work. Errors match ErrQuery or come from the
// store.
func (f *Finder) Each(ctx context.Context, b quadkey.Box, after *Mark, fn func(at Mark, h *Hit) (more bool)) error {
	if err := near.CheckBox(b); err != nil {
		return err
	}
	cover, err := quadkey.CoverBox(b, eachRanges)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrQuery, err)
	}
	var from []byte
	if after != nil {
		from = append(appendTileKey(nil, after.Cell, after.ID), 0)
	}
	scan := cellstore.Scan{Selection: cellstore.Selection{Families: tierNames[:]}}
	for _, r := range cover {
		start, stop := r.Keys()
		if bytes.Compare(start, from) < 0 {
			start = from
		}
		if stop == nil || bytes.Compare(start, stop) < 0 {
			scan.Ranges = append(scan.Ranges, cellstore.Range{From: start, To: stop})
		}
	}
	if len(scan.Ranges) == 0 {
		return nil
	}
	var h Hit
	for row, err := range f.tiles.Scan(ctx, scan) {
		if err != nil {
			return fmt.Errorf("places: %w", err)
		}
		p, err := parsePlace(row)
		if err != nil {
			return err
		}
		at := Mark{Cell: quadkey.Cell(binary.BigEndian.Uint32(row.Key)), ID: p.id}
		lon, lat := toDegrees(p.lon), toDegrees(p.lat)
		if !b.Contains(lon, lat) {
			if !fn(at, nil) {
				return nil
			}
			continue
		}
		h = Hit{ID: p.id, Lat: lat, Lon: lon, Population: int64(p.population), JSON: append(h.JSON[:0], p.members...)}
		if !fn(at, &h) {
			return nil
		}
	}
	return nil
}
