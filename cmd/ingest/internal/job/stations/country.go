package stations

import (
	"context"
	"strings"

	"quadrille/cmd/ingest/internal/source/isd"
	"quadrille/cmd/internal/iso3166"
	"quadrille/feature"
	"quadrille/places"
)

// stationReach is the greatest distance, in metres, from a station to a place that decides its
// country.
const stationReach = 300_000

// countryOf returns the ISO 3166-1 code of a station's country. NOAA's list gives FIPS 10-4 codes,
// but some hundred rows have ISO codes: CH is China in FIPS and Switzerland in ISO, and both are in
// the file. If the two readings differ, the nearest published place in one of the two countries
// decides. Without such a place the code is read as FIPS, because it should be that.
// A list that has a column of ISO codes beside gives these.
func (r *stationReader) countryOf(ctx context.Context, rec *isd.Station) (string, error) {
	if c, ok := iso3166.Lookup(rec.ISO); ok && c.Assigned() {
		return c.Code, nil
	}
	code := rec.Country
	fips, known := isoByFIPS10[code]
	if !known && code != "" {
		r.foreign++
	}
	written, ok := iso3166.Lookup(code)
	if !ok || written.Name == "" || written.Code != strings.ToUpper(code) || !known || written.Code == fips || r.zones == nil ||
		r.zones.Places == nil {
		return fips, nil
	}
	var nearest string
	best := float64(stationReach)
	for _, country := range []string{fips, written.Code} {
		of, err := places.Filter{Classes: []string{"P"}, Countries: []string{country}}.FeatureFilter()
		if err != nil {
			return "", err
		}
		hits, err := places.CollectHits(r.hits, r.zones.Places.Features(ctx,
			&feature.Query{Near: feature.NearTo(rec.Lat, rec.Lon, best), Filter: of, Limit: 1}))
		if err != nil {
			return "", err
		}
		r.hits = hits
		if len(hits) > 0 && (nearest == "" || hits[0].DistanceM < best) {
			nearest, best = country, max(hits[0].DistanceM, 1)
		}
	}
	if nearest == "" {
		return fips, nil
	}
	if nearest != fips {
		r.misread++
	}
	return nearest, nil
}
