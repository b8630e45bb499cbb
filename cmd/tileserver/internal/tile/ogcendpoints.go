package tile

import (
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/ogcapi"
)

// Parameters of tilesets.
var (
	fDocumentParam        = ogcapi.Parameter("The format, instead of by `Accept`.", ogcapi.Documents)
	tileMatrixSetParam    = endpoint.Described(endpoint.InPath, "tileMatrixSetId", "The tile matrix set, of those that `/ogc/tileMatrixSets` lists.", endpoint.Schema{"type": "string", "enum": []string{"WebMercatorQuad"}}, "WebMercatorQuad")
	tiledCollectionsParam = endpoint.Text("collections", 1024, "Comma-separated: only these collections, by their ids or addresses.").Like("country,places")
	tileMatrixParam       = endpoint.Described(endpoint.InPath, "tileMatrix", "The tile matrix: the zoom.", endpoint.Schema{"type": "integer", "minimum": 0, "maximum": 22}, 4)
	tileRowParam          = endpoint.Described(endpoint.InPath, "tileRow", "The row, from the north: y.", endpoint.Schema{"type": "integer", "minimum": 0}, 5)
	tileColParam          = endpoint.Described(endpoint.InPath, "tileCol", "The column, from 180° west: x.", endpoint.Schema{"type": "integer", "minimum": 0}, 8)
	fVectorTileParam      = ogcapi.Parameter("The format, instead of by `Accept`; json is GeoJSON.", vectorTiles.formats).Like("json")
	tiledCollectionParam  = endpoint.Described(endpoint.InPath, "collectionId", "A collection that has tiles: a region type, `places`, `airports` or `points:name`.", endpoint.Schema{"type": "string", "minLength": 1, "maxLength": 1024}, "country")
	fMapTileParam         = ogcapi.Parameter("The format, instead of by `Accept`.", mapTiles.formats)
)

// ogcEndpoints are those of OGC API – Tiles.
func (s *Room) ogcEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		{
			Path: "/ogc/tileMatrixSets",
			ID:   "getTileMatrixSetsList", Tag: "ogc", Rank: 40,
			Summary: "The tile matrix sets",
			Params:  []endpoint.Param{fDocumentParam},
			Handle:  s.getTileMatrixSets, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": TileMatrixSets{}, "text/html": nil}, Keeps: endpoint.Varies,
			Headers:  []string{"Content-Security-Policy"},
			Problems: []string{"bad-parameter", "bad-host"},
			Dearest:  []string{"/ogc/tileMatrixSets?f=html"},
		},
		{
			Path: "/ogc/tileMatrixSets/{tileMatrixSetId}",
			ID:   "getTileMatrixSet", Tag: "ogc", Rank: 41,
			Summary: "The definition of a tile matrix set",
			Params:  []endpoint.Param{tileMatrixSetParam, fDocumentParam},
			Handle:  s.getTileMatrixSet, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": TileMatrixSet{}, "text/html": nil}, Keeps: endpoint.Varies,
			Headers:  []string{"Content-Security-Policy"},
			Problems: []string{"bad-parameter", "tile-matrix-set-not-found"},
			Dearest:  []string{"/ogc/tileMatrixSets/WebMercatorQuad", "/ogc/tileMatrixSets/WebMercatorQuad?f=html"},
		},
		{
			Path: "/ogc/tiles",
			ID:   "tiles_dataset_vector_getTileSetsList", Tag: "ogc", Rank: 42,
			Summary: "The tilesets of all data: vector tiles",
			Doc:     "There is one, since there is one tile matrix set.",
			Params:  []endpoint.Param{tiledCollectionsParam, fDocumentParam},
			Handle:  s.getTilesets(vectorTiles), Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": Tilesets{}, "text/html": nil}, Keeps: endpoint.Varies,
			Headers:  []string{"Content-Security-Policy"},
			Problems: []string{"bad-parameter", "bad-host", "collection-not-found", "dataset-missing"},
			Dearest:  []string{"/ogc/tiles", "/ogc/tiles?f=html"},
		},
		{
			Path: "/ogc/tiles/{tileMatrixSetId}",
			ID:   "tiles_dataset_vector_getTileSet", Tag: "ogc", Rank: 43,
			Summary: "The tileset of all data: vector tiles",
			Params:  []endpoint.Param{tileMatrixSetParam, tiledCollectionsParam, fDocumentParam},
			Handle:  s.getTileset(vectorTiles), Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": Tileset{}, "text/html": nil}, Keeps: endpoint.Varies,
			Headers:  []string{"Content-Security-Policy"},
			Problems: []string{"bad-parameter", "bad-host", "collection-not-found", "tile-matrix-set-not-found", "dataset-missing"},
			Dearest:  []string{"/ogc/tiles/WebMercatorQuad", "/ogc/tiles/WebMercatorQuad?f=html"},
		},
		{
			Path: "/ogc/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}",
			ID:   "tiles_dataset_vector_getTile", Tag: "ogc", Rank: 44,
			Summary: "A tile of all data",
			Doc:     "The tile that `/tiles` has, whose x is the column and whose y is the row. Vector tiles of collections of points go to zoom 22, others to zoom 13: clients enlarge them.",
			Params:  []endpoint.Param{tileMatrixSetParam, tileMatrixParam, tileRowParam, tileColParam, tiledCollectionsParam, fVectorTileParam, pictureThemeParam},
			Handle:  s.getTileOf(vectorTiles), Cost: endpoint.Mixed,
			Answers: endpoint.Content{"application/vnd.mapbox-vector-tile": nil, "application/vnd.maplibre-tile": nil, "application/geo+json": TileFeatures{}, "image/png": nil}, Keeps: endpoint.Tagged,
			Empty:    "The vector tile is empty.",
			Problems: []string{"bad-parameter", "tile-outside", "collection-not-found", "tile-matrix-set-not-found", "tile-too-complex", "dataset-missing"},
			Dearest: []string{
				"/ogc/tiles/WebMercatorQuad/0/0/0?f=json",
				"/ogc/tiles/WebMercatorQuad/4/5/8",
				"/ogc/tiles/WebMercatorQuad/3/2/4?f=png",
			},
		},
		{
			Path: "/ogc/collections/{collectionId}/tiles",
			ID:   "tiles_collection_vector_getTileSetsList", Tag: "ogc", Rank: 45,
			Summary: "The tilesets of a collection: vector tiles",
			Doc:     "There is one, since there is one tile matrix set.",
			Params:  []endpoint.Param{tiledCollectionParam, fDocumentParam},
			Handle:  s.getTilesets(vectorTiles), Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": Tilesets{}, "text/html": nil}, Keeps: endpoint.Varies,
			Headers:  []string{"Content-Security-Policy"},
			Problems: []string{"bad-parameter", "bad-host", "collection-not-found", "dataset-missing"},
			Dearest:  []string{"/ogc/collections/country/tiles"},
		},
		{
			Path: "/ogc/collections/{collectionId}/tiles/{tileMatrixSetId}",
			ID:   "tiles_collection_vector_getTileSet", Tag: "ogc", Rank: 46,
			Summary: "The tileset of a collection: vector tiles",
			Params:  []endpoint.Param{tiledCollectionParam, tileMatrixSetParam, fDocumentParam},
			Handle:  s.getTileset(vectorTiles), Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": Tileset{}, "text/html": nil}, Keeps: endpoint.Varies,
			Headers:  []string{"Content-Security-Policy"},
			Problems: []string{"bad-parameter", "bad-host", "collection-not-found", "tile-matrix-set-not-found", "dataset-missing"},
			Dearest:  []string{"/ogc/collections/country/tiles/WebMercatorQuad?f=html"},
		},
		{
			Path: "/ogc/collections/{collectionId}/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}",
			ID:   "tiles_collection_vector_getTile", Tag: "ogc", Rank: 47,
			Summary: "A tile of a collection",
			Doc:     "The tile that `/tiles` has, whose x is the column and whose y is the row. Vector tiles of collections of points go to zoom 22, others to zoom 13: clients enlarge them.",
			Params:  []endpoint.Param{tiledCollectionParam, tileMatrixSetParam, tileMatrixParam, tileRowParam, tileColParam, fVectorTileParam, pictureThemeParam},
			Handle:  s.getTileOf(vectorTiles), Cost: endpoint.Mixed,
			Answers: endpoint.Content{"application/vnd.mapbox-vector-tile": nil, "application/vnd.maplibre-tile": nil, "application/geo+json": TileFeatures{}, "image/png": nil}, Keeps: endpoint.Tagged,
			Empty:    "The vector tile is empty.",
			Problems: []string{"bad-parameter", "tile-outside", "collection-not-found", "tile-matrix-set-not-found", "tile-too-complex", "dataset-missing"},
			Dearest: []string{
				"/ogc/collections/country/tiles/WebMercatorQuad/0/0/0?f=json",
				"/ogc/collections/places/tiles/WebMercatorQuad/10/336/526?f=json",
				"/ogc/collections/country/tiles/WebMercatorQuad/3/2/4?f=png",
			},
		},
		{
			Path: "/ogc/map/tiles",
			ID:   "tiles_dataset_map_getTileSetsList", Tag: "ogc", Rank: 48,
			Summary: "The tilesets of all data: map tiles",
			Doc:     "There is one, since there is one tile matrix set.",
			Params:  []endpoint.Param{tiledCollectionsParam, fDocumentParam},
			Handle:  s.getTilesets(mapTiles), Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": Tilesets{}, "text/html": nil}, Keeps: endpoint.Varies,
			Headers:  []string{"Content-Security-Policy"},
			Problems: []string{"bad-parameter", "bad-host", "collection-not-found", "dataset-missing"},
			Dearest:  []string{"/ogc/map/tiles"},
		},
		{
			Path: "/ogc/map/tiles/{tileMatrixSetId}",
			ID:   "tiles_dataset_map_getTileSet", Tag: "ogc", Rank: 49,
			Summary: "The tileset of all data: map tiles",
			Params:  []endpoint.Param{tileMatrixSetParam, tiledCollectionsParam, fDocumentParam},
			Handle:  s.getTileset(mapTiles), Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": Tileset{}, "text/html": nil}, Keeps: endpoint.Varies,
			Headers:  []string{"Content-Security-Policy"},
			Problems: []string{"bad-parameter", "bad-host", "collection-not-found", "tile-matrix-set-not-found", "dataset-missing"},
			Dearest:  []string{"/ogc/map/tiles/WebMercatorQuad?f=html"},
		},
		{
			Path: "/ogc/map/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}",
			ID:   "tiles_dataset_map_getTile", Tag: "ogc", Rank: 50,
			Summary: "A tile of all data, drawn",
			Doc:     "The tile that `/tiles` has, whose x is the column and whose y is the row. There are all zooms.",
			Params:  []endpoint.Param{tileMatrixSetParam, tileMatrixParam, tileRowParam, tileColParam, tiledCollectionsParam, fMapTileParam, pictureThemeParam},
			Handle:  s.getTileOf(mapTiles), Cost: endpoint.Mixed,
			Answers: endpoint.Content{"image/png": nil}, Keeps: endpoint.Tagged,
			Problems: []string{"bad-parameter", "tile-outside", "collection-not-found", "tile-matrix-set-not-found", "tile-too-complex", "dataset-missing"},
			Dearest: []string{
				"/ogc/map/tiles/WebMercatorQuad/23/0/0",
				"/ogc/map/tiles/WebMercatorQuad/0/0/0",
				"/ogc/map/tiles/WebMercatorQuad/3/2/4?collections=country",
			},
		},
		{
			Path: "/ogc/collections/{collectionId}/map/tiles",
			ID:   "tiles_collection_map_getTileSetsList", Tag: "ogc", Rank: 51,
			Summary: "The tilesets of a collection: map tiles",
			Doc:     "There is one, since there is one tile matrix set.",
			Params:  []endpoint.Param{tiledCollectionParam, fDocumentParam},
			Handle:  s.getTilesets(mapTiles), Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": Tilesets{}, "text/html": nil}, Keeps: endpoint.Varies,
			Headers:  []string{"Content-Security-Policy"},
			Problems: []string{"bad-parameter", "bad-host", "collection-not-found", "dataset-missing"},
			Dearest:  []string{"/ogc/collections/country/map/tiles"},
		},
		{
			Path: "/ogc/collections/{collectionId}/map/tiles/{tileMatrixSetId}",
			ID:   "tiles_collection_map_getTileSet", Tag: "ogc", Rank: 52,
			Summary: "The tileset of a collection: map tiles",
			Params:  []endpoint.Param{tiledCollectionParam, tileMatrixSetParam, fDocumentParam},
			Handle:  s.getTileset(mapTiles), Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": Tileset{}, "text/html": nil}, Keeps: endpoint.Varies,
			Headers:  []string{"Content-Security-Policy"},
			Problems: []string{"bad-parameter", "bad-host", "collection-not-found", "tile-matrix-set-not-found", "dataset-missing"},
			Dearest:  []string{"/ogc/collections/country/map/tiles/WebMercatorQuad"},
		},
		{
			Path: "/ogc/collections/{collectionId}/map/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}",
			ID:   "tiles_collection_map_getTile", Tag: "ogc", Rank: 53,
			Summary: "A tile of a collection, drawn",
			Doc:     "The tile that `/tiles` has, whose x is the column and whose y is the row. There are all zooms.",
			Params:  []endpoint.Param{tiledCollectionParam, tileMatrixSetParam, tileMatrixParam, tileRowParam, tileColParam, fMapTileParam, pictureThemeParam},
			Handle:  s.getTileOf(mapTiles), Cost: endpoint.Mixed,
			Answers: endpoint.Content{"image/png": nil}, Keeps: endpoint.Tagged,
			Problems: []string{"bad-parameter", "tile-outside", "collection-not-found", "tile-matrix-set-not-found", "tile-too-complex", "dataset-missing"},
			Dearest: []string{
				"/ogc/collections/country/map/tiles/WebMercatorQuad/23/0/0",
				"/ogc/collections/country/map/tiles/WebMercatorQuad/3/2/4",
			},
		},
	}
}
