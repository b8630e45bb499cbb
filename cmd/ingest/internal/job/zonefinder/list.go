package zonefinder

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// zoneList names the zones of the IANA database, aliases included, as of 2025b.
//
//go:embed timezones.txt
var zoneList string

// Names returns the names of all zones, sorted.
var Names = sync.OnceValue(func() []string { return strings.Fields(zoneList) })

// IsZone reports whether a time zone has this name.
func IsZone(name string) bool {
	_, found := slices.BinarySearch(Names(), name)
	return found
}
