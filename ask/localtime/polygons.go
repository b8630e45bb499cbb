package localtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/cellstore"
	"quadrille/tiles"
)

// outsideZones reports whether there is a layer of zones of the whole world and a point, given its
// regions, lies in none of its zones. Such a layer reaches around the world and to the South Pole;
// zones of a part of the world do not.
func outsideZones(b *tiles.Reader, at []tiles.Region) bool {
	if slices.ContainsFunc(at, func(r tiles.Region) bool { return r.Type == TimeZoneType }) {
		return false
	}
	return slices.ContainsFunc(b.Types(), func(t tiles.TypeMeta) bool {
		return t.Name == TimeZoneType && t.Bounds[0] <= -180 && t.Bounds[1] <= -89.99 && t.Bounds[2] >= 180
	})
}

// zoneOfRegions returns the exact zone from a region of type timezone, or else the zone that names
// an area of one offset, which is rough. Where zones overlap, the one with the smaller box counts,
// because it is more local.
func (v *View) zoneOfRegions(ctx context.Context, at time.Time, regions []tiles.Region) (exact, rough LocalZone, err error) {
	var smallest float64
	for i := range regions {
		if regions[i].Type != TimeZoneType {
			continue
		}
		z := LocalZone{ID: regions[i].Name, Source: "region", Match: MatchInside}
		exists, err := v.clock(ctx, &z, at)
		if err != nil {
			return exact, rough, err
		}
		if !exists || !strings.Contains(z.ID, "/") {
			continue
		}
		is, size, err := v.exactZone(ctx, regions[i].ID)
		switch {
		case err != nil:
			return exact, rough, err
		case !is:
			rough, rough.Match = z, MatchDerived
		case exact.ID == "":
			exact, smallest = z, size
		case size < smallest:
			z.OtherZones = append(exact.OtherZones, exact.ID)
			exact, smallest = z, size
		default:
			exact.OtherZones = append(exact.OtherZones, z.ID)
		}
	}
	return exact, rough, nil
}

// zoneRecord has the parts of the record of a timezone region that the package uses.
type zoneRecord struct {
	exact bool    // a zone and not an area of one offset
	size  float64 // of its box, in square degrees
}

// zoneRecords caches the records of the zones of a generation: reading one takes longer than
// finding the regions at a point.
type zoneRecords struct {
	generation *tiles.Reader
	records    sync.Map // region id → zoneRecord
}

var newestZones atomic.Pointer[zoneRecords]

// exactZone reports, from its record, whether a region of type timezone is a zone and not an area
// of one offset. It also returns the size of its box in square degrees.
func (v *View) exactZone(ctx context.Context, id string) (exact bool, size float64, err error) {
	known := newestZones.Load()
	if of, _ := v.Boundaries.Get(); known == nil || known.generation != of {
		known = &zoneRecords{generation: of}
		newestZones.Store(known)
	}
	if r, ok := known.records.Load(id); ok {
		z := r.(zoneRecord)
		return z.exact, z.size, nil
	}
	z, err := v.zoneRecord(ctx, id)
	if err == nil {
		known.records.Store(id, z)
	}
	return z.exact, z.size, err
}

func (v *View) zoneRecord(ctx context.Context, id string) (z zoneRecord, err error) {
	b, err := v.Boundaries.Get()
	if err != nil {
		return z, err
	}
	record, err := b.Region(ctx, TimeZoneType, id, false)
	if errors.Is(err, tiles.ErrNotFound) {
		return z, fmt.Errorf("%w: a region that holds a point has no record: %s", cellstore.ErrCorrupt, err.Error())
	}
	if err != nil {
		return z, err
	}
	var doc struct {
		Offset *string    `json:"utc_offset"`
		Box    [4]float64 `json:"bbox"`
	}
	if err := json.Unmarshal(record, &doc); err != nil {
		return z, fmt.Errorf("%w: the record of a region cannot be read: ingest the boundaries again", cellstore.ErrCorrupt)
	}
	width := doc.Box[2] - doc.Box[0]
	if width < 0 { // it crosses ±180°
		width += 360
	}
	return zoneRecord{doc.Offset == nil, width * (doc.Box[3] - doc.Box[1])}, nil
}
