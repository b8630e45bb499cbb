package photon

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
)

// manual is the address of Photon's documentation.
const manual = "https://github.com/komoot/photon/blob/master/docs/api-v1.md"

var refused = endpoint.RefusedAnswers(endpoint.Content{"application/json": PhotonError{}}, map[int]string{
	http.StatusBadRequest:          "A parameter is missing, unknown or not valid.",
	http.StatusUnauthorized:        "A key is needed, or the one that was sent is not valid.",
	http.StatusNotFound:            "The data is not published on this server.",
	http.StatusTooManyRequests:     "The limit of requests is used up.",
	http.StatusInternalServerError: "The server failed.",
	http.StatusServiceUnavailable:  "The server is at its limit, or the data cannot be read right now.",
})

// Endpoints returns the Photon endpoints. Photon ignores a slash at the end of the path, and its
// browser clients send one. The handlers check the parameters and use Photon's error messages.
func (s *Handlers) Endpoints() []endpoint.Endpoint {
	refuse := func(c echo.Context, err error) { _ = s.fail(c, err) }
	return []endpoint.Endpoint{
		{
			Path: "/photon/api", OtherPaths: []string{"/photon/api/"},
			ID: "photonSearch", Tag: "photon", Rank: 1,
			Summary: "What a text names",
			Doc:     "As Photon's `/api` answers. With `--root-geocoder photon` it is at `/api` too.",
			Params: endpoint.ForeignParams("Photon", "q", "lang", "limit", "lat", "lon", "zoom", "location_bias_scale", "bbox",
				"countrycode", "suggest_addresses", "layer", "osm_tag", "include", "exclude", "dedupe", "geometry", "debug"),
			IgnoresOthers: true,
			Handle:        s.getSearch, Cost: endpoint.Heavy, Refuse: refuse, DocsURL: manual,
			Answers: endpoint.Content{"application/json": PhotonFeatures{}}, CachePolicy: endpoint.CacheTagged,
			OtherAnswers: refused,
			Example:      endpoint.Example{Request: "/photon/api?q=berlin&limit=1"},
		},
		{
			Path: "/photon/reverse", OtherPaths: []string{"/photon/reverse/"},
			ID: "photonReverse", Tag: "photon", Rank: 2,
			Summary: "What is at a point",
			Doc: "As Photon's `/reverse` answers: the nearest place, then the regions that contain the point, the smallest " +
				"first. Regions come first where no place of the point's own country, state and county is near. `city` of a " +
				"section is the municipality around it, or else the largest place of its divisions. With `--root-geocoder photon` " +
				"it is at `/reverse` too, and the other one only at `/geocode/reverse`.",
			Params: endpoint.ForeignParams("Photon", "lat", "lon", "lang", "limit", "radius",
				"query_string_filter", "distance_sort", "layer",
				"osm_tag", "include", "exclude", "dedupe", "geometry", "debug"),
			IgnoresOthers: true,
			Handle:        s.getReverse, Cost: endpoint.Light, Refuse: refuse, DocsURL: manual,
			Answers: endpoint.Content{"application/json": PhotonFeatures{}}, CachePolicy: endpoint.CacheTagged,
			OtherAnswers: refused,
			Example:      endpoint.Example{Request: "/photon/reverse?lat=52.52&lon=13.41"},
		},
	}
}
