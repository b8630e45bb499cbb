package servertest_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"

	orbmvt "github.com/paulmach/orb/encoding/mvt"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/cmd/tileserver/internal/tile"
	"quadrille/places/live"
	"quadrille/tiles/build"
)

// districts has regions with numbers, texts and gaps.
func districts() build.Layer {
	l := build.Layer{Type: "district"}
	for i := range 20 {
		f := servertest.Region(fmt.Sprintf("d%d", i), fmt.Sprintf("District %d", i), float64(i), 0, float64(i+1), 1)
		if i%5 > 0 {
			f.Properties = append(f.Properties, build.Property{Name: "turnover", Value: float64(i) * 1.5})
		}
		f.Properties = append(f.Properties, build.Property{Name: "a,b", Value: []string{"red", "blue", "green"}[i*i%3]})
		l.Features = append(l.Features, f)
	}
	return l
}

// fieldsOf returns the attributes of the features of a layer of a vector tile.
func fieldsOf(t *testing.T, tile, layer string) (all []map[string]any) {
	t.Helper()
	layers, err := orbmvt.Unmarshal([]byte(tile))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		for _, f := range l.Features {
			if l.Name == layer {
				all = append(all, f.Properties)
			}
		}
	}
	return all
}

// Tiles have the properties that fields names, by every address that leads to them, and TileJSON says
// so.
func TestTilesHaveFields(t *testing.T) {
	f := servertest.New(t, nil)
	f.PublishRows(servertest.Regions(districts()))
	get := func(path string) string {
		t.Helper()
		res := f.Get(path)
		text := servertest.Body(t, res)
		if res.StatusCode != 200 {
			t.Fatalf("%s: %d %s", path, res.StatusCode, text)
		}
		return text
	}
	for _, all := range fieldsOf(t, get("/tiles/district/4/8/7.mvt"), "district") {
		if _, ok := all["turnover"]; ok {
			t.Errorf("without fields %v", all)
		}
	}
	const fields = `?fields=turnover,a%5C%2Cb`
	features := fieldsOf(t, get("/tiles/district/4/8/7.mvt"+fields), "district")
	if len(features) < 20 {
		t.Fatalf("%d features", len(features))
	}
	for _, all := range features {
		_, has := all["turnover"]
		if id := all["id"].(string); has == slices.Contains([]string{"d0", "d5", "d10", "d15"}, id) || all["a,b"] == nil {
			t.Errorf("%s: %v", id, all)
		}
	}
	if mlt := get("/tiles/district/4/8/7.mlt" + fields); !strings.Contains(mlt, "turnover") {
		t.Error("a MapLibre tile without the property")
	}
	if text := get("/tiles/district/4/8/7.geojson" + fields); !strings.Contains(text, `"name":"District 2","a,b":"blue","turnover":3}`) {
		t.Errorf("GeoJSON %s", text)
	}
	if got := fieldsOf(t, get("/ogc/collections/district/tiles/WebMercatorQuad/4/7/8?f=mvt&fields=turnover"), "district"); got[1]["turnover"] == nil && got[2]["turnover"] == nil {
		t.Errorf("by OGC %v", got)
	}
	for _, pinned := range []string{"", "&pinned=true"} {
		var doc tile.TileJSON
		if err := json.Unmarshal([]byte(get("/tiles/district.json"+fields+pinned)), &doc); err != nil {
			t.Fatal(err)
		}
		names := slices.Sorted(maps.Keys(doc.VectorLayers[0].Fields))
		if fmt.Sprint(names) != "[a,b id map_color name turnover]" || doc.VectorLayers[0].Fields["turnover"] != "Number" {
			t.Errorf("TileJSON has %v", doc.VectorLayers[0].Fields)
		}
		address := strings.NewReplacer("{z}", "4", "{x}", "8", "{y}", "7").Replace(doc.Tiles[0])
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := fieldsOf(t, get(u.RequestURI()), "district"); len(got) < 20 || got[3]["a,b"] == nil {
			t.Errorf("%s: %v", address, got)
		}
	}
	servertest.WantProblem(t, f.Get("/tiles/district/4/8/7.mvt?fields=colour"), 400, "bad-parameter")
	if p := servertest.WantProblem(t, f.Get("/tiles/district.json?fields=turn"), 400, "bad-parameter"); !strings.Contains(p.Detail, "a,b, turnover") {
		t.Errorf("%+v", p)
	}
	many := "a"
	for i := range 21 {
		many += fmt.Sprintf(",p%d", i)
	}
	servertest.WantProblem(t, f.Get("/tiles/district.json?fields="+many), 400, "bad-parameter")
}

// A style colours a layer in classes, and its legend says what the colours mean. Tiles of its source
// have the property.
func TestStyleColours(t *testing.T) {
	f := servertest.New(t, nil)
	f.PublishRows(servertest.Regions(districts()))
	style := func(query string) (s tile.MapStyle, fill []any) {
		t.Helper()
		res := f.Get("/style.json?layers=district&" + query)
		text := servertest.Body(t, res)
		if err := json.Unmarshal([]byte(text), &s); err != nil || res.StatusCode != 200 {
			t.Fatalf("%s: %v, %s", query, err, text)
		}
		for _, l := range s.Layers {
			if l.ID == "district" {
				fill, _ = l.Paint["fill-color"].([]any)
			}
		}
		return s, fill
	}
	s, fill := style("color=district.turnover&classes=quantile:4&scheme=heat")
	legend := s.Metadata.Legend
	if legend.Layer != "district" || legend.Method != "quantile" || len(legend.Classes) != 4 || legend.Missing == nil || legend.Missing.Count != 4 {
		t.Fatalf("%+v", legend)
	}
	sum := 0
	for i, class := range legend.Classes {
		sum += class.Count
		if i > 0 && *class.From <= *legend.Classes[i-1].To {
			t.Errorf("classes %+v", legend.Classes)
		}
	}
	if sum != 16 || *legend.Classes[0].From != 1.5 || *legend.Classes[3].To != 28.5 {
		t.Errorf("%d in %+v", sum, legend.Classes)
	}
	// Each value is drawn in the colour of the class that the legend has it in.
	step := fill[2].([]any)
	for i := range 20 {
		value := float64(i) * 1.5
		color := step[2]
		for j := 3; j < len(step); j += 2 {
			if value >= step[j].(float64) {
				color = step[j+1]
			}
		}
		if at := slices.IndexFunc(legend.Classes, func(c tile.LegendClass) bool { return *c.From <= value && value <= *c.To }); i%5 > 0 &&
			(at < 0 || legend.Classes[at].Color != color) {
			t.Errorf("%v is drawn in %v", value, color)
		}
	}
	if fill[3] != legend.Missing.Color || math.IsNaN(step[3].(float64)) {
		t.Errorf("missing values are drawn in %v", fill[3])
	}
	if got := s.Sources["quadrille"].URL; !strings.HasSuffix(got, "/tiles/district.json?fields=turnover") {
		t.Errorf("tiles of %s", got)
	}
	s, fill = style("color=district.a%2Cb")
	if len(s.Metadata.Legend.Classes) != 2 || fill[0] != "case" || *cmp.Or(s.Metadata.Legend.Classes[0].Value, new(string)) != "blue" {
		t.Errorf("%v: %+v", fill, s.Metadata.Legend)
	}
	if s, _ := style("classes=jenks"); s.Metadata != nil {
		t.Errorf("no colour asked for: %+v", s.Metadata)
	}
	for _, bad := range []string{"color=district", "color=.x", "color=district.nothing", "color=country.x", "color=district.map_color",
		"color=district.turnover&classes=best", "color=district.turnover&classes=log:99", "color=district.turnover&scheme=rainbow",
		"color=district.a%2Cb&classes=jenks"} {
		if p := servertest.WantProblem(t, f.Get("/style.json?layers=district&"+bad), 400, "bad-parameter"); p.Detail == "" {
			t.Errorf("%s: %+v", bad, p)
		}
	}
	p := servertest.WantProblem(t, f.Get("/style.json?layers=district&color=country.x"), 400, "bad-parameter")
	if !strings.HasSuffix(p.Detail, "use some of district.") {
		t.Errorf("layers that are not in the address: %s", p.Detail)
	}
	one := f.Get("/style.json?layers=district&color=district.turnover").Header.Get("ETag")
	if other := f.Get("/style.json?layers=district&color=district.turnover&classes=jenks").Header.Get("ETag"); one == other {
		t.Errorf("two styles have the tag %s", one)
	}
}

// The legend distinguishes an empty text from no value.
func TestLegendHasEmptyTexts(t *testing.T) {
	lots := build.Layer{Type: "lot"}
	for i, use := range []string{"", "park", ""} {
		f := servertest.Region(fmt.Sprint("l", i), fmt.Sprint("Lot ", i), float64(i), 0, float64(i+1), 1)
		f.Properties = []build.Property{{Name: "use", Value: use}}
		lots.Features = append(lots.Features, f)
	}
	f := servertest.New(t, nil)
	f.PublishRows(servertest.Regions(lots))
	text := servertest.Body(t, f.Get("/style.json?layers=lot&color=lot.use"))
	if !strings.Contains(text, `"value":"","count":2`) || !strings.Contains(text, `"value":"park","count":1`) {
		t.Error(text)
	}
}

// Points are coloured by texts and numbers.
func TestStyleColoursPoints(t *testing.T) {
	w, _ := servertest.NewCollections(t)
	for property, classes := range map[string]int{"open": 2, "stars": 5} {
		var s tile.MapStyle
		if err := json.Unmarshal([]byte(servertest.Body(t, w.Get("/style.json?layers=points:shops&color=points:shops."+property))), &s); err != nil {
			t.Fatal(err)
		}
		if s.Metadata == nil || len(s.Metadata.Legend.Classes) != classes || s.Metadata.Legend.Classes[0].Count == 0 {
			t.Fatalf("%+v", s.Metadata)
		}
		for _, l := range s.Layers {
			if paint, is := l.Paint["circle-color"].([]any); l.ID == "points:shops" && (!is || paint[0] == "get") {
				t.Errorf("%v", l.Paint)
			}
		}
	}
	servertest.WantProblem(t, w.Get("/style.json?layers=points:shops&color=points:shops.colour"), 400, "bad-parameter")
	// Tiles of points have the properties that fields names.
	for _, all := range fieldsOf(t, servertest.Body(t, w.Get("/tiles/points:shops/9/284/254.mvt?fields=stars")), "points:shops") {
		if _, open := all["open"]; open || all["cluster"] == nil && (all["stars"] == nil || all["name"] == nil) {
			t.Errorf("%v", all)
		}
	}
	if text := servertest.Body(t, w.Get("/tiles/points:shops/9/284/254.geojson?fields=stars")); strings.Contains(text, `"open"`) || !strings.Contains(text, `"stars"`) {
		t.Errorf("%.500s", text)
	}
}

// Regions have properties of the points of a collection that have their ids: as of now, if the
// collection is live, and never those of a private one.
func TestRegionsHaveValuesOfCollections(t *testing.T) {
	w, cars := servertest.NewCollections(t)
	speeds := func() (all []any) {
		t.Helper()
		for _, of := range fieldsOf(t, servertest.Body(t, w.Get("/tiles/country/0/0/0.mvt?fields=cars.speed")), "country") {
			if of["id"] == "wl" {
				all = append(all, of["cars.speed"])
			}
		}
		return all
	}
	if got := fmt.Sprint(speeds()); got != "[<nil>]" {
		t.Fatalf("without values %v", got)
	}
	put := func(properties string) {
		t.Helper()
		write := []live.Write{{Kind: live.Put, ID: "WL", Lat: 1, Lon: 20, Properties: []byte(properties)}}
		if err := cars.Write(t.Context(), write, make([]live.Outcome, 1)); err != nil {
			t.Fatal(err)
		}
	}
	for _, speed := range []string{"7", "8.5"} {
		put(`{"speed":` + speed + `}`)
		if got := fmt.Sprint(speeds()); got != "["+speed+"]" {
			t.Errorf("speeds %v, want %s", got, speed)
		}
	}
	res := w.Get("/tiles/country/0/0/0.geojson?fields=cars.speed")
	if text := servertest.Body(t, res); !strings.Contains(text, `"cars.speed":8.5`) || res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s: %.300s", res.Header.Get("Cache-Control"), text)
	}
	var doc tile.TileJSON
	if err := json.Unmarshal([]byte(servertest.Body(t, w.Get("/tiles/country.json?fields=cars.speed,shops.stars"))), &doc); err != nil ||
		doc.VectorLayers[0].Fields["shops.stars"] != "Number" || !strings.Contains(doc.Tiles[0], "cars.speed") {
		t.Errorf("%+v, %v", doc, err)
	}
	var s tile.MapStyle
	res = w.Get("/style.json?layers=country&color=country.cars.speed")
	if err := json.Unmarshal([]byte(servertest.Body(t, res)), &s); err != nil {
		t.Fatal(err)
	}
	if l := s.Metadata.Legend; len(l.Classes) != 1 || l.Classes[0].Count != 1 || l.Missing == nil || res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%+v, %v", l, res.Header)
	}
	res = w.Get("/tiles/country/0/0/0.mvt?fields=shops.stars")
	if tag := res.Header.Get("ETag"); tag == "" || tag == w.Get("/tiles/country/0/0/0.mvt").Header.Get("ETag") {
		t.Errorf("the tag %q of tiles with values of a published collection", tag)
	}
	// What a list of layers means does not depend on when it was first asked.
	for _, path := range []string{"/tiles/country.json", "/tiles/country/0/0/0.mvt"} {
		servertest.WantProblem(t, w.Get(path+"?fields=cars.late"), 400, "bad-parameter")
	}
	put(`{"speed":1,"late":true,"note":""}`)
	if text := servertest.Body(t, w.Get("/tiles/country/0/0/0.geojson?fields=cars.late")); !strings.Contains(text, `"cars.late":true`) {
		t.Errorf("a property that is new: %.300s", text)
	}
	// A region without a value has no empty text.
	if text := servertest.Body(t, w.Get("/style.json?layers=country&color=country.cars.note")); !strings.Contains(text, `["case",["has","cars.note"],["match",`) {
		t.Errorf("%s", text)
	}
	// Addresses that name generations have no values of collections.
	if text := servertest.Body(t, w.Get("/tiles/country.json?fields=shops.stars&pinned=true")); strings.Contains(text, "/g/") {
		t.Errorf("pinned: %s", text)
	}
	if text := servertest.Body(t, w.Get("/tiles/country.json?pinned=true")); strings.Contains(text, "/g/") {
		pinned := text[strings.Index(text, "/g/"):]
		pinned = strings.NewReplacer("{z}", "0", "{x}", "0", "{y}", "0").Replace(pinned[:strings.IndexByte(pinned, '"')])
		servertest.WantProblem(t, w.Get(pinned+"?fields=shops.stars"), 400, "bad-parameter")
	} else {
		t.Error(text)
	}
	for _, name := range []string{"secret.stars", "nothing.stars", "shops.colour", "shops.tags"} {
		servertest.WantProblem(t, w.Get("/tiles/country/0/0/0.mvt?fields="+name), 400, "bad-parameter")
		servertest.WantProblem(t, w.Get("/style.json?layers=country&color=country."+name), 400, "bad-parameter")
	}
}
