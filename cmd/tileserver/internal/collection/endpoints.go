package collection

import (
	"net/http"
	"slices"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/webhook"
)

// These parameters are only for the endpoints of this package.
var (
	collectionParam = endpoint.DescribedParam(endpoint.InPath, "collection", "Name of a collection.",
		endpoint.Schema{"type": "string"}, "shops")
	pointIDParam = endpoint.DescribedParam(endpoint.InPath, "id", "Id of a point, percent-encoded.",
		endpoint.Schema{"type": "string"}, "zh-1")
	enterParam = endpoint.DescribedParam(endpoint.InQuery, "enter",
		"Regions whose entering is told: `type:id`, or a type alone for each of its regions, with commas between them.",
		endpoint.Schema{"type": "string"}, "state:us-ks")
	leaveParam = endpoint.DescribedParam(endpoint.InQuery, "leave", "Regions whose leaving is told.",
		endpoint.Schema{"type": "string"}, "country")
	withinParam = endpoint.DescribedParam(endpoint.InQuery, "within",
		"Circles whose entering and leaving is told: `lat,lon,metres`, several one after the other.",
		endpoint.Schema{"type": "string"}, "48.85,2.35,500")
	boxesParam = endpoint.DescribedParam(endpoint.InQuery, "bbox",
		"Boxes whose entering and leaving is told: `west,south,east,north`, several one after the other.",
		endpoint.Schema{"type": "string"}, "2.2,48.8,2.5,48.9")
	lastEventIDParam = endpoint.Text("last_event_id", 64, "As the header `Last-Event-ID`.").WithExample("1767225600000000")
	expiresParam     = endpoint.DescribedParam(endpoint.InQuery, "expires",
		"When the point goes by itself. It may be a member of the body, too.", endpoint.Schema{"type": "string", "format": "date-time"}, nil)
	ttlParam = endpoint.DescribedParam(endpoint.InQuery, "ttl",
		"In how many seconds the point goes by itself. It may be a member of the body, too.",
		endpoint.Schema{"type": "number", "exclusiveMinimum": 0}, nil)
	ifMatchParam = endpoint.DescribedParam(endpoint.InHeader, "If-Match", "The ETag of the version that the point must have.",
		endpoint.Schema{"type": "string"}, nil)
	ifNoneMatchParam = endpoint.DescribedParam(endpoint.InHeader, "If-None-Match", "`*`: the point must not be there.",
		endpoint.Schema{"type": "string", "enum": []string{"*"}}, nil)
	hookParam = endpoint.DescribedParam(endpoint.InPath, "hook", "Name of a webhook.", endpoint.Schema{"type": "string"}, "alarm")
)

// added has the endpoints that other files declare.
var added endpoint.AddedEndpoints[*Handlers]

// Endpoints returns the endpoints of this package.
func (s *Handlers) Endpoints() []endpoint.Endpoint {
	return added.AppendTo(s, slices.Concat(s.readEndpoints(), s.collectionEndpoints(), s.pointEndpoints(), s.hookEndpoints())...)
}

// readEndpoints returns the endpoints that describe collections and follow their moves.
func (s *Handlers) readEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		{
			Path: "/points",
			ID:   "getCollections", Tag: "collections", Rank: 1,
			Summary: "The collections of points there are",
			Handle:  s.getCollections, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": CollectionList{}}, CachePolicy: endpoint.CacheVaries,
			Problems: []string{"bad-parameter", "dataset-missing"},
			Example:  endpoint.Example{Request: "/points"},
		},
		{
			Path: "/points/{collection}",
			ID:   "getCollection", Tag: "collections", Rank: 2,
			Summary: "A collection of points",
			Params:  []endpoint.Param{collectionParam},
			Handle:  s.getCollection, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": Collection{}}, CachePolicy: endpoint.CacheVaries,
			Problems: []string{"data-damaged", "storage-failing", "bad-parameter", "collection-not-found", "dataset-missing"},
			Example:  endpoint.Example{Request: "/points/shops"},
		},
		{
			Path: "/points/{collection}/events",
			ID:   "getEvents", Tag: "collections", Rank: 19,
			Summary: "Follow moves",
			Doc: "Server-sent events: `move` for every point that appears, moves or goes, or, with fences, `enter` and " +
				"`leave` for those that cross one. The id of an event goes into `Last-Event-ID` to go on after it: each comes " +
				"once, in the order of the writes. At most 100 fences.",
			Params: []endpoint.Param{collectionParam, enterParam, leaveParam, withinParam, boxesParam, lastEventIDParam},
			Handle: s.getEvents, Cost: endpoint.LongLived,
			Answers: endpoint.Content{"text/event-stream": nil}, CachePolicy: endpoint.CacheNever,
			Problems: []string{"data-damaged", "storage-failing", "bad-parameter", "collection-not-found", "unknown-layer",
				"region-not-found", "events-gone", "dataset-missing"},
		},
	}
}

// collectionEndpoints returns the endpoints that make, describe and delete live collections, and
// that write many points at once.
func (s *Handlers) collectionEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		{
			Path: "/points/{collection}", Methods: []string{http.MethodPatch},
			ID: "patchCollection", Tag: "collections", Rank: 20,
			Summary: "Change how a live collection is described",
			Doc: "Members of the body are changed as RFC 7396 says, and the rest stays: " +
				"`{\"title\":\"Shops\",\"schema\":{\"price\":\"number\",\"old\":null}}`. A null is what a collection has that is " +
				"made without the member. All changes are one step between two writes. Types hold for what is written from then " +
				"on, and no point is changed: `other_types` counts the values that have not the type of their property, which " +
				"filters and orders pass over. A history that begins or becomes longer reaches back to what is remembered " +
				"already; when it begins, writes wait until all points are in it. The name stays.",
			Params: []endpoint.Param{collectionParam},
			Handle: unconditional(s.patchCollection), Cost: endpoint.Light,
			Body: true,
			BodyContent: endpoint.Content{
				"application/merge-patch+json": endpoint.Schema{"type": "object"},
				"application/json":             endpoint.Schema{"type": "object"},
			},
			BodyRequired: true,
			Answers:      endpoint.Content{"application/json": CollectionName{}}, CachePolicy: endpoint.CacheNever,
			Problems: []string{"data-damaged", "insufficient-storage", "storage-failing", "read-only", "scope-missing", "bad-name",
				"collection-not-found", "bad-description", "bad-point", "bad-properties", "dataset-unavailable", "timeout",
				"unsupported-coding", "unsupported-type", "bad-body", "bad-parameter"},
		},
		{
			Path: "/points/{collection}", Methods: []string{http.MethodPut},
			ID: "putCollection", Tag: "collections", Rank: 20,
			Summary: "Make a live collection",
			Doc: "The body, which may be empty, has `title`, `attribution`, `licence`, `private`, `history` (for how long " +
				"it remembers where points were, such as `720h`), `events` (for how long moves are kept for those who follow " +
				"them, `24h`) and `schema`, the types of properties by name. A collection that was made from the same description is found, not made.",
			Params: []endpoint.Param{collectionParam},
			Handle: unconditional(s.putCollection), Cost: endpoint.Light,
			Body: true, BodyContent: endpoint.Content{"application/json": endpoint.Schema{"type": "object"}},
			Answers: endpoint.Content{"application/json": CollectionName{}}, CachePolicy: endpoint.CacheNever,
			Problems: []string{"data-damaged", "insufficient-storage", "storage-failing", "read-only", "scope-missing", "bad-name",
				"bad-description", "bad-point", "bad-properties", "collection-exists", "too-many-collections", "dataset-unavailable",
				"timeout", "unsupported-coding", "unsupported-type", "bad-body", "bad-parameter"},
			OtherAnswers: []endpoint.OtherAnswer{{
				Status:  201,
				Text:    "It was not there before.",
				Content: endpoint.Content{"application/json": CollectionName{}},
			}},
		},
		{
			Path: "/points/{collection}", Methods: []string{http.MethodDelete},
			ID: "deleteCollection", Tag: "collections", Rank: 21,
			Summary: "Delete a live collection",
			Doc:     "With all its points.",
			Params:  []endpoint.Param{collectionParam},
			Handle:  unconditional(s.deleteCollection), Cost: endpoint.Light,
			Body:        true,
			CachePolicy: endpoint.CacheNever,
			Empty:       "It has been deleted.",
			Problems: []string{"data-damaged", "insufficient-storage", "storage-failing", "read-only", "scope-missing", "bad-name",
				"collection-not-found", "dataset-unavailable", "bad-parameter"},
		},
		{
			Path: "/points/{collection}", Methods: []string{http.MethodPost},
			ID: "postPoints", Tag: "collections", Rank: 22,
			Summary: "Write many points",
			Doc: "A write in each line of the body: a Feature with an id, `{\"id\":…,\"delete\":true}`, or " +
				"`{\"id\":…,\"patch\":{…}}` with what PATCH takes. A line for each comes back, in order, once it is on the disk, " +
				"while further lines are sent: read while writing. A line that cannot be written spoils only itself. A batch of " +
				"which no line is a valid write is 400, with the same lines.",
			Params: []endpoint.Param{collectionParam},
			Handle: unconditional(s.postLines), Cost: endpoint.Streamed,
			Body: true, BodyContent: endpoint.Content{"application/x-ndjson": endpoint.Schema{"type": "string"}}, BodyRequired: true,
			Answers: endpoint.Content{"application/x-ndjson": WrittenLine{}}, CachePolicy: endpoint.CacheNever,
			OtherAnswers: []endpoint.OtherAnswer{{
				Status:  http.StatusBadRequest,
				Text:    "No line is a valid write: the lines say why. A body that is not made of lines gets a problem.",
				Content: endpoint.Content{"application/x-ndjson": WrittenLine{}},
			}},
			Problems: []string{"data-damaged", "insufficient-storage", "storage-failing", "read-only", "scope-missing", "bad-name",
				"collection-not-found", "batch-too-long", "bad-line", "batch-timeout", "dataset-unavailable", "timeout",
				"unsupported-coding", "unsupported-type", "bad-body", "bad-parameter"},
		},
	}
}

// pointEndpoints returns the endpoints that write one point.
func (s *Handlers) pointEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		{
			Path: "/points/{collection}/{id}", Methods: []string{http.MethodPut},
			ID: "putPoint", Tag: "collections", Rank: 23,
			Summary: "Write a point",
			Doc:     "A GeoJSON Feature with a Point. It replaces the point of that id. Altitudes are not kept.",
			Params:  []endpoint.Param{collectionParam, pointIDParam, expiresParam, ttlParam, ifMatchParam, ifNoneMatchParam},
			Handle:  s.putPoint, Cost: endpoint.Light,
			Body: true,
			BodyContent: endpoint.Content{
				"application/geo+json": endpoint.Schema{"type": "object"},
				"application/json":     endpoint.Schema{"type": "object"},
			},
			BodyRequired: true,
			Answers:      endpoint.Content{"application/json": WrittenPoint{}}, CachePolicy: endpoint.CacheNever,
			Headers: []string{"ETag-Of-Point"},
			Problems: []string{"data-damaged", "insufficient-storage", "storage-failing", "read-only", "scope-missing", "bad-name",
				"bad-parameter", "bad-point", "bad-properties", "collection-not-found", "point-exists", "point-changed",
				"dataset-unavailable", "timeout", "unsupported-coding", "unsupported-type", "bad-body"},
			OtherAnswers: []endpoint.OtherAnswer{{
				Status:  201,
				Text:    "It was not there before.",
				Content: endpoint.Content{"application/json": WrittenPoint{}},
				Headers: []string{"ETag-Of-Point"},
			}},
		},
		{
			Path: "/points/{collection}/{id}", Methods: []string{http.MethodPatch},
			ID: "patchPoint", Tag: "collections", Rank: 24,
			Summary: "Change a point",
			Doc: "The body has any of `geometry`, `properties`, `expires` and `ttl`. Of `properties`, members that are " +
				"null are removed, others are set as a whole, and the rest stays. As `application/merge-patch+json` the body has " +
				"the meaning of RFC 7396: inner objects are merged, and `properties` that are null remove all.",
			Params: []endpoint.Param{collectionParam, pointIDParam, expiresParam, ttlParam, ifMatchParam},
			Handle: s.patchPoint, Cost: endpoint.Light,
			Body: true,
			BodyContent: endpoint.Content{
				"application/merge-patch+json": endpoint.Schema{"type": "object"},
				"application/json":             endpoint.Schema{"type": "object"},
				"application/geo+json":         endpoint.Schema{"type": "object"},
			},
			BodyRequired: true,
			Answers:      endpoint.Content{"application/json": WrittenPoint{}}, CachePolicy: endpoint.CacheNever,
			Headers: []string{"ETag-Of-Point"},
			Problems: []string{"data-damaged", "insufficient-storage", "storage-failing", "read-only", "scope-missing", "bad-name",
				"bad-parameter", "bad-point", "bad-properties", "collection-not-found", "point-not-found", "point-changed",
				"dataset-unavailable", "timeout", "unsupported-coding", "unsupported-type", "bad-body"},
		},
		{
			Path: "/points/{collection}/{id}", Methods: []string{http.MethodDelete},
			ID: "deletePoint", Tag: "collections", Rank: 25,
			Summary: "Delete a point",
			Params:  []endpoint.Param{collectionParam, pointIDParam, ifMatchParam},
			Handle:  s.deletePoint, Cost: endpoint.Light,
			Body:        true,
			CachePolicy: endpoint.CacheNever,
			Empty:       "It has been deleted.",
			Problems: []string{"data-damaged", "insufficient-storage", "storage-failing", "read-only", "scope-missing", "bad-name",
				"bad-parameter", "bad-point", "collection-not-found", "point-not-found", "point-changed", "dataset-unavailable", "timeout"},
		},
	}
}

// hookEndpoints returns the endpoints that manage the webhooks of a live collection.
func (s *Handlers) hookEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		{
			Path: "/points/{collection}/hooks",
			ID:   "getHooks", Tag: "collections", Rank: 26,
			Summary: "List webhooks",
			Doc:     "With the state of each. It needs a key with the scope `write:COLLECTION`.",
			Params:  []endpoint.Param{collectionParam},
			Handle:  s.getHooks, Cost: endpoint.Light,
			ChecksScope: true,
			Answers:     endpoint.Content{"application/json": HookList{}}, CachePolicy: endpoint.CacheNever,
			Problems: []string{"data-damaged", "storage-failing", "read-only", "scope-missing", "bad-name", "collection-not-found", "bad-parameter"},
			Example:  endpoint.Example{Request: "/points/taxis/hooks"},
		},
		{
			Path: "/points/{collection}/hooks/{hook}",
			ID:   "getHook", Tag: "collections", Rank: 27,
			Summary: "State of a webhook",
			Doc:     "Its filter, its fences and the state of its deliveries. It needs a key with the scope `write:COLLECTION`.",
			Params:  []endpoint.Param{collectionParam, hookParam},
			Handle:  s.getHook, Cost: endpoint.Light,
			ChecksScope: true,
			Answers:     endpoint.Content{"application/json": webhook.State{}}, CachePolicy: endpoint.CacheNever,
			Problems: []string{"data-damaged", "storage-failing", "read-only", "scope-missing", "bad-name", "collection-not-found",
				"hook-not-found", "bad-parameter"},
			Example: endpoint.Example{Request: "/points/taxis/hooks/alarm"},
		},
		{
			Path: "/points/{collection}/hooks/{hook}", Methods: []string{http.MethodPut},
			ID: "putHook", Tag: "collections", Rank: 28,
			Summary: "Make or replace a webhook",
			Doc: "The body has `url`, where events are sent by POST, and `enter`, `leave`, `within` and `bbox`, lists of " +
				"what the parameters of `/points/{collection}/events` take; without these every move is sent. A new hook begins " +
				"with the next event; one that is replaced goes on where it was, and is enabled again. Only this answer has the " +
				"`secret` that requests are signed with, a new one each time. Where a hook is replaced, requests are signed with " +
				"its earlier secret, too, for `overlap`, a day if it is not given: both signatures are in `webhook-signature`, " +
				"with a blank between them, as Standard Webhooks says. `0s` ends the earlier secret at once.",
			Params: []endpoint.Param{collectionParam, hookParam},
			Handle: unconditional(s.putHook), Cost: endpoint.Light,
			Body: true, BodyContent: endpoint.Content{"application/json": webhook.Definition{}},
			Answers: endpoint.Content{"application/json": webhook.State{}}, CachePolicy: endpoint.CacheNever,
			Problems: []string{"data-damaged", "insufficient-storage", "storage-failing", "read-only", "scope-missing", "bad-name",
				"collection-not-found", "bad-hook", "too-many-hooks", "unknown-layer", "region-not-found", "dataset-missing",
				"dataset-unavailable", "timeout", "unsupported-coding", "unsupported-type", "bad-body", "bad-parameter"},
			OtherAnswers: []endpoint.OtherAnswer{{
				Status:  201,
				Text:    "It was not there before.",
				Content: endpoint.Content{"application/json": webhook.State{}},
			}},
		},
		{
			Path: "/points/{collection}/hooks/{hook}", Methods: []string{http.MethodDelete},
			ID: "deleteHook", Tag: "collections", Rank: 29,
			Summary: "Delete a webhook",
			Doc:     "A request that runs is cut off.",
			Params:  []endpoint.Param{collectionParam, hookParam},
			Handle:  unconditional(s.deleteHook), Cost: endpoint.Light,
			Body:        true,
			CachePolicy: endpoint.CacheNever,
			Empty:       "It has been deleted.",
			Problems: []string{"data-damaged", "insufficient-storage", "storage-failing", "read-only", "scope-missing", "bad-name",
				"collection-not-found", "hook-not-found", "dataset-unavailable", "bad-parameter"},
		},
	}
}
