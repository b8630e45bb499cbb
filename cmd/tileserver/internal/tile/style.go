package tile

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/web"
)

// MapStyle is a document of the MapLibre Style Specification, version 8.
type MapStyle struct {
	Version int                    `json:"version"`
	Name    string                 `json:"name"`
	Center  [2]float64             `json:"center"`
	Zoom    float64                `json:"zoom"`
	Glyphs  string                 `json:"glyphs,omitempty"`
	Sources map[string]styleSource `json:"sources"`
	Layers  []styleLayer           `json:"layers"`
}

type styleSource struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

type styleLayer struct {
	ID          string         `json:"id"`
	Type        string         `json:"type"`
	Source      string         `json:"source,omitempty"`
	SourceLayer string         `json:"source-layer,omitempty"`
	MinZoom     float64        `json:"minzoom,omitempty"`
	Filter      []any          `json:"filter,omitempty"`
	Layout      map[string]any `json:"layout,omitempty"`
	Paint       map[string]any `json:"paint,omitempty"`
}

// getStyle answers GET /style.json?layers=&theme=&names=: a style that draws
// the layers from the tiles they have, as TileJSON tells.
//
// Without a source of glyphs the names are for clients that have fonts of their
// own, as MapLibre GL JS since 5.11; names=false leaves them out for others,
// which refuse a style that has them.
func (s *Room) getStyle(c echo.Context) error {
	r := c.Request()
	q := web.QueryParams(r)
	list, name := q.Text("layers", web.MaxListText), q.OneOf("theme", "light", "dark")
	names := q.OneOf("names", "true", "false") != "false"
	if q.Has("layers") && list == "" {
		q.Refuse("layers", "List at least one layer in layers, or leave it out for all.")
	}
	if q.Err != nil {
		return q.Err
	}
	if name == "" {
		name = "light"
	}
	base, err := s.BaseURL(r)
	if err != nil {
		return err
	}
	v := s.pinTiles()
	defer v.release()
	var set *layerSet
	if list != "" {
		set, err = s.resolveLayers(r.Context(), &v, list)
	} else {
		set, err = s.everything(r.Context(), &v)
	}
	if err != nil {
		return err
	}
	a := web.Answer{Form: web.FormJSON, Cache: s.CacheControl, Coding: web.Accepted(r)}
	etag := s.styleTag(r, a, &v, base, name, names, set)
	a.Tag = &etag
	if web.Matches(r, a.Tag, true) {
		return s.NotModified(c, a)
	}
	style, err := s.makeStyle(&v, set, base, name, names)
	if err != nil {
		return err
	}
	body, err := json.Marshal(style)
	if err != nil {
		return err
	}
	b := web.GetScratch()
	defer b.Release()
	b.Body = append(b.Body, body...)
	return s.Send(c, a, b)
}

func (s *Room) styleTag(r *http.Request, a web.Answer, v *view, base, theme string, names bool, set *layerSet) web.Tag {
	h := s.TagStart.Bytes(r.URL.Path).Bytes(base).Bytes(theme).Bytes(strconv.FormatBool(names)).Bytes(s.Glyphs).Number(uint64(set.hash)).
		Number(v.boundaries.ID).Number(v.places.ID).Number(v.airports.ID)
	from, _ := v.fromCollections()
	h = h.Number(from)
	return h.Number(uint64(a.Coding)).Tag()
}

// styleSourceName is the source of a style, besides those of collections of points.
const styleSourceName = "quadrille"

// styleOrder are the region types that have a look of their own, from the one
// that is drawn first. Others lie between counties and urban areas.
var styleOrder = []string{"continent", "country", "timezone", "state", "county", "", "urban", "lake"}

func (s *Room) makeStyle(v *view, set *layerSet, base, theme string, names bool) (*MapStyle, error) {
	tiles, err := describe(v, set, base)
	if err != nil {
		return nil, err
	}
	p := palettes[theme]
	style := &MapStyle{
		Version: 8,
		Name:    "Quadrille " + theme,
		Center:  [2]float64(tiles.Center[:2]),
		// Zooms of TileJSON are for tiles of 256 pixels, those of a style for
		// 512.
		Zoom:    max(tiles.Center[2]-1, 0),
		Glyphs:  s.Glyphs,
		Sources: sources(set, base),
		Layers:  []styleLayer{{ID: "background", Type: "background", Paint: map[string]any{"background-color": p.water}}},
	}
	types := slices.Clone(set.types)
	rank := func(typ string) int {
		if i := slices.Index(styleOrder, typ); i >= 0 {
			return i
		}
		return slices.Index(styleOrder, "")
	}
	slices.SortStableFunc(types, func(a, b string) int { return rank(a) - rank(b) })
	for i, typ := range types {
		style.Layers = append(style.Layers, p.fill(typ, i == 0))
	}
	// Borders of large regions run over those of the small ones in them.
	for _, typ := range slices.Backward(types) {
		if typ != "urban" {
			style.Layers = append(style.Layers, p.line(typ))
		}
	}
	if set.places {
		style.Layers = append(style.Layers, p.places())
	}
	if set.airports {
		style.Layers = append(style.Layers, p.airports())
	}
	for i, name := range set.collections {
		style.Layers = append(style.Layers, p.dots(name, i), p.clusters(name, i))
	}
	if names {
		style.Layers = append(style.Layers, p.allNames(set, types, s.fonts())...)
	}
	return style, nil
}

// fonts are the faces names are set in: one that the source of glyphs must
// have, or else those of the client, the first that it has.
func (s *Room) fonts() []string {
	if s.Glyphs != "" {
		return []string{"Noto Sans Regular"}
	}
	return []string{"Noto Sans", "Segoe UI", "Helvetica Neue", "sans-serif"}
}

// allNames writes names, of which those of later layers are placed first.
func (p *palette) allNames(set *layerSet, types, fonts []string) (layers []styleLayer) {
	if set.airports {
		layers = append(layers, p.pointNames(airportsLayer, 10))
	}
	if set.places {
		layers = append(layers, p.pointNames(placesLayer, 12))
	}
	for _, typ := range slices.Backward(types) {
		layers = append(layers, p.names(typ))
	}
	for _, name := range set.collections {
		layers = append(layers, p.nameOfPoint(name), p.countOfCluster(name))
	}
	for i := range layers {
		layers[i].Layout["text-font"] = fonts
	}
	return layers
}

// palette is the colours of a theme.
type palette struct {
	water, shore, lake, urban string
	land                      []string // one of which the id of a feature chooses
	border, fine              string   // between countries, and between smaller regions
	dot, rim, airport         string
	ink, quiet, halo          string
	points                    []string // of collections, one after another
	count                     string   // on clusters
}

var palettes = map[string]*palette{
	"light": {
		water: "#cfe3ec", shore: "#86a3b8", lake: "#bcd9e6", urban: "#d9cfc4",
		land:   []string{"#f6ead8", "#eef0d9", "#e2f0e0", "#f5e3df", "#ece6f3", "#f8edcf", "#e0ede9", "#f3e0e8", "#e9ead6"},
		border: "#86789c", fine: "#b4acc0",
		dot: "#5d5570", rim: "#ffffff", airport: "#2f6f8f",
		ink: "#3b3550", quiet: "#6b647c", halo: "rgba(255,255,255,0.85)",
		points: []string{"#b3261e", "#0b57d0", "#7b1fa2", "#00695c", "#9a5b00", "#c2185b"}, count: "#ffffff",
	},
	"dark": {
		water: "#10171f", shore: "#3d5a70", lake: "#18303f", urban: "#3f3b40",
		land:   []string{"#2b2a2e", "#2a2d2b", "#262e2d", "#302a2b", "#2c2a34", "#302d27", "#272e31", "#302931", "#2c2e28"},
		border: "#8d84a6", fine: "#575067",
		dot: "#c9c2dc", rim: "#17161c", airport: "#7cc3e2",
		ink: "#e6e1f2", quiet: "#a69fb8", halo: "rgba(16,20,26,0.85)",
		points: []string{"#ff8a80", "#82b1ff", "#d6a2ff", "#64d8c4", "#ffc166", "#ff8fb8"}, count: "#10141a",
	},
}

// byID is an expression that chooses a colour by the id of a feature, which is
// the same in every tile.
func byID(colors []string) []any {
	e := []any{"match", []any{"%", []any{"to-number", []any{"id"}}, len(colors)}}
	for i, c := range colors[1:] {
		e = append(e, i+1, c)
	}
	return append(e, colors[0])
}

// byZoom is an expression that goes from one value to another between zooms.
func byZoom(z1 float64, v1 any, z2 float64, v2 any) []any {
	return []any{"interpolate", []any{"linear"}, []any{"zoom"}, z1, v1, z2, v2}
}

// of is a layer of a style that draws a layer of the tiles.
func of(layer, id, kind string) styleLayer {
	return styleLayer{ID: id, Type: kind, Source: styleSourceName, SourceLayer: layer, Paint: map[string]any{}}
}

// fill draws the regions of a type. The lowest type is land; others tint what
// lies beneath.
func (p *palette) fill(typ string, lowest bool) styleLayer {
	l := of(typ, typ, "fill")
	switch {
	case typ == "lake":
		l.Paint["fill-color"] = p.lake
	case typ == "urban":
		l.Paint["fill-color"], l.Paint["fill-opacity"] = p.urban, 0.6
	default:
		l.Paint["fill-color"] = byID(p.land)
		if !lowest {
			l.Paint["fill-opacity"] = 0.45
		}
	}
	// Neighbours meet exactly: smoothing their edges would show the water
	// between them.
	l.Paint["fill-antialias"] = false
	return l
}

// line draws the borders of a type: between two regions of it, and where
// nothing of the type lies beyond, which mostly is a coast.
func (p *palette) line(typ string) styleLayer {
	l := of(typ+"_line", typ+"_line", "line")
	l.Layout = map[string]any{"line-join": "round", "line-cap": "round"}
	between := []any{"all", []any{"has", "left"}, []any{"has", "right"}}
	color, thin, thick := p.fine, 0.3, 1.2
	switch typ {
	case "continent", "country":
		color, thin, thick = p.border, 0.7, 2.2
	case "county":
		l.MinZoom = 4
	case "lake":
		color = p.shore
	}
	l.Paint["line-color"] = []any{"case", between, color, p.shore}
	l.Paint["line-width"] = byZoom(2, thin, 10, thick)
	return l
}

func (p *palette) places() styleLayer {
	l := of(placesLayer, placesLayer, "circle")
	// From a village to a city of ten million.
	size := func(small, large float64) []any {
		return []any{"interpolate", []any{"linear"}, []any{"log10", []any{"max", []any{"coalesce", []any{"get", "population"}, 1}, 1}}, 3, small, 7, large}
	}
	l.Paint["circle-radius"] = byZoom(1, size(0.6, 2.2), 9, size(2, 6))
	l.Paint["circle-color"] = p.dot
	l.Paint["circle-stroke-color"] = p.rim
	l.Paint["circle-stroke-width"] = byZoom(2, 0.3, 8, 1)
	return l
}

func (p *palette) airports() styleLayer {
	l := of(airportsLayer, airportsLayer, "circle")
	l.MinZoom = 5
	l.Paint["circle-radius"] = byZoom(5, 1.5, 10, 4)
	l.Paint["circle-color"] = p.rim
	l.Paint["circle-stroke-color"] = p.airport
	l.Paint["circle-stroke-width"] = byZoom(5, 1, 10, 2)
	return l
}

func (p *palette) text(layer, id, color string, size any) styleLayer {
	l := of(layer, id, "symbol")
	l.Layout = map[string]any{"text-field": []any{"get", "name"}, "text-size": size, "text-max-width": 8}
	l.Paint = map[string]any{"text-color": color, "text-halo-color": p.halo, "text-halo-width": 1.2}
	return l
}

// names writes the names of regions, those of large ones first.
func (p *palette) names(typ string) styleLayer {
	color, size := p.quiet, byZoom(2, 10, 8, 14)
	if typ == "country" || typ == "continent" {
		color, size = p.ink, byZoom(1, 11, 6, 17)
	}
	l := p.text(typ+"_label", typ+"_label", color, size)
	l.Layout["symbol-sort-key"] = []any{"get", "rank"}
	return l
}

// pointNames writes the names of places or airports below their dots.
func (p *palette) pointNames(layer string, size float64) styleLayer {
	l := p.text(layer, layer+"_label", p.ink, size)
	l.MinZoom = 3
	if layer == airportsLayer {
		l.MinZoom = 7
	}
	l.Layout["text-anchor"], l.Layout["text-offset"], l.Layout["text-optional"] = "top", []float64{0, 0.5}, true
	if layer == placesLayer {
		l.Layout["symbol-sort-key"] = []any{"-", []any{"coalesce", []any{"get", "population"}, 0}}
	}
	return l
}
