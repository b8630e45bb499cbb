package tile

import (
	"slices"
	"strings"

	"quadrille/cmd/tileserver/internal/basemaps"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/theme"
)

// askedMaps returns the base maps that the parameter basemap names, the lowest first. It returns
// all if the parameter is absent, and none for "none".
func (s *Handlers) askedMaps(q *endpoint.Params) (maps []basemaps.Map) {
	list := basemapParam.Of(q)
	if basemapParam.Given(q) && list == "" {
		q.Refuse("basemap", "List base maps of /status in basemap, set it to none, or leave it out for all.")
	}
	if list == "none" {
		return nil
	}
	asked := strings.Split(list, ",")
	all := s.BaseMaps.All()
	for _, m := range all {
		if list == "" || slices.Contains(asked, m.Name) {
			maps = append(maps, m)
		}
	}
	for _, name := range asked {
		if list != "" && !slices.ContainsFunc(all, func(m basemaps.Map) bool { return m.Name == name }) {
			q.Refuse("basemap", "List base maps of /status in basemap, or set it to none.")
		}
	}
	return maps
}

// mostLayers bounds the layers of a base map that are drawn. Typical archives have a dozen.
const mostLayers = 24

// baseMapPrefix is the prefix of the names of the sources of base maps.
const baseMapPrefix = "basemap:"

// under adds the sources of base maps, and returns the layers that draw them. From vector
// tiles it draws the areas and lines of their layers, in the colours of the theme.
func (p *palette) under(sources map[string]styleSource, maps []basemaps.Map, base string) (all []styleLayer) {
	for _, m := range maps {
		id := baseMapPrefix + m.Name
		source := styleSource{Type: "vector", URL: base + "/basemap/" + m.Name + ".json"}
		if m.IsPicture() {
			source.Type, source.TileSize = "raster", m.TileSize
			all = append(all, styleLayer{ID: id, Type: "raster", Source: id})
		} else {
			all = append(all, p.generic(id, m.Layers)...)
			if m.Format == basemaps.MLT {
				source.Encoding = mltEncoding
			}
		}
		sources[id] = source
	}
	return all
}

// A kind is the probable content of a layer, according to its name.
type kind uint8

const (
	ground kind = iota
	cover
	waters
	built
	ways
	limits
)

// kinds maps parts of layer names in common schemas to kinds.
var kinds = []struct {
	kind
	parts []string
}{
	{waters, []string{"water", "ocean", "sea", "lake", "river"}},
	{built, []string{"build", "urban", "resident", "settle"}},
	{ways, []string{"road", "street", "transport", "highway", "rail", "path", "way"}},
	{limits, []string{"bound", "border", "admin"}},
	{cover, []string{"cover", "use", "park", "wood", "forest", "glacier", "ice", "sand", "grass"}},
}

func kindOf(id string) kind {
	id = strings.ToLower(id)
	for _, k := range kinds {
		if slices.ContainsFunc(k.parts, func(part string) bool { return strings.Contains(id, part) }) {
			return k.kind
		}
	}
	return ground
}

// generic draws layers with unknown names: first areas, from the lowest, then lines.
func (p *palette) generic(source string, layers []basemaps.Layer) (all []styleLayer) {
	layers = slices.Clone(layers[:min(len(layers), mostLayers)])
	slices.SortStableFunc(layers, func(a, b basemaps.Layer) int { return int(kindOf(a.ID)) - int(kindOf(b.ID)) })
	m := &p.Map
	fill := map[kind]theme.Color{ground: m.Land[0], cover: m.Land[1], waters: m.Lake, built: m.Urban}
	line := map[kind]theme.Color{
		ground: m.Border.Other,
		cover:  m.Border.Other,
		waters: m.Lake,
		built:  m.Border.Other,
		ways:   m.Border.County,
		limits: m.Border.State,
	}
	layer := func(l basemaps.Layer, kind, geometry string) styleLayer {
		return styleLayer{
			ID: source + ":" + l.ID + "_" + kind, Type: kind, Source: source, SourceLayer: l.ID, MinZoom: float64(l.MinZoom),
			Filter: []any{"match", []any{"geometry-type"}, []any{geometry, "Multi" + geometry}, true, false}, Paint: map[string]any{},
		}
	}
	for _, l := range layers {
		if color, ok := fill[kindOf(l.ID)]; ok {
			area := layer(l, "fill", "Polygon")
			area.Paint["fill-color"] = color.CSS()
			all = append(all, area)
		}
	}
	for _, l := range layers {
		k := kindOf(l.ID)
		way := layer(l, "line", "LineString")
		way.Layout = map[string]any{"line-join": "round", "line-cap": "round"}
		way.Paint["line-color"] = line[k].CSS()
		way.Paint["line-width"] = byZoom(5, 0.4, 16, 3)
		all = append(all, way)
	}
	return all
}
