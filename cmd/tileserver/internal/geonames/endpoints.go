package geonames

import (
	"net/http"
	"slices"

	"quadrille/cmd/tileserver/internal/endpoint"
)

// manual is the address of GeoNames' documentation of its web services.
const manual = "https://www.geonames.org/export/web-services.html"

var overloaded503 = endpoint.RefusedAnswers(endpoint.Content{"application/json": GeoNamesError{}},
	map[int]string{http.StatusServiceUnavailable: "The server is at its limit."})

// Endpoints returns the endpoints of this package.
func (s *Handlers) Endpoints() []endpoint.Endpoint {
	return slices.Concat(s.searchEndpoints(), s.nearbyEndpoints(), s.pointEndpoints())
}

// searchEndpoints returns the endpoints that find places by name and filters, or one place by its
// id.
func (s *Handlers) searchEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		{
			Path: "/searchJSON", OtherPaths: []string{"/search"},
			ID: "geonamesSearch", Tag: "geonames", Rank: 1,
			Summary: "Places by name and filters",
			Params: endpoint.ForeignParams("GeoNames", "q", "name", "name_equals", "name_startsWith", "maxRows", "startRow", "country",
				"featureClass", "featureCode", "countryBias", "continentCode", "adminCode1", "adminCode2", "adminCode3", "adminCode4",
				"adminCode5", "cities", "fuzzy", "orderby", "east", "west", "north", "south", "style", "lang", "username", "type", "callback"),
			IgnoresOthers: true,
			Handle:        s.geonames(question{write: (*request).search}),
			Cost:          endpoint.Heavy,
			Keys:          endpoint.KeysByUsername,
			Refuse:        s.refusing(false),
			DocsURL:       manual,
			Answers:       endpoint.Content{"application/json": GeoNamesSearch{}, "text/javascript": nil},
			CachePolicy:   endpoint.CacheVaries,
			Headers:       []string{"WWW-Authenticate-Of-Some", "Retry-After"},
			OtherAnswers:  overloaded503,
			Example:       endpoint.Example{Request: "/searchJSON?q=zurich&maxRows=1"},
		},
		{
			Path: "/getJSON", OtherPaths: []string{"/get"},
			ID: "geonamesGet", Tag: "geonames", Rank: 4,
			Summary: "A place",
			Params:  endpoint.ForeignParams("GeoNames", "geonameId", "style", "lang", "username", "type", "callback"), IgnoresOthers: true,
			Handle:  s.geonames(question{write: (*request).get}),
			Cost:    endpoint.Light,
			Keys:    endpoint.KeysByUsername,
			Refuse:  s.refusing(false),
			DocsURL: manual,
			Answers: endpoint.Content{"application/json": GeoNamesGet{}, "text/javascript": nil}, CachePolicy: endpoint.CacheVaries,
			Headers:      []string{"WWW-Authenticate-Of-Some", "Retry-After"},
			OtherAnswers: overloaded503,
			Example:      endpoint.Example{Request: "/getJSON?geonameId=6295546"},
		},
	}
}

// nearbyEndpoints returns the endpoints that find the places nearest to a point.
func (s *Handlers) nearbyEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		{
			Path: "/findNearbyJSON", OtherPaths: []string{"/findNearby"},
			ID: "geonamesNearby", Tag: "geonames", Rank: 2,
			Summary: "The nearest places",
			Params: endpoint.ForeignParams("GeoNames", "lat", "lng", "radius", "maxRows", "featureClass", "featureCode", "country",
				"localCountry", "cities", "style", "lang", "username", "type", "callback"),
			IgnoresOthers: true,
			Handle:        s.geonames(question{write: (*request).findNearby}),
			Cost:          endpoint.Heavy,
			Keys:          endpoint.KeysByUsername,
			Refuse:        s.refusing(false),
			DocsURL:       manual,
			Answers:       endpoint.Content{"application/json": GeoNamesNearby{}, "text/javascript": nil},
			CachePolicy:   endpoint.CacheVaries,
			Headers:       []string{"WWW-Authenticate-Of-Some", "Retry-After"},
			OtherAnswers:  overloaded503,
			Example:       endpoint.Example{Request: "/findNearbyJSON?lat=47.37&lng=8.54&maxRows=1"},
		},
		{
			Path: "/findNearbyPlaceNameJSON", OtherPaths: []string{"/findNearbyPlaceName"},
			ID: "geonamesNearbyPlace", Tag: "geonames", Rank: 3,
			Summary: "The nearest populated places",
			Params: endpoint.ForeignParams("GeoNames", "lat", "lng", "radius", "maxRows", "country", "localCountry", "cities", "style",
				"lang", "username", "type", "callback"),
			IgnoresOthers: true,
			Handle:        s.geonames(question{write: (*request).findNearbyPlaceName}),
			Cost:          endpoint.Heavy,
			Keys:          endpoint.KeysByUsername,
			Refuse:        s.refusing(false),
			DocsURL:       manual,
			Answers:       endpoint.Content{"application/json": GeoNamesNearby{}, "text/javascript": nil},
			CachePolicy:   endpoint.CacheVaries,
			Headers:       []string{"WWW-Authenticate-Of-Some", "Retry-After"},
			OtherAnswers:  overloaded503,
			Example:       endpoint.Example{Request: "/findNearbyPlaceNameJSON?lat=47.37&lng=8.54&maxRows=1"},
		},
	}
}

// pointEndpoints returns the endpoints for the time zone, country and division at a point.
func (s *Handlers) pointEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		{
			Path: "/timezoneJSON", OtherPaths: []string{"/timezone"},
			ID: "geonamesTimezone", Tag: "geonames", Rank: 5,
			Summary:       "The time zone at a point",
			Doc:           "At sea there is no `timezoneId`, and the offsets are those of ships' clocks. Where none is known the status is 15.",
			Params:        endpoint.ForeignParams("GeoNames", "lat", "lng", "radius", "date", "lang", "username", "type", "callback"),
			IgnoresOthers: true,
			Handle:        s.geonames(question{write: (*request).timezone, moment: true}),
			Cost:          endpoint.Light,
			Keys:          endpoint.KeysByUsername,
			Refuse:        s.refusing(false),
			DocsURL:       manual,
			Answers:       endpoint.Content{"application/json": GeoNamesTimezone{}, "text/javascript": nil},
			CachePolicy:   endpoint.CacheNever,
			Headers:       []string{"WWW-Authenticate-Of-Some", "Retry-After"},
			OtherAnswers:  overloaded503,
			Example:       endpoint.Example{Request: "/timezoneJSON?lat=47.37&lng=8.54"},
		},
		{
			Path: "/countryCodeJSON", OtherPaths: []string{"/countryCode"},
			ID: "geonamesCountryCode", Tag: "geonames", Rank: 6,
			Summary:       "The country at a point",
			Doc:           "Without JSON at the end of the path and without `type` the answer is plain text.",
			Params:        endpoint.ForeignParams("GeoNames", "lat", "lng", "radius", "lang", "username", "type", "callback"),
			IgnoresOthers: true,
			Handle:        s.geonames(question{write: (*request).countryCode, text: true}),
			Cost:          endpoint.Light,
			Keys:          endpoint.KeysByUsername,
			Refuse:        s.refusing(true),
			DocsURL:       manual,
			Answers:       endpoint.Content{"application/json": GeoNamesCountryCode{}, "text/javascript": nil, "text/plain": nil},
			CachePolicy:   endpoint.CacheVaries,
			Headers:       []string{"WWW-Authenticate-Of-Some", "Retry-After"},
			OtherAnswers:  overloaded503,
			Example:       endpoint.Example{Request: "/countryCodeJSON?lat=47.37&lng=8.54"},
		},
		{
			Path: "/countrySubdivisionJSON", OtherPaths: []string{"/countrySubdivision"},
			ID: "geonamesSubdivision", Tag: "geonames", Rank: 7,
			Summary: "The country and its division at a point",
			Params: endpoint.ForeignParams("GeoNames", "lat", "lng", "radius", "level", "maxRows",
				"lang", "username", "type", "callback"),
			IgnoresOthers: true,
			Handle:        s.geonames(question{write: (*request).countrySubdivision}),
			Cost:          endpoint.Light,
			Keys:          endpoint.KeysByUsername,
			Refuse:        s.refusing(false),
			DocsURL:       manual,
			Answers:       endpoint.Content{"application/json": GeoNamesSubdivision{}, "text/javascript": nil},
			CachePolicy:   endpoint.CacheVaries,
			Headers:       []string{"WWW-Authenticate-Of-Some", "Retry-After"},
			OtherAnswers:  overloaded503,
			Example:       endpoint.Example{Request: "/countrySubdivisionJSON?lat=47.37&lng=8.54"},
		},
	}
}
