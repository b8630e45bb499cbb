package airport

import (
	"slices"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/places/airports"
)

// These parameters are only for the endpoints of this package.
var (
	airportCodeParam = endpoint.DescribedParam(endpoint.InPath, "code", "IATA, ICAO or local code.",
		endpoint.Schema{"type": "string", "pattern": "^[A-Za-z0-9-]{1,16}$"}, "ZRH")
	localParam       = endpoint.Flag("local", "With what clocks show now; the answer may then not be kept.")
	airportTypeParam = endpoint.New("type", "Types of airports; the last word may be left out.",
		endpoint.Schema{
			"type":     "array",
			"items":    endpoint.Schema{"type": "string", "enum": slices.Concat(airports.Types(), shortTypes())},
			"minItems": 1,
			"maxItems": len(airportTypes),
		}, readTypes).WithExample([]string{"large_airport"})
	scheduledParam = endpoint.Flag("scheduled", "Only airports with scheduled flights.")
	closedParam    = endpoint.Flag("closed", "Closed airports, too.")
)

// added has the endpoints that other files declare.
var added endpoint.AddedEndpoints[*Handlers]

// Endpoints returns the endpoints of this package.
func (s *Handlers) Endpoints() []endpoint.Endpoint {
	return added.AppendTo(s, []endpoint.Endpoint{
		{
			Path: "/airports/{code}",
			ID:   "getAirport", Tag: "airports", Rank: 1,
			Summary: "An airport",
			Params:  []endpoint.Param{airportCodeParam, localParam},
			Handle:  s.getAirport, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": AirportRecord{}}, CachePolicy: endpoint.CacheByInstant,
			Problems: []string{"bad-parameter", "airport-not-found", "timezone-unknown", "dataset-missing"},
			Example:  endpoint.Example{Request: "/airports/ZRH"},
		},
		{
			Path: "/airports/{code}/offset",
			ID:   "getAirportOffset", Tag: "airports", Rank: 2,
			Summary: "What clocks show at an airport",
			Params:  []endpoint.Param{airportCodeParam, endpoint.At},
			Handle:  s.getAirportOffset, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": AirportOffset{}}, CachePolicy: endpoint.CacheByInstant,
			Problems: []string{"bad-parameter", "airport-not-found", "timezone-unknown", "dataset-missing"},
			Example:  endpoint.Example{Request: "/airports/ZRH/offset?at=2026-07-01T12:00:00Z"},
		},
	}...)
}
