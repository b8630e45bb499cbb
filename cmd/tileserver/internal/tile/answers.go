package tile

import "quadrille/cmd/tileserver/internal/listing"

// Answers are the types of the room's answers.
var Answers = []any{TileFeatures{}, TileJSON{}, RasterTileJSON{}, MapStyle{}, Tileset{}, Tilesets{}, TileMatrixSet{}, TileMatrixSets{}}

// TileFeatures says how a tile looks that is written as bytes.
type TileFeatures struct {
	_ struct{} `doc:"A tile as GeoJSON."`
	listing.Features[struct {
		ID any `json:"id,omitempty" schema:"type=string|integer"`
		listing.Feature[struct {
			Type        string `json:"type"`
			Coordinates []any  `json:"coordinates"`
		}, map[string]any]
	}]
}
