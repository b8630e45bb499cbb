package region

import "quadrille/cmd/tileserver/internal/listing"

// These types describe the answers in the OpenAPI document. The handlers write the answers as
// bytes.

// Region is a region at a point, or the nearest one.
type Region struct {
	_ struct{} `doc:"A region. Regions without a name have none here."`
	listing.RegionName
	Match    string           `json:"match,omitempty" doc:"Only with snap." schema:"enum=inside|snapped"`
	Distance listing.Distance `json:"distance_m,omitzero"`
}

// NoRegion represents a type without a region near the point.
type NoRegion struct {
	_         struct{} `doc:"A region type of which there is no region."`
	Type      string   `json:"type"`
	Match     string   `json:"match" schema:"const=none"`
	Truncated bool     `json:"truncated,omitempty" doc:"The search was cut short: there may be one."`
}

// RegionsAtPoint is the answer of /regions/at.
type RegionsAtPoint struct {
	_       struct{}          `name:"RegionsAt" doc:"The regions at a point."`
	Lat     listing.Latitude  `json:"lat"`
	Lon     listing.Longitude `json:"lon"`
	Regions []Region          `json:"regions"`
	None    []NoRegion        `json:"none,omitempty" doc:"With snap, the types without a region."`
}

// RegionsWithin is the answer of /regions/within.
type RegionsWithin struct {
	_       struct{}       `doc:"Regions in an area; in a box the bbox of each is of its part there."`
	BBox    listing.BBox   `json:"bbox,omitzero" doc:"The requested box."`
	Regions []RegionWithin `json:"regions"`
	Next    listing.Next   `json:"next,omitzero"`
}

// RegionWithin is a region in an area.
type RegionWithin struct {
	_ struct{} `doc:"A region in an area. With properties it has these, too." schema:"open=string|number|boolean"`
	listing.RegionName
	BBox listing.BBox `json:"bbox" doc:"Of its part in the box, or of all of it in another area."`
	Shares
}

// Shares tells how much ground a region and a polygon share.
type Shares struct {
	_        struct{} `doc:"How much ground a region and a polygon share, on a sphere; borders are on a grid of 1.2 m."`
	OfArea   *float64 `json:"share_of_area,omitempty" doc:"Only with shares: of the polygon." schema:"min=0,max=1"`
	OfRegion *float64 `json:"share_of_region,omitempty" doc:"Only with shares: of the region." schema:"min=0,max=1"`
	Shared   *float64 `json:"shared_m2,omitempty" doc:"Only with shares: in square metres." schema:"min=0"`
}

// RegionFeature is a region in an area as GeoJSON.
type RegionFeature struct {
	_ struct{} `doc:"A region in an area as GeoJSON, with its whole border."`
	listing.Feature[any, RegionWithin]
	Geometry listing.Area `json:"geometry,omitzero"`
}

// RegionFeatures is a page of regions as GeoJSON.
type RegionFeatures struct {
	_    struct{}     `doc:"Regions in an area as GeoJSON."`
	BBox listing.BBox `json:"bbox,omitzero"`
	listing.Features[RegionFeature]
	Next listing.Next `json:"next,omitzero"`
}

// RegionsNear is the answer of /regions/nearby.
type RegionsNear struct {
	_       struct{}     `doc:"The nearest regions, by the distance to their borders."`
	Regions []RegionNear `json:"regions"`
	Next    listing.Next `json:"next,omitzero"`
}

// RegionNear is one of the nearest regions.
type RegionNear struct {
	_ struct{} `doc:"One of the nearest regions. With properties it has these, too." schema:"open=string|number|boolean"`
	listing.RegionName
	BBox     listing.BBox     `json:"bbox"`
	Distance listing.Distance `json:"distance_m" doc:"Metres to its border, or of a layer of lines to the line; 0 in it."`
}

// RegionFeatureNear is one of the nearest regions as GeoJSON.
type RegionFeatureNear struct {
	_ struct{} `doc:"One of the nearest regions as GeoJSON, with its whole border."`
	listing.Feature[any, RegionNear]
	Geometry listing.Area `json:"geometry,omitzero"`
}

// RegionFeaturesNear is a page of the nearest regions as GeoJSON.
type RegionFeaturesNear struct {
	_ struct{} `doc:"The nearest regions as GeoJSON."`
	listing.Features[RegionFeatureNear]
	Next listing.Next `json:"next,omitzero"`
}

// RegionsCount is the answer of /regions/count.
type RegionsCount struct {
	_     struct{}       `doc:"How many regions there are."`
	Count int            `json:"count" schema:"min=0"`
	Types map[string]int `json:"types" doc:"Of each type."`
}

// RegionsOrPart is an answer of /regions/within as GeoJSON.
type RegionsOrPart struct {
	_       struct{} `doc:"The regions in an area or, with id, the part of one." schema:"is"`
	Regions RegionFeatures
	Part    ClippedRegion
}

// RegionRecord is the answer of /regions/{type}/{id}.
type RegionRecord struct {
	_ struct{} `doc:"What is known of a region; further members come from its source." schema:"open=string|number|boolean"`
	listing.RegionName
	BBox     listing.BBox `json:"bbox,omitzero"`
	MapColor int          `json:"map_color,omitempty" doc:"A number for colouring maps: regions of a type that share a border have different ones, and a region keeps its own. Older data sets lack it. Vector tiles have it too." schema:"min=0,max=5"`
	Geometry listing.Area `json:"geometry,omitzero"`
}

// ClippedRegion is the answer of /regions/{type}/{id} for a box.
type ClippedRegion struct {
	_        struct{}                                                                 `name:"RegionPart" doc:"The part of a region in a box."`
	Type     string                                                                   `json:"type" schema:"const=FeatureCollection"`
	Features []listing.Identified[string, listing.Area, struct{ listing.RegionName }] `json:"features" schema:"maxItems=1"`
	Zoom     int                                                                      `json:"zoom" doc:"Whose border it is: 13 is the exact one, less a simpler one." schema:"min=0,max=13"`
}
