package station

import (
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
)

// These parameters are only for the endpoints of this package.
var (
	dayParam = endpoint.Instant("at", "Stations that were in use on this day, or the day of this time.",
		(*endpoint.Params).Day).WithExample("2024-01-31")
	stationIDParam = endpoint.DescribedParam(endpoint.InPath, "id", "USAF and WBAN numbers, with a hyphen between them or not, or a GHCN id.",
		endpoint.Schema{"type": "string", "pattern": "^[0-9A-Z]{6}-?[0-9A-Z]{5}$"}, "066700-99999")
	fromParam  = endpoint.Instant("from", "Earliest time, or day.", (*endpoint.Params).Day)
	toParam    = endpoint.Instant("to", "Latest time, or day, which is meant to its end.", (*endpoint.Params).EndOf)
	limitParam = listing.Limit.WithDefault(defaultObservations)
	zParam     = endpoint.DescribedParam(endpoint.InPath, "z", "Zoom.", endpoint.Schema{"type": "integer", "minimum": 0, "maximum": 8}, 4)
	hourParam  = endpoint.Instant("at", "The hour; the newest there is if absent. A day, or RFC 3339.",
		(*endpoint.Params).Day).WithExample("2024-01-01T06:00:00Z")
)

// added has the endpoints that other files declare.
var added endpoint.AddedEndpoints[*Handlers]

// Endpoints returns the endpoints of this package.
func (s *Handlers) Endpoints() []endpoint.Endpoint {
	return added.AppendTo(s, []endpoint.Endpoint{
		{
			Path: "/stations/nearest",
			ID:   "getNearestStation", Tag: "stations", Rank: 1,
			Summary: "The nearest weather station",
			Params:  []endpoint.Param{endpoint.Lat, endpoint.Lon, s.form},
			Handle:  s.getNearestStation, Cost: endpoint.Light,
			Answers: nearest.Answers(), CachePolicy: endpoint.CacheTagged,
			Problems: []string{"bad-parameter", "station-not-found", "dataset-missing"},
			Example:  endpoint.Example{Request: "/stations/nearest?lat=47&lon=8"},
		},
		{
			Path: "/stations/{id}",
			ID:   "getStation", Tag: "stations", Rank: 4,
			Summary: "A weather station",
			Params:  []endpoint.Param{stationIDParam},
			Handle:  s.getStation, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": listing.Station{}}, CachePolicy: endpoint.CacheTagged,
			Problems: []string{"bad-parameter", "station-not-found", "dataset-missing"},
			Example:  endpoint.Example{Request: "/stations/066700-99999"},
		},
		{
			Path: "/stations/{id}/observations",
			ID:   "getObservations", Tag: "stations", Rank: 5,
			Summary: "What a station measured, the newest first",
			Params:  []endpoint.Param{stationIDParam, fromParam, toParam, limitParam, endpoint.Cursor},
			Handle:  s.getObservations, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": Observations{}}, CachePolicy: endpoint.CacheTagged,
			Problems: []string{"bad-parameter", "station-not-found", "cursor-expired", "dataset-missing"},
			Example:  endpoint.Example{Request: "/stations/066700-99999/observations?limit=1"},
		},
		{
			Path: "/stations/{id}/tiles",
			ID:   "getStationTiles", Tag: "stations", Rank: 6,
			Summary: "The tiles in which a station may be the nearest",
			Params:  []endpoint.Param{stationIDParam},
			Handle:  s.getStationTiles, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": StationTiles{}}, CachePolicy: endpoint.CacheTagged,
			Problems: []string{"bad-parameter", "station-not-found", "dataset-missing"},
			Example:  endpoint.Example{Request: "/stations/066700-99999/tiles"},
		},
		{
			Path: "/weather/{z}/{x}/{y}.json", Route: "/weather/:z/:x/:file",
			ID: "getWeather", Tag: "stations", Rank: 7,
			Summary: "The weather of a tile in an hour",
			Doc:     "Means and extremes of what the stations in the tile measured, of the tile and of its 4 × 4 parts.",
			Params:  []endpoint.Param{zParam, endpoint.Column, endpoint.Row, hourParam},
			Handle:  s.getWeather, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": Weather{}}, CachePolicy: endpoint.CacheTagged,
			Problems: []string{"bad-parameter", "tile-outside", "unknown-format", "dataset-missing"},
			Example:  endpoint.Example{Request: "/weather/4/8/5.json?at=2024-01-01T06:00:00Z"},
		},
	}...)
}
