package servertest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb/geojson"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/cmd/tileserver/internal/tile"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/quadkey"
)

// quotedName matches a name in backquotes, as in documents.
var quotedName = regexp.MustCompile("`([a-z:]+)`")

// promisedNames returns the names of layers, other than types of regions, from a text that lists
// them.
func promisedNames(t *testing.T, where, text string) []string {
	t.Helper()
	var names []string
	for _, m := range quotedName.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	want := append(new(ask.Sets).TiledLayerNames(), "all", "points:name", "type:id")
	slices.Sort(want)
	if !slices.Equal(slices.DeleteFunc(names, func(n string) bool { return n == "layers" }), want) {
		t.Errorf("%s promises %q, want %q", where, names, want)
	}
	return names
}

// TestLayersAreAsPromised requests every documented layer, alone and with every other layer, in
// every format. Each answer must have features of the layers.
func TestLayersAreAsPromised(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w := servertest.NewWorld(t)
	w.Config.Airports = servertest.NewAirfield(t).Config.Airports
	w.Serve()

	page, err := os.ReadFile("../../../../docs/maps.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| .GET /tiles/\{layers\}/\{z\}/\{x\}/\{y\}\.\{([a-z,]+)\}.*$`).FindSubmatch(page)
	if row == nil {
		t.Fatal("docs/maps.md has no row of the tiles")
	}
	_, list, _ := strings.Cut(string(row[0]), " | ")
	promisedNames(t, "docs/maps.md", list)
	api := servertest.ReadDescription(t)
	layers := api.At("/components/parameters/layers-parameter").(map[string]any)
	names := promisedNames(t, "the OpenAPI document", layers["description"].(string))
	formats := []string{"@2x.png"}
	for _, o := range api.Operations() {
		for _, p := range o.Parameters {
			if o.Method == http.MethodGet && o.Path == "/tiles/{layers}/{z}/{x}/{y}.{format}" && p["name"] == "format" {
				for _, f := range p["schema"].(map[string]any)["enum"].([]any) {
					formats = append(formats, "."+f.(string))
				}
			}
		}
	}
	for _, f := range strings.Split(string(row[1]), ",") {
		if !slices.Contains(formats, "."+f) {
			t.Errorf("docs/maps.md promises %s, the OpenAPI document %q", f, formats)
		}
	}

	// The types are those of the TileJSON; a region replaces type:id.
	describe := func(list string) (doc tile.TileJSON) {
		t.Helper()
		if err := json.Unmarshal([]byte(servertest.Body(t, w.Get("/tiles/"+list+".json"))), &doc); err != nil {
			t.Fatal(err)
		}
		return doc
	}
	everything := strings.Split(describe("all").Name, ",")
	if want := []string{"country", "state", "places", "airports"}; !slices.Equal(everything, want) {
		t.Fatalf("%q is %q, want %q", "all", everything, want)
	}
	singles := append([]string{"country:el", "state:wl-n"}, everything...)
	for _, name := range names {
		if name != "type:id" && name != "points:name" && name != "all" &&
			!slices.Contains(append(singles, w.Config.OpenLayerNames()...), name) {
			t.Errorf("%s is promised, and not in %s", name, "all")
		}
	}
	lists := append([]string{"all"}, singles...)
	for _, a := range singles {
		for _, b := range singles {
			if typ, _, _ := strings.Cut(a, ":"); typ != strings.Split(b, ":")[0] {
				lists = append(lists, a+","+b)
			}
		}
	}
	lists = append(lists, strings.Join(everything, ","), "airports,places,country:el,country:wl")

	const address = "/3/4/2" // has all of the toy world's continent
	answerAt := func(list, address, format string) string {
		t.Helper()
		res := w.Get("/tiles/" + list + address + format)
		b := servertest.Body(t, res)
		if res.StatusCode != 200 && res.StatusCode != 204 {
			t.Fatalf("%s%s%s: %d %s", list, address, format, res.StatusCode, b)
		}
		return b
	}
	answer := func(list, format string) string { return answerAt(list, address, format) }
	// Pictures show villages and airports only at close zooms.
	pictured := []string{address}
	for _, layer := range []string{"places", "airports"} {
		fc, err := geojson.UnmarshalFeatureCollection([]byte(answer(layer, ".geojson")))
		if err != nil || len(fc.Features) == 0 {
			t.Fatalf("%s: %v", layer, err)
		}
		point := fc.Features[0].Point()
		at := must.Get(quadkey.TileAt(point.Lon(), point.Lat(), 12)).In(t)
		pictured = append(pictured, fmt.Sprintf("/%d/%d/%d", at.Z, at.X, at.Y))
	}
	for i, list := range lists {
		// Every fourth pair is enough.
		if testing.Short() && i > len(singles) && i < len(lists)-2 && i%4 != 0 {
			continue
		}
		parts := strings.Split(list, ",")
		if list == "all" {
			parts = everything
		}
		fields := map[string]map[string]string{}
		for _, l := range describe(list).VectorLayers {
			fields[l.ID] = l.Fields
		}
		promised := slices.Sorted(maps.Keys(fields))
		for _, format := range formats {
			b := answer(list, format)
			switch format {
			case ".mvt", ".pbf", ".mlt":
				var got []string
				for _, l := range servertest.VectorLayers(t, b, format) {
					got = append(got, l.Name)
					if len(l.Features) == 0 {
						t.Errorf("%s%s: layer %s is empty", list, format, l.Name)
					}
					for _, properties := range l.Features {
						for name := range properties {
							if fields[l.Name][name] == "" {
								t.Errorf("%s%s: layer %s has %s, promised are %v", list, format, l.Name, name, fields[l.Name])
							}
						}
					}
				}
				if slices.Sort(got); !slices.Equal(got, promised) {
					t.Errorf("%s%s has %q, promised are %q", list, format, got, promised)
				}
			case ".geojson":
				fc, err := geojson.UnmarshalFeatureCollection([]byte(b))
				if err != nil {
					t.Fatal(err)
				}
				for _, part := range parts {
					typ, id, _ := strings.Cut(part, ":")
					if !slices.ContainsFunc(fc.Features, func(f *geojson.Feature) bool {
						_, isAirport := f.Properties["scheduled"]
						switch part {
						case "places":
							return f.Properties["class"] != nil
						case "airports":
							return isAirport
						}
						return f.Properties["type"] == typ && (id == "" || f.Properties["id"] == id)
					}) {
						t.Errorf("%s%s has nothing of %s", list, format, part)
					}
				}
			default:
				// If one of its layers is omitted, the picture differs.
				for i, part := range parts {
					rest := strings.Join(slices.Delete(slices.Clone(parts), i, i+1), ",")
					shows := func(address string) bool {
						if rest == "" {
							return servertest.HasVisiblePixels(servertest.DecodePNG(t, w.Get("/tiles/"+list+address+format)))
						}
						return answerAt(rest, address, format) != answerAt(list, address, format)
					}
					if !slices.ContainsFunc(pictured, shows) {
						t.Errorf("%s%s has nothing of %s", list, format, part)
					}
				}
			}
		}
		// A style draws each of the layers.
		var style tile.MapStyle
		if err := json.Unmarshal([]byte(servertest.Body(t, w.Get("/style.json?layers="+list))), &style); err != nil {
			t.Fatal(err)
		}
		drawn := map[string]bool{}
		for _, l := range style.Layers {
			if drawn[l.SourceLayer] = true; l.SourceLayer != "" && !slices.Contains(promised, l.SourceLayer) {
				t.Errorf("the style of %s draws %s of %q", list, l.SourceLayer, promised)
			}
		}
		for _, l := range promised {
			if !drawn[l] {
				t.Errorf("the style of %s leaves out %s", list, l)
			}
		}
	}
}
