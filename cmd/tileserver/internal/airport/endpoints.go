package airport

import (
	"slices"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/places/airports"
)

// Parameters of this room alone.
var (
	airportCodeParam = endpoint.Described(endpoint.InPath, "code", "IATA, ICAO or local code.", endpoint.Schema{"type": "string", "pattern": "^[A-Za-z0-9-]{1,16}$"}, "ZRH")
	localParam       = endpoint.Flag("local", "With what clocks show now; the answer may then not be kept.")
	airportTypeParam = endpoint.New("type", "Types of airports; the last word may be left out.",
		endpoint.Schema{"type": "array", "items": endpoint.Schema{"type": "string", "enum": slices.Concat(airports.Types(), shortTypes())}, "minItems": 1, "maxItems": len(airportTypes)}, readTypes).Like([]string{"large_airport"})
	scheduledParam = endpoint.Flag("scheduled", "Only airports with scheduled flights.")
	closedParam    = endpoint.Flag("closed", "Closed airports, too.")
)

// Endpoints are those of the room.
func (s *Room) Endpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		{
			Path: "/airports/{code}",
			ID:   "getAirport", Tag: "airports", Rank: 1,
			Summary: "An airport",
			Params:  []endpoint.Param{airportCodeParam, localParam},
			Handle:  s.getAirport, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": AirportRecord{}}, Keeps: endpoint.Instant,
			Problems: []string{"bad-parameter", "airport-not-found", "timezone-unknown", "dataset-missing"},
			Example:  endpoint.Example{Request: "/airports/ZRH"},
			Dearest:  []string{"/airports/{airport}?local=true"},
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
			Dearest:  []string{"/airports/{airport}/offset"},
		},
		{
			Path: "/airports/nearby",
			ID:   "getAirportsNearby", Tag: "airports", Rank: 3,
			Summary: "The nearest airports",
			Params:  []endpoint.Param{endpoint.Lat, endpoint.Lon, endpoint.Radius, listing.Limit, airportTypeParam, endpoint.Countries, scheduledParam, closedParam, endpoint.Cursor, endpoint.Format},
			Handle:  s.getAirportsNearby, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": AirportList{}, "application/geo+json": AirportFeatures{}}, Keeps: endpoint.Tagged,
			Problems: []string{"bad-parameter", "cursor-expired", "search-too-wide", "dataset-missing"},
			Example:  endpoint.Example{Request: "/airports/nearby?lat=47&lon=8&limit=1"},
			Dearest: []string{
				"/airports/nearby?lat=0&lon=0&limit=1000",
				"/airports/nearby?lat=-80&lon=0&limit=1000&type=balloonport&closed=true",
				"/airports/nearby?lat=-80&lon=0&limit=1000&country=SG&closed=true",
			},
		},
		{
			Path: "/airports/within",
			ID:   "getAirportsWithin", Tag: "airports", Rank: 4,
			Summary: "The airports of a box, the most important first",
			Params:  []endpoint.Param{endpoint.BBox, listing.Limit, airportTypeParam, endpoint.Countries, scheduledParam, closedParam, endpoint.Cursor, endpoint.Format},
			Handle:  s.getAirportsWithin, Cost: endpoint.Heavy,
			Answers: endpoint.Content{"application/json": AirportList{}, "application/geo+json": AirportFeatures{}}, Keeps: endpoint.Tagged,
			Problems: []string{"bad-parameter", "cursor-expired", "search-too-wide", "dataset-missing"},
			Example:  endpoint.Example{Request: "/airports/within?bbox=7,46,9,48&limit=1"},
			Dearest:  []string{"/airports/within?bbox=-180,-90,180,90&limit=1000"},
		},
	}
}
