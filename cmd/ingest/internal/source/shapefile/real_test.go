package shapefile_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/ingest/internal/source/jsonscan"
	"quadrille/cmd/ingest/internal/source/shapefile"
	"quadrille/cmd/ingest/internal/source/sourcetest"
	"quadrille/internal/testrace"
)

const naturalEarth = "../../../../../../shared/data/natural-earth"

func skipWithout(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Skip("no real data: ", err)
	}
}

func readAll(t testing.TB, path string) []source.Feature {
	t.Helper()
	features, bad, err := read(path, "")
	if err != nil || bad != nil {
		t.Fatal(path, bad, err)
	}
	return features
}

func vertices(g orb.Geometry) (n int) {
	switch g := g.(type) {
	case orb.Polygon:
		for _, r := range g {
			n += len(r)
		}
	case orb.MultiPolygon:
		for _, p := range g {
			n += vertices(p)
		}
	}
	return n
}

// The same edition reads the same as GeoJSON and as shapefile.
func TestAgreesWithGeoJSON(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	for _, scale := range []string{"110m", "50m"} {
		zip := naturalEarth + "/zip/ne_" + scale + "_admin_0_countries.zip"
		skipWithout(t, zip)
		f, err := source.Open(naturalEarth + "/" + scale + "/ne_" + scale + "_admin_0_countries.geojson.gz")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var want []source.Feature
		values := jsonscan.New(nil)
		for feature, err := range geojson.Read(f, "x", nil) {
			if err != nil {
				t.Fatal(err)
			}
			feature.Properties = values.Decode(feature.Members, &feature.Lost)
			want = append(want, feature)
		}
		got := readAll(t, zip)
		if len(got) != len(want) {
			t.Fatalf("%d features, want %d", len(got), len(want))
		}
		for i := range got {
			g, w := &got[i], &want[i]
			name := g.Properties["ADMIN"]
			if vertices(g.Geometry) != vertices(w.Geometry) ||
				planar.Area(g.Geometry) != planar.Area(w.Geometry) && !near(planar.Area(g.Geometry), planar.Area(w.Geometry)) {
				t.Errorf("%s %v: %d vertices of area %v, want %d of %v", scale, name, vertices(g.Geometry), planar.Area(g.Geometry),
					vertices(w.Geometry), planar.Area(w.Geometry))
			}
			if g.Repair != "" {
				t.Errorf("%v: %s", name, g.Repair)
			}
			for key, value := range w.Properties {
				if fmt.Sprint(g.Properties[key]) != fmt.Sprint(value) && value != "" {
					t.Errorf("%v: %s is %v, want %v", name, key, g.Properties[key], value)
				}
			}
		}
	}
}

func near(a, b float64) bool { return a-b < 1e-6*a && b-a < 1e-6*a }

func TestRealArchives(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	skipWithout(t, naturalEarth)
	for _, tc := range []struct {
		file     string
		features int
		property string
		some     map[int]string // by line
	}{
		{"ne_10m_admin_0_countries", 258, "ADMIN", map[int]string{1: "Aruba"}},
		{"ne_10m_lakes", 1343, "name", nil},
		{"ne_10m_time_zones", 120, "time_zone", nil},
		{"ne_50m_admin_1_states_provinces_shp", 100, "name", nil},
		{"us_census_cb_2018_us_county_20m", 3220, "NAME", nil},
	} {
		features := readAll(t, naturalEarth+"/zip/"+tc.file+".zip")
		if len(features) != tc.features {
			t.Errorf("%s: %d features, want %d", tc.file, len(features), tc.features)
		}
		latin := 0
		for _, f := range features {
			if name, _ := f.Properties[tc.property].(string); name != "" {
				for _, r := range name {
					if r == '\ufffd' || r == 'Ã' {
						t.Errorf("%s: %q is read in the wrong encoding", tc.file, name)
					} else if r >= 0x80 {
						latin++
						break
					}
				}
			}
			if want := tc.some[f.Line]; want != "" && f.Properties[tc.property] != want {
				t.Errorf("%s %d: %v, want %s", tc.file, f.Line, f.Properties[tc.property], want)
			}
		}
		t.Log(tc.file, len(features), "features,", latin, "names with other letters than ASCII")
	}
	_, err := shapefile.Open(naturalEarth+"/zip/ne_10m_populated_places.zip", "", source.WantPolygons)
	if err == nil || !cmp.Equal(err.Error(), naturalEarth+"/zip/ne_10m_populated_places.zip: holds points; regions need polygons or lines") {
		t.Error(err)
	}
}

func BenchmarkCountries10m(b *testing.B) {
	path := naturalEarth + "/zip/ne_10m_admin_0_countries.zip"
	skipWithout(b, path)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		f, err := shapefile.Open(path, "", source.WantPolygons)
		if err != nil {
			b.Fatal(err)
		}
		for feature, err := range sourcetest.Decoded(f.Features()) {
			if err != nil {
				b.Fatal(err)
			}
			n += vertices(feature.Geometry)
		}
		f.Close()
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mvertices/s")
}
