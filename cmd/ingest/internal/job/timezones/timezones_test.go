package timezones

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/job/zonefinder"
	"quadrille/cmd/internal/testfile"
	"quadrille/internal/testrace"
)

func TestTimeZones(t *testing.T) {
	c := jobtest.Catalog(t)
	rep := &jobtest.Recorder{}
	m, err := Ingest(t.Context(), c, job.Options{Reporter: rep})
	if err != nil {
		t.Fatal(err)
	}
	if n := int64(len(zonefinder.Names())); m.Records["zones"] != n || m.Records["rules"] < 10*n || m.Dataset != "timezones" ||
		len(rep.Manifests) != 1 {
		t.Errorf("%+v", m)
	}
	if len(m.Sources) != 1 || m.Sources[0].License != "public domain" {
		t.Errorf("%+v", m.Sources)
	}
	r, _ := jobtest.Open(t, c, ask.TimeZones)
	at := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	for _, name := range zonefinder.Names() {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		abbreviation, seconds := at.In(loc).Zone()
		if o, err := r.Offset(t.Context(), name, at); err != nil || o.Seconds != seconds || o.Abbreviation != abbreviation {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
	}

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Ingest(cancelled, c, job.Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if m, err := c.Current(t.Context(), ask.TimeZones.Name); err != nil || m.Generation != 1 {
		t.Errorf("generation %d is published, %v", m.Generation, err)
	}
}

func TestZoneVersion(t *testing.T) {
	dir := func(name, text string) string {
		d := t.TempDir()
		if err := os.MkdirAll(filepath.Join(d, "Europe"), 0o755); err != nil {
			t.Fatal(err)
		}
		for path, text := range map[string]string{"Europe/London": "", name: text} {
			testfile.Write(t, filepath.Join(d, path), text)
		}
		return d
	}
	none := t.TempDir()
	for _, tt := range []struct {
		dirs []string
		want string
	}{
		{[]string{dir("tzdata.zi", "# version 2025b\nR d 1916\n")}, "2025b"},
		{[]string{none, dir("+VERSION", "2024a\n"), dir("tzdata.zi", "# version 2025b\n")}, "2024a"},
		{[]string{dir("+VERSION", "2024aa")}, "2024aa"},
		{[]string{dir("other", "")}, ""},
		{[]string{dir("tzdata.zi", "\x00\x01")}, ""},
		{[]string{dir("tzdata.zi", "")}, ""},
	} {
		if got := zoneVersion(tt.dirs); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.dirs, got, tt.want)
		}
	}
	if got := zoneVersion([]string{none}); !strings.HasPrefix(got, "of ") {
		t.Errorf("without a database: %q", got)
	}
}

func TestCountryZones(t *testing.T) {
	database := func(table string) []string {
		d := t.TempDir()
		if err := os.MkdirAll(filepath.Join(d, "Europe"), 0o755); err != nil {
			t.Fatal(err)
		}
		files := map[string]string{"Europe/London": ""}
		if table != "" {
			files[countryFile] = table
		}
		for path, text := range files {
			testfile.Write(t, filepath.Join(d, path), text)
		}
		return []string{t.TempDir(), d}
	}
	const head = "# comment\n#\n"
	for _, tt := range []struct {
		table string
		want  map[string]string
	}{
		{"", nil},
		{head, map[string]string{}},
		{head + "CH\t+4723+00832\tEurope/Zurich\nDE\t+5230+01322\tEurope/Berlin\tmost of Germany\nDE\t+4742+00841\tEurope/Busingen\tBusingen\n" +
			"NP\t+2743+08519\tAsia/Kathmandu", map[string]string{"CH": "Europe/Zurich", "NP": "Asia/Kathmandu"}},
		// A zone that this program does not know counts nevertheless.
		{"CH\t+4723+00832\tEurope/Zurich\nCH\t+4612+00609\tEurope/Geneva\nXX\t+0000+00000\tEurope/Nowhere\n", map[string]string{}},
		{"DE\t+5230+01322\tEurope/Berlin\nDE\t+4742+00841\tEurope/Busingen\nDE\t+4742+00841\tEurope/Zurich\n", map[string]string{}},
	} {
		got, err := countryZones(database(tt.table))
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%q: %v %s", tt.table, err, diff)
		}
	}
	for _, table := range []string{
		"CH Europe/Zurich\n",
		"CH,LI\t+4723+00832\tEurope/Zurich\n",
		"\x00\x01\n",
		"ch\t+4723+00832\tEurope/Zurich\n",
		strings.Repeat("x", 1<<17),
	} {
		if got, err := countryZones(database(table)); err == nil || !strings.Contains(err.Error(), countryFile) || len(err.Error()) > 400 {
			t.Errorf("%.20q: %v, %v", table, got, err)
		}
	}
	// This reads the zone.tab of this machine, if it has one.
	got, err := countryZones(zoneDirs())
	if err != nil {
		t.Fatal(err)
	}
	if got == nil {
		t.Skip("this machine has no " + countryFile)
	}
	for code, want := range map[string]string{
		"NP": "Asia/Kathmandu",
		"LS": "Africa/Maseru",
		"GF": "America/Cayenne",
		"NO": "Europe/Oslo",
		"US": "",
		"CN": "",
		"RU": "",
		"AQ": "",
		"GL": "",
	} {
		if got[code] != want {
			t.Errorf("%s: %q, want %q", code, got[code], want)
		}
	}
}

// The same database gives the same bytes.
func TestTimeZonesRepeat(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	c := jobtest.Catalog(t)
	files := func() (list []dataset.File) {
		m, err := Ingest(t.Context(), c, job.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range m.Files {
			if strings.HasSuffix(f.Path, ".sst") {
				list = append(list, f)
			}
		}
		return list
	}
	if diff := cmp.Diff(files(), files()); diff != "" {
		t.Error(diff)
	}
}
