package ogc

import (
	"slices"

	"quadrille/cmd/internal/cql2"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/ogcapi"
)

// These parameters are only for the endpoints of this package.
var (
	fCount                 = ogcapi.FormatParam(listing.CountFormDoc, countFormats)
	fDocumentParam         = ogcapi.FormatParam("The format, instead of by `Accept`.", ogcapi.DocumentFormats)
	featureCollectionParam = endpoint.DescribedParam(endpoint.InPath, "collectionId",
		"A region type, `places`, `airports`, `stations` or `points:name`.",
		endpoint.Schema{"type": "string", "minLength": 1, "maxLength": 1024}, "country")
	limitParam = endpoint.Integer("limit", 1, 1_000_000_000,
		"How many features a page has at most. More than 1,000 mean 1,000.").WithDefault(defaultLimit)
	bboxParam = endpoint.DescribedParam(endpoint.InQuery, "bbox",
		"Features that meet this box: the lower corner and the upper one, in the order of the axes of `bbox-crs`. West "+
			"greater than east means across 180 degrees. Of six numbers the third and the sixth, heights, are ignored.",
		endpoint.Schema{"type": "array", "items": endpoint.Schema{"type": "number"}, "minItems": 4, "maxItems": 6}, []int{7, 46, 9, 48})
	datetimeParam = endpoint.DescribedParam(endpoint.InQuery, "datetime",
		"A time or a day, or an interval with / between its ends; .. is an open end. Features with a begin and an end, as "+
			"weather stations have, that last at some time of it; of those whose properties have exactly one time, those of "+
			"it; live collections with a history answer as they were at its end. Other features have no time, and pass.",
		endpoint.Schema{"type": "string", "minLength": 1, "maxLength": 100}, nil)
	filterParam = endpoint.Text("filter", cql2.MaxBytes,
		"A filter as CQL2 text or, with `filter-lang=cql2-json`, as CQL2 JSON: "+
			"comparisons, `AND`, `OR`, `NOT`, `LIKE`, `IN`, `BETWEEN`, `IS NULL`, "+
			"`S_INTERSECTS(geometry, BBOX(…))`, `S_DISJOINT`, `S_WITHIN` and `S_DWITHIN` with geometries in WKT, and `A_CONTAINS`, `A_CONTAINEDBY`, `A_EQUALS`, `A_OVERLAPS` of lists. At most 10,000 bytes.").WithExample("population > 1000000 AND country IN ('CH', 'FR')")
	filterLangParam = endpoint.Word("filter-lang", "The language of `filter`: text, or an object.", "cql2-text", "cql2-json").WithDefault("cql2-text")
	filterCRSParam  = systemParam("filter-crs", "The coordinate reference system of geometries in `filter`.", []string{crs84.uri})
	crsParam        = systemParam("crs", "The coordinate reference system of the answer.", systemIDs)
	bboxCRSParam    = systemParam("bbox-crs", "The coordinate reference system of `bbox`.", systemIDs)
	offsetParam     = endpoint.Integer("offset", 0, maxOffset,
		"How many features to leave out; links use `cursor`, which reads none in vain.").WithDefault(0)
	cursorParam  = endpoint.Cursor.WithDoc("That of a link `next`.")
	filtersParam = endpoint.FilterParams("Every property that `queryables` lists is a parameter: `country=CH` for "+
		"features that have this value.", map[string]any{"name": "Zürich"})
	featureIDParam = endpoint.DescribedParam(endpoint.InPath, "featureId", "The `id` of a feature in `items`.",
		endpoint.Schema{"type": "string", "minLength": 1, "maxLength": 1024}, "ch")
)

// added has the endpoints that other files declare.
var added endpoint.AddedEndpoints[*Handlers]

// Endpoints returns the endpoints of this package.
func (s *Handlers) Endpoints() []endpoint.Endpoint {
	return added.AppendTo(s, slices.Concat(s.documentEndpoints(), s.collectionEndpoints(), s.itemEndpoints())...)
}

// documentEndpoints returns the endpoints of the landing page and of the documents about the whole
// interface.
func (s *Handlers) documentEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		{
			Path: "/ogc", OtherPaths: []string{"/ogc/"},
			ID: "getOGC", Tag: "ogc", Rank: 1,
			Summary: "The landing page of OGC API",
			Params:  []endpoint.Param{fDocumentParam},
			Handle:  s.getLanding, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": Landing{}, "text/html": nil}, CachePolicy: endpoint.CacheVaries,
			Headers:  []string{"Content-Security-Policy"},
			Problems: []string{"bad-parameter", "bad-host"},
		},
		{
			Path: "/ogc/conformance",
			ID:   "getConformance", Tag: "ogc", Rank: 2,
			Summary: "The classes of requirements that are met",
			Params:  []endpoint.Param{fDocumentParam},
			Handle:  s.getConformance, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": Conformance{}, "text/html": nil}, CachePolicy: endpoint.CacheVaries,
			Headers:  []string{"Content-Security-Policy"},
			Problems: []string{"bad-parameter", "bad-host"},
		},
		{
			Path: "/ogc/api",
			ID:   "getOGCDescription", Tag: "ogc", Rank: 3,
			Summary: "The description of OGC API in OpenAPI 3.0",
			Params:  []endpoint.Param{fDocumentParam},
			Handle:  s.getAPI, Cost: endpoint.Light,
			Answers:     endpoint.Content{"application/vnd.oai.openapi+json": Description{}, "text/html": nil},
			CachePolicy: endpoint.CacheVaries,
			Headers:     []string{"Content-Security-Policy"},
			Problems:    []string{"bad-parameter", "bad-host"},
		},
	}
}

// collectionEndpoints returns the endpoints that describe collections and their properties.
func (s *Handlers) collectionEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		{
			Path: "/ogc/collections",
			ID:   "getOGCCollections", Tag: "ogc", Rank: 4,
			Summary: "The collections of features",
			Doc:     "Those of users' points are here if all may see them.",
			Params:  []endpoint.Param{fDocumentParam},
			Handle:  s.getCollections, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": Collections{}, "text/html": nil}, CachePolicy: endpoint.CacheVaries,
			Headers:  []string{"Content-Security-Policy"},
			Problems: []string{"bad-parameter", "bad-host"},
		},
		{
			Path: "/ogc/collections/{collectionId}",
			ID:   "getOGCCollection", Tag: "ogc", Rank: 5,
			Summary: "A collection of features",
			Params:  []endpoint.Param{featureCollectionParam, fDocumentParam},
			Handle:  s.getCollection, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/json": Collection{}, "text/html": nil}, CachePolicy: endpoint.CacheVaries,
			Headers:  []string{"Content-Security-Policy"},
			Problems: []string{"bad-parameter", "bad-host", "collection-not-found", "dataset-missing"},
		},
		{
			Path: "/ogc/collections/{collectionId}/queryables",
			ID:   "getOGCQueryables", Tag: "ogc", Rank: 6,
			Summary: "The properties that filters of a collection may name",
			Doc:     "As a JSON schema.",
			Params:  []endpoint.Param{featureCollectionParam, fDocumentParam},
			Handle:  s.getQueryables, Cost: endpoint.Light,
			Answers: endpoint.Content{"application/schema+json": Queryables{}, "text/html": nil}, CachePolicy: endpoint.CacheVaries,
			Headers:  []string{"Content-Security-Policy"},
			Problems: []string{"bad-parameter", "bad-host", "collection-not-found", "dataset-missing"},
		},
	}
}

// itemEndpoints returns the endpoints that answer with features.
func (s *Handlers) itemEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		{
			Path: "/ogc/collections/{collectionId}/items",
			ID:   "getOGCItems", Tag: "ogc", Rank: 7,
			Summary: "Features of a collection",
			Doc: "A page of those that pass all filters. Besides the parameters below, each property that `queryables` " +
				"lists is one: `?country=CH`. A page ends early where much has been looked at in vain or features are large; the " +
				"link `next` goes on; forms without links have it in the header Link.",
			Params: []endpoint.Param{
				featureCollectionParam, limitParam, bboxParam, datetimeParam, filterParam, filterLangParam, filterCRSParam, crsParam,
				bboxCRSParam, offsetParam, cursorParam, filtersParam, listing.Properties, listing.SkipGeometry, s.fFeatures,
			},
			TakesFilters: true,
			Handle:       s.getItems, Cost: endpoint.Heavy,
			Answers: s.content(Features{}), CachePolicy: endpoint.CacheVaries,
			Headers:  []string{"Content-Crs", "Content-Security-Policy"},
			Problems: []string{"bad-parameter", "bad-host", "collection-not-found", "dataset-missing"},
		},
		{
			Path: "/ogc/collections/{collectionId}/count",
			ID:   "getOGCCount", Tag: "ogc", Rank: 8,
			Summary: "How many features of a collection there are",
			Doc: "Those that pass the filters of `items`. With `by` of each group, with `sum`, `mean`, `min`, `max` and `distinct` what is " +
				"asked of their properties, as `/NAME/count` has them. Regions are grouped by properties alone.",
			Params: slices.Concat([]endpoint.Param{
				featureCollectionParam, bboxParam, datetimeParam, filterParam, filterLangParam, filterCRSParam, bboxCRSParam, filtersParam,
			}, listing.TallyParams(), []endpoint.Param{fCount}),
			TakesFilters: true,
			Handle:       s.getCount, Cost: endpoint.Heavy,
			Answers: listing.CountContent, CachePolicy: endpoint.CacheVaries,
			Problems: []string{"bad-parameter", "bad-host", "collection-not-found", "dataset-missing", "unknown-layer", "search-too-wide"},
		},
		{
			Path: "/ogc/collections/{collectionId}/items/{featureId}",
			ID:   "getOGCItem", Tag: "ogc", Rank: 9,
			Summary: "One feature",
			Params:  []endpoint.Param{featureCollectionParam, featureIDParam, crsParam, listing.Properties, listing.SkipGeometry, s.fFeatures},
			Handle:  s.getItem, Cost: endpoint.Heavy,
			Answers: s.content(Feature{}), CachePolicy: endpoint.CacheVaries,
			Headers: []string{"Content-Crs", "Content-Security-Policy"},
			Problems: []string{"bad-parameter", "bad-host", "collection-not-found", "region-not-found", "place-not-found",
				"airport-not-found", "station-not-found", "point-not-found", "dataset-missing"},
		},
	}
}
