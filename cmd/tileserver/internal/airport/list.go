package airport

import (
	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/feature"
	"quadrille/places/airports"
)

// List describes the lists of airports.
var List = listing.Spec{
	Layer: ask.AirportsLayer, Path: "/airports", Name: "airports", NumericIDs: true,
	Words:  listing.Words{Tag: "airports", Rank: 3, IDSuffix: "Airports", Things: "airports", OrderText: ", the most important first"},
	Params: []endpoint.Param{airportTypeParam, endpoint.Countries, scheduledParam, closedParam},
	Filter: func(q *endpoint.Params) (feature.Filter, error) {
		return airports.Filter{
			Types: airportTypeParam.Of(q), Countries: endpoint.Countries.Of(q), Scheduled: scheduledParam.Of(q), Closed: closedParam.Of(q),
		}.FeatureFilter()
	},
	Order: feature.Order{Importance: true},
	List:  AirportList{}, Features: AirportFeatures{}, Item: AirportFeature{},
	NoLayer: "dataset-missing",
	Examples: map[string]string{
		"/nearby":                           "/airports/nearby?lat=47&lon=8&limit=1",
		"/within":                           "/airports/within?bbox=7,46,9,48&limit=1",
		"/within/{region_type}/{region_id}": "/airports/within/country/ch?limit=1",
		"/count":                            "/airports/count?scheduled=true",
	},
}
