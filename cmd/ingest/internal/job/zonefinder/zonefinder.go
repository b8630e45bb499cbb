// Package zonefinder finds time zones at points from published data sets, for jobs whose sources
// have no time zones. It also lists the names of all zones.
package zonefinder

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/zones"
	"quadrille/tiles"
)

const (
	// ReachM is the greatest distance, in metres, at which the time zone of a place is used for a
	// point.
	ReachM = 200_000
	// MaxCandidates is the number of nearest places that are examined for a zone.
	MaxCandidates = 8
	// Layer is the type of the regions that are time zones.
	Layer = "timezone"
	// seaZones is the prefix of the zones that releases of timezone-boundary-builder with oceans
	// draw over the sea. An airport on an island outside of all other zones keeps the time of its
	// country.
	seaZones = "Etc/"
)

// These are the ways in which an airport gets its time zone.
const (
	ofRegion  = "region"
	ofCountry = "country"
	ofNearest = "nearest"
)

// Finder finds the time zone at a point from published data sets:
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
// More distant places do not count, because the zone is stored as a fact about the point, without
// the distance to the place.
type Finder struct {
	Regions     *tiles.Reader  // nil without boundaries
	RegionTypes []string       // of the regions
	Places      *places.Finder // nil without places
	zones       *zones.Reader  // nil without time zones
	open        []*dataset.Generation

	known map[string]region // by region id
	hits  []places.Hit
	// These are the numbers of zones that were found in each way: by the nearest place, inside a
	// region, and as the only zone of a country. A caller that takes further data from Places or
	// Regions counts that here too, for the credits.
	FoundNearest, FoundInside, FoundOnly int64
}

// region is a region of type timezone.
type region struct {
	zone  string
	exact bool
	size  float64 // of its box, in square degrees
}

// Open opens the published data sets from which time zones are found.
func Open(ctx context.Context, c *dataset.Catalog) (_ *Finder, err error) {
	z := &Finder{known: map[string]region{}}
	defer func() {
		if err != nil {
			z.Close()
		}
	}()
	if z.Regions, err = openFor(ctx, z, c, ask.Boundaries); err != nil {
		return nil, err
	}
	if z.Regions != nil {
		for _, t := range z.Regions.Types() {
			z.RegionTypes = append(z.RegionTypes, t.Name)
		}
	}
	if z.Places, err = openFor(ctx, z, c, ask.Places); err != nil {
		return nil, err
	}
	if z.zones, err = openFor(ctx, z, c, ask.TimeZones); err != nil {
		return nil, err
	}
	return z, nil
}

// openFor opens the published generation of a data set until z is closed. It returns nil if there
// is none.
func openFor[R any](ctx context.Context, z *Finder, c *dataset.Catalog, d *ask.DatasetOf[R]) (R, error) {
	r, g, err := job.OpenCurrent(ctx, c, d)
	if g != nil {
		z.open = append(z.open, g)
	}
	return r, err
}

// HasZones reports whether a layer of time zones is published.
func (z *Finder) HasZones() bool { return slices.Contains(z.RegionTypes, Layer) }

// Close closes the data sets.
func (z *Finder) Close() {
	for _, g := range z.open {
		_ = g.Close() // only read
	}
}

// Credits returns the sources from which time zones were taken.
func (z *Finder) Credits() (list []dataset.Source) {
	for _, g := range z.open {
		used := g.Manifest.Dataset == ask.Places.Name && z.FoundNearest > 0 ||
			g.Manifest.Dataset == ask.Boundaries.Name && z.FoundInside > 0
		for _, src := range g.Manifest.Sources {
			credit := dataset.Source{Name: src.Name, License: src.License, Attribution: src.Attribution}
			if used && src.Attribution != "" && !slices.ContainsFunc(list, credit.Is) {
				list = append(list, credit)
			}
		}
	}
	return list
}

// Find returns the time zone at a point, and the way in which it was found. Both are empty if it
// was not found. country is "" if it is unknown.
func (z *Finder) Find(ctx context.Context, lat, lon float64, country string) (zone, how string, err error) {
	region, err := z.region(ctx, lat, lon)
	if err != nil {
		return "", "", err
	}
	if region.exact {
		z.FoundInside++
		return region.zone, ofRegion, nil
	}
	if z.zones != nil {
		if zone, err = z.zones.CountryZone(ctx, country); err != nil {
			return "", "", err
		}
		if IsZone(zone) {
			z.FoundOnly++
			return zone, ofCountry, nil
		}
	}
	if zone, err = z.near(ctx, lat, lon, country); err != nil {
		return "", "", err
	}
	switch {
	case zone != "":
		z.FoundNearest++
		return zone, ofNearest, nil
	case region.zone != "":
		z.FoundInside++
		return region.zone, ofRegion, nil
	}
	return "", "", nil
}

func (z *Finder) region(ctx context.Context, lat, lon float64) (region, error) {
	if !z.HasZones() {
		return region{}, nil
	}
	at, err := z.Regions.At(ctx, lat, lon, Layer)
	if err != nil {
		return region{}, err
	}
	// Of zones that overlap the smallest is the most local.
	var best region
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

// record reads the record of a region.
func (z *Finder) record(ctx context.Context, id string) (region, error) {
	if found, ok := z.known[id]; ok {
		return found, nil
	}
	record, err := z.Regions.Region(ctx, Layer, id, false)
	if err != nil {
		return region{}, err
	}
	var doc struct {
		Zone   string     `json:"time_zone"`
		Offset string     `json:"utc_offset"`
		Box    [4]float64 `json:"bbox"`
	}
	if err := json.Unmarshal(record, &doc); err != nil {
		return region{}, fmt.Errorf("region %s of type %s: %w; ingest the boundaries again", id, Layer, err)
	}
	width := doc.Box[2] - doc.Box[0]
	if width < 0 { // it crosses ±180°
		width += 360
	}
	found := region{zone: doc.Zone, exact: doc.Offset == "", size: width * (doc.Box[3] - doc.Box[1])}
	if !IsZone(found.zone) || strings.HasPrefix(found.zone, seaZones) {
		found = region{}
	}
	z.known[id] = found
	return found, nil
}

// near returns the zone of the nearest place that has one. A place across the
// border counts only if the country has no places.
func (z *Finder) near(ctx context.Context, lat, lon float64, country string) (string, error) {
	if z.Places == nil {
		return "", nil
	}
	queries := []feature.Query{{Near: feature.NearTo(lat, lon, ReachM), Filter: places.OnlyPopulated}}
	if country != "" {
		own, err := places.Filter{Classes: []string{"P"}, Countries: []string{country}}.FeatureFilter()
		if err != nil {
			return "", err
		}
		queries = slices.Insert(queries, 0, feature.Query{Near: feature.NearTo(lat, lon, 0), Filter: own})
	}
	for _, q := range queries {
		q.Limit = MaxCandidates
		hits, err := places.CollectHits(z.hits, z.Places.Features(ctx, &q))
		if err != nil {
			return "", err
		}
		z.hits = hits
		for i := range hits {
			if hits[i].DistanceM > ReachM {
				return "", nil
			}
			if IsZone(hits[i].TimeZone) {
				return hits[i].TimeZone, nil
			}
		}
		if len(hits) > 0 {
			return "", nil
		}
	}
	return "", nil
}
