package judged

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// write makes a file of a test.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func describeName(id string, text func(...string) string) *Region {
	return &Region{Names: []string{text("name")}, Codes: []string{id}}
}

func TestGeoJSON(t *testing.T) {
	l, err := ReadLayer(write(t, "a.json", `{"type":"FeatureCollection","name":"features?","features":[
		{"type":"Feature","id":"in","properties":{"NAME":"Enclave"},"geometry":{"type":"Polygon","coordinates":[[[4,4],[6,4],[6,6],[4,6],[4,4]]]}},
		{"type":"Feature","id":"out","properties":{"NAME":"Around"},"geometry":{"type":"Polygon","coordinates":[[[0,0],[10,0],[10,10],[0,10],[0,0]]]}},
		{"type":"Feature","id":"ring","properties":{"NAME":"With a hole"},"geometry":{"type":"MultiPolygon","coordinates":[[[[20,0],[30,0],[30,10],[20,10],[20,0]],[[24,4],[26,4],[26,6],[24,6],[24,4]]]]}},
		{"type":"Feature","id":"date","properties":{"NAME":"Stitched"},"geometry":{"type":"Polygon","coordinates":[[[175,0],[-175,0],[-175,10],[175,10],[175,0]]]}},
		{"type":"Feature","id":"line","properties":{"NAME":"A line"},"geometry":{"type":"Polygon","coordinates":[[[8,8],[8,8.001],[8,8]]]}},
		{"type":"Feature","id":"none","properties":{"NAME":"Nowhere"},"geometry":null}]}`), "", describeName)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		lon, lat float64
		want     string
	}{
		{5, 5, "in out"},
		{2, 5, "out"},
		{8.001, 8, "line out"},
		{22, 5, "ring"},
		{25, 5, ""},
		{179, 5, "date"},
		{-179, 5, "date"},
		{0, -5, ""},
		{170, 5, ""},
	} {
		got := ""
		for _, r := range l.At(c.lon, c.lat) {
			got += " " + r.Codes[0]
		}
		if want := c.want; got != "" && got[1:] != want || got == "" && want != "" {
			t.Errorf("at %v,%v is%s, not %q", c.lon, c.lat, got, want)
		}
	}
	in, out, date := l.ByCode("IN")[0], l.ByCode("out")[0], l.ByName("stitched")[0]
	if !in.Within(out) || out.Within(in) {
		t.Error("the enclave is not within")
	}
	for _, c := range []struct {
		r              *Region
		lon, lat, near float64
		want           bool
	}{
		{out, 0.01, 5, 1200, true}, {out, 0.01, 5, 1000, false}, {out, -0.01, 5, 1200, true}, {out, 5, 5, 1000, false},
		{date, -174.99, 5, 1200, true}, {date, 174.99, 5, 1200, true}, {date, 180, 5, 1200, false},
	} {
		if got := c.r.EdgeNearer(c.lon, c.lat, c.near); got != c.want {
			t.Errorf("%v,%v is within %v m of %s: %v", c.lon, c.lat, c.near, c.r.Names[0], got)
		}
	}
	for share := 0.0; share < 1; share += 0.07 {
		if at, edge := in.PointOnEdge(share); !in.EdgeNearer(at[0], at[1], 1) || math.Hypot(edge[0], edge[1]) != 2 {
			t.Errorf("%v along the outline is %v with the edge %v", share, at, edge)
		}
	}
	if _, err := ReadLayer(write(t, "b.json", `{"features":[]}`), "", describeName); err == nil {
		t.Error("a file without regions is a layer")
	}
}

func TestTopoJSON(t *testing.T) {
	l, err := ReadLayer(write(t, "t.json", `{"type":"Topology","transform":{"scale":[1,1],"translate":[10,0]},
		"arcs":[[[2,0],[0,2]],[[2,2],[-2,0],[0,-2],[2,0]],[[2,2],[2,0],[0,-2],[-2,0]]],
		"objects":{"x":{"type":"GeometryCollection","geometries":[
			{"type":"Polygon","arcs":[[0,1]],"id":"1","properties":{"name":"West"}},
			{"type":"MultiPolygon","arcs":[[[-1,2]],[[-1,2]]],"id":7,"properties":{"name":"East"}}]}}}`), "x", describeName)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.At(11, 1); len(got) != 1 || got[0].Names[0] != "West" {
		t.Errorf("west is %v", got)
	}
	if got := l.ByCode("7"); len(got) != 1 || len(got[0].polygons) != 2 ||
		!slices.Equal(got[0].polygons[0].rings[0][:3], [][2]float64{{12, 2}, {12, 0}, {12, 2}}) && got[0].polygons[0].east != 14 {
		t.Errorf("east is %+v", got)
	}
}

const row = "7\tAlpha\tAlpha\t\t1.5\t2.5\tP\tPPL\tUS\t\tMI\t163\t\t\t100\t\t\t\t"

func TestRows(t *testing.T) {
	a, b := write(t, "a.txt", "# none\n"+row+"2020-01-01\n"), write(t, "b.txt", row+"2019-01-01\r\n8"+row[1:]+"2019-01-01\n")
	list, err := Places(b, a)
	if err != nil || len(list) != 2 || list[0].Modified != "2020-01-01" || list[1].ID != 8 {
		t.Fatalf("%+v %v", list, err)
	}
	p := &list[0]
	if got := []string{p.Division(Country), p.Division(State), p.Division(County)}; !slices.Equal(got, []string{"US", "US.MI", "US.MI.163"}) {
		t.Errorf("divisions %q", got)
	}
	w := World{Places: list}
	for level := range w.Layers {
		if w.Layers[level], err = ReadLayer(write(t, "l.json",
			`{"features":[{"id":"26163","geometry":{"type":"Polygon","coordinates":[[[2,1],[3,1],[3,2],[2,2],[2,1]]]}}]}`), "",
			func(id string, _ func(...string) string) *Region { return &Region{Codes: []string{id}, Country: "US"} }); err != nil {
			t.Fatal(err)
		}
	}
	w.Finish()
	if got := w.Layers[County].Regions[0].Division; got != "US.MI.163" {
		t.Errorf("the county is %q by its code", got)
	}
	if got := w.Layers[Country].Regions[0].Division; got != "" {
		t.Errorf("two rows make it %q", got)
	}
	third := list[0]
	third.ID = 9
	w.Places = append(w.Places, third)
	w.Finish()
	if got := w.Layers[Country].Regions[0].Division; got != "US" {
		t.Errorf("three rows make it %q", got)
	}
	near := 0
	w.Near(2.4, 1.5, func(_ *Place, metres float64) {
		if near++; math.Abs(metres-11_116) > 20 {
			t.Errorf("the distance is %v", metres)
		}
	})
	if near != 3 {
		t.Errorf("%d places are near", near)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"Tai’an":    "tai'an",
		"Łódź":      "lodz",
		"São Paulo": "sao paulo",
		"Москва":    "москва",
		"Đà Nẵng":   "da nang",
	} {
		if got := AsTyped(name); got != want {
			t.Errorf("%s is typed %q", name, got)
		}
	}
	if !SameName("Wayne County", "wayne") || !SameName("St. Mary's", "St Mary s") ||
		!SameName("Municipality of Monaco", "Monaco") || SameName("Wayne", "Kent") || SameName("", "") || SameName("County", "Parish") {
		t.Error("names are the same that are not, or not that are")
	}
	if got := Difference([]byte("a\nb\n"), []byte("b\nc\n")); got != "-a\n+c\n" {
		t.Errorf("got %q", got)
	}
}
