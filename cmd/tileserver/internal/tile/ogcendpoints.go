package tile

import (
	"slices"
	"strings"

	"quadrille/cmd/tileserver/internal/endpoint"
)

// ogcEndpoints returns the endpoints of OGC API – Tiles.
func (s *Handlers) ogcEndpoints() []endpoint.Endpoint {
	tiledCollectionParam := endpoint.DescribedParam(endpoint.InPath, "collectionId",
		"A collection that has tiles: a region type, "+s.tiledNames()+" or `points:name`.",
		endpoint.Schema{"type": "string", "minLength": 1, "maxLength": 1024}, "country")
	list := []endpoint.Endpoint{
		{
			Path: "/ogc/tileMatrixSets",
			ID:   "getTileMatrixSetsList", Tag: "ogc", Rank: 40,
			Summary: "The tile matrix sets",
			Params:  []endpoint.Param{fDocumentParam},
			Handle:  s.getTileMatrixSets, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": TileMatrixSets{}, "text/html": nil}, CachePolicy: endpoint.CacheVaries,
			Headers:  []string{"Content-Security-Policy"},
			Problems: []string{"bad-parameter", "bad-host"},
		},
		{
			Path: "/ogc/tileMatrixSets/{tileMatrixSetId}",
			ID:   "getTileMatrixSet", Tag: "ogc", Rank: 41,
			Summary: "The definition of a tile matrix set",
			Params:  []endpoint.Param{tileMatrixSetParam, fDocumentParam},
			Handle:  s.getTileMatrixSet, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": TileMatrixSet{}, "text/html": nil}, CachePolicy: endpoint.CacheVaries,
			Headers:  []string{"Content-Security-Policy"},
			Problems: []string{"bad-parameter", "tile-matrix-set-not-found"},
		},
	}
	for _, k := range []*tilesetKind{vectorTiles, mapTiles} {
		list = append(list, s.tilesetEndpoints(k, 42+len(list)-2, "/ogc/"+k.path, "tiles_dataset_"+k.dataType, "all data",
			tiledCollectionsParam)...)
		list = append(list, s.tilesetEndpoints(k, 42+len(list)-2, "/ogc/collections/{collectionId}/"+k.path,
			"tiles_collection_"+k.dataType, "a collection", tiledCollectionParam)...)
	}
	return list
}

// tilesetEndpoints returns the endpoints of the tilesets of one kind, for all data or for a
// collection: the list, the tileset and its tiles. Their ids have the endings that the standard
// requires.
func (s *Handlers) tilesetEndpoints(k *tilesetKind, rank int, path, id, of string, which endpoint.Param) []endpoint.Endpoint {
	tile := endpoint.Endpoint{
		Path: path + "/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}",
		ID:   id + "_getTile", Tag: "ogc", Rank: rank + 2,
		Summary: "A tile of " + of,
		Doc: "In WebMercatorQuad the tile that `/tiles` has, whose x is the column and whose y is the row. Vector tiles of collections of " +
			"points go to zoom 22, others to zoom 13: clients enlarge them. WorldCRS84Quad has the same in degrees, " +
			"as deep, but no GeoJSON: its zoom z is as wide as zoom z+1. Beyond 85.0511° it has polygons; points there are on that parallel.",
		Params: []endpoint.Param{
			which,
			tileMatrixSetParam,
			tileMatrixParam,
			tileRowParam,
			tileColParam,
			fVectorTileParam,
			pictureThemeParam,
			colorParam, classesParam, schemeParam,
			endpoint.Names,
			fieldsParam,
			filtersParam,
		},
		TakesFilters: true,
		Handle:       s.getTileOf(k), Cost: endpoint.Mixed,
		Answers: endpoint.Content{
			"application/vnd.mapbox-vector-tile": nil,
			"application/vnd.maplibre-tile":      nil,
			"application/geo+json":               TileFeatures{},
			"image/png":                          nil,
		},
		CachePolicy: endpoint.CacheTagged,
		Empty:       "The vector tile is empty.",
		Problems: []string{"bad-parameter", "tile-outside", "collection-not-found", "tile-matrix-set-not-found", "tile-too-complex",
			"dataset-missing", "search-too-wide"},
	}
	if k == mapTiles {
		tile.Summary += ", drawn"
		tile.Doc = "In WebMercatorQuad the tile that `/tiles` has, whose x is the column and whose y is the row; in WorldCRS84Quad the same in " +
			"degrees. There are all zooms."
		tile.Params[5], tile.Answers, tile.Empty = fMapTileParam, endpoint.Content{"image/png": nil}, ""
		// Pictures show no properties.
		tile.Params = slices.DeleteFunc(tile.Params, func(p endpoint.Param) bool { return p == endpoint.Param(fieldsParam) })
	}
	list := []endpoint.Endpoint{
		{
			Path: path,
			ID:   id + "_getTileSetsList", Tag: "ogc", Rank: rank,
			Summary: "The tilesets of " + of + ": " + k.title,
			Doc:     "There is one for each tile matrix set.",
			Params:  []endpoint.Param{which, fDocumentParam, endpoint.Names, filtersParam}, TakesFilters: true,
			Handle: s.getTilesets(k), Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": Tilesets{}, "text/html": nil}, CachePolicy: endpoint.CacheVaries,
			Headers:  []string{"Content-Security-Policy"},
			Problems: []string{"bad-parameter", "bad-host", "collection-not-found", "search-too-wide", "dataset-missing"},
		},
		{
			Path: path + "/{tileMatrixSetId}",
			ID:   id + "_getTileSet", Tag: "ogc", Rank: rank + 1,
			Summary: "The tileset of " + of + ": " + k.title,
			Params:  []endpoint.Param{which, tileMatrixSetParam, fDocumentParam, endpoint.Names, filtersParam}, TakesFilters: true,
			Handle: s.getTileset(k), Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": Tileset{}, "text/html": nil}, CachePolicy: endpoint.CacheVaries,
			Headers: []string{"Content-Security-Policy"},
			Problems: []string{
				"bad-parameter", "bad-host", "collection-not-found", "tile-matrix-set-not-found", "search-too-wide", "dataset-missing",
			},
		},
		tile,
	}
	if k == mapTiles {
		for i := range list[:2] {
			list[i].Params = append(list[i].Params, colorParam, classesParam, schemeParam)
		}
	}
	for _, e := range list { // the parameter which may be of the path or of the query
		slices.SortStableFunc(e.Params, func(a, b endpoint.Param) int { return -strings.Compare(a.Declaration().In, b.Declaration().In) })
	}
	return list
}
