package tile

import (
	"slices"
	"strings"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/ogcapi"
	"quadrille/cmd/tileserver/internal/theme"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/quadkey"
)

// These parameters are only for the endpoints of this package.
var (
	formatParam = endpoint.DescribedParam(endpoint.InPath, "format",
		"mvt and pbf are the same: a Mapbox vector tile of version 2. mlt is a MapLibre Tile of version 1 of the same content.", endpoint.Schema{
			"type": "string",
			"enum": []string{"mvt", "pbf", "mlt", "geojson", "png"},
		}, "geojson")
	pictureThemeParam = endpoint.Word("theme",
		"Colours of a png; other formats have none. Political gives countries colours of their own; light and dark are "+
			"neutral, for data over them. The water is painted unless the layers are only points or single regions; plain "+
			"leaves it transparent, for a map over another one.", theme.Themes...).WithBound("default", theme.Themes[0])
	pinnedParam = endpoint.Flag("pinned",
		"Whether the tiles have addresses that name their generations and may be kept for ever.").WithExample(true)
	pixelsParam = endpoint.Word("pixels",
		"How large the map draws a tile. Places are chosen for 256 pixels; with 512, as MapLibre draws vector tiles, a tile "+
			"has those of the four tiles in it, and points of your own stand as far apart as on the map page. Pictures have none.",
		"256", "512").WithDefault("256").WithExample("512")
	scaleParam = endpoint.Word("scale",
		"Of the document of pictures: how many pixels of a picture stand for one of the map, whose tiles are 256 wide. "+
			"Vector tiles have none.", "1", "2").WithDefault("1")
	styleLayersParam = endpoint.Text("layers", 1024,
		"As in the paths of tiles. Left out, it stands for `all` and the public collections of points.").WithExample("country")
	themeParam = endpoint.Word("theme",
		"Colours: political gives countries colours of their own; light and dark are neutral, for data over them; plain has "+
			"no background, for a map over another one.", theme.Themes...).WithDefault(theme.Themes[0])
	namesParam   = endpoint.Flag("names", "Names on the map.").WithDefault(true)
	basemapParam = endpoint.Text("basemap", 1024,
		"Base maps that lie under the layers, joined by commas, or `none`. Left out, it stands for all that the server has. "+
			"Vector tiles are drawn plainly, by the names of their layers.")
	encodingParam = endpoint.Word("encoding",
		"The format of the vector tiles: Mapbox Vector Tiles, or MapLibre Tiles for MapLibre GL JS since 5.12 and MapLibre Native.",
		"mvt", mltEncoding).WithDefault("mvt").WithExample("mlt")
)

// These are parameters of tilesets.
var (
	fDocumentParam     = ogcapi.FormatParam("The format, instead of by `Accept`.", ogcapi.DocumentFormats)
	tileMatrixSetParam = endpoint.DescribedParam(endpoint.InPath, "tileMatrixSetId",
		"The tile matrix set, of those that `/ogc/tileMatrixSets` lists.",
		endpoint.Schema{"type": "string", "enum": []string{webMercatorQuad, worldCRS84Quad}}, "WebMercatorQuad")
	tiledCollectionsParam = endpoint.Text("collections", 1024,
		"Comma-separated: only these collections, by their ids or addresses.").WithExample("country,places")
	tileMatrixParam = endpoint.DescribedParam(endpoint.InPath, "tileMatrix", "The tile matrix: the zoom.",
		endpoint.Schema{"type": "integer", "minimum": 0, "maximum": 22}, 4)
	tileRowParam = endpoint.DescribedParam(endpoint.InPath, "tileRow", "The row, from the north: y.",
		endpoint.Schema{"type": "integer", "minimum": 0}, 5)
	tileColParam = endpoint.DescribedParam(endpoint.InPath, "tileCol", "The column, from 180° west: x.",
		endpoint.Schema{"type": "integer", "minimum": 0}, 8)
)

// layersParam declares the parameter for the layers in a path.
func (s *Handlers) layersParam() endpoint.Param {
	return endpoint.DescribedParam(endpoint.InPath, "layers",
		"Comma-separated: region types, `type:id` for one region, "+s.tiledNames()+
			", `points:name` for a collection of points, or `all`, which has no collections.",
		endpoint.Schema{"type": "string", "minLength": 1, "maxLength": 1024}, "country,places")
}

// tiledNames returns a list of the layers that are one data set, for texts.
func (s *Handlers) tiledNames() string {
	return "`" + strings.Join(s.Views.TiledLayerNames(), "`, `") + "`"
}

// doubledBy reads the parameter pixels. The deepest tiles have no child tiles, so they cannot be
// doubled.
func doubledBy(q *endpoint.Params, picture bool, zoom uint8) bool {
	if pixelsParam.Given(q) && picture {
		q.Refuse("pixels", "Leave out pixels: pictures of 512 pixels are those that end in @2x.png.")
	}
	return pixelsParam.Of(q) == "512" && zoom < quadkey.MaxZoom
}

// pictureTheme reads the theme and returns its index in theme.Themes. Forms without colours are the
// same in all themes.
func pictureTheme(q *endpoint.Params, f web.Format) (uint8, error) {
	name := pictureThemeParam.Of(q)
	if q.Err != nil || !f.IsPicture() {
		return 0, q.Err
	}
	return uint8(max(slices.Index(theme.Themes, name), 0)), nil
}
