package job

import (
	"path/filepath"
	"regexp"
	"strings"
)

// Credits of well-known sources.
var (
	NaturalEarth = Credit{Name: "Natural Earth", License: "public domain", Attribution: "Made with Natural Earth"}
	USCensus     = Credit{Name: "US Census Bureau", License: "public domain", Attribution: "US Census Bureau"}
	GeoNames     = Credit{Name: "GeoNames", License: "CC-BY-4.0", Attribution: "GeoNames"}
	OurAirports  = Credit{Name: "OurAirports", License: "public domain"}
	NOAA         = Credit{Name: "NOAA Integrated Surface Database", License: "public domain", Attribution: "NOAA NCEI"}
	ZoneBorders  = Credit{Name: "timezone-boundary-builder", License: "ODbL-1.0", Attribution: "Time zones © OpenStreetMap contributors, timezone-boundary-builder"}
	IPLocationDB = Credit{Name: "ip-location-db", License: "CC0-1.0; whois part CC-BY-4.0", Attribution: "ip-location-db, NRO"}
)

// zoneFile is a release of timezone-boundary-builder, packed or not.
var zoneFile = regexp.MustCompile(`^(timezones(-with-oceans)?(-1970|-now)?\.(geojson|shapefile)\.zip|combined(-shapefile)?(-with-oceans)?(-1970|-now)?\.(json|shp))$`)

var censusFile = regexp.MustCompile(`^(us_census_)?(cb|tl)_[0-9]{4}_`)

// KnownCredit recognises a file by the name its publisher gives it; of others
// nothing is known.
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
		return via(NaturalEarth, path)
	case "us-atlas":
		return via(USCensus, path)
	case "geo-whois-asn-country":
		return via(IPLocationDB, path)
	}
	return Credit{}
}
