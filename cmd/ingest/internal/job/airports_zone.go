package job

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/catalogue"
	"quadrille/places"
	"quadrille/places/zones"
	"quadrille/tiles"
)

const (
	// zoneReach is how far a place lends its time zone, in metres.
	zoneReach = 200_000
	// zonePlaces is how many places are looked at for one that has a zone.
	zonePlaces = 8
	zoneType   = "timezone"
	// seaZones begins the names of the zones that releases of
	// timezone-boundary-builder with oceans draw over the sea. An airport on an
	// island outside of all others keeps the time of its country.
	seaZones = "Etc/"
)

// How an airport has got its time zone.
const (
	zoneOfRegion  = "region"
	zoneOfCountry = "country"
	zoneOfNearest = "nearest"
)

// zoneFinder finds the time zone at a point in what is published:
//
//  1. the region of type timezone that holds the point, if it is one zone of
//     the land, as those of timezone-boundary-builder are;
//  2. the zone of the country, if it has only one;
//  3. the nearest populated place of the country within 200 km, and where the
//     country is not known or has no places, of any;
//  4. the region of type timezone, if it is an area of one offset named for one
//     of the zones in it, as Natural Earth's are: Lima lies in the one named
//     for New York.
//
// Farther places are not asked: what is kept here is taken for knowledge of the
// point, and its distance is lost.
type zoneFinder struct {
	regions *tiles.Reader  // nil without a type timezone
	places  *places.Finder // nil without places
	zones   *zones.Reader  // nil without time zones
	open    []*dataset.Generation

	known map[string]zoneRegion // by region id
	hits  []places.Hit
	// How many were found each way.
	nearest, inside, only int64
}

// zoneRegion is what a region of type timezone says.
type zoneRegion struct {
	zone  string
	exact bool
	size  float64 // of its box, in square degrees
}

func openZones(ctx context.Context, c *dataset.Catalog) (_ *zoneFinder, err error) {
	z := &zoneFinder{known: map[string]zoneRegion{}}
	defer func() {
		if err != nil {
			z.close()
		}
	}()
	var borders tiles.Meta
	g, err := current(ctx, c, catalogue.Boundaries.Dataset, &borders)
	if err != nil {
		return nil, err
	}
	if g != nil {
		z.open = append(z.open, g)
		if slices.ContainsFunc(borders.Types, func(t tiles.TypeMeta) bool { return t.Name == zoneType }) {
			if z.regions, err = tiles.Open(ctx, g.Store, borders); err != nil {
				return nil, fmt.Errorf("the published boundaries: %w; ingest them again first", err)
			}
		}
	}
	var points places.Meta
	if g, err = current(ctx, c, catalogue.Places.Dataset, &points); err != nil {
		return nil, err
	}
	if g != nil {
		z.open = append(z.open, g)
		if z.places, err = places.Open(ctx, g.Store, points); err != nil {
			return nil, fmt.Errorf("the published places: %w; ingest them again first", err)
		}
	}
	var rules zones.Meta
	if g, err = current(ctx, c, catalogue.TimeZones.Dataset, &rules); err != nil {
		return nil, err
	}
	if g != nil {
		z.open = append(z.open, g)
		if z.zones, err = zones.Open(ctx, g.Store, rules); err != nil {
			return nil, fmt.Errorf("the published time zones: %w; ingest them again first", err)
		}
	}
	return z, nil
}

func (z *zoneFinder) close() {
	for _, g := range z.open {
		_ = g.Close() // only read
	}
}

// credits are the sources of what time zones were taken from.
func (z *zoneFinder) credits() (list []dataset.Source) {
	for _, g := range z.open {
		used := g.Manifest.Dataset == catalogue.Places.Name && z.nearest > 0 || g.Manifest.Dataset == catalogue.Boundaries.Name && z.inside > 0
		for _, src := range g.Manifest.Sources {
			credit := dataset.Source{Name: src.Name, License: src.License, Attribution: src.Attribution}
			if used && src.Attribution != "" && !slices.Contains(list, credit) {
				list = append(list, credit)
			}
		}
	}
	return list
}

// find returns the time zone at a point of a country, if that is known, and
// how it was found; both are empty when it was not.
func (z *zoneFinder) find(ctx context.Context, lat, lon float64, country string) (zone, how string, err error) {
	region, err := z.region(ctx, lat, lon)
	if err != nil {
		return "", "", err
	}
	if region.exact {
		z.inside++
		return region.zone, zoneOfRegion, nil
	}
	if z.zones != nil {
		if zone, err = z.zones.CountryZone(ctx, country); err != nil {
			return "", "", err
		}
		if isZone(zone) {
			z.only++
			return zone, zoneOfCountry, nil
		}
	}
	if zone, err = z.near(ctx, lat, lon, country); err != nil {
		return "", "", err
	}
	switch {
	case zone != "":
		z.nearest++
		return zone, zoneOfNearest, nil
	case region.zone != "":
		z.inside++
		return region.zone, zoneOfRegion, nil
	}
	return "", "", nil
}

func (z *zoneFinder) region(ctx context.Context, lat, lon float64) (zoneRegion, error) {
	if z.regions == nil {
		return zoneRegion{}, nil
	}
	at, err := z.regions.At(ctx, lat, lon, zoneType)
	if err != nil {
		return zoneRegion{}, err
	}
	// Of zones that overlap the smallest is the most local.
	var best zoneRegion
	for i := range at {
		found, err := z.record(ctx, at[i].ID)
		if err != nil {
			return best, err
		}
		if i == 0 || found.exact && (!best.exact || found.size < best.size) {
			best = found
		}
	}
	return best, nil
}

// record reads what a region says.
func (z *zoneFinder) record(ctx context.Context, id string) (zoneRegion, error) {
	if found, ok := z.known[id]; ok {
		return found, nil
	}
	record, err := z.regions.Region(ctx, zoneType, id, false)
	if err != nil {
		return zoneRegion{}, err
	}
	var doc struct {
		Zone   string     `json:"time_zone"`
		Offset string     `json:"utc_offset"`
		Box    [4]float64 `json:"bbox"`
	}
	if err := json.Unmarshal(record, &doc); err != nil {
		return zoneRegion{}, fmt.Errorf("region %s of type %s: %w; ingest the boundaries again", id, zoneType, err)
	}
	width := doc.Box[2] - doc.Box[0]
	if width < 0 { // it crosses ±180°
		width += 360
	}
	found := zoneRegion{zone: doc.Zone, exact: doc.Offset == "", size: width * (doc.Box[3] - doc.Box[1])}
	if !isZone(found.zone) || strings.HasPrefix(found.zone, seaZones) {
		found = zoneRegion{}
	}
	z.known[id] = found
	return found, nil
}

// near is the zone of the nearest place that has one. One across the border counts
// only where the country has no places.
func (z *zoneFinder) near(ctx context.Context, lat, lon float64, country string) (string, error) {
	if z.places == nil {
		return "", nil
	}
	queries := []places.NearbyQuery{{Countries: []string{country}}, {RadiusM: zoneReach}}
	if country == "" {
		queries = queries[1:]
	}
	for _, q := range queries {
		q.Lat, q.Lon, q.Limit, q.Classes = lat, lon, zonePlaces, []string{"P"}
		hits, _, err := z.places.Nearby(ctx, q, z.hits)
		if err != nil {
			return "", err
		}
		z.hits = hits
		for i := range hits {
			if hits[i].DistanceM > zoneReach {
				return "", nil
			}
			if isZone(hits[i].TimeZone) {
				return hits[i].TimeZone, nil
			}
		}
		if len(hits) > 0 {
			return "", nil
		}
	}
	return "", nil
}
