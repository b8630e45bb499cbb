package tile

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/basemaps"
	"quadrille/cmd/tileserver/internal/theme"
	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/places"
	"quadrille/tiles"
)

// setOf returns a set of regions, some by their ids, and of layers of points.
func setOf(points []string, regions ...string) *layerSet {
	set := &layerSet{regions: regions, drawings: map[string]*feature.Drawing{
		"places":   {Look: feature.LookSettlements, Importance: places.Importance},
		"airports": {Look: feature.LookAirfields},
	}}
	set = set.with(points)
	for _, region := range regions {
		typ, id, _ := strings.Cut(region, ":")
		set.types, set.selectors = append(set.types, typ), append(set.selectors, tiles.Selector{Type: typ, ID: id})
	}
	set.types = slices.Compact(set.types)
	return set
}

// layersOf returns the layers of a map with a theme for some region types.
func layersOf(theme string, types ...string) map[string]styleLayer {
	set := setOf([]string{"places"}, types...)
	p := newPalette(theme, set)
	layers := map[string]styleLayer{}
	for _, typ := range types {
		for _, l := range slices.Concat(p.fill(typ), p.lines(typ)) {
			layers[l.ID] = l
		}
	}
	for _, l := range p.allNames(set, types) {
		layers[l.ID] = l
	}
	return layers
}

// TestStyleLand tests that the lowest type is drawn as the land, whichever type it is, and that the
// others are drawn on top of it.
func TestStyleLand(t *testing.T) {
	for _, name := range theme.Themes {
		land := theme.GetTokens().Themes[name].Map.Land
		has := func(l styleLayer) bool {
			text, err := json.Marshal(l.Paint["fill-color"])
			if err != nil {
				t.Fatal(err)
			}
			return !slices.ContainsFunc(land, func(c theme.Color) bool { return !strings.Contains(string(text), c.CSS()) })
		}
		both, alone := layersOf(name, "country", "state", "timezone"), layersOf(name, "state")
		if !has(both["country"]) || has(both["state"]) || !has(alone["state"]) || alone["state"].Paint["fill-opacity"] != nil {
			t.Errorf("%s: land is not coloured as it should be", name)
		}
		if both["timezone"].Layout["visibility"] != "none" || layersOf(name, "timezone")["timezone"].Layout["visibility"] != nil {
			t.Errorf("%s: time zones are to be seen only where they are the land", name)
		}
	}
}

// The names of the largest countries are placed first, then great cities and most countries, and
// small countries after cities.
func TestStyleOrderOfNames(t *testing.T) {
	set := setOf([]string{"places", "airports"}, "country", "state", "lake")
	var order []string
	for _, l := range newPalette("dark", set).allNames(set, set.types) {
		order = append(order, l.ID)
	}
	if got := strings.Join(order,
		" "); got != "airports places_village places_town lake_label country_label_small places_city state_label country_label "+
		"places_major country_label_large" {
		t.Errorf("names from the last placed to the first: %s", got)
	}
}

// Layers that are drawn only at close zooms have a separate source, so that tiles of far zooms do
// not contain them.
func TestStyleSources(t *testing.T) {
	set := setOf([]string{"places", "airports", "points:shops"}, "country", "state", "county:a", "county:b", "timezone", "marine")
	got := map[string]string{}
	for id, source := range newPalette("light", set).sources(set, "http://x", styling{lang: "de", encoding: mltEncoding}) {
		got[id] = source.URL
	}
	want := map[string]string{
		"quadrille":          "http://x/tiles/country,marine,places.mlt.json?names=de&pixels=512",
		"quadrille_from_3":   "http://x/tiles/state.mlt.json?names=de",
		"quadrille_from_7":   "http://x/tiles/county:a,county:b,airports.mlt.json?names=de",
		"quadrille_timezone": "http://x/tiles/timezone.mlt.json?names=de",
		"points:shops":       "http://x/tiles/points:shops.mlt.json?pixels=512",
	}
	if !maps.Equal(got, want) {
		t.Errorf("sources %v, want %v", got, want)
	}
	// The type that is the land is drawn at every zoom.
	if l := newPalette("light", setOf(nil, "county")).fill("county")[0]; l.MinZoom != 0 || l.Source != styleSourceName {
		t.Errorf("counties alone are drawn from zoom %v and of the source %s, want 0 and %s", l.MinZoom, l.Source, styleSourceName)
	}
}

// TestStyleZoomsOfNames tests that names appear at the zooms of theme.GetNames. These zooms are
// greater by one than those of styles, which count for tiles of 512 pixels.
func TestStyleZoomsOfNames(t *testing.T) {
	for typ, naming := range theme.GetNames().Regions {
		p := newPalette("light", setOf(nil, "country", typ))
		for _, l := range p.names(typ) {
			if l.MinZoom != max(float64(naming.From-1), p.first(typ)) || naming.To < deepestNamed && l.MaxZoom != float64(naming.To) {
				t.Errorf("%s is named from %v to %v, want %d to %d of the table", l.ID, l.MinZoom, l.MaxZoom, naming.From, naming.To)
			}
		}
	}
	for list, want := range map[string]string{
		"[]": `9`, "[5]": `9`, "[5,6]": `["step",["zoom"],6,1,9]`, "[5,6,7]": `["step",["zoom"],6,1,7,2,9]`,
	} {
		var numbers []float64
		if err := json.Unmarshal([]byte(list), &numbers); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(byTable(numbers, 9)); err != nil || string(got) != want {
			t.Errorf("%s is %s, want %s: %v", list, got, want, err)
		}
	}
}

// TestStyleTypes tests which style layers a type has: the sea has only a name, and rivers and roads
// are lines.
func TestStyleTypes(t *testing.T) {
	layers := layersOf("light", "country", "marine", "river", "road", "urban")
	for id, want := range map[string]bool{
		"marine": false, "marine_line": false, "marine_label": true, "river": false, "river_line": true, "road": false, "road_line": true,
		"urban": true, "urban_line": false, "urban_label": false, "country_disputed": true, "country_coast": true,
	} {
		if _, ok := layers[id]; ok != want {
			t.Errorf("a layer %s: %v, want %v", id, ok, want)
		}
	}
}

var update = flag.Bool("update", false, "write the golden file anew")

// TestStyleGolden tests that style layers of every kind stay the same. The golden file has one
// layer on each line, and each layer once.
func TestStyleGolden(t *testing.T) {
	const golden = "testdata/style.golden"
	var lines []string
	add := func(layers ...styleLayer) {
		for _, l := range layers {
			if line := string(must.Get(json.Marshal(l)).In(t)); !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	types := []string{"continent", "country", "timezone", "state", "county", "district", "urban", "lake", "road", "river", "marine"}
	under := []basemaps.Map{{Name: "photo", Format: "png"}, {Name: "streets", Format: "pbf", Layers: []basemaps.Layer{
		{ID: "Water", MinZoom: 3}, {ID: "roads"}, {ID: "earth"}, {ID: "park"}, {ID: "buildings"}, {ID: "boundaries"},
	}}}
	draw := func(colours, lang string, glyphs bool, types ...string) {
		set := setOf([]string{"places", "airports", "points:shops"}, types...)
		p := newPalette(colours, set)
		p.glyphs = glyphs
		if lang != "" {
			p.name = []any{"get", "name:" + lang}
		}
		for _, typ := range types {
			add(p.fill(typ)...)
			add(p.lines(typ)...)
		}
		add(p.allNames(set, types)...)
		add(p.dots("points:shops", 1), p.clusters("points:shops", 1), p.nameOfPoint("points:shops"), p.countOfCluster("points:shops"))
		add(p.under(map[string]styleSource{}, under, "")...)
	}
	draw("political", "", false, types...)
	draw("dark", "de", true, "country", "state", "county", "lake")
	for _, land := range types[2:6] {
		draw("political", "", false, land)
	}
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		must.Do(t, os.WriteFile(golden, []byte(got), 0o600))
	}
	want := strings.Split(string(must.Get(os.ReadFile(golden)).In(t)), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("%s:%d: got\n%s", golden, i+1, line)
		}
	}
	if len(lines)+1 != len(want) {
		t.Errorf("%s has layers that are drawn no more", golden)
	}
}
