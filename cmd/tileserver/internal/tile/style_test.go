package tile

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/look"
	"quadrille/tiles"
)

// layersOf are the layers of a map of a theme for some region types.
func layersOf(theme string, types ...string) map[string]styleLayer {
	set := &layerSet{types: types, points: []string{"places"}}
	for _, typ := range types {
		set.selectors = append(set.selectors, tiles.Selector{Type: typ})
	}
	p := &palette{Theme: look.Get().Themes[theme]}
	p.land, _ = set.ground()
	layers := map[string]styleLayer{}
	for _, typ := range types {
		for _, l := range []styleLayer{p.fill(typ), p.line(typ), p.names(typ)} {
			layers[l.ID] = l
		}
	}
	for _, l := range p.allNames(set, types, []string{"Noto Sans"}) {
		layers[l.ID] = l
	}
	return layers
}

// Whatever type is the lowest is the land; others are laid over it.
func TestStyleLand(t *testing.T) {
	for _, theme := range look.Themes {
		land := look.Get().Themes[theme].Map.Land
		has := func(l styleLayer) bool {
			text, err := json.Marshal(l.Paint["fill-color"])
			if err != nil {
				t.Fatal(err)
			}
			return !slices.ContainsFunc(land, func(c look.Color) bool { return !strings.Contains(string(text), c.CSS()) })
		}
		both, alone := layersOf(theme, "country", "state", "timezone"), layersOf(theme, "state")
		if !has(both["country"]) || has(both["state"]) || !has(alone["state"]) || alone["state"].Paint["fill-opacity"] != nil {
			t.Errorf("%s: land is not coloured as it should be", theme)
		}
		if both["timezone"].Layout["visibility"] != "none" || layersOf(theme, "timezone")["timezone"].Layout["visibility"] != nil {
			t.Errorf("%s: time zones are to be seen only where they are the land", theme)
		}
	}
}

// The names of countries are placed first, then those of large cities, then those of
// states.
func TestStyleOrderOfNames(t *testing.T) {
	set := &layerSet{types: []string{"country", "state"}, points: []string{"places", "airports"}}
	p := &palette{Theme: look.Get().Themes["dark"]}
	var order []string
	for _, l := range p.allNames(set, set.types, nil) {
		order = append(order, l.ID)
	}
	if got := strings.Join(order, " "); got != "airports_label places_label state_label places_major_label country_label" {
		t.Errorf("names from the last placed to the first: %s", got)
	}
}
