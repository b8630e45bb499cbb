package nominatim

import (
	"net/http"

	"quadrille/cmd/tileserver/internal/endpoint"
)

// manual is the address of Nominatim's documentation.
const manual = "https://nominatim.org/release-docs/latest/api/"

var refused = endpoint.RefusedAnswers(endpoint.Content{"application/json": NominatimError{}, "text/xml": nil, "text/plain": nil},
	map[int]string{
		http.StatusBadRequest:          "A parameter is missing or not valid.",
		http.StatusUnauthorized:        "A key is needed, or the one that was sent is not valid.",
		http.StatusNotFound:            "The data is not published on this server.",
		http.StatusTooManyRequests:     "The limit of requests is used up.",
		http.StatusInternalServerError: "The server failed.",
		http.StatusServiceUnavailable:  "The server is at its limit, or the data cannot be read right now.",
	})

// Endpoints returns the Nominatim endpoints. They ignore unknown parameters, like Nominatim.
func (s *Handlers) Endpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		{
			Path: "/nominatim/search", OtherPaths: []string{"/nominatim/search.php"},
			ID: "nominatimSearch", Tag: "nominatim", Rank: 1,
			Summary: "What a text names",
			Doc:     "As Nominatim's `/search` answers. With `--root-geocoder nominatim` it is at `/search` too.",
			Params: endpoint.ForeignParams("Nominatim", "q", "city", "county", "state", "country", "street", "amenity", "postalcode",
				"format", "limit", "countrycodes", "viewbox", "bounded", "exclude_place_ids", "dedupe", "featureType", "layer",
				"accept-language", "addressdetails", "extratags", "namedetails", "polygon_geojson", "polygon_threshold", "polygon_kml",
				"json_callback", "email", "debug"),
			IgnoresOthers: true,
			Handle:        s.handle(&searchQuestion),
			Cost:          endpoint.Heavy,
			Refuse:        s.refusing(&searchQuestion),
			DocsURL:       manual + "Search/",
			Answers:       endpoint.Content{"application/json": NominatimResults{}, "text/javascript": nil, "text/xml": nil},
			CachePolicy:   endpoint.CacheTagged,
			OtherAnswers:  refused,
			Example:       endpoint.Example{Request: "/nominatim/search?q=portland%20oregon&limit=1"},
		},
		{
			Path: "/nominatim/reverse", OtherPaths: []string{"/nominatim/reverse.php"},
			ID: "nominatimReverse", Tag: "nominatim", Rank: 2,
			Summary: "What is at a point",
			Doc: "As Nominatim's `/reverse` answers: the nearest place of `/reverse` if it is in the point's own country, " +
				"state and county, or else the smallest region. With `--root-geocoder nominatim` it is at `/reverse` too.",
			Params: endpoint.ForeignParams("Nominatim", "lat", "lon", "format", "zoom", "layer", "accept-language", "addressdetails",
				"extratags", "namedetails", "polygon_geojson", "polygon_threshold", "polygon_kml", "json_callback", "email", "debug"),
			IgnoresOthers: true,
			Handle:        s.handle(&reverseQuestion),
			Cost:          endpoint.Heavy,
			Refuse:        s.refusing(&reverseQuestion),
			DocsURL:       manual + "Reverse/",
			Answers:       endpoint.Content{"application/json": NominatimResult1{}, "text/javascript": nil, "text/xml": nil},
			CachePolicy:   endpoint.CacheTagged,
			OtherAnswers:  refused,
			Example:       endpoint.Example{Request: "/nominatim/reverse?lat=45.52&lon=-122.68&zoom=10&format=jsonv2"},
		},
		{
			Path: "/nominatim/lookup", OtherPaths: []string{"/nominatim/lookup.php"},
			ID: "nominatimLookup", Tag: "nominatim", Rank: 3,
			Summary: "What has an id",
			Doc: "As Nominatim's `/lookup` answers, for the ids that this server gives: none is an id of OpenStreetMap. " +
				"With `--root-geocoder nominatim` it is at `/lookup` too.",
			Params: endpoint.ForeignParams("Nominatim", "osm_ids", "format", "accept-language",
				"addressdetails", "extratags", "namedetails",
				"polygon_geojson", "polygon_threshold", "polygon_kml", "json_callback", "email", "debug"),
			IgnoresOthers: true,
			Handle:        s.handle(&lookupQuestion),
			Cost:          endpoint.Heavy,
			Refuse:        s.refusing(&lookupQuestion),
			DocsURL:       manual + "Lookup/",
			Answers:       endpoint.Content{"application/json": NominatimResults{}, "text/javascript": nil, "text/xml": nil},
			CachePolicy:   endpoint.CacheTagged,
			OtherAnswers:  refused,
			Example:       endpoint.Example{Request: "/nominatim/lookup?osm_ids=N5746545&format=jsonv2"},
		},
		{
			Path: "/nominatim/status", OtherPaths: []string{"/nominatim/status.php"},
			ID: "nominatimStatus", Tag: "nominatim", Rank: 4,
			Summary: "Whether there is anything to search",
			Doc: "As Nominatim's `/status` answers. With `--root-geocoder nominatim` it is at `/status.php` too; `/status` " +
				"stays this server's own.",
			Params: endpoint.ForeignParams("Nominatim", "format"), IgnoresOthers: true,
			Handle: s.handle(&statusQuestion), Cost: endpoint.Light, Refuse: s.refusing(&statusQuestion), DocsURL: manual + "Status/",
			Answers: endpoint.Content{"application/json": NominatimStatus{}, "text/plain": nil}, CachePolicy: endpoint.CacheNever,
			OtherAnswers: refused,
			Example:      endpoint.Example{Request: "/nominatim/status?format=json"},
		},
	}
}
