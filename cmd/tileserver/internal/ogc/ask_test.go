package ogc

import (
	"errors"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/feature"
	"quadrille/quadkey"
)

func TestBBox(t *testing.T) {
	for _, tt := range []struct {
		bbox, crs string
		want      quadkey.Box
	}{
		{"7,46,9,48", "", quadkey.Box{West: 7, South: 46, East: 9, North: 48}},
		{"7,46,-100,9,48,8000", "", quadkey.Box{West: 7, South: 46, East: 9, North: 48}},
		{"170,-10,-170,10", "", quadkey.Box{West: 170, South: -10, East: -170, North: 10}},
		{"46,7,48,9", epsg4326, quadkey.Box{West: 7, South: 46, East: 9, North: 48}},
		{"46,7,48,9", "https://www.opengis.net/def/crs/EPSG/0/4326", quadkey.Box{West: 7, South: 46, East: 9, North: 48}},
		{"-180,-90,180,83", epsg4326, quadkey.Box{West: -180, South: -90, East: 180, North: 83}}, // longitudes first
		{"-20037508.3427892,-∞,20037508.3427892,∞", systems[2].uri, quadkey.World},
		{"0,0,1113194.9079327357,1118889.9748579597", systems[2].uri, quadkey.Box{East: 10, North: 10}},
		// Rounded metres, as in answers, are converted to the original degrees.
		{"448617.5478969,-.0000000,20037508.3427892,6411711.1389720", systems[2].uri, quadkey.Box{West: 4.03, East: 180, North: 49.8}},
		{"448617.55,0.00,20037508.34,6411711.14", systems[2].uri, quadkey.Box{West: 4.03, East: 180, North: 49.8}},
	} {
		values := url.Values{"bbox": {tt.bbox}}
		if tt.crs != "" {
			values.Set("bbox-crs", tt.crs)
		}
		q := (&endpoint.Params{}).Line(values)
		got, ok := bbox(&q)
		if q.Err != nil || !ok || got != tt.want {
			t.Errorf("%s in %s is %v, want %v: %v", tt.bbox, tt.crs, got, tt.want, q.Err)
		}
	}
	for _, bad := range []string{
		"", "7,46,9", "7,46,9,48,1", "7,46,5,9,48,4", "NaN,46,9,48", "7,46,9,∞", "7,48,9,46", "7,46,9,91", "-181,0,0,0",
		"0x7,46,9,48", "7,46,9,1e999", "7;46;9;48", strings.Repeat("7,", 500) + "1",
	} {
		q := (&endpoint.Params{}).Line(url.Values{"bbox": {bad}})
		if _, ok := bbox(&q); ok || q.Err == nil {
			t.Errorf("the box %.40q is taken", bad)
		}
	}
	q := (&endpoint.Params{}).Line(url.Values{"crs": {"http://www.opengis.net/def/crs/EPSG/0/25832"}})
	if system(&q, "crs"); q.Err == nil {
		t.Error("a system that is not offered is taken")
	}
}

func TestGeometry(t *testing.T) {
	in := func(of *crs, g string) (string, error) {
		f := feature.Feature{ID: "a", Geometry: feature.GeoJSONGeometry([]byte(g))}
		out, err := f.AppendGeometry(nil, (&shown{crs: of}).writer().Position)
		return string(out), err
	}
	const g = `{"type":"MultiPolygon","coordinates":[[[[1,2],[3,4.5],[1,2]],[[1.1,2],[3,-90],[1.1,2]]],[[[180,-0.5],[0,0],[180,-0.5]]]]}`
	if got, err := in(crs84, g); got != g || err != nil {
		t.Error(got, err)
	}
	want := `{"type":"MultiPolygon","coordinates":[[[[2,1],[4.5,3],[2,1]],[[2,1.1],[-90,3],[2,1.1]]],[[[-0.5,180],[0,0],[-0.5,180]]]]}`
	if got, err := in(systems[1], g); got != want || err != nil {
		t.Error(got, err)
	}
	got, err := in(systems[2], `{"type":"Polygon","coordinates":[[[10,10],[180,-90],[0,0]]]}`)
	if want := `{"type":"Polygon","coordinates":[[[1113194.91,1118889.97],[20037508.34,-20037508.34],[0.00,0.00]]]}`; got != want || err != nil {
		t.Errorf("%s, want %s, %v", got, want, err)
	}
	// A damaged geometry is an error, and is never partly projected.
	for _, bad := range []string{`{"type":"Polygon","coordinates":[[[1,2],[3`, `{"type":"Polygon","coordinates":[[[1,2],[3,x]]]}`,
		`{"type":"Polygon","coordinates":[[[1,2],[3]]]}`} {
		if got, err := in(systems[1], bad); !errors.Is(err, feature.ErrDamaged) {
			t.Errorf("%s: %s, %v", bad, got, err)
		}
	}
}

func TestDatetime(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for text, want := range map[string]interval{
		"2024-01-31T06:00:00Z":       {at("2024-01-31T06:00:00Z"), at("2024-01-31T06:00:00Z")},
		"2024-01-31":                 {at("2024-01-31T00:00:00Z"), at("2024-01-31T23:59:59.999999999Z")},
		"2024-01-31/2024-02-01":      {at("2024-01-31T00:00:00Z"), at("2024-02-01T23:59:59.999999999Z")},
		"../2024-02-01":              {time.Time{}, at("2024-02-01T23:59:59.999999999Z")},
		"2024-01-31T06:00:00+02:00/": {at("2024-01-31T04:00:00Z"), time.Time{}},
		"2018-02-12T00:00:00.5Z/..":  {at("2018-02-12T00:00:00.5Z"), time.Time{}},
		"../..":                      {},
	} {
		q := (&endpoint.Params{}).Line(url.Values{"datetime": {text}})
		if got, ok := datetime(&q); !ok || !got.from.Equal(want.from) || !got.to.Equal(want.to) {
			t.Errorf("%s is %v, want %v: %v", text, got, want, q.Err)
		}
	}
	for _, bad := range []string{
		"",
		"/",
		"yesterday",
		"2024-13-01",
		"2024-02-01/2024-01-31",
		"2024-01-31/2024-02-01/2024-03-01",
		"..",
		strings.Repeat("2", 200),
	} {
		q := (&endpoint.Params{}).Line(url.Values{"datetime": {bad}})
		if _, ok := datetime(&q); ok || q.Err == nil {
			t.Errorf("%.40q is taken", bad)
		}
	}
	span := interval{at("2020-01-01T00:00:00Z"), at("2020-12-31T00:00:00Z")}
	for _, tt := range []struct {
		begin, end string
		want       bool
	}{
		{"1990-01-01", "2019-12-31", false},
		{"1990-01-01", "2020-01-01", true},
		{"2020-12-31", "", true},
		{"2021-01-01", "", false},
		{"", "", true},
	} {
		if got := span.meets(tt.begin, tt.end); got != tt.want {
			t.Errorf("%s to %s: %v", tt.begin, tt.end, got)
		}
	}
}

func TestViewOf(t *testing.T) {
	for box, want := range map[quadkey.Box]string{
		{West: 6, South: 46, East: 10, North: 48}:        "#7/47.00000/8.00000",
		{West: 8.5, South: 47.4, East: 8.5, North: 47.4}: "#13/47.40000/8.50000",
		{West: 177, South: -20, East: -178, North: -12}:  "#5/-16.00000/179.50000",
		quadkey.World: "#1/0.00000/0.00000",
	} {
		if got := viewOf(box); got != want {
			t.Errorf("%v is %s, want %s", box, got, want)
		}
	}
}

// TestCells tests that a cell of an HTML page shows a number exactly as it is written.
func TestCells(t *testing.T) {
	values := feature.CompactProperties([]byte(`"n":12345678901234567890123,"f":1.50,"l":["a",1,true,null],"o":{"b":1e2},"t":false,"s":"x"`))
	for name, want := range map[string]string{
		"n":    "12345678901234567890123",
		"f":    "1.50",
		"l":    "a, 1, true, ",
		"o":    `{"b":1e2}`,
		"t":    "false",
		"s":    "x",
		"none": "",
	} {
		v, _ := values.Lookup(name)
		if got := cell(v); got != want {
			t.Errorf("%s is shown as %q, want %q", name, got, want)
		}
	}
}

// TestCanBeAsked tests that canBeAsked describes every kind of question in feature.Abilities.
func TestCanBeAsked(t *testing.T) {
	if all := canBeAsked(&feature.Abilities{
		Near:       true,
		Area:       true,
		NearInArea: true,
		Importance: true,
		Sort:       true,
	}); len(all) != reflect.TypeFor[feature.Abilities]().NumField() {
		t.Errorf("only these: %q", all)
	}
}
