package columnname_test

import (
	"strings"
	"testing"

	"quadrille/cmd/internal/columnname"
)

func TestKey(t *testing.T) {
	for name, want := range map[string]string{
		"Country Code": "countrycode", " alpha-2_code ": "alpha2code", "@Lat": "lat", "Latitude (deg)": "latitude",
		"lon [Decimal degrees]": "lon", "LÄNGE (°)": "länge", "lat (rad)": "latrad", "x (m)": "xm", "(deg)": "deg", "": "", "-": "",
	} {
		if got := columnname.Key(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

func TestAxes(t *testing.T) {
	for _, tc := range []struct {
		columns          []string
		lat, lon         string // given
		wantLat, wantLon string
	}{
		{[]string{"id", "Latitude", "LONG"}, "", "", "Latitude", "LONG"},
		{[]string{"x", "y", "stop_lat", "stop_lon"}, "", "", "stop_lat", "stop_lon"},
		{[]string{"lat_wgs84", "lat", "lon_wgs84"}, "", "", "lat_wgs84", "lon_wgs84"},
		{[]string{"Y", "X"}, "", "", "Y", "X"},
		{[]string{"x", "y", "Breitengrad [DG]", "Längengrad [DG]"}, "", "", "Breitengrad [DG]", "Längengrad [DG]"},
		{[]string{"Länge", "Breite"}, "", "", "Breite", "Länge"},
		{[]string{"LATITUD", "LONGITUD"}, "", "", "LATITUD", "LONGITUD"},
		{[]string{"Breite", "Längengrad", "lon"}, "", "", "Breite", "Längengrad"},
		{[]string{"north", "lng"}, "north", "", "north", "lng"},
		{[]string{"lat", "east"}, "", "", "", ""},
		{[]string{"a.b.lat", "a.b.lon", "place.latitude", "place.longitude", "lat"}, "", "", "place.latitude", "place.longitude"},
		{[]string{"from.lat", "to.lon", ".lon", "x.y"}, "", "", "", ""},
		{nil, "", "", "", ""},
	} {
		lat, lon := columnname.Axes(tc.columns, tc.lat, tc.lon)
		if lat != tc.wantLat || lon != tc.wantLon {
			t.Errorf("%q: %q and %q, want %q and %q", tc.columns, lat, lon, tc.wantLat, tc.wantLon)
		}
	}
}

func TestList(t *testing.T) {
	many := make([]string, 42)
	for i := range many {
		many[i] = "c"
	}
	if got, want := columnname.List(many), strings.Repeat(`"c", `, 39)+`"c" and 2 more`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := columnname.List([]string{"a,b", "x\n"}), `"a,b", "x\n"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
