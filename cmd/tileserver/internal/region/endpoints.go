package region

import (
	"net/http"
	"slices"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/tiles"
)

const (
	// defaultLimit is higher than that of other lists, because a region in a list is short.
	defaultLimit = 100
	maxLimit     = 1000
)

// These parameters are only for the endpoints of this package.
var (
	snapParam = endpoint.Number("snap", "metres", 0, tiles.MaxSnapM,
		"Take the nearest region within so many metres for a type that has none at the point.")
	idParam = endpoint.Text("id", 1024,
		"Id of a region of the one type in `types`: the answer is the part of it in the box, as GeoJSON.")
	limitParam      = endpoint.Integer("limit", 1, maxLimit, "Most entries of a page.").WithDefault(defaultLimit)
	boxParam        = endpoint.BBox.WithDoc(endpoint.BBox.Doc + " Either this, `tile` or `region`.").AsOptional()
	regionTypeParam = endpoint.DescribedParam(endpoint.InPath, "type", "Its region type.", endpoint.Schema{"type": "string"}, "country")
	regionIDParam   = endpoint.DescribedParam(endpoint.InPath, "id", "Its id.", endpoint.Schema{"type": "string"}, "ch")
	// cursorParam is read last, so that errors about the parameters that belong to id come first.
	cursorParam = endpoint.Text("cursor", endpoint.MaxCursorBytes, endpoint.Cursor.Doc)
	// propertiesParam is the parameter of other lists, but regions have few properties in JSON.
	propertiesParam = listing.Properties.WithDoc("The regions' own properties beside their type, id, name and bbox, with commas between them. " +
		"If absent, tables (`csv` and `parquet`) have all of them, and other forms none.").WithExample([]string{"population"})
	sharesParam   = endpoint.Flag("shares", "With a polygon, and without `radius`, tell of each region how much ground it shares with it.")
	geometryParam = endpoint.Flag("geometry", "With its border.")
)

// added has the endpoints that other files declare.
var added endpoint.AddedEndpoints[*Handlers]

// Endpoints returns the endpoints of this package.
func (s *Handlers) Endpoints() []endpoint.Endpoint {
	return added.AppendTo(s, []endpoint.Endpoint{
		{
			Path: "/regions/at",
			ID:   "getRegionsAt", Tag: "regions", Rank: 1,
			Summary: "The regions at a point",
			Params:  []endpoint.Param{endpoint.Lat, endpoint.Lon, listing.Types, snapParam},
			Handle:  s.getRegionsAt, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": RegionsAtPoint{}}, CachePolicy: endpoint.CacheTagged,
			Problems: []string{"bad-parameter", "unknown-layer", "dataset-missing"},
			Example:  endpoint.Example{Request: "/regions/at?lat=38.5&lon=-98.3"},
		},
		{
			Path: "/regions/within",
			ID:   "getRegionsWithin", Tag: "regions", Rank: 2,
			Summary: "The regions in a box, a tile, a region or a polygon, or the part of one of them in a box",
			Doc: "In a box are those that meet it, if only at its edge. In a tile, a region or a polygon are those that share ground with " +
				"it: a region is in itself, " +
				"and a neighbour is not, unless two sources draw their border differently. A line is in it if it has a point " +
				"inside. With `radius` are those within that distance of the polygon, the line or the position, to two millimetres. " +
				"Forms other than `json` have their borders, whole; a page ends early where these are long.",
			Params: []endpoint.Param{
				boxParam,
				endpoint.Tile,
				listing.Region,
				listing.DrawnPolygon,
				listing.DrawnRadius,
				listing.Types,
				idParam,
				limitParam,
				cursorParam,
				s.form,
				propertiesParam,
				listing.SkipGeometry,
				sharesParam,
			},
			Handle: s.getRegionsWithin, Cost: endpoint.Heavy,
			Answers: list.Answers(), CachePolicy: endpoint.CacheTagged,
			Problems: []string{"bad-parameter", "unknown-layer", "region-not-found", "dataset-missing"},
			Example:  endpoint.Example{Request: "/regions/within?bbox=7,46,8,47&types=country"},
		},
		{
			Path: "/regions/within", Methods: []string{http.MethodPost},
			ID: "postRegionsWithin", Tag: "regions", Rank: 2,
			Summary: "The regions in an area",
			Doc:     "Those that share ground with it or, with `radius`, are within that distance of it. " + listing.DrawnText,
			Params: []endpoint.Param{
				listing.DrawnRadius, listing.Types, limitParam, endpoint.Cursor, s.form, propertiesParam, listing.SkipGeometry, sharesParam,
			},
			Handle: s.postRegionsWithin, Cost: endpoint.Heavy,
			Body: true, BodyRequired: true, BodyContent: listing.DrawnContent,
			Answers: list.Answers(), CachePolicy: endpoint.CacheNever,
			Problems: append([]string{"bad-parameter", "unknown-layer", "dataset-missing"}, listing.DrawnProblems...),
			Example:  endpoint.Example{Request: "/regions/within?types=state&shares=true", Body: listing.DrawnExample},
		},
		{
			Path: "/regions/count", Methods: []string{http.MethodPost},
			ID: "postRegionsCount", Tag: "regions", Rank: 4,
			Summary: "How many regions are in an area",
			Doc:     "Those that share ground with it or, with `radius`, are within that distance of it. " + listing.DrawnText,
			Params:  []endpoint.Param{listing.DrawnRadius, listing.Types},
			Handle:  s.postRegionsCount, Cost: endpoint.Heavy,
			Body: true, BodyRequired: true, BodyContent: listing.DrawnContent,
			Answers: endpoint.Content{"application/json": RegionsCount{}}, CachePolicy: endpoint.CacheNever,
			Problems: append([]string{"bad-parameter", "unknown-layer", "dataset-missing"}, listing.DrawnProblems...),
			Example:  endpoint.Example{Request: "/regions/count", Body: listing.DrawnExample},
		},
		{
			Path: "/regions/nearby",
			ID:   "getRegionsNearby", Tag: "regions", Rank: 3,
			Summary: "The nearest regions",
			Doc: "By the distance to their borders, and first those that hold the point, at 0. Forms other than `json` have their borders, " +
				"whole; a page ends early where these are long.",
			Params: append(slices.Clone(listing.NearParams), listing.Types, listing.Limit, endpoint.Cursor, s.form, propertiesParam, listing.SkipGeometry),
			Handle: s.getRegionsNearby, Cost: endpoint.Heavy,
			Answers: nearList.Answers(), CachePolicy: endpoint.CacheTagged,
			Problems: append([]string{"bad-parameter", "dataset-missing", "search-too-wide"}, listing.NearProblems...),
			Example:  endpoint.Example{Request: "/regions/nearby?lat=47.37&lon=8.54&types=country&limit=3"},
		},
		{
			Path: "/regions/count",
			ID:   "getRegionsCount", Tag: "regions", Rank: 4,
			Summary: "How many regions there are",
			Doc:     "In a box, a tile, a region or a polygon, as `/regions/within` has them, or all.",
			Params:  []endpoint.Param{boxParam, endpoint.Tile, listing.Region, listing.DrawnPolygon, listing.DrawnRadius, listing.Types},
			Handle:  s.getRegionsCount, Cost: endpoint.Heavy,
			Answers: endpoint.Content{"application/json": RegionsCount{}}, CachePolicy: endpoint.CacheTagged,
			Problems: []string{"bad-parameter", "unknown-layer", "region-not-found", "dataset-missing"},
			Example:  endpoint.Example{Request: "/regions/count?region=country:ch&types=state"},
		},
		{
			Path: "/regions/{type}/{id}",
			ID:   "getRegion", Tag: "regions", Rank: 5,
			Summary: "A region",
			Params:  []endpoint.Param{regionTypeParam, regionIDParam, geometryParam},
			Handle:  s.getRegion, Cost: endpoint.Mixed,
			Answers: endpoint.Content{"application/json": RegionRecord{}}, CachePolicy: endpoint.CacheTagged,
			Problems: []string{"bad-parameter", "unknown-layer", "region-not-found", "dataset-missing"},
			Example:  endpoint.Example{Request: "/regions/country/ch"},
		},
	}...)
}
