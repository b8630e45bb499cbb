package basemap

import (
	"quadrille/cmd/tileserver/internal/endpoint"
)

// These parameters are only for the endpoints of this package.
var (
	nameParam = endpoint.DescribedParam(endpoint.InPath, "name", "Name of a base map, as /status lists them.",
		endpoint.Schema{"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"}, "world")
	formatParam = endpoint.DescribedParam(endpoint.InPath, "format",
		"That of the archive, as its TileJSON names it; mvt and pbf are the same, and so are jpg and jpeg.", endpoint.Schema{
			"type": "string",
			"enum": []string{"mvt", "pbf", "mlt", "png", "jpg", "jpeg", "webp", "avif"},
		}, "mvt")
)

// added has the endpoints that other files declare.
var added endpoint.AddedEndpoints[*Handlers]

// Endpoints returns the endpoints of this package.
func (s *Handlers) Endpoints() []endpoint.Endpoint {
	return added.AppendTo(s, []endpoint.Endpoint{
		{
			Path: "/basemap/{name}/{z}/{x}/{y}.{format}", Route: "/basemap/:name/:z/:x/:file",
			ID: "getBaseMapTile", Tag: "tiles", Rank: 7,
			Summary: "A tile of a base map",
			Doc: "The tile as it is stored in somebody's archive, which the operator has named by `--basemap`. It is sent " +
				"packed as it is stored where the client takes that by `Accept-Encoding`, and packed anew otherwise. What is not " +
				"in the archive is 204.",
			Params: []endpoint.Param{nameParam, endpoint.Zoom, endpoint.Column, endpoint.Row, formatParam},
			Handle: s.getTile, Cost: endpoint.Mixed,
			Answers: endpoint.Content{
				"application/vnd.mapbox-vector-tile": nil,
				"application/vnd.maplibre-tile":      nil,
				"image/png":                          nil,
				"image/jpeg":                         nil,
				"image/webp":                         nil,
				"image/avif":                         nil,
			},
			CachePolicy: endpoint.CacheTagged,
			Empty:       "The archive has no such tile.",
			Problems: []string{"bad-parameter", "tile-outside", "unknown-format", "unknown-basemap",
				"basemap-changing", "basemap-damaged"},
			Example: endpoint.Example{Request: "/basemap/world/3/4/2.mvt"},
		},
		{
			Path: "/basemap/{name}.json", Route: "/basemap/:file",
			ID: "getBaseMapTileJSON", Tag: "tiles", Rank: 8,
			Summary: "TileJSON of a base map",
			Doc:     "Give its address to a map library; it leads to the tiles.",
			Params:  []endpoint.Param{nameParam},
			Handle:  s.getTileJSON, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": TileJSON{}}, CachePolicy: endpoint.CacheTagged,
			Problems: []string{"bad-parameter", "bad-host", "unknown-basemap"},
			Example:  endpoint.Example{Request: "/basemap/world.json"},
		},
	}...)
}
