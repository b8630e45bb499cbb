package airport

import (
	"slices"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/places/airports"
)

// These parameters are only for the endpoints of this package.
var (
	airportCodeParam = endpoint.Described(endpoint.InPath, "code", "IATA, ICAO or local code.",
		endpoint.Schema{"type": "string", "pattern": "^[A-Za-z0-9-]{1,16}$"}, "ZRH")
	localParam       = endpoint.Flag("local", "With what clocks show now; the answer may then not be kept.")
	airportTypeParam = endpoint.New("type", "Types of airports; the last word may be left out.",
		endpoint.Schema{
			"type":     "array",
			"items":    endpoint.Schema{"type": "string", "enum": slices.Concat(airports.Types(), shortTypes())},
			"minItems": 1,
			"maxItems": len(airportTypes),
		}, readTypes).Like([]string{"large_airport"})
	scheduledParam = endpoint.Flag("scheduled", "Only airports with scheduled flights.")
	closedParam    = endpoint.Flag("closed", "Closed airports, too.")
)

// added has the endpoints that other files declare.
var added endpoint.Added[*Handlers]

// Endpoints returns the endpoints of this package.
func (s *Handlers) Endpoints() []endpoint.Endpoint {
	return added.To(s, []endpoint.Endpoint{
		{
			Path: "/airports/{code}",
			ID:   "getAirport", Tag: "airports", Rank: 1,
			Summary: "An airport",
			Params:  []endpoint.Param{airportCodeParam, localParam},
			Handle:  s.getAirport, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": AirportRecord{}}, Keeps: endpoint.Instant,
			Problems: []string{"bad-parameter", "airport-not-found", "timezone-unknown", "dataset-missing"},
			Example:  endpoint.Example{Request: "/airports/ZRH"},
		},
		{
			Path: "/airports/{code}/offset",
			ID:   "getAirportOffset", Tag: "airports", Rank: 2,
			Summary: "What clocks show at an airport",
			Params:  []endpoint.Param{airportCodeParam, endpoint.At},
			Handle:  s.getAirportOffset, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": AirportOffset{}}, Keeps: endpoint.Instant,
			Problems: []string{"bad-parameter", "airport-not-found", "timezone-unknown", "dataset-missing"},
			Example:  endpoint.Example{Request: "/airports/ZRH/offset?at=2026-07-01T12:00:00Z"},
		},
	}...)
}
