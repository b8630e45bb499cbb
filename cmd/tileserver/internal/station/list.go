package station

import (
	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/feature"
	"quadrille/places/stations"
)

// List describes the lists of stations.
var List = listing.Spec{
	Layer: ask.StationsLayer, Path: "/stations", Name: "stations",
	Words:  listing.Words{Tag: "stations", Rank: 2, IDSuffix: "Stations", Things: "weather stations"},
	Params: []endpoint.Param{dayParam, endpoint.Country},
	Filter: func(q *endpoint.Params) (feature.Filter, error) {
		return stations.Filter{At: dayParam.Of(q), Country: endpoint.Country.Of(q)}.FeatureFilter()
	},
	WithBounds: true,
	List:       StationList{}, Features: StationFeatures{}, Item: StationFeature{},
	NoLayer: "dataset-missing",
	Examples: map[string]string{
		"/nearby":                           "/stations/nearby?lat=47&lon=8&limit=1",
		"/within":                           "/stations/within?bbox=7,46,9,48&limit=1",
		"/within/{region_type}/{region_id}": "/stations/within/country/ch?limit=1",
		"/count":                            "/stations/count?country=CH",
	},
}
