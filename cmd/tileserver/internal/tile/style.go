package tile

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/look"
	"quadrille/cmd/tileserver/internal/under"
	"quadrille/cmd/tileserver/internal/web"
)

// getStyle answers GET /style.json?layers=&theme=&names=&basemap=&encoding=: a style that
// draws the layers from the tiles they have, as TileJSON tells, over the base maps.
//
// Without a source of glyphs the names are for clients that have fonts of their
// own, as MapLibre GL JS since 5.11; names=false leaves them out for others,
// which refuse a style that has them.
func (s *Room) getStyle(c echo.Context, q *endpoint.Params) error {
	r := c.Request()
	list, name := styleLayersParam.Of(q), themeParam.Of(q)
	names, encoding := namesParam.Of(q), encodingParam.Of(q)
	if styleLayersParam.Given(q) && list == "" {
		q.Refuse("layers", "List at least one layer in layers, or leave it out for all.")
	}
	maps := s.askedMaps(q)
	if q.Err != nil {
		return q.Err
	}
	base, err := s.BaseURL(r)
	if err != nil {
		return err
	}
	v := s.pinTiles()
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
	a := web.Answer{Form: web.FormJSON, Cache: s.CacheControl, Coding: web.Accepted(r), Base: base}
	a.Tag = s.styleTag(r, a, v, base, name, names, encoding, set, maps)
	return s.SendJSON(c, a, func() (any, error) {
		style, err := s.makeStyle(r.Context(), v, set, maps, base, name, names)
		if err == nil && encoding == mltEncoding {
			style.inMLT()
		}
		return style, err
	})
}

func (s *Room) styleTag(r *http.Request, a web.Answer, v *view, base, theme string, names bool, encoding string, set *layerSet, maps []under.Map) web.Tag {
	h := s.TagStart.Bytes(r.URL.Path).Bytes(base).Bytes(theme).Bytes(strconv.FormatBool(names)).Bytes(encoding).Bytes(s.Glyphs).Number(uint64(set.hash)).Number(v.boundaries.ID)
	for i := range v.points[:v.singles] {
		h = h.Number(v.points[i].ID)
	}
	from, _ := v.from(set, nil)
	h = h.Number(from[1+v.singles])
	for _, m := range maps {
		h = h.Bytes(m.Name).Number(m.ID)
	}
	return h.Number(uint64(a.Coding)).Tag()
}

// inMLT makes the style draw from MapLibre Tiles instead. Base maps have the format of
// their archives.
func (style *MapStyle) inMLT() {
	for id, source := range style.Sources {
		if strings.HasPrefix(id, baseMapPrefix) {
			continue
		}
		source.URL = strings.TrimSuffix(source.URL, ".json") + mltFile + ".json"
		source.Encoding = mltEncoding
		style.Sources[id] = source
	}
}

// styleOrder are the region types that have a look of their own, in the order
// of drawing. All other types are drawn between counties and urban areas.
var styleOrder = []string{"continent", "country", "timezone", "state", "county", "", "urban", "lake"}

func (s *Room) makeStyle(ctx context.Context, v *view, set *layerSet, maps []under.Map, base, theme string, names bool) (*MapStyle, error) {
	tiles, err := describe(ctx, v, set, base)
	if err != nil {
		return nil, err
	}
	p := &palette{Theme: look.Get().Themes[theme]}
	style := &MapStyle{
		Version: 8,
		Name:    "Quadrille " + theme,
		Center:  [2]float64(tiles.Center[:2]),
		// Zooms of TileJSON are for tiles of 256 pixels, those of a style for
		// 512.
		Zoom:    max(tiles.Center[2]-1, 0),
		Glyphs:  s.Glyphs,
		Sources: sources(set, base),
	}
	if p.Map.Water.A > 0 {
		style.Layers = append(style.Layers, styleLayer{ID: "background", Type: "background", Paint: map[string]any{"background-color": p.Map.Water.CSS()}})
	}
	style.Layers = append(style.Layers, p.under(style.Sources, maps, base)...)
	types := slices.Clone(set.types)
	rank := func(typ string) int {
		if i := slices.Index(styleOrder, typ); i >= 0 {
			return i
		}
		return slices.Index(styleOrder, "")
	}
	slices.SortStableFunc(types, func(a, b string) int { return rank(a) - rank(b) })
	p.land, _ = set.ground()
	for _, typ := range types {
		if len(maps) == 0 { // regions would hide what lies under them
			style.Layers = append(style.Layers, p.fill(typ))
		}
	}
	// Borders of large regions run over those of the small ones in them.
	for _, typ := range slices.Backward(types) {
		if typ != "urban" {
			style.Layers = append(style.Layers, p.line(typ))
		}
	}
	well, others := set.known()
	for _, name := range well {
		style.Layers = append(style.Layers, knownLooks[name].dots(p)...)
	}
	for i, name := range others {
		style.Layers = append(style.Layers, p.dots(name, i), p.clusters(name, i))
	}
	if names {
		style.Layers = append(style.Layers, p.allNames(set, types, s.fonts())...)
	}
	return style, nil
}

// fonts are the faces of names: one that the source of glyphs must have, or
// else those of the client, which takes the first that it has.
func (s *Room) fonts() []string {
	if s.Glyphs != "" {
		return []string{"Noto Sans Regular"}
	}
	return look.GetNames().Fonts
}

// allNames writes the names. Names of later layers are placed first: names of
// countries, then the cities everybody knows, then all others.
func (p *palette) allNames(set *layerSet, types, fonts []string) (layers []styleLayer) {
	well, others := set.known()
	for _, name := range slices.Backward(well) {
		layers = append(layers, knownLooks[name].names(p))
	}
	for _, typ := range slices.Backward(types) {
		if typ != "country" && typ != "continent" {
			layers = append(layers, p.names(typ))
		}
	}
	for _, name := range others {
		layers = append(layers, p.nameOfPoint(name), p.countOfCluster(name))
	}
	for _, name := range slices.Backward(well) {
		if major := knownLooks[name].majorNames; major != nil {
			layers = append(layers, major(p))
		}
	}
	for _, typ := range slices.Backward(types) {
		if typ == "country" || typ == "continent" {
			layers = append(layers, p.names(typ))
		}
	}
	for i := range layers {
		layers[i].Layout["text-font"] = fonts
	}
	return layers
}
