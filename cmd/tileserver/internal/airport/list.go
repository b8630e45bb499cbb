package airport

import (
	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/feature"
	"quadrille/places/airports"
)

// List describes the lists of airports.
var List = listing.Set{
	Layer: ask.AirportsLayer, Path: "/airports", Name: "airports", Numbers: true,
	Words:  listing.Words{Tag: "airports", Rank: 3, IDs: "Airports", Things: "airports", Ordered: ", the most important first"},
	Params: []endpoint.Param{airportTypeParam, endpoint.Countries, scheduledParam, closedParam},
	Filter: func(q *endpoint.Params) (feature.Filter, error) {
		return airports.Filter{
			Types: airportTypeParam.Of(q), Countries: endpoint.Countries.Of(q), Scheduled: scheduledParam.Of(q), Closed: closedParam.Of(q),
		}.Feature()
	},
	Order: feature.Order{Importance: true},
	List:  AirportList{}, Features: AirportFeatures{}, One: AirportFeature{},
	NoLayer: "dataset-missing",
	Requests: map[string]listing.Requests{
		"/nearby": {Example: "/airports/nearby?lat=47&lon=8&limit=1", Dearest: []string{
			"/airports/nearby?lat=0&lon=0&limit=1000",
			"/airports/nearby?lat=-80&lon=0&limit=1000&type=balloonport&closed=true",
			"/airports/nearby?lat=-80&lon=0&limit=1000&country=SG&closed=true",
		}},
		"/within": {Example: "/airports/within?bbox=7,46,9,48&limit=1", Dearest: []string{
			"/airports/within?bbox=-180,-90,180,90&limit=1000", "/airports/within?tile=0/0/0&format=ndjson",
		}},
		"/within/{region_type}/{region_id}": {Example: "/airports/within/country/ch?limit=1", Dearest: []string{"/airports/within/country/{region}?limit=1000"}},
		"/count":                            {Example: "/airports/count?scheduled=true", Dearest: []string{"/airports/count?bbox=-180,-90,180,90&closed=true", "/airports/count?region=country:{region}"}},
	},
}
