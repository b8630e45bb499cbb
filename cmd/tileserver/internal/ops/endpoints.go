package ops

import (
	"net/http"
	"slices"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
)

// These are the parameters that only package ops declares. The server ignores the parameters of the
// embed page (/embed), because the page's script reads them.
var (
	limitParam    = endpoint.Integer("limit", 1, maxTop, "Most addresses, and most keys, to list.").WithDefault(100).WithExample(20)
	documentParam = endpoint.DescribedParam(endpoint.InPath, "document", "Name of a document, or of a picture in one.",
		endpoint.Schema{"type": "string"}, "points")
	centerParam = endpoint.DescribedParam(endpoint.InQuery, "center",
		"The middle of the map, `lat,lon` in degrees. Left out, the marker, or else where the data are.",
		endpoint.Schema{"type": "string"}, "46.8,8.2")
	zoomParam = endpoint.DescribedParam(endpoint.InQuery, "zoom", "As of tiles of 256 pixels, up to 18.",
		endpoint.Schema{"type": "number", "minimum": 0, "maximum": 18}, 7)
	markerParam = endpoint.DescribedParam(endpoint.InQuery, "marker", "Where a pin stands, `lat,lon` in degrees.",
		endpoint.Schema{"type": "string"}, "46.95,7.45")
	fitParam = endpoint.DescribedParam(endpoint.InQuery, "fit",
		"What the map begins with the whole of, in place of `center` and `zoom`: a layer, a region as `type:id`, or a box, "+
			"`west,south,east,north` in degrees.",
		endpoint.Schema{"type": "string"}, nil)
	popupParam = endpoint.DescribedParam(endpoint.InQuery, "popup",
		"What the card of a point or region that is clicked tells: columns, `name,price`, or a text with columns in braces, "+
			"`{name}: {price} €`. Empty, there is no card; left out, it has all columns.", endpoint.Schema{"type": "string"}, nil)
	titleParam  = endpoint.DescribedParam(endpoint.InQuery, "title", "A title over the map.", endpoint.Schema{"type": "string"}, nil)
	layersParam = endpoint.DescribedParam(endpoint.InQuery, "layers",
		"Comma list of the layers that are on: region types, `places`, `points:name`. Left out, those that the map page begins with.", endpoint.Schema{"type": "string"}, "country,places")
	colorParam = endpoint.DescribedParam(endpoint.InQuery, "color",
		"LAYER.PROPERTY: colours a layer by the values of a property and shows a legend, as `/style.json` does with the same parameters.",
		endpoint.Schema{"type": "string"}, nil)
	classesParam = endpoint.DescribedParam(endpoint.InQuery, "classes", "How numbers are divided, such as `jenks:7`, as in `/style.json`.",
		endpoint.Schema{"type": "string"}, nil)
	schemeParam = endpoint.DescribedParam(endpoint.InQuery, "scheme", "Colours of the classes, such as `heat`, as in `/style.json`.",
		endpoint.Schema{"type": "string"}, nil)
	themeParam = endpoint.DescribedParam(endpoint.InQuery, "theme", "Colours; left out, those that the reader's system prefers.",
		endpoint.Schema{"type": "string", "enum": []string{"light", "dark"}}, nil)
	langParam = endpoint.DescribedParam(endpoint.InQuery, "lang",
		"The language of the map's words and, where the data have them, of names: de, fr, es, pt, ru, ar, hi, zh, ja or en. "+
			"Left out, the reader's.", endpoint.Schema{"type": "string"}, nil)
)

// Endpoints returns the endpoints of this package. They ignore unknown parameters, because other
// sites add parameters to links to documents and to the page, and probes and scrapers add their
// own.
func (s *Handlers) Endpoints() []endpoint.Endpoint {
	return slices.Concat(s.stateEndpoints(), s.usageEndpoints(), s.documentEndpoints(), s.pageEndpoints())
}

// stateEndpoints returns the endpoints that report the state of the server to probes, scrapers and
// people.
func (s *Handlers) stateEndpoints() []endpoint.Endpoint {
	var metrics endpoint.Handler
	if s.MetricsHandler != nil {
		metrics = servePlain(s.MetricsHandler)
	}
	return []endpoint.Endpoint{
		{
			Path: "/healthz",
			ID:   "getHealth", Tag: "operations", Rank: 1,
			Summary:       "Whether the server runs",
			IgnoresOthers: true,
			Handle:        s.getHealth, Cost: endpoint.Vital,
			Keys:    endpoint.KeysIgnored,
			Answers: endpoint.Content{"application/json": Health{}}, CachePolicy: endpoint.CacheNever,
			Problems: []string{"body-too-large"},
			Example:  endpoint.Example{Request: "/healthz"},
		},
		{
			Path: "/readyz",
			ID:   "getReady", Tag: "operations", Rank: 2,
			Summary:       "Whether every published data set, and every one that is required, is open and whole",
			IgnoresOthers: true,
			Handle:        s.getReady, Cost: endpoint.Vital,
			Keys:    endpoint.KeysIgnored,
			Answers: endpoint.Content{"application/json": Health{}}, CachePolicy: endpoint.CacheNever,
			Problems: []string{"not-ready", "data-damaged", "draining"},
			Example:  endpoint.Example{Request: "/readyz"},
		},
		{
			Path: "/status",
			ID:   "getStatus", Tag: "operations", Rank: 3,
			Summary: "What is being served",
			Doc: "Generations, ages, sources and licences of the data sets. Who asks for `text/html`, as a browser does, " +
				"gets a page that shows the same.",
			IgnoresOthers: true,
			Handle:        s.getStatus, Cost: endpoint.Vital,
			Keys:    endpoint.KeysIgnored,
			Answers: endpoint.Content{"application/json": Status{}, "text/html": nil}, CachePolicy: endpoint.CacheNever,
			Headers:  []string{"Content-Security-Policy"},
			Problems: []string{"body-too-large"},
			Example:  endpoint.Example{Request: "/status"},
		},
		{
			Path: "/metrics",
			ID:   "getMetrics", Tag: "operations", Rank: 4,
			Summary:       "Counts for Prometheus",
			Doc:           "In its text format. The operator may keep it to the listener of `--admin-listen`.",
			IgnoresOthers: true,
			Handle:        metrics, Cost: endpoint.Vital,
			Keys:    endpoint.KeysIgnored,
			Answers: endpoint.Content{"text/plain": nil}, CachePolicy: endpoint.CacheNever,
			Problems: []string{"not-found", "body-too-large"},
			Example:  endpoint.Example{Request: "/metrics"},
		},
	}
}

// usageEndpoints returns the endpoints for the counts of clients' requests.
func (s *Handlers) usageEndpoints() []endpoint.Endpoint {
	var usage endpoint.Handler
	if s.Guard != nil && s.Guard.Keys != nil {
		usage = s.getUsage
	}
	return []endpoint.Endpoint{
		{
			Path: "/usage",
			ID:   "getUsage", Tag: "operations", Rank: 5,
			Summary: "What a key was used for",
			Doc:     "Limits and use of the request's key, on servers with keys. The request itself is not counted.",
			Handle:  usage, Cost: endpoint.Light,
			Keys:    endpoint.KeysByHandler,
			Answers: endpoint.Content{"application/json": Usage{}}, CachePolicy: endpoint.CacheNever,
			Problems: []string{"bad-parameter", "key-missing", "key-unknown", "not-found"},
			Example:  endpoint.Example{Request: "/usage"},
		},
		{
			Path: "/usage/top", Methods: []string{http.MethodGet},
			ID: "getUsageTop", Tag: "operations", Rank: 6, Admin: true,
			Summary:       "The busiest addresses and keys",
			Doc:           "Of the hour that runs, refused requests included. Only on the listener of `--admin-listen`, and with keys or limits.",
			Params:        []endpoint.Param{limitParam},
			IgnoresOthers: true,
			Keys:          endpoint.KeysIgnored,
			Answers:       endpoint.Content{"application/json": BusyClients{}}, CachePolicy: endpoint.CacheAdmin,
			OtherAnswers: []endpoint.OtherAnswer{
				{Status: 400, Text: "The limit is not valid.", Content: endpoint.Content{"text/plain": nil}},
				{Status: 404,
					Text: "As text: the server has neither keys nor limits, so no client is counted. As a problem document: this " +
						"is not the operator's listener; the detail says how to start one.",
					Content: endpoint.Content{"text/plain": nil, "application/problem+json": web.Problem{}},
					Headers: []string{"Cache-Control-No-Store", "X-Request-Id"}},
			},
			Example: endpoint.Example{Request: "/usage/top?limit=20"},
		},
	}
}

// documentEndpoints returns the endpoints of the description of the interface and of the documents.
func (s *Handlers) documentEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		{
			Path: "/openapi.json",
			ID:   "getOpenAPI", Tag: "documents", Rank: 1,
			Summary: "This description",
			Doc: "As an OpenAPI 3.1 document. `servers` has the address that the operator gave, or else the path of the " +
				"host under which the server is reached.",
			IgnoresOthers: true,
			Handle:        s.getOpenAPI, Cost: endpoint.Light,
			Keys:    endpoint.KeysIgnored,
			Answers: endpoint.Content{"application/json": nil}, CachePolicy: endpoint.CacheTagged,
			Problems: []string{"body-too-large"},
			Example:  endpoint.Example{Request: "/openapi.json"},
		},
		{
			Path: "/docs",
			ID:   "getDocs", Tag: "documents", Rank: 2,
			Summary:       "This description, to read",
			IgnoresOthers: true,
			Handle:        s.sendDocument(docsPath), Cost: endpoint.Light,
			Keys:    endpoint.KeysIgnored,
			Answers: endpoint.Content{"text/html": nil}, CachePolicy: endpoint.CacheFile,
			Problems: []string{"body-too-large"},
			Example:  endpoint.Example{Request: "/docs"},
		},
		{
			Path: guidePath,
			ID:   "getGuide", Tag: "documents", Rank: 2,
			Summary:       "The documents of this version, to read",
			Doc:           "The page of `/docs` has links to them.",
			Params:        []endpoint.Param{documentParam},
			IgnoresOthers: true,
			Handle:        s.sendGuide, Cost: endpoint.Light,
			Keys:    endpoint.KeysIgnored,
			Answers: endpoint.Content{"text/html": nil, "image/png": nil}, CachePolicy: endpoint.CacheFile,
			Problems: []string{"not-found", "body-too-large"},
			Example:  endpoint.Example{Request: "/docs/points"},
		},
		{
			Path: docsStylePath, Hidden: true, IgnoresOthers: true,
			Handle: s.sendDocument(docsStylePath), Cost: endpoint.Light, Keys: endpoint.KeysIgnored,
		},
	}
}

// pageEndpoints returns the endpoints of the map page and of the map for frames of other pages.
func (s *Handlers) pageEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		{
			Path: "/", Route: "/*",
			ID: "getPage", Tag: "documents", Rank: 3,
			Summary:       "The map page",
			IgnoresOthers: true,
			Handle:        s.getPage, Cost: endpoint.Light,
			Keys:    endpoint.KeysIgnored,
			Answers: endpoint.Content{"text/html": nil}, CachePolicy: endpoint.CacheFile,
			Problems: []string{"body-too-large"},
			Example:  endpoint.Example{Request: "/"},
		},
		{
			Path: "/embed",
			ID:   "getEmbed", Tag: "documents", Rank: 4,
			Summary: "The map for a frame of another page",
			Doc: "Pages of any origin may hold it in an `iframe`, also in one with `sandbox=\"allow-scripts\"` unless the " +
				"operator has restricted `--cors-origin`; the map page itself may not be framed. A parameter that is not valid " +
				"counts as not given, and a zoom or latitude out of bounds is brought back into them; a `popup` with a column " +
				"that no layer has is refused. " +
				"`points:shops.category=cafe` shows of that collection the points that pass the filter.",
			Params: []endpoint.Param{
				centerParam, zoomParam, markerParam, fitParam, layersParam, colorParam, classesParam, schemeParam, popupParam,
				titleParam, themeParam, langParam,
			},
			IgnoresOthers: true,
			Handle:        s.getEmbed, Cost: endpoint.Light,
			Keys:    endpoint.KeysIgnored,
			Answers: endpoint.Content{"text/html": nil}, CachePolicy: endpoint.CacheFile,
			Problems: []string{"body-too-large"},
			OtherAnswers: []endpoint.OtherAnswer{{Status: 400, Text: "No layer has a column of the popup; the detail names those that there are.",
				Content: endpoint.Content{"application/problem+json": web.Problem{}}, Headers: []string{"Cache-Control-No-Store"}}},
			Example: endpoint.Example{Request: "/embed?center=46.8,8.2&zoom=7&marker=46.95,7.45"},
		},
	}
}
