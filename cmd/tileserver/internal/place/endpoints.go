package place

import (
	"math"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
)

// Parameters of this room alone.
var (
	tileParam = endpoint.Tile.As("A tile, z/x/y; up to zoom 10 the answer has also `counts`.")
	qParam    = endpoint.New("q", "The beginning of a name, or words of it, in any language; the code of an airport.",
		endpoint.Schema{"type": "string", "minLength": 1, "maxLength": maxSearchText}, searchText).Like("zur").Must()
	limitParam   = endpoint.Integer("limit", 1, maxSearchLimit, "Most entries of a page.").Or(defaultSearchLimit)
	boxParam     = endpoint.BBox.May()
	latParam     = endpoint.Lat.As("Places near this latitude come first; goes with `lon`.").May()
	lonParam     = endpoint.Lon.As("Places near this longitude come first; goes with `lat`.").May()
	placeIDParam = endpoint.Described(endpoint.InPath, "id", "GeoNames id.", endpoint.Schema{"type": "integer", "minimum": 0, "maximum": uint32(math.MaxUint32)}, 2657896)
)

// added are endpoints that other files declare.
var added endpoint.Added[*Room]

// Endpoints are those of the room.
func (s *Room) Endpoints() []endpoint.Endpoint {
	return added.To(s, []endpoint.Endpoint{
		{
			Path: "/places/nearby",
			ID:   "getPlacesNearby", Tag: "places", Rank: 1,
			Summary: "The nearest places",
			Params:  []endpoint.Param{endpoint.Lat, endpoint.Lon, endpoint.Radius, listing.Limit, endpoint.Lang, listing.Class, listing.Code, endpoint.Countries, listing.MinPopulation, endpoint.Cursor, endpoint.Format},
			Handle:  s.getNearby, Cost: endpoint.Mixed,
			Answers: endpoint.Content{"application/json": PlaceList{}, "application/geo+json": PlaceFeatures{}}, Keeps: endpoint.Tagged,
			Problems: []string{"bad-parameter", "cursor-expired", "search-too-wide", "dataset-missing"},
			Example:  endpoint.Example{Request: "/places/nearby?lat=48.8566&lon=2.3522&limit=2"},
			Dearest: []string{
				"/places/nearby?lat=52.37&lon=4.89&limit=1000",
				"/places/nearby?lat=52.37&lon=4.89&limit=1000&lang=de",
				"/places/nearby?lat=-60&lon=-140&limit=1000",
				"/places/nearby?lat=-60&lon=-140&limit=100&code=PPLA",
				"/places/nearby?lat=52&lon=5&limit=100&class=U",
				"/places/nearby?lat=52&lon=5&limit=1000&class=U",
				"/places/nearby?lat=-80&lon=170&limit=1000&country=LU",
				"/places/nearby?lat=52.37&lon=4.89&limit=1000&min_population=1000000",
				"/places/nearby?lat=52&lon=5&limit=1000&country=NL&class=P",
				"/places/nearby?lat=52.37&lon=4.89&country=FR,DE&class=A,H,S&min_population=100",
			},
		},
		{
			Path: "/places/within",
			ID:   "getPlacesWithin", Tag: "places", Rank: 2,
			Summary: "The places of a box or a tile, the most important first",
			Params:  []endpoint.Param{listing.OrBox, tileParam, listing.Limit, endpoint.Lang, listing.Class, listing.Code, endpoint.Countries, listing.MinPopulation, endpoint.Cursor, endpoint.Format},
			Handle:  s.getPlacesWithin, Cost: endpoint.Heavy,
			Answers: endpoint.Content{"application/json": PlaceList{}, "application/geo+json": PlaceFeatures{}}, Keeps: endpoint.Tagged,
			Problems: []string{"bad-parameter", "cursor-expired", "search-too-wide", "dataset-missing"},
			Example:  endpoint.Example{Request: "/places/within?tile=4/8/5&limit=2"},
			Dearest:  []string{"/places/within?bbox=-180,-90,180,90&limit=1000&class=S", "/places/within?tile=0/0/0&limit=1000&format=geojson"},
		},
		{
			Path: "/places/search",
			ID:   "searchPlaces", Tag: "places", Rank: 3,
			Summary: "Places by name",
			Doc:     "As it is typed: ask at every letter. Longer names are found with one letter wrong. There are no pages; who wants more narrows the search.",
			Params:  []endpoint.Param{qParam, limitParam, endpoint.Lang, listing.Class, listing.Code, endpoint.Countries, listing.MinPopulation, boxParam, latParam, lonParam, endpoint.Format},
			Handle:  s.getSearch, Cost: endpoint.Heavy,
			Answers: endpoint.Content{"application/json": FoundList{}, "application/geo+json": FoundFeatures{}}, Keeps: endpoint.Tagged,
			Problems: []string{"bad-parameter", "dataset-missing"},
			Example:  endpoint.Example{Request: "/places/search?q=zur&limit=2"},
			Dearest: []string{
				"/places/search?q=a&limit=100&bbox=170,-80,175,-70",
				"/places/search?q=a&limit=100&country=SG&class=T&lang=fr",
				"/places/search?q=san%20fransicso%20calfornia",
			},
		},
		{
			Path: "/places/{id}",
			ID:   "getPlace", Tag: "places", Rank: 4,
			Summary: "A place",
			Params:  []endpoint.Param{placeIDParam, endpoint.Lang},
			Handle:  s.getPlace, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": PlaceRecord{}}, Keeps: endpoint.Tagged,
			Problems: []string{"bad-parameter", "place-not-found", "dataset-missing"},
			Example:  endpoint.Example{Request: "/places/6295546"},
			Dearest:  []string{"/places/{place}?lang=de"},
		},
		{
			Path: "/places/{id}/offset",
			ID:   "getPlaceOffset", Tag: "places", Rank: 5,
			Summary: "What clocks show at a place",
			Params:  []endpoint.Param{placeIDParam, endpoint.At},
			Handle:  s.getPlaceOffset, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": PlaceOffset{}}, Keeps: endpoint.Instant,
			Problems: []string{"bad-parameter", "place-not-found", "timezone-unknown", "dataset-missing"},
			Example:  endpoint.Example{Request: "/places/2657896/offset?at=2026-07-01T12:00:00Z"},
			Dearest:  []string{"/places/{place}/offset"},
		},
	}...)
}
