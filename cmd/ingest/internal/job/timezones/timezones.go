// Package timezones publishes the offsets of time zones.
package timezones

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"time"
	_ "time/tzdata" // for machines without a zone database, and for zones it lacks

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/zonefinder"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/delimited"
	"quadrille/cmd/internal/catalogue"
	"quadrille/places/zones"
)

// Ingest publishes the offsets of every time zone from 1900 to 2100. It takes them from the zone
// database that Go's time package finds. This is the machine's database, or for a zone that the
// machine lacks the one that is compiled into this program. The manifest names the version of the
// database if it is known. Only the machine's database has a list of the zones of each country,
// which shows the countries with a single zone.
func Ingest(ctx context.Context, c *dataset.Catalog, o job.Options) (dataset.Manifest, error) {
	rep := o.ReporterOrSilent()
	return job.Publish(ctx, c, ask.TimeZones.Dataset, o, func(b *dataset.Build, m *dataset.Manifest) (any, error) {
		names := zonefinder.Names()
		rep.Progress(job.Progress{Stage: "writing time zones"})
		countries, err := countryZones(zoneDirs())
		if err != nil {
			return nil, err
		}
		if len(countries) == 0 {
			rep.Note("this machine has no " + countryFile +
				", which tells the countries of one time zone: points there take that of the nearest place or airport. " +
				"Install the zone database of the system (tzdata) and ingest the time zones again")
		}
		meta, _, err := zones.Build(ctx, b.Store(), names, countries)
		if err != nil {
			return nil, err
		}
		*m = dataset.Manifest{
			Records: map[string]int64{"zones": meta.Zones, "rules": meta.Rules},
			Sources: []dataset.Source{{Name: "IANA Time Zone Database", Version: zoneVersion(zoneDirs()), License: "public domain"}},
		}
		if old := catalogue.Outdated(&dataset.Manifest{Dataset: ask.TimeZones.Name, Sources: m.Sources}, time.Now()); old != "" {
			rep.Note("warning: " + old)
		}
		return meta, nil
	})
}

// zoneDirs returns the directories that package time searches first.
func zoneDirs() []string {
	dirs := []string{"/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ", "/etc/zoneinfo"}
	if dir := os.Getenv("ZONEINFO"); dir != "" {
		return append([]string{dir}, dirs...)
	}
	return dirs
}

// versionLine matches the first line of tzdata.zi, or the content of the file +VERSION, which is
// just the version.
var versionLine = regexp.MustCompile(`^(?:# version )?([0-9]{4}[a-z]{1,2})\s`)

// Version returns the version of the database that Ingest would publish, or "" if the database does
// not give it.
func Version() string { return zoneVersion(zoneDirs()) }

// zoneDir returns the first directory that has a zone database, or "" if none has one.
func zoneDir(dirs []string) string {
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "Europe", "London")); err == nil {
			return dir
		}
	}
	return ""
}

// countryFile lists the zones of each country. The other list of the database, zone1970.tab, would
// give Oslo the zone of Berlin.
const countryFile = "zone.tab"

// countryZones reads which countries have a single zone, and which zone it is, from the database in
// the directories. It returns an empty result if no database has this list.
func countryZones(dirs []string) (map[string]string, error) {
	dir := zoneDir(dirs)
	if dir == "" {
		return nil, nil
	}
	path := filepath.Join(dir, countryFile)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const anew = "install the zone database of the system (tzdata) anew"
	only, seen := map[string]string{}, map[string]bool{}
	rows := delimited.New(f, path, delimited.Format{Separator: '\t', MaxBytes: maxZoneLine, Comments: []string{"#"}})
	for {
		if _, err = rows.Next(); errors.Is(err, io.EOF) {
			return only, nil
		}
		var columns [][]byte
		if err == nil {
			columns, err = rows.Fields()
		}
		if err != nil {
			return nil, fmt.Errorf("%w; "+anew, err)
		}
		// A skipped line could be the second zone of a country.
		if len(columns) < 3 || !source.IsCode(string(columns[0]), 2) {
			return nil, fmt.Errorf("%s, line %d: this is no list of countries and zones; "+anew, path, rows.Line)
		}
		code, zone := string(columns[0]), string(columns[2])
		delete(only, code)
		if !seen[code] && zonefinder.IsZone(zone) {
			only[code] = zone
		}
		seen[code] = true
	}
}

// maxZoneLine bounds the bytes of a line of countryFile.
const maxZoneLine = 64 << 10

// zoneVersion returns the version of the database in the first directory that has one. It returns
// "" if that database does not give its version. If no directory has a database, it returns the
// version of Go itself.
func zoneVersion(dirs []string) string {
	dir := zoneDir(dirs)
	if dir == "" {
		return fmt.Sprintf("of %s", runtime.Version())
	}
	for _, name := range []string{"tzdata.zi", "+VERSION"} {
		if v := versionIn(filepath.Join(dir, name)); v != "" {
			return v
		}
	}
	return ""
}

func versionIn(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 64)
	n, _ := f.Read(head) // an unreadable file has no version
	if m := versionLine.FindSubmatch(append(head[:n], '\n')); m != nil {
		return string(m[1])
	}
	return ""
}
