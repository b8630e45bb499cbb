package job

import (
	"path/filepath"
	"testing"

	"quadrille/cmd/internal/testfile"
)

func TestKnownCredit(t *testing.T) {
	for path, want := range map[string]string{
		"x/ne_10m_lakes.geojson.gz":      "Natural Earth",
		"x/NE_50m_lakes.geojson":         "Natural Earth",
		"x/cb_2018_us_county_20m.json":   "US Census Bureau",
		"x/world-atlas/countries.json":   "Natural Earth",
		"x/other.geojson":                "",
		"testdata/squares.geojson":       "",
		"us-atlas/counties-10m.json":     "US Census Bureau",
		"cabinet/network.geojson":        "",
		"geo-whois-asn-country/ipv4.csv": "ip-location-db",
	} {
		if got := KnownCredit(path); got.Name != want || want != "" && got.License == "" {
			t.Errorf("%s: %+v, want %q", path, got, want)
		}
	}
	path := filepath.Join(t.TempDir(), "package.json")
	testfile.Write(t, path, `{"name":"a","version":"1.2.3"}`)
	if got := ViaPackage(NaturalEarth, path); got.Name != "Natural Earth (a)" || got.Version != "1.2.3" {
		t.Errorf("%+v", got)
	}
}
