package catalogue

import (
	"strconv"
	"time"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
)

// Outdated returns a note with advice if an input of a generation is so old that it is no longer
// right, and otherwise "". Governments change clocks several times a year: the offsets of a zone
// database released more than a year ago are wrong somewhere. Its version contains only the year,
// so it counts as old one year after the end of that year.
func Outdated(m *dataset.Manifest, now time.Time) string {
	if m.Dataset != ask.TimeZonesName {
		return ""
	}
	for _, src := range m.Sources {
		year, err := strconv.Atoi(src.Version[:min(4, len(src.Version))])
		if err == nil && len(src.Version) > 4 && !now.Before(time.Date(year+2, 1, 1, 0, 0, 0, 0, time.UTC)) {
			return "the zone database " + src.Version +
				" is more than a year old, so UTC offsets may be wrong: install a newer one (tzdata) and run ingest timezones"
		}
	}
	return ""
}
