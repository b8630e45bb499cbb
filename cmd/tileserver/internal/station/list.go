package station

import (
	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/feature"
	"quadrille/places/stations"
)

// List describes the lists of stations.
var List = listing.Set{
	Layer: ask.StationsLayer, Path: "/stations", Name: "stations",
	Words:  listing.Words{Tag: "stations", Rank: 2, IDs: "Stations", Things: "weather stations"},
	Params: []endpoint.Param{dayParam, endpoint.Country},
	Filter: func(q *endpoint.Params) (feature.Filter, error) {
		return stations.Filter{At: dayParam.Of(q), Country: endpoint.Country.Of(q)}.Feature()
	},
	Bounds: true,
	List:   StationList{}, Features: StationFeatures{}, One: StationFeature{},
	NoLayer: "dataset-missing",
	Requests: map[string]listing.Requests{
		"/nearby": {Example: "/stations/nearby?lat=47&lon=8&limit=1", Dearest: []string{
			"/stations/nearby?lat=-80&lon=0&limit=1000&country=NL",
			"/stations/nearby?lat=-80&lon=0&limit=1000&at=1905-01-01",
		}},
		"/within": {Example: "/stations/within?bbox=7,46,9,48&limit=1", Dearest: []string{
			"/stations/within?bbox=-180,-90,180,90&limit=1000", "/stations/within?tile=0/0/0&format=ndjson",
		}},
		"/within/{region_type}/{region_id}": {Example: "/stations/within/country/ch?limit=1", Dearest: []string{"/stations/within/country/{region}?limit=1000"}},
		"/count":                            {Example: "/stations/count?country=CH", Dearest: []string{"/stations/count?at=1905-01-01", "/stations/count?region=country:{region}"}},
	},
}
