package place

import (
	"math"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
)

// These parameters are only for the endpoints of this package.
var (
	qParam = endpoint.New("q", "The beginning of a name, or words of it, in any language; the code of an airport.",
		endpoint.Schema{"type": "string", "minLength": 1, "maxLength": maxSearchText}, searchText).WithExample("zur").AsRequired()
	limitParam   = endpoint.Integer("limit", 1, maxSearchLimit, "Most entries of a page.").WithDefault(defaultSearchLimit)
	boxParam     = endpoint.BBox.AsOptional()
	latParam     = endpoint.Lat.WithDoc("Places near this latitude come first; goes with `lon`.").AsOptional()
	lonParam     = endpoint.Lon.WithDoc("Places near this longitude come first; goes with `lat`.").AsOptional()
	placeIDParam = endpoint.DescribedParam(endpoint.InPath, "id", "GeoNames id.", endpoint.Schema{
		"type":    "integer",
		"minimum": 0,
		"maximum": uint32(math.MaxUint32),
	}, 2657896)
)

// added has the endpoints that other files declare.
var added endpoint.AddedEndpoints[*Handlers]

// Endpoints returns the endpoints of this package.
func (s *Handlers) Endpoints() []endpoint.Endpoint {
	return added.AppendTo(s, []endpoint.Endpoint{
		{
			Path: "/places/search",
			ID:   "searchPlaces", Tag: "places", Rank: 3,
			Summary: "Places by name",
			Doc: "As it is typed: ask at every letter. Longer names are found with one letter wrong. There are no pages; " +
				"who wants more narrows the search.",
			Params: []endpoint.Param{
				qParam, limitParam, endpoint.Lang, listing.Class, listing.Code, endpoint.Countries, listing.MinPopulation, boxParam, latParam,
				lonParam, s.form,
			},
			Handle: s.getSearch, Cost: endpoint.Heavy,
			Answers: found.Answers(), CachePolicy: endpoint.CacheTagged,
			Problems: []string{"bad-parameter", "dataset-missing"},
			Example:  endpoint.Example{Request: "/places/search?q=zur&limit=2"},
		},
		{
			Path: "/places/{id}",
			ID:   "getPlace", Tag: "places", Rank: 4,
			Summary: "A place",
			Params:  []endpoint.Param{placeIDParam, endpoint.Lang},
			Handle:  s.getPlace, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": PlaceRecord{}}, CachePolicy: endpoint.CacheTagged,
			Problems: []string{"bad-parameter", "place-not-found", "dataset-missing"},
			Example:  endpoint.Example{Request: "/places/6295546"},
		},
		{
			Path: "/places/{id}/offset",
			ID:   "getPlaceOffset", Tag: "places", Rank: 5,
			Summary: "What clocks show at a place",
			Params:  []endpoint.Param{placeIDParam, endpoint.At},
			Handle:  s.getPlaceOffset, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": PlaceOffset{}}, CachePolicy: endpoint.CacheByInstant,
			Problems: []string{"bad-parameter", "place-not-found", "timezone-unknown", "dataset-missing"},
			Example:  endpoint.Example{Request: "/places/2657896/offset?at=2026-07-01T12:00:00Z"},
		},
	}...)
}
