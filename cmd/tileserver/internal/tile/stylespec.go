package tile

import "quadrille/cmd/tileserver/internal/look"

// MapStyle is a document of the MapLibre Style Specification, version 8.
type MapStyle struct {
	_       struct{}               `name:"Style" doc:"A style of the MapLibre Style Specification, version 8."`
	Version int                    `json:"version" schema:"const=8"`
	Name    string                 `json:"name"`
	Center  [2]float64             `json:"center" schema:"ref=Position"`
	Zoom    float64                `json:"zoom"`
	Glyphs  string                 `json:"glyphs,omitempty"`
	Sources map[string]styleSource `json:"sources"`
	Layers  []styleLayer           `json:"layers"`
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
	Filter      []any          `json:"filter,omitempty"`
	Layout      map[string]any `json:"layout,omitempty"`
	Paint       map[string]any `json:"paint,omitempty"`
}

// styleSourceName is the source of a style. Layers without a knownLayer have sources of their
// own.
const styleSourceName = "quadrille"

// palette has the colours of a theme, for a map whose land is a region type.
type palette struct {
	*look.Theme
	land string
}

// byNumber is an expression that chooses a colour by the number of a region. Older
// data sets have no number; there the id of the feature chooses, which is the same
// in every tile.
func byNumber(colors []look.Color) []any {
	number := []any{"coalesce", []any{"get", "map_color"}, []any{"%", []any{"to-number", []any{"id"}}, len(colors)}}
	e := []any{"match", []any{"to-number", number}}
	for i, c := range colors[1:] {
		e = append(e, i+1, c.CSS())
	}
	return append(e, colors[0].CSS())
}

// byZoom is an expression that goes from one value to another between zooms.
func byZoom(z1 float64, v1 any, z2 float64, v2 any) []any {
	return []any{"interpolate", []any{"linear"}, []any{"zoom"}, z1, v1, z2, v2}
}

// of is a layer of a style that draws a layer of the tiles.
func of(layer, id, kind string) styleLayer {
	return styleLayer{ID: id, Type: kind, Source: styleSourceName, SourceLayer: layer, Paint: map[string]any{}}
}
