package tile

import "quadrille/cmd/tileserver/internal/listing"

// TileFeatures describes a tile as GeoJSON, which the handlers write as bytes.
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
