package boundaries

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/features"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/internal/testfile"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/tiles/build"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const (
	naturalEarth = "../../../../../../shared/data/natural-earth"
)

// ordinary matches the ids that need no review: well-known codes.
var ordinary = map[string]*regexp.Regexp{
	"country": regexp.MustCompile(`^[a-z]{2}$`),
	"state":   regexp.MustCompile(`^[a-z]{2}-[a-z0-9]{1,3}$|^[a-z]{3}-[0-9]{1,5}$`),
	"county":  regexp.MustCompile(`^[0-9]{5}$`),
}

// TestIDsOfRealLayers compares the ids of real layers with golden files, which list the unusual ids
// and count the others.
func TestIDsOfRealLayers(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine, and much to read")
	for _, tc := range []struct{ typ, file, missing string }{
		{"country", naturalEarth + "/110m/ne_110m_admin_0_countries.geojson.gz", naturalEarth},
		{"country", naturalEarth + "/50m/ne_50m_admin_0_countries.geojson.gz", naturalEarth},
		{"country", naturalEarth + "/10m/ne_10m_admin_0_countries.geojson.gz", naturalEarth},
		{"state", naturalEarth + "/110m/ne_110m_admin_1_states_provinces.geojson.gz", naturalEarth},
		{"state", naturalEarth + "/50m/ne_50m_admin_1_states_provinces.geojson.gz", naturalEarth},
		{"state", naturalEarth + "/10m/ne_10m_admin_1_states_provinces.geojson.gz", naturalEarth},
		{"county", naturalEarth + "/10m/ne_10m_admin_2_counties.geojson.gz", naturalEarth},
		// The same releases as shapefiles give the same golden files.
		{"country", naturalEarth + "/zip/ne_110m_admin_0_countries.zip", naturalEarth},
		{"country", naturalEarth + "/zip/ne_50m_admin_0_countries.zip", naturalEarth},
		{"country", naturalEarth + "/zip/ne_10m_admin_0_countries.zip", naturalEarth},
		{"continent", naturalEarth + "/110m/ne_110m_admin_0_countries.geojson.gz", naturalEarth},
		{"continent", naturalEarth + "/zip/ne_50m_admin_0_countries.zip", naturalEarth},
		{"continent", naturalEarth + "/zip/ne_10m_admin_0_countries.zip", naturalEarth},
		{"state", naturalEarth + "/zip/ne_50m_admin_1_states_provinces_shp.zip", naturalEarth},
		{"county", naturalEarth + "/zip/us_census_cb_2018_us_county_20m.zip", naturalEarth},
		{"lake", naturalEarth + "/110m/ne_110m_lakes.geojson.gz", naturalEarth},
		{"lake", naturalEarth + "/50m/ne_50m_lakes.geojson.gz", naturalEarth},
		{"lake", naturalEarth + "/10m/ne_10m_lakes.geojson.gz", naturalEarth},
		{"timezone", naturalEarth + "/10m/ne_10m_time_zones.geojson.gz", naturalEarth},
		{"urban", naturalEarth + "/50m/ne_50m_urban_areas.geojson.gz", naturalEarth},
		{"country", jobtest.PackagesDir + "/world-atlas/countries-10m.json", jobtest.PackagesDir},
		{"country", jobtest.PackagesDir + "/world-atlas/countries-50m.json", jobtest.PackagesDir},
		{"country", jobtest.PackagesDir + "/world-atlas/countries-110m.json", jobtest.PackagesDir},
		{"state", jobtest.PackagesDir + "/us-atlas/states-10m.json", jobtest.PackagesDir},
		{"state", jobtest.PackagesDir + "/us-atlas/counties-10m.json", jobtest.PackagesDir},
		{"county", jobtest.PackagesDir + "/us-atlas/counties-10m.json", jobtest.PackagesDir},
	} {
		base, _, _ := strings.Cut(filepath.Base(tc.file), ".")
		t.Run(tc.typ+"/"+base, func(t *testing.T) {
			if _, err := os.Stat(tc.missing); err != nil {
				t.Skip("no real data: ", err)
			}
			features := readLayer(t, tc.typ, tc.file)
			var b bytes.Buffer
			regions := map[string]bool{}
			for _, f := range features {
				regions[f.ID] = true
				if strings.ContainsAny(f.Name, "\r\n\ufffd") {
					t.Errorf("%s is called %q", f.ID, f.Name)
				}
			}
			known := 0
			var odd []string
			for _, f := range features {
				if re := ordinary[tc.typ]; re != nil && re.MatchString(f.ID) {
					known++
					continue
				}
				odd = append(odd, fmt.Sprintf("%s = %s", f.ID, f.Name))
			}
			slices.Sort(odd)
			odd = slices.Compact(odd)
			fmt.Fprintf(&b, "%d features, %d regions, %d ids of the usual form\n", len(features), len(regions), known)
			if len(odd) > 60 {
				odd = append(odd[:60], fmt.Sprintf("and %d more", len(odd)-60))
			}
			for _, line := range odd {
				fmt.Fprintln(&b, line)
			}
			golden(t, filepath.Join("testdata", "ids", tc.typ+"-"+base+".golden"), b.Bytes())
		})
	}
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		testfile.Write(t, path, got)
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run the test with -update to make it", err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s: %s", path, d)
	}
}

// anyFiles returns Files without standard input.
func anyFiles(t *testing.T) *features.Files {
	t.Helper()
	return must.Get(features.New(t.Context(), job.SilentReporter{}, "", nil)).In(t)
}

func readLayer(t *testing.T, typ, file string) []build.Feature {
	t.Helper()
	l := &layer{typ: typ}
	var vertices vertexCount
	tally := job.NewTally(0)
	if _, err := l.read(context.Background(), anyFiles(t), Input{Type: typ, Input: job.Input{Path: file}}, tally, &vertices,
		job.SilentReporter{}); err != nil {
		t.Fatal(err)
	}
	if tally.Counts() != nil {
		t.Error(tally.Example())
	}
	layer, _ := l.finish(job.SilentReporter{})
	return layer.Features
}

// A shape beyond ±180° has the same id as the equal shape within ±180°.
func TestSpotBeyond180(t *testing.T) {
	beyond := orb.Polygon{{{170, 0}, {190, 0}, {190, 10}, {170, 10}, {170, 0}}}
	within := orb.Polygon{{{170, 0}, {-170, 0}, {-170, 10}, {170, 10}, {170, 0}}}
	if a, b := spotOf(beyond), spotOf(within); a != b {
		t.Errorf("%v, %v", a, b)
	}
}
