package tile

import (
	"cmp"
	"context"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/basemaps"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/theme"
	"quadrille/cmd/tileserver/internal/web"
)

// getStyle answers GET /style.json?layers=&theme=&names=&lang=&basemap=&encoding=: it is a style
// that draws the layers of the TileJSON on top of the base maps.
//
// Without a source of glyphs, names work only in clients with local fonts, such as MapLibre GL JS
// since 5.11. Other clients refuse such a style; for them names=false omits the names.
func (s *Handlers) getStyle(c echo.Context, q *endpoint.Params) error {
	r := c.Request()
	list := styleLayersParam.Of(q)
	how := styling{theme: themeParam.Of(q), lang: langOf(q, endpoint.Lang), encoding: encodingParam.Of(q), names: namesParam.Of(q)}
	if styleLayersParam.Given(q) && list == "" {
		q.Refuse("layers", "List at least one layer in layers, or leave it out for all.")
	}
	maps := s.askedMaps(q)
	how.color = coloringOf(q, true)
	if q.Err != nil {
		return q.Err
	}
	base, err := s.BaseURL(r)
	if err != nil {
		return err
	}
	v := viewOf(q.View())
	defer v.release()
	var set *layerSet
	if list != "" {
		set, err = s.resolveLayers(r.Context(), v, list)
	} else {
		set, err = s.everything(r.Context(), v)
	}
	if err != nil {
		return err
	}
	if err := v.filter(q, set); err != nil {
		return err
	}
	how.filters = v.filters
	asked := set
	if len(maps) == 0 && theme.GetTokens().Themes[how.theme].Map.Water.A > 0 {
		if set, err = s.withGround(r.Context(), v, set); err != nil {
			return err
		}
	}
	a := web.Answer{Format: web.FormatJSON, CacheControl: s.CacheControl, Coding: web.AcceptedCoding(r), Base: base}
	a.Tag = s.styleTag(r, a, v, base, how, set, maps)
	if _, live := v.colorFrom(how.color); live { // classes are of this moment
		a.Tag, a.CacheControl = web.Tag{}, web.NoStore
	}
	return s.SendJSON(c, a, func() (any, error) {
		ctx := s.WithClientOf(r.Context(), c)
		style, err := s.makeStyle(ctx, v, set, maps, base, how)
		if err == nil && set != asked { // it opens on the points, not on their ground
			var of *TileJSON
			if of, err = describe(ctx, v, asked, base); err == nil {
				style.open(of)
			}
		}
		return style, err
	})
}

// withGround returns a set of collections alone with the land of the map below them, if the server has
// boundaries.
func (s *Handlers) withGround(ctx context.Context, v *view, set *layerSet) (*layerSet, error) {
	types := v.types()
	i := slices.IndexFunc(landOrder, func(typ string) bool { return typ != "timezone" && slices.Contains(types, typ) })
	given := slices.ContainsFunc(set.points, func(name string) bool { return !strings.HasPrefix(name, ask.PointsPrefix) })
	if len(set.types) > 0 || given || i < 0 {
		return set, nil
	}
	land, err := s.resolveLayers(ctx, v, landOrder[i])
	if err != nil {
		return nil, err
	}
	both := *land
	both.drawings, both.fields = set.drawings, set.fields
	return both.with(set.points), nil
}

// open sets where the map opens. Zooms of TileJSON are for tiles of 256 pixels, those of a style
// for 512.
func (m *MapStyle) open(on *TileJSON) {
	m.Center, m.Zoom = [2]float64(on.Center[:2]), max(on.Center[2]-1, 0)
}

// styling has the parameters of a style.
type styling struct {
	theme, lang, encoding string
	filters               filters
	names                 bool
	color                 coloring
	// fields are the properties that tiles of the coloured layer are asked for, if they lack its
	// property otherwise.
	fields []string
}

func (s *Handlers) styleTag(r *http.Request, a web.Answer, v *view, base string, how styling, set *layerSet, maps []basemaps.Map) web.Tag {
	h := s.ETagSeed.Bytes(r.URL.Path).Bytes(base).Bytes(how.theme).Bytes(how.lang).Bytes(strconv.FormatBool(how.names))
	h = h.Bytes(how.color.layer).Bytes(how.color.property).Bytes(how.color.division).Bytes(how.color.scheme)
	h = h.Bytes(how.encoding).Bytes(how.filters.query).Bytes(s.Glyphs).Number(uint64(set.hash)).Number(v.Boundaries.ID)
	for i := range v.points[:v.singles] {
		h = h.Number(v.points[i].ID())
	}
	from, _ := v.from(set, nil)
	h = h.Number(from[1+v.singles])
	joined, _ := v.colorFrom(how.color)
	h = h.Number(joined)
	for _, m := range maps {
		h = h.Bytes(m.Name).Number(m.ID)
	}
	return h.Number(uint64(a.Coding)).Tag()
}

// styleOrder lists the region types with a special style, in the order of drawing. All other types
// are drawn between counties and urban areas.
var styleOrder = []string{"continent", "country", "timezone", "state", "county", "", "urban", "lake", "road", "river", "marine"}

func (s *Handlers) makeStyle(ctx context.Context, v *view, set *layerSet, maps []basemaps.Map, base string,
	how styling) (*MapStyle, error) {
	tiles, err := describe(ctx, v, set, base)
	if err != nil {
		return nil, err
	}
	p := newPalette(how.theme, set)
	p.glyphs = s.Glyphs != ""
	if how.lang != "" {
		p.name = []any{"coalesce", []any{"get", "name:" + how.lang}, p.name}
	}
	style := &MapStyle{
		Version: 8,
		Name:    "Quadrille " + how.theme,
		Glyphs:  s.Glyphs,
	}
	style.open(tiles)
	painted, err := s.color(ctx, v, set, how.color, how.theme, false)
	if err != nil {
		return nil, err
	}
	how.fields = set.fieldsFor(v, how.color)
	style.Sources = p.sources(set, base, how)
	if painted != nil {
		if len(maps) > 0 { // what lies under it must not change the colours otherwise
			painted.opacity = 0.75
		}
		style.Metadata = &styleMetadata{painted.legend}
	}
	if p.Map.Water.A > 0 {
		under := p.Map.Water
		if len(set.types) == 0 { // without a shore, nothing is sea
			under = p.Map.Land[0]
		}
		style.Layers = append(style.Layers, styleLayer{
			ID:    "background",
			Type:  "background",
			Paint: map[string]any{"background-color": under.CSS()},
		})
	}
	style.Layers = append(style.Layers, p.under(style.Sources, maps, base)...)
	types := slices.Clone(set.types)
	rank := func(typ string) int {
		if i := slices.Index(styleOrder, typ); i >= 0 && typ != how.color.layer {
			return i
		}
		return slices.Index(styleOrder, "")
	}
	slices.SortStableFunc(types, func(a, b string) int { return rank(a) - rank(b) })
	for _, typ := range types {
		if len(maps) == 0 || typ == how.color.layer { // other regions would hide what lies under them
			fills := p.fill(typ)
			for i := range fills {
				painted.paint(&fills[i], typ)
			}
			style.Layers = append(style.Layers, fills...)
		}
	}
	// Borders of large regions are drawn on top of those of the smaller regions inside them.
	for _, typ := range slices.Backward(types) {
		lines := p.lines(typ)
		for i := range lines {
			if !slices.ContainsFunc(tiles.VectorLayers, func(v vectorLayer) bool { return v.ID == typ }) { // it has only lines
				painted.paint(&lines[i], typ)
			}
		}
		style.Layers = append(style.Layers, lines...)
	}
	well, others := set.looked()
	if len(well) > 0 {
		style.Sprite = base + spritePath
	}
	style.Layers = append(style.Layers, p.allNames(set, types)...)
	for i, name := range others { // nothing is written over points and clusters
		dots := p.dots(name, i)
		painted.paint(&dots, name)
		style.Layers = append(style.Layers, dots, p.clusters(name, i))
	}
	for _, name := range others {
		style.Layers = append(style.Layers, p.nameOfPoint(name), p.countOfCluster(name))
	}
	if !how.names {
		style.Layers = slices.DeleteFunc(style.Layers, nameless)
	}
	// Types of lines have no polygons and no labels, and clients would report errors about missing
	// layers.
	style.Layers = slices.DeleteFunc(style.Layers, func(l styleLayer) bool {
		return l.SourceLayer != "" && !strings.HasPrefix(l.Source, baseMapPrefix) &&
			!slices.ContainsFunc(tiles.VectorLayers, func(v vectorLayer) bool { return v.ID == l.SourceLayer })
	})
	return style, nil
}

// nameless removes the text from a layer, and reports whether the layer is then empty.
func nameless(l styleLayer) bool {
	text := func(key string, _ any) bool { return strings.HasPrefix(key, "text-") }
	maps.DeleteFunc(l.Layout, text)
	maps.DeleteFunc(l.Paint, text)
	return l.Type == "symbol" && l.Layout["icon-image"] == nil
}

// allNames returns the layers of points that have a Drawing, with their dots, and the names of
// regions. Names of later layers are placed first, so the order follows the turns. But great cities
// come before most countries, whose names can move aside, and small countries come after all
// cities.
func (p *palette) allNames(set *layerSet, types []string) (layers []styleLayer) {
	type turn struct {
		at float64
		styleLayer
	}
	var all []turn
	turns := theme.GetNames().Places.Turns
	well, _ := set.looked()
	for _, name := range well {
		look := set.look(name)
		for i, l := range look.layers(p, name) {
			at := math.Inf(1)
			if i < len(look.tiers) {
				at = float64(turns[look.tiers[i]])
			}
			all = append(all, turn{at, l})
		}
	}
	for _, typ := range types {
		own := theme.GetNames().Region(typ).Turn
		at := []float64{max(float64(own), float64(turns["major"])+0.5)}
		if typ == "country" {
			at = []float64{float64(own), at[0], float64(turns["city"]) + 0.5}
		}
		for i, l := range p.names(typ) {
			all = append(all, turn{at[i], l})
		}
	}
	slices.SortStableFunc(all, func(a, b turn) int { return cmp.Compare(a.at, b.at) })
	for _, one := range slices.Backward(all) {
		layers = append(layers, one.styleLayer)
	}
	return layers
}

func newPalette(named string, set *layerSet) *palette {
	p := &palette{Theme: theme.GetTokens().Themes[named], name: []any{"get", "name"}, set: set}
	p.land, _ = set.ground()
	return p
}
