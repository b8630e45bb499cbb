package tile

import (
	"slices"

	"quadrille/cmd/tileserver/internal/endpoint"
)

// added has the endpoints that other files declare.
var added endpoint.AddedEndpoints[*Handlers]

// Endpoints returns the endpoints of this package.
func (s *Handlers) Endpoints() []endpoint.Endpoint {
	return added.AppendTo(s, slices.Concat(s.ogcEndpoints(), s.tileEndpoints(), s.documentEndpoints())...)
}

// tileEndpoints returns the endpoints of tiles.
func (s *Handlers) tileEndpoints() []endpoint.Endpoint {
	layers := s.layersParam()
	return []endpoint.Endpoint{
		{
			Path: "/tiles/{layers}/{z}/{x}/{y}.{format}", Route: "/tiles/:layers/:z/:x/:file",
			ID: "getTile", Tag: "tiles", Rank: 1,
			Summary: "A tile",
			Doc: "A region type `T` is three layers of a vector tile: `T`, polygons with `id`, `name` and `map_color`, a " +
				"number from 0 to 5 that no neighbour has, and the properties that `fields` names; `T_line`, borders with the ids `left` and `right` of them; and " +
				"`T_label`, a point inside each region with `region`, which is the id of it, `name` and `rank`. A label has " +
				"another number than its polygon and no `id`, so that a client finds the polygon by either.\n\nA collection of " +
				"points is one layer of its own name: points with their `id`, `name` and at most 20 properties that are a text, a " +
				"number or a boolean, texts at most 200 bytes long; and where points are near to each other, clusters with " +
				"`cluster`, `point_count`, `point_count_abbreviated`, such as 1.2k, and `cluster_id`: `/points/NAME/cluster/ID` " +
				"lists what is in them. As a tile has 512 pixels, no two features of it or of the tiles around it are less than " +
				"32 pixels apart. GeoJSON has all properties. A tile of a live collection is of this moment and may not be " +
				"kept.\n\nAs a MapLibre Tile (`mlt`) the layers have the same features, ids, attributes and coordinates. An " +
				"attribute is of one type in all features of a layer: where a collection has texts and numbers by one name, they " +
				"are texts.\n\nAn empty tile is 204 as a vector tile, an empty collection as GeoJSON and a picture of nothing but water.",
			Params: []endpoint.Param{
				layers,
				endpoint.Zoom,
				endpoint.Column,
				endpoint.Row,
				formatParam,
				pictureThemeParam,
				colorParam, classesParam, schemeParam,
				endpoint.Names,
				fieldsParam,
				pixelsParam,
				filtersParam,
			},
			TakesFilters: true,
			Handle:       s.getTile, Cost: endpoint.Mixed,
			Answers: endpoint.Content{
				"application/vnd.mapbox-vector-tile": nil,
				"application/vnd.maplibre-tile":      nil,
				"application/geo+json":               TileFeatures{},
				"image/png":                          nil,
			},
			CachePolicy: endpoint.CacheTagged,
			Empty:       "The vector tile is empty.",
			Problems: []string{"bad-parameter", "tile-outside", "unknown-format", "unknown-layer", "region-not-found",
				"tile-too-complex", "dataset-missing", "search-too-wide"},
			Example: endpoint.Example{Request: "/tiles/places/12/2145/1434.geojson"},
		},
		{
			Path: "/tiles/{layers}/{z}/{x}/{y}@2x.png", Route: "/tiles/:layers/:z/:x/:file",
			ID: "getTileTwice", Tag: "tiles", Rank: 2,
			Summary: "A tile drawn at twice the resolution",
			Params: []endpoint.Param{layers, endpoint.Zoom, endpoint.Column, endpoint.Row, pictureThemeParam,
				colorParam, classesParam, schemeParam, endpoint.Names, filtersParam}, TakesFilters: true,
			Answers: endpoint.Content{"image/png": nil}, CachePolicy: endpoint.CacheTagged,
			Problems: []string{"bad-parameter", "tile-outside", "unknown-format", "unknown-layer", "region-not-found",
				"tile-too-complex", "dataset-missing", "search-too-wide"},
			Example: endpoint.Example{Request: "/tiles/country/4/8/5@2x.png"},
		},
		{
			Path: "/tiles/{layers}/{z}/{x}/{y}", Route: "/tiles/:layers/:z/:x/:file",
			ID: "getTileAccepted", Tag: "tiles", Rank: 3,
			Summary: "A tile in the form that Accept prefers",
			Doc: "The same tiles by addresses without an extension: a Mapbox vector tile unless `Accept` prefers a " +
				"MapLibre Tile, GeoJSON or a picture. Caches must heed `Vary`; addresses with an extension are the same for all.",
			Params: []endpoint.Param{layers, endpoint.Zoom, endpoint.Column, endpoint.Row, pictureThemeParam,
				colorParam, classesParam, schemeParam, endpoint.Names, fieldsParam, pixelsParam, filtersParam}, TakesFilters: true,
			Answers: endpoint.Content{
				"application/vnd.mapbox-vector-tile": nil,
				"application/vnd.maplibre-tile":      nil,
				"application/geo+json":               TileFeatures{},
				"image/png":                          nil,
			},
			CachePolicy: endpoint.CacheTagged,
			Empty:       "The vector tile is empty.",
			Problems: []string{"bad-parameter", "tile-outside", "unknown-layer", "region-not-found",
				"tile-too-complex", "dataset-missing", "search-too-wide"},
		},
		{
			Path: "/g/{generations}/tiles/{layers}/{z}/{x}/{y}.{format}", Route: "/g/:generations/tiles/:layers/:z/:x/:file",
			ID: "getPinnedTile", Tag: "tiles", Rank: 5,
			Summary: "A tile of named generations",
			Doc:     "The same tile for ever: caches may keep it for a year. `/tiles/{layers}.json?pinned=true` leads to these addresses.",
			Params: []endpoint.Param{
				s.generationsParam(),
				layers,
				endpoint.Zoom,
				endpoint.Column,
				endpoint.Row,
				formatParam,
				pictureThemeParam,
				colorParam, classesParam, schemeParam,
				endpoint.Names,
				fieldsParam,
				pixelsParam,
				filtersParam,
			},
			TakesFilters: true,
			Handle:       s.getPinnedTile, Cost: endpoint.Mixed,
			Answers: endpoint.Content{
				"application/vnd.mapbox-vector-tile": nil,
				"application/vnd.maplibre-tile":      nil,
				"application/geo+json":               TileFeatures{},
				"image/png":                          nil,
			},
			CachePolicy: endpoint.CacheTagged,
			Empty:       "The vector tile is empty.",
			Problems: []string{"bad-parameter", "tile-outside", "unknown-format", "unknown-layer", "region-not-found",
				"tile-too-complex", "dataset-missing", "search-too-wide", "generation-gone", "generation-unknown"},
		},
	}
}

// documentEndpoints returns the endpoints of documents for map libraries, with the addresses of
// tiles and the style to draw them.
func (s *Handlers) documentEndpoints() []endpoint.Endpoint {
	layers := s.layersParam()
	return []endpoint.Endpoint{
		{
			Path: "/tiles/{layers}.json", Route: "/tiles/:file",
			ID: "getTileJSON", Tag: "tiles", Rank: 3,
			Summary: "TileJSON of layers",
			Doc: "Give its address to a map library; it leads to the tiles. Those of collections of points go to zoom 22, " +
				"and have no addresses that name generations; nor have those of regions with `names=`.",
			Params: []endpoint.Param{layers, pinnedParam, pictureThemeParam, scaleParam,
				colorParam, classesParam, schemeParam, endpoint.Names, fieldsParam, pixelsParam, filtersParam}, TakesFilters: true,
			Handle: s.getTileJSON, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": TileJSON{}}, CachePolicy: endpoint.CacheTagged,
			Problems: []string{"bad-parameter", "bad-host", "unknown-layer", "region-not-found", "search-too-wide", "dataset-missing"},
			Example:  endpoint.Example{Request: "/tiles/places.json"},
		},
		{
			Path: "/tiles/{layers}.mlt.json", Route: "/tiles/:file",
			ID: "getMLTTileJSON", Tag: "tiles", Rank: 4,
			Summary: "TileJSON of the layers as MapLibre Tiles",
			Doc:     "As `/tiles/{layers}.json`, with `encoding`, by which MapLibre GL JS since 5.12 and MapLibre Native read tiles of this format.",
			Params:  []endpoint.Param{layers, pinnedParam, pictureThemeParam, scaleParam, endpoint.Names, fieldsParam, pixelsParam, filtersParam}, TakesFilters: true,
			Answers: endpoint.Content{"application/json": TileJSON{}}, CachePolicy: endpoint.CacheTagged,
			Problems: []string{"bad-parameter", "bad-host", "unknown-layer", "region-not-found", "search-too-wide", "dataset-missing"},
			Example:  endpoint.Example{Request: "/tiles/places.mlt.json"},
		},
		{
			Path: "/tiles/{layers}.png.json", Route: "/tiles/:file",
			ID: "getPictureTileJSON", Tag: "tiles", Rank: 4,
			Summary: "TileJSON of the layers as pictures",
			Doc: "Give its address to a map library that draws pictures. Zooms, bounds and sources are those of the vector " +
				"tiles; with `scale=2` the pictures are of twice the resolution, 512 pixels for a tile of 256.",
			Params: []endpoint.Param{layers, pinnedParam, pictureThemeParam, scaleParam,
				colorParam, classesParam, schemeParam, endpoint.Names, filtersParam}, TakesFilters: true,
			Answers: endpoint.Content{"application/json": RasterTileJSON{}}, CachePolicy: endpoint.CacheTagged,
			Problems: []string{"bad-parameter", "bad-host", "unknown-layer", "region-not-found", "search-too-wide", "dataset-missing"},
			Example:  endpoint.Example{Request: "/tiles/places.png.json?scale=2&theme=dark"},
		},
		{
			Path: "/style.json",
			ID:   "getStyle", Tag: "tiles", Rank: 5,
			Summary: "A style for MapLibre",
			Doc: "Draws the layers in quiet colours, over base maps only their lines and names: `new " +
				"maplibregl.Map({container: 'map', style: '/style.json'})`. Unless the operator has given the server a source of " +
				"glyphs, names are drawn with fonts of the client, which MapLibre GL JS does since 5.11; for clients that cannot, " +
				"and refuse such a style, add `names=false`.",
			Params: []endpoint.Param{styleLayersParam, themeParam, namesParam, endpoint.Lang, basemapParam, encodingParam, colorParam, classesParam, schemeParam, filtersParam}, TakesFilters: true,
			Handle: s.getStyle, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": MapStyle{}}, CachePolicy: endpoint.CacheTagged,
			Problems: []string{"bad-parameter", "bad-host", "unknown-layer", "region-not-found", "search-too-wide", "dataset-missing"},
			Example:  endpoint.Example{Request: "/style.json?layers=country&names=false&basemap=none"},
		},
		{
			Path: spritePath + ".json", OtherPaths: []string{spritePath + ".png", spritePath + "@2x.json", spritePath + "@2x.png"},
			ID: "getSprite", Tag: "tiles", Rank: 6,
			Summary: "The pictures of the style",
			Doc: "A sprite of the MapLibre Style Specification with one picture, a dot in the form of a distance field, " +
				"which the style draws in its colours and sizes. It is the same for both densities.",
			Handle: s.getSprite, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": SpriteIndex{}, "image/png": nil}, CachePolicy: endpoint.CacheTagged,
		},
	}
}

// generationsParam declares the parameter for generations in a path.
func (s *Handlers) generationsParam() endpoint.Param {
	return endpoint.DescribedParam(endpoint.InPath, "generations",
		"What the TileJSON has: the data sets that the tile is made from, each with its generation, and a mark of them.",
		endpoint.Schema{"type": "string", "maxLength": 8192, "pattern": `^[a-z0-9_.-]+-[0-9a-f]{8}$`}, "boundaries.3.places.2-1f0c77ab")
}
