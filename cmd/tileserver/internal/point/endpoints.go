package point

import (
	"net/http"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
)

// added has the endpoints that other files declare.
var added endpoint.AddedEndpoints[*Handlers]

// Endpoints returns the endpoints of this package.
func (s *Handlers) Endpoints() []endpoint.Endpoint {
	return added.AppendTo(s, []endpoint.Endpoint{
		{
			Path: "/at",
			ID:   "getAt", Tag: "points", Rank: 0,
			Summary: "Everything about a point",
			Doc: "The regions that hold it, its time zone and local time, and the nearest populated place, airport and " +
				"weather station. A place of the point's own country is named instead of the nearest if it is at most twice as " +
				"far, and so is one of its own state, and of its own county. `match` says how each was found. The time zone is " +
				"that of the region of type `timezone` that is one zone, which Natural Earth's areas of one offset are not. " +
				"Without such a region it is, on land, that of the country, or of the nearest place or airport in it. Outside of " +
				"territorial waters it is nautical, if countries are published. In no zone of a layer of the whole world the " +
				"longitude tells it also on land where nobody lives. It is absent where none is known. What is not published is named in `missing`.",
			Params: []endpoint.Param{endpoint.Lat, endpoint.Lon, listing.Types, endpoint.Lang, endpoint.At},
			Handle: s.getAt, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": At{}}, CachePolicy: endpoint.CacheByInstant,
			Problems: []string{"bad-parameter", "unknown-layer", "dataset-missing"},
			Example:  endpoint.Example{Request: "/at?lat=47.37&lon=8.54&at=2026-07-01T12:00:00Z"},
		},
		{
			Path: "/at", Methods: []string{http.MethodPost},
			ID: "postAt", Tag: "points", Rank: 0,
			Summary: "Everything about many points",
			Doc: "A point in each line of the body, as `47.37,8.54` or as an object with the parameters of `GET /at`; a " +
				"line of JSON for each comes back, in order, while further lines are sent: read while writing. Parameters of the " +
				"address hold for lines that have none of their own. A line that cannot be answered gets an error of its own.",
			Params: []endpoint.Param{listing.Types, endpoint.Lang, endpoint.At},
			Lines:  []endpoint.Param{endpoint.Lat, endpoint.Lon, listing.Types, endpoint.Lang, endpoint.At},
			Handle: s.postAt, Cost: endpoint.Streamed,
			Body: true,
			BodyContent: endpoint.Content{"application/x-ndjson": endpoint.Schema{"type": "string"},
				"text/plain": endpoint.Schema{"type": "string"}},
			BodyRequired: true,
			Answers:      endpoint.Content{"application/x-ndjson": AtBatchLine{}}, CachePolicy: endpoint.CacheNever,
			Problems: []string{"bad-parameter", "bad-line", "batch-too-long", "batch-timeout", "unsupported-coding", "unsupported-type",
				"bad-body", "dataset-missing", "unknown-layer"},
			Example: endpoint.Example{Request: "/at?at=2026-07-01T12:00:00Z", Body: "47.37,8.54\n91,0\n"},
		},
	}...)
}
