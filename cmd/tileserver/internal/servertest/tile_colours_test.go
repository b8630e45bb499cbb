package servertest_test

import (
	"encoding/json"
	"fmt"
	"image/color"
	"math"
	"net/url"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/cmd/tileserver/internal/theme"
	"quadrille/cmd/tileserver/internal/tile"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/places/live"
	"quadrille/quadkey"
	"quadrille/tiles/build"
)

// evaluate returns what an expression of a style is for the properties of a feature, as MapLibre defines it. It knows
// the expressions of colours.
func evaluate(t *testing.T, e any, of map[string]any) any {
	t.Helper()
	list, ok := e.([]any)
	if !ok {
		return e
	}
	arg := func(i int) any { return evaluate(t, list[i], of) }
	switch list[0] {
	case "get":
		return of[list[1].(string)]
	case "has":
		_, has := of[list[1].(string)]
		return has
	case "typeof":
		if _, is := arg(1).(float64); is {
			return "number"
		}
		return "other"
	case "==":
		return arg(1) == arg(2)
	case "to-number", "to-color":
		return arg(1)
	case "to-string":
		return fmt.Sprint(arg(1))
	case "case":
		if arg(1) == true {
			return arg(2)
		}
		return arg(3)
	case "step":
		at, result := arg(1).(float64), list[2]
		for i := 3; i < len(list); i += 2 {
			if at >= list[i].(float64) {
				result = list[i+1]
			}
		}
		return result
	case "match":
		for i := 2; i+1 < len(list); i += 2 {
			if list[i] == arg(1) {
				return list[i+1]
			}
		}
		return list[len(list)-1]
	}
	t.Fatalf("an unknown expression %v", list)
	return nil
}

// pixelsOf returns a function for the colour at a position of pictures of a zoom, whose address is made by path.
func pixelsOf(t *testing.T, f *servertest.Server, zoom uint8, scale int,
	path func(quadkey.Tile) string) func(lon, lat float64) color.NRGBA {
	return func(lon, lat float64) color.NRGBA {
		x, y := quadkey.Project(lon, lat)
		side := math.Exp2(float64(zoom))
		at := quadkey.Tile{Z: zoom, X: uint32(x * side), Y: uint32(y * side)}
		img := servertest.DecodePNG(t, f.Get(path(at)))
		size := 256 * float64(scale)
		px, py := int((x*side-math.Floor(x*side))*size), int((y*side-math.Floor(y*side))*size)
		return color.NRGBAModel.Convert(img.At(px, py)).(color.NRGBA)
	}
}

func colorOf(t *testing.T, css any) color.NRGBA {
	t.Helper()
	var c theme.Color
	must.Do(t, c.UnmarshalText([]byte(css.(string))))
	return c.NRGBA
}

// The inside of each region has the colour that the expression of the style gives to its values, in every form of
// pictures, and so have lines and points.
func TestPicturesHaveTheColoursOfTheStyle(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other")
	layer := districts()
	f := servertest.New(t, nil)
	land := build.Layer{Type: "country", Features: []build.Feature{servertest.Region("wl", "Land", -5, -5, 25, 5)}}
	river := build.Layer{Type: "river"}
	for i := range 3 {
		river.Features = append(river.Features, build.Feature{
			ID: fmt.Sprint("r", i), Name: "R", Geometry: orb.LineString{{float64(i), 1.4}, {float64(i), 2.6}},
			Properties: []build.Property{{Name: "width", Value: int64(i)}},
		})
	}
	f.PublishRows(servertest.Regions(layer, river, land))
	expression := func(layers, query, id, paint string) any {
		t.Helper()
		var s tile.MapStyle
		text := servertest.Body(t, f.Get("/style.json?layers="+layers+"&"+query))
		if err := json.Unmarshal([]byte(text), &s); err != nil || s.Metadata == nil {
			t.Fatal(err, text)
		}
		for _, l := range s.Layers {
			if l.ID == id {
				return l.Paint[paint]
			}
		}
		t.Fatalf("no layer %s", id)
		return nil
	}
	for _, query := range []string{
		"color=district.turnover", "color=district.turnover&classes=jenks:4&scheme=heat&theme=dark", "color=district.turnover&classes=unique",
		"color=district.a%2Cb&theme=light", "color=district.turnover&classes=5,20&scheme=blue-red&theme=political-dark",
	} {
		fill := expression("country,district", query, "district", "fill-color")
		const tiles = "/tiles/country,district/"
		ogc := func(at quadkey.Tile) string {
			return fmt.Sprintf("/ogc/map/tiles/WebMercatorQuad/%d/%d/%d?f=png&collections=country,district&%s", at.Z, at.Y, at.X, query)
		}
		static := servertest.DecodePNG(t, f.Get("/static/country,district.png?center=0.5,10&zoom=5&size=640x80&scale=2&legend=false&"+query))
		for what, pixel := range map[string]func(lon, lat float64) color.NRGBA{
			"a tile":      pixelsOf(t, f, 7, 1, func(at quadkey.Tile) string { return tiles + at.String() + ".png?" + query }),
			"a large one": pixelsOf(t, f, 7, 2, func(at quadkey.Tile) string { return tiles + at.String() + "@2x.png?" + query }),
			"OGC API":     pixelsOf(t, f, 7, 1, ogc),
			"one picture": func(lon, lat float64) color.NRGBA {
				x, y := quadkey.Project(lon, lat)
				cx, cy := quadkey.Project(10, 0.5)
				const world = 512 << 5
				return color.NRGBAModel.Convert(static.At(640+int((x-cx)*world), 80+int((y-cy)*world))).(color.NRGBA)
			},
		} {
			for i := range layer.Features {
				of := map[string]any{}
				for _, p := range layer.Features[i].Properties {
					of[p.Name] = p.Value
				}
				if got, want := pixel(float64(i)+0.85, 0.85), colorOf(t, evaluate(t, fill, of)); got != want {
					t.Errorf("%s, %s: district %d with %v is %v, want %v", query, what, i, of, got, want)
				}
			}
		}
	}
	const query = "color=river.width&classes=unique"
	line := expression("country,river", query, "river_line", "line-color")
	pixel := pixelsOf(t, f, 8, 2, func(at quadkey.Tile) string { return "/tiles/river/" + at.String() + "@2x.png?" + query })
	for i := range 3 {
		got, want := pixel(float64(i)+0.0003, 2), colorOf(t, evaluate(t, line, map[string]any{"width": float64(i)}))
		far := func(a, b uint8) bool { return math.Abs(float64(a)-float64(b)) > 3 }
		if got.A < 128 || far(got.R, want.R) || far(got.G, want.G) || far(got.B, want.B) {
			t.Errorf("river %d is %v, want %v", i, got, want)
		}
	}
}

// Points are coloured as in the style, also live ones, whose pictures are of this moment.
func TestPicturesColourPoints(t *testing.T) {
	w, cars := servertest.NewCollections(t)
	put := func(id string, lon float64, properties string) {
		t.Helper()
		write := []live.Write{{Kind: live.Put, ID: id, Lat: 1, Lon: lon, Properties: []byte(properties)}}
		must.Do(t, cars.Write(t.Context(), write, make([]live.Outcome, 1)))
	}
	const query = "color=points:cars.speed&classes=unique"
	for _, speeds := range [][2]int{{1, 2}, {2, 1}} {
		put("one", 20, fmt.Sprintf(`{"speed":%d}`, speeds[0]))
		put("b", 25, fmt.Sprintf(`{"speed":%d}`, speeds[1]))
		var s tile.MapStyle
		must.Do(t, json.Unmarshal([]byte(servertest.Body(t, w.Get("/style.json?layers=points:cars&"+query))), &s))
		static := w.Get("/static/points:cars.png?center=1,22.5&zoom=5&size=400x100&legend=false&" + query)
		if static.Header.Get("Cache-Control") != "no-store" {
			t.Error(static.Header)
		}
		img := servertest.DecodePNG(t, static)
		for i, at := range []float64{20, 25} {
			x, cx := (at+180)/360*256*32, (22.5+180)/360*256*32
			got := color.NRGBAModel.Convert(img.At(200+int(math.Floor(x-cx)), 50)).(color.NRGBA)
			for _, class := range s.Metadata.Legend.Classes {
				if want := colorOf(t, class.Color); *class.Value == fmt.Sprint(speeds[i]) && got != want {
					t.Errorf("%d is %v, want %v", speeds[i], got, want)
				}
			}
		}
	}
	// So are values of a live collection that regions get.
	drawn := func() string {
		res := w.Get("/tiles/country/0/0/0.png?color=country.cars.speed")
		if res.Header.Get("Cache-Control") != "no-store" || res.StatusCode != 200 {
			t.Error(res.StatusCode, res.Header)
		}
		return servertest.Body(t, res)
	}
	before := drawn()
	if put("WL", 20, `{"speed":7}`); drawn() == before {
		t.Error("the picture is the same with and without a value")
	}
	res := w.Get("/tiles/country/5/17/15.png?color=country.shops.stars")
	if tag := res.Header.Get("ETag"); tag == "" || tag == w.Get("/tiles/country/5/17/15.png").Header.Get("ETag") {
		t.Errorf("the tag %q", tag)
	}
	if text := servertest.Body(t, w.Get("/tiles/country.png.json?color=country.shops.stars&pinned=true")); strings.Contains(text, "/g/") {
		t.Errorf("pinned: %s", text)
	}
}

// Parameters of colours are in addresses and tags, and bad ones are refused as by the style.
func TestParametersOfColouredPictures(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other")
	f := servertest.New(t, nil)
	layer := districts()
	hostile := "<script>\u202e" + strings.Repeat("w", 300)
	for i := range layer.Features {
		layer.Features[i].Properties = append(layer.Features[i].Properties, build.Property{Name: hostile, Value: hostile + fmt.Sprint(i%14)})
	}
	f.PublishRows(servertest.Regions(layer))
	seen := map[string]string{}
	for _, query := range []string{"", "color=district.turnover", "color=district.turnover&classes=jenks",
		"color=district.turnover&classes=jenks&scheme=red",
		"color=district.a%2Cb", "color=district.turnover&turnover.gt=5", "turnover.gt=5"} {
		for _, form := range []string{"/tiles/district/4/8/7.png?", "/static/district.png?center=0,3&zoom=4&",
			"/tiles/district.png.json?pinned=true&"} {
			res := f.Get(form + query)
			tag := form + res.Header.Get("ETag")
			if other, is := seen[tag]; is || res.StatusCode != 200 {
				t.Errorf("%s%s: %d, the tag is also of %q", form, query, res.StatusCode, other)
			}
			if again := f.Get(form+query, "If-None-Match", res.Header.Get("ETag")); again.StatusCode != 304 {
				t.Errorf("%s%s: again %d", form, query, again.StatusCode)
			}
			seen[tag] = query
			if strings.HasPrefix(form, "/static") {
				continue
			}
			if strings.HasSuffix(form, ".png?") {
				continue
			}
			var doc tile.TileJSON
			must.Do(t, json.Unmarshal([]byte(servertest.Body(t, res)), &doc))
			u := must.Get(url.Parse(strings.NewReplacer("{z}", "4", "{x}", "8", "{y}", "7").Replace(doc.Tiles[0]))).In(t)
			if !strings.HasPrefix(u.Path, "/g/") {
				t.Errorf("%s is not pinned", u)
			}
			if a, b := servertest.Body(t, f.Get(u.RequestURI())), servertest.Body(t, f.Get("/tiles/district/4/8/7.png?"+query)); a != b {
				t.Errorf("%s is another picture than %s", u, query)
			}
		}
	}
	for _, bad := range []string{"color=district", "color=.x", "color=district.nothing", "color=country.x", "color=district.map_color",
		"color=district.turnover&classes=best", "color=district.turnover&classes=log:99", "color=district.turnover&scheme=rainbow",
		"color=district.a%2Cb&classes=jenks", "color=district.turnover&classes="} {
		want := servertest.WantProblem(t, f.Get("/style.json?layers=district&"+bad), 400, "bad-parameter").Detail
		for _, form := range []string{"/tiles/district/4/8/7.png?", "/static/district.png?center=0,3&zoom=4&", "/tiles/district.png.json?",
			"/ogc/collections/district/map/tiles/WebMercatorQuad/4/7/8?", "/ogc/collections/district/map/tiles/WebMercatorQuad?f=json&"} {
			if got := servertest.WantProblem(t, f.Get(form+bad), 400, "bad-parameter").Detail; got != want {
				t.Errorf("%s%s: %q, the style says %q", form, bad, got, want)
			}
		}
	}
	for _, form := range []string{"/tiles/district/4/8/7.mvt?", "/tiles/district/4/8/7.geojson?", "/tiles/district.json?"} {
		if p := servertest.WantProblem(t, f.Get(form+"color=red"), 400, "bad-parameter"); !strings.Contains(p.Detail, "p.color=") {
			t.Errorf("%s: %s", form, p.Detail)
		}
	}
	// The legend covers a corner, of every size of a picture, and hostile texts are clipped.
	at := "/static/district.png?center=0,3&zoom=4&theme=light&color=district." + url.QueryEscape(hostile) + "&size="
	for _, size := range []string{"1x1", "30x300", "300x40", "100x100", "640x480"} {
		with, without := servertest.DecodePNG(t, f.Get(at+size)), servertest.DecodePNG(t, f.Get(at+size+"&legend=false"))
		covered := 0
		for y := range with.Bounds().Dy() {
			for x := range with.Bounds().Dx() {
				if with.At(x, y) != without.At(x, y) {
					if covered++; x > 280 {
						t.Fatalf("%s: the legend reaches %d", size, x)
					}
				}
			}
		}
		if (covered > 0) != (size == "100x100" || size == "640x480" || size == "300x40" && covered > 0) {
			t.Errorf("%s: the legend covers %d pixels", size, covered)
		}
	}
}
