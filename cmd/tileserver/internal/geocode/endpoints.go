package geocode

import (
	"net/http"

	"quadrille/ask/geocoder"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/places/search"
)

// These parameters are only for the endpoints of this package.
var (
	qParam = endpoint.New("q",
		"A name in any language or a part of it, with the region around it if you like (`portland oregon`, `paris, tx`); a "+
			"position (`47.37, 8.54`, `47°22'N 8°32'E`, `47d22m12s N 8d32m24s E`, `@47.37,8.54,15z`, the address of a map, "+
			"`geo:` URI, tile `z/x/y`, quadkey, plus code, or a short plus code with a place: `9G8F+6W Zurich`); the code of a "+
			"region or an airport; an IP address.",
		endpoint.Schema{"type": "string", "minLength": 1, "maxLength": search.MaxQueryChars},
		readText).WithExample("portland oregon").AsRequired()
	limitParam        = endpoint.Integer("limit", 1, maxLimit, "Most results.").WithDefault(defaultLimit)
	kindsParam        = kindsOf(geocoder.Kinds)
	boxParam          = endpoint.BBox.AsOptional()
	latParam          = endpoint.Lat.WithDoc("Results near this latitude come first; goes with `lon`.").AsOptional()
	lonParam          = endpoint.Lon.WithDoc("Results near this longitude come first; goes with `lat`.").AsOptional()
	reverseKindsParam = kindsOf(geocoder.ReverseKinds)
)

// added has the endpoints that other files declare.
var added endpoint.AddedEndpoints[*Handlers]

// Endpoints returns the endpoints of this package.
func (s *Handlers) Endpoints() []endpoint.Endpoint {
	return added.AppendTo(s, []endpoint.Endpoint{
		{
			Path: "/geocode",
			ID:   "geocode", Tag: "places", Rank: 4,
			Summary: "What a text names",
			Doc: "Places, regions of every layer, airports, time zones, weather stations, points of collections published " +
				"with `--search`, positions and IP addresses in one list, the likeliest first, each with a `label` that tells it " +
				"apart. All names but those of places need the data set names, which `ingest` makes with them.",
			Params: []endpoint.Param{qParam, limitParam, endpoint.Lang, kindsParam, endpoint.Countries, boxParam, latParam, lonParam, s.form},
			Handle: s.getSearch, Cost: endpoint.Heavy,
			Answers: list.Answers(), CachePolicy: endpoint.CacheTagged,
			Problems: []string{"bad-parameter", "dataset-missing"},
			Example:  endpoint.Example{Request: "/geocode?q=portland%20oregon&limit=1"},
		},
		{
			Path: "/geocode", Methods: []string{http.MethodPost},
			ID: "postSearches", Tag: "places", Rank: 4,
			Summary: "What many texts name",
			Doc: "A search in each line of the body, an object with the parameters of `GET /geocode`: `{\"q\":\"portland " +
				"oregon\",\"limit\":1}`. A line of JSON for each comes back, in order, while further lines are sent: read while " +
				"writing. Parameters of the address hold for lines that have none of their own. A line that cannot be answered " +
				"gets an error of its own.",
			Params: []endpoint.Param{limitParam, endpoint.Lang, kindsParam, endpoint.Countries, boxParam},
			Lines:  []endpoint.Param{qParam, endpoint.Lat, endpoint.Lon, limitParam, endpoint.Lang, kindsParam, endpoint.Countries, boxParam},
			Handle: s.postSearches, Cost: endpoint.Streamed,
			Body: true, BodyContent: endpoint.Content{"application/x-ndjson": endpoint.Schema{"type": "string"}}, BodyRequired: true,
			Answers: endpoint.Content{"application/x-ndjson": GeocodeLine{}}, CachePolicy: endpoint.CacheNever,
			Problems: []string{"bad-parameter", "bad-line", "batch-too-long", "batch-timeout", "unsupported-coding", "unsupported-type",
				"bad-body", "dataset-missing"},
			Example: endpoint.Example{Request: "/geocode?limit=1", Body: "{\"q\":\"portland oregon\"}\n{}\n"},
		},
		{
			Path: "/reverse", OtherPaths: []string{"/geocode/reverse"},
			ID: "reverse", Tag: "places", Rank: 5,
			Summary: "What is at a point",
			Doc: "The nearest place, with its distance, and the regions that contain the point, the smallest first, each " +
				"with its label. A place of the point's own country comes before the nearest if it is at most twice as far, and " +
				"so does one of its own state, and of its own county. `parents` of a place are the regions that it is in itself: " +
				"those that its source names, where a coarse map draws it beyond a border. Servers with `--root-geocoder` have it " +
				"at `/geocode/reverse` alone.",
			Params: []endpoint.Param{endpoint.Lat, endpoint.Lon, endpoint.Lang, reverseKindsParam, endpoint.Radius, s.form},
			Handle: s.getReverse, Cost: endpoint.Light,
			Answers: list.Answers(), CachePolicy: endpoint.CacheTagged,
			Problems: []string{"bad-parameter", "dataset-missing"},
			Example:  endpoint.Example{Request: "/reverse?lat=45.52&lon=-122.68&kinds=place"},
		},
		{
			Path: "/reverse", OtherPaths: []string{"/geocode/reverse"}, Methods: []string{http.MethodPost},
			ID: "postReverses", Tag: "places", Rank: 5,
			Summary: "What is at many points",
			Doc: "A point in each line of the body, as `47.37,8.54` or as an object with the parameters of `GET /reverse`; " +
				"a line of JSON for each comes back, in order, while further lines are sent: read while writing. Parameters of " +
				"the address hold for lines that have none of their own. A line that cannot be answered gets an error of its own.",
			Params: []endpoint.Param{endpoint.Lang, reverseKindsParam, endpoint.Radius},
			Lines:  []endpoint.Param{endpoint.Lat, endpoint.Lon, endpoint.Lang, reverseKindsParam, endpoint.Radius},
			Handle: s.postReverses, Cost: endpoint.Streamed,
			Body: true,
			BodyContent: endpoint.Content{"application/x-ndjson": endpoint.Schema{"type": "string"},
				"text/plain": endpoint.Schema{"type": "string"}},
			BodyRequired: true,
			Answers:      endpoint.Content{"application/x-ndjson": GeocodeLine{}}, CachePolicy: endpoint.CacheNever,
			Problems: []string{"bad-parameter", "bad-line", "batch-too-long", "batch-timeout", "unsupported-coding", "unsupported-type",
				"bad-body", "dataset-missing"},
			Example: endpoint.Example{Request: "/reverse?kinds=place", Body: "45.52,-122.68\n{\"lat\":91,\"lon\":0}\n"},
		},
	}...)
}
