package zonefinder

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestZoneListComplete tests that the list has every zone of this machine's database. Zones that
// only a newer database has are in the database that is compiled in.
func TestZoneListComplete(t *testing.T) {
	names := Names()
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Error("the list is not sorted or has a name twice")
	}
	for _, name := range []string{"UTC", "Europe/Zurich", "Asia/Calcutta", "US/Pacific", "America/Argentina/Buenos_Aires", "Etc/GMT-14"} {
		if !IsZone(name) {
			t.Errorf("%s is missing", name)
		}
	}
	if IsZone("") || IsZone("Local") || IsZone("europe/zurich") {
		t.Error("the list has names that are none")
	}
	text, err := os.ReadFile("/usr/share/zoneinfo/tzdata.zi")
	if err != nil {
		t.Skipf("%v: the list is not compared", err)
	}
	var have []string
	for line := range strings.Lines(string(text)) {
		switch f := strings.Fields(line); {
		case len(f) > 1 && f[0] == "Z":
			have = append(have, f[1])
		case len(f) > 2 && f[0] == "L":
			have = append(have, f[2])
		}
	}
	for _, name := range have {
		if !IsZone(name) {
			t.Errorf("%s of this machine is missing in timezones.txt", name)
		}
	}
}
