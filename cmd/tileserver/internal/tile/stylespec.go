package tile

import (
	"fmt"
	"slices"

	"quadrille/cmd/tileserver/internal/theme"
)

// MapStyle is a document of the MapLibre Style Specification, version 8.
type MapStyle struct {
	_       struct{}               `name:"Style" doc:"A style of the MapLibre Style Specification, version 8."`
	Version int                    `json:"version" schema:"const=8"`
	Name    string                 `json:"name"`
	Center  [2]float64             `json:"center" schema:"ref=Position"`
	Zoom    float64                `json:"zoom"`
	Glyphs  string                 `json:"glyphs,omitempty"`
	Sprite  string                 `json:"sprite,omitempty" schema:"format=uri"`
	Sources map[string]styleSource `json:"sources"`
	Layers  []styleLayer           `json:"layers"`
	// Metadata is for programs that know this server; others ignore it.
	Metadata *styleMetadata `json:"metadata,omitempty"`
}

type styleMetadata struct {
	Legend Legend `json:"quadrille:legend"`
}

type styleSource struct {
	Type     string `json:"type" schema:"enum=vector|raster"`
	URL      string `json:"url" schema:"format=uri"`
	TileSize int    `json:"tileSize,omitempty" doc:"Pixels a side of a picture, of base maps of pictures."`
	Encoding string `json:"encoding,omitempty" doc:"The format of the tiles where it is not MVT, as MapLibre asks for it." schema:"enum=mlt"`
}

type styleLayer struct {
	ID          string         `json:"id"`
	Type        string         `json:"type" schema:"enum=background|fill|line|circle|symbol|raster"`
	Source      string         `json:"source,omitempty"`
	SourceLayer string         `json:"source-layer,omitempty"`
	MinZoom     float64        `json:"minzoom,omitempty"`
	MaxZoom     float64        `json:"maxzoom,omitempty"`
	Filter      []any          `json:"filter,omitempty"`
	Layout      map[string]any `json:"layout,omitempty"`
	Paint       map[string]any `json:"paint,omitempty"`
}

// styleSourceName is the source of a style. Layers that are drawn only at close zooms have separate
// sources, see palette.source, and so do layers of points without a look.
const styleSourceName = "quadrille"

// palette has the colours of a theme, for a map whose land is a region type.
type palette struct {
	*theme.Theme
	land   string
	name   []any // the expression of what a feature is called
	glyphs bool  // whether the client loads glyphs
	set    *layerSet
}

// byNumber returns an expression that selects a colour by the number of a region. Older data sets
// have no numbers; for them the id of the feature selects the colour, because it is the same in
// every tile.
func byNumber(colors []theme.Color) []any {
	number := []any{"coalesce", []any{"get", "map_color"}, []any{"%", []any{"to-number", []any{"id"}}, len(colors)}}
	e := []any{"match", []any{"to-number", number}}
	for i, c := range colors[1:] {
		e = append(e, i+1, c.CSS())
	}
	return append(e, colors[0].CSS())
}

// byZoom returns an expression that interpolates between two values at two zooms.
func byZoom(z1 float64, v1 any, z2 float64, v2 any) []any {
	return []any{"interpolate", []any{"linear"}, []any{"zoom"}, z1, v1, z2, v2}
}

// first returns the first zoom of a style at which a type or a layer of points is drawn.
func (p *palette) first(name string) float64 {
	switch {
	case name == p.land:
	case name == "state", name == "river":
		return 3
	case name == "urban", name == "road":
		return 5
	case name == "county":
		return float64(theme.GetNames().Region(name).From - 1)
	}
	if l := p.set.look(name); l != nil {
		return l.first
	}
	return 0
}

// source returns the source of a type or of a layer of points. Tiles of far zooms do not contain
// layers that are drawn only at close zooms. Hidden layers are requested only when a client shows
// them.
func (p *palette) source(name string) string {
	switch {
	case slices.Contains(p.set.points, name) && p.set.look(name) == nil:
		return name
	case p.hidden(name):
		return styleSourceName + "_" + name
	}
	if from := p.first(name); from > 0 {
		return fmt.Sprintf("%s_from_%g", styleSourceName, from)
	}
	return styleSourceName
}

// hidden reports whether a type is not visible at first, because it covers the land and is seldom
// needed. Clients can show it.
func (p *palette) hidden(typ string) bool { return typ == "timezone" && typ != p.land }

// of returns a layer of a style that draws a layer of the tiles. The layer of the tiles is that of
// a type or of points, with an ending.
func (p *palette) of(name, ending, kind string) styleLayer {
	l := styleLayer{
		ID:          name + ending,
		Type:        kind,
		Source:      p.source(name),
		SourceLayer: name + ending,
		MinZoom:     p.first(name),
		Layout:      map[string]any{},
		Paint:       map[string]any{},
	}
	if p.hidden(name) {
		l.Layout["visibility"] = "none"
	}
	return l
}
