// Package theme has the design tokens for the tileserver: the colours and the type scale of its map
// page, styles, pictures and documents.
package theme

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/color"
	"strconv"
	"strings"
	"sync"

	"quadrille/static"
)

// Themes are the names of the themes, the default first. Light and dark are neutral backgrounds for
// other data. Plain has transparent water, for a map on top of another map.
var Themes = []string{"political", "political-dark", "light", "dark", "plain"}

// LandColors is the number of colours of land in each theme.
const LandColors = 6

// Tokens has all tokens. It is shared and must not be changed.
type Tokens struct {
	Themes     map[string]*Theme `json:"themes"`
	Typography Typography        `json:"type"`
}

// Theme has the colours of a theme by their names in the style sheets. UI is empty in a theme
// without an interface; some of its values are not colours, such as shadows.
type Theme struct {
	Map   MapColors      `json:"map"`
	Label LabelColors    `json:"label"`
	UI    map[string]any `json:"ui"`
}

// MapColors has the colours of a map, except those of its names.
type MapColors struct {
	Water Color   `json:"water"`
	Land  []Color `json:"land"`
	// StateTints distinguishes the parts of a country. It has greys with the same indexes as Land, which
	// are drawn on top of it with an opacity of 0 to 1.
	StateTints        []Color      `json:"shade"`
	StateTintStrength float64      `json:"shade-strength"`
	Lake              Color        `json:"lake"`
	River             Color        `json:"river"` // on land, for a thin line
	Urban             Color        `json:"urban"`
	Missing           Color        `json:"missing"`
	Coast             Color        `json:"coast"`
	Border            BorderColors `json:"border"`
	Graticule         Color        `json:"graticule"`
	Selection         Color        `json:"selection"`
	Dot               Color        `json:"dot"`
	Rim               Color        `json:"rim"`
	Airport           Color        `json:"airport"`
	Points            []Color      `json:"points"` // of collections, one after another
	PointsRim         Color        `json:"points-rim"`
	PointsCount       Color        `json:"points-count"`
}

// BorderColors has the colours of borders by the level of the regions that they separate.
type BorderColors struct {
	Country  Color `json:"country"`
	State    Color `json:"state"`
	County   Color `json:"county"`
	Disputed Color `json:"disputed"`
	Other    Color `json:"other"`
}

// LabelColors has the colours of names, and of the halo around them.
type LabelColors struct {
	Country Color `json:"country"`
	State   Color `json:"state"`
	County  Color `json:"county"`
	Capital Color `json:"capital"`
	City    Color `json:"city"`
	Water   Color `json:"water"`
	Quiet   Color `json:"quiet"`
	Halo    Color `json:"halo"`
}

// Ink returns the colour that the style of a rank names.
func (l *LabelColors) Ink(name string) Color {
	return map[string]Color{
		"country": l.Country, "state": l.State, "county": l.County, "capital": l.Capital, "city": l.City,
		"water": l.Water, "quiet": l.Quiet,
	}[name]
}

// Typography is the type scale.
type Typography struct {
	Fonts   map[string][]string `json:"fonts"`
	Sizes   map[string]float64  `json:"sizes"` // CSS pixels
	Weights map[string]int      `json:"weights"`
}

// Color is a colour that is written #rrggbb or #rrggbbaa.
type Color struct{ color.NRGBA }

// UnmarshalText reads a colour.
func (c *Color) UnmarshalText(text []byte) error {
	s, ok := strings.CutPrefix(string(text), "#")
	if len(s) == 6 {
		s += "ff"
	}
	v, err := strconv.ParseUint(s, 16, 32)
	if !ok || len(s) != 8 || err != nil {
		return fmt.Errorf("%q is no colour: write it as #rrggbb or #rrggbbaa", text)
	}
	c.NRGBA = color.NRGBA{R: uint8(v >> 24), G: uint8(v >> 16), B: uint8(v >> 8), A: uint8(v)}
	return nil
}

// CSS returns the colour in a form for style sheets and map styles.
func (c Color) CSS() string {
	if c.A == 0xff {
		return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
	}
	return fmt.Sprintf("rgba(%d,%d,%d,%.3g)", c.R, c.G, c.B, float64(c.A)/255)
}

// GetTokens returns the embedded tokens, which are read once. A test ensures that they are valid.
var GetTokens = sync.OnceValue(func() *Tokens {
	t, err := parse(static.Tokens)
	if err != nil {
		panic(err)
	}
	return t
})

func parse(text []byte) (*Tokens, error) {
	t := new(Tokens)
	if err := strictly(text, t); err != nil {
		return nil, fmt.Errorf("design tokens: %w: what tokens.json has, package theme must have too", err)
	}
	for _, name := range Themes {
		theme := t.Themes[name]
		if theme == nil || len(theme.Map.Land) != LandColors || len(theme.Map.StateTints) != LandColors || len(theme.Map.Points) == 0 {
			return nil, fmt.Errorf("design tokens: give the theme %s %d colours of land, as many shades, and some of points", name, LandColors)
		}
	}
	return t, nil
}

// strictly reads a JSON text into v. All its keys must be fields of v.
func strictly(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
