package job

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

// zoneNames are the names of all zones, sorted.
var zoneNames = sync.OnceValue(func() []string { return strings.Fields(zoneList) })

// isZone reports whether a time zone has this name.
func isZone(name string) bool {
	_, found := slices.BinarySearch(zoneNames(), name)
	return found
}
