package job

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	_ "time/tzdata" // for machines without a zone database, and for zones it lacks

	"quadrille/cellstore/dataset"
	"quadrille/places/zones"
)

// TimeZonesDataset is the name of the data set TimeZones publishes.
const TimeZonesDataset = "timezones"

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

// TimeZones publishes the offsets of every time zone from 1900 to 2100, from
// the zone database that Go's time package finds: the machine's, and where that
// lacks a zone the one compiled into this program. The manifest says which
// version it was, where that can be told.
func TimeZones(ctx context.Context, c *dataset.Catalog, o Options) (dataset.Manifest, error) {
	rep := o.reporter()
	return publish(ctx, c, TimeZonesDataset, rep, func(b *dataset.Build) (dataset.Manifest, error) {
		names := zoneNames()
		rep.Progress(Progress{Stage: "writing time zones"})
		meta, _, err := zones.Build(ctx, b.Store(), names)
		if err != nil {
			return dataset.Manifest{}, err
		}
		m := dataset.Manifest{
			SchemaVersion: zones.SchemaVersion,
			Records:       map[string]int64{"zones": meta.Zones, "rules": meta.Rules},
			Sources:       []dataset.Source{{Name: "IANA Time Zone Database", Version: zoneVersion(zoneDirs()), License: "public domain"}},
		}
		m.Meta, err = json.Marshal(meta)
		return m, err
	})
}

// zoneDirs is where package time looks first.
func zoneDirs() []string {
	dirs := []string{"/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ", "/etc/zoneinfo"}
	if dir := os.Getenv("ZONEINFO"); dir != "" {
		return append([]string{dir}, dirs...)
	}
	return dirs
}

// versionLine begins tzdata.zi; +VERSION holds the version alone.
var versionLine = regexp.MustCompile(`^(?:# version )?([0-9]{4}[a-z]{1,2})\s`)

// ZoneVersion is the version of the database TimeZones would publish, "" where
// it does not say.
func ZoneVersion() string { return zoneVersion(zoneDirs()) }

// zoneVersion is the version of the database in the first of the directories
// that holds one, "" when it does not say, and that of Go itself where none
// does.
func zoneVersion(dirs []string) string {
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "Europe", "London")); err != nil {
			continue
		}
		for _, name := range []string{"tzdata.zi", "+VERSION"} {
			if v := versionIn(filepath.Join(dir, name)); v != "" {
				return v
			}
		}
		return ""
	}
	return fmt.Sprintf("of %s", runtime.Version())
}

func versionIn(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 64)
	n, _ := f.Read(head) // what could not be read says nothing
	if m := versionLine.FindSubmatch(append(head[:n], '\n')); m != nil {
		return string(m[1])
	}
	return ""
}
