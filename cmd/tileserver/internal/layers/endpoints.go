package layers

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/feature"
	"quadrille/internal/instant"
)

// These parameters are only for the endpoints of this package.
var (
	minRadiusParam = endpoint.Number("min_radius", "metres", 0, endpoint.MaxRadiusM, "Nearest distance in metres.").WithDefault(0)
	fieldsParam    = listing.PropertiesParam("fields", "Properties of the answer; all of them if absent. The same as `properties`.")
	pastParam      = endpoint.Instant("at",
		"As it was at an instant, RFC 3339 or milliseconds since 1970: of live collections that have a history, as far back "+
			"as it reaches.", readInstant).WithExample("2026-07-01T12:00:00Z")
	filtersParam = endpoint.FilterParams("Every other parameter is a filter: `category=cafe,bakery` for one of these "+
		"values, `category.ne=`, `price.lt=`, `.lte=`, `.gt=`, `.gte=`, `name.prefix=`, `-closed=` for not true, `has=` and "+
		"`lacks=` with names of properties. All must hold. `p.` before a name says that it is a property's, such as `p.limit=5`.",
		map[string]any{"category": "cafe"})
	sortParam = endpoint.Text("sort", feature.MaxPropertyNameBytes+len("-"+feature.PropertyPrefix),
		"A property of numbers, times or booleans to sort by, with a - before it for the greatest first. "+
			"Points that lack it come last.").WithExample("-price")
	regionTypeParam = endpoint.DescribedParam(endpoint.InPath, "type", "Its region type.", endpoint.Schema{"type": "string"}, "country")
	regionIDParam   = endpoint.DescribedParam(endpoint.InPath, "id", "Its id.", endpoint.Schema{"type": "string"}, "ch")
	ofTypeParam     = endpoint.DescribedParam(endpoint.InPath, "region_type", "Type of a region.", endpoint.Schema{"type": "string"},
		"country")
	ofIDParam = endpoint.DescribedParam(endpoint.InPath, "region_id", "Id of the region.", endpoint.Schema{"type": "string"}, "ch")
	boxParam  = endpoint.BBox.WithDoc("West, south, east, north in degrees. Without an area all are counted.").AsOptional()
	oneParam  = endpoint.DescribedParam(endpoint.InPath, "id", "Id of a point, percent-encoded.",
		endpoint.Schema{"type": "string"}, "zh-1")
	clusterParam = endpoint.DescribedParam(endpoint.InPath, "cluster", "`cluster_id` of a cluster in a tile.",
		endpoint.Schema{"type": "string"}, "8-1z3k")
	trackFromParam = endpoint.Instant("from",
		"The earliest instant, RFC 3339 or milliseconds since 1970. The next page begins at `next`.",
		readInstant).WithExample("2026-07-01T12:00:00Z")
	trackToParam = endpoint.Instant("to", "The latest instant, RFC 3339 or milliseconds since 1970.",
		readInstant).WithExample("2026-07-02T12:00:00Z")
	trackLimitParam = endpoint.Integer("limit", 1, maxStops, "Most stops of a page.").WithDefault(defaultStops)
	trackFormParam  = endpoint.Word("format",
		"Form of the answer: geojson is a Feature with lines, whose property coordTimes has the times, csv a table, and gpx a track for "+
			"navigation programs. Their next page is in the header Link.", "json", "geojson", "csv", "gpx").WithDefault("json")

	layersParam = endpoint.DescribedParam(endpoint.InPath, "collection",
		"Name of a collection, or up to "+strconv.Itoa(maxLayers)+" with commas between them.", endpoint.Schema{"type": "string"}, "shops")
	layerParam = endpoint.DescribedParam(endpoint.InPath, "collection", "Name of a collection.", endpoint.Schema{"type": "string"}, "shops")
)

// lastMillisecond is the last millisecond of the year 9999, counted from 1970.
const lastMillisecond = 253_402_300_799_999

// readInstant reads an instant.
func readInstant(q *endpoint.Params, name string) time.Time {
	text := q.Text(name, 64)
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms > 0 && ms <= lastMillisecond {
		return time.UnixMilli(ms)
	}
	at, ok := instant.Parse(text)
	if !ok || at.UnixMilli() <= 0 || at.UnixMilli() > lastMillisecond {
		q.Refuse(name, "Set "+name+" to an instant such as 2026-07-01T12:00:00Z, with + written as %2B, or to milliseconds since 1970.")
	}
	return at
}

// added has the endpoints that other files declare.
var added endpoint.AddedEndpoints[*Handlers]

// Endpoints returns the endpoints of this package.
func (s *Handlers) Endpoints() (all []endpoint.Endpoint) {
	for _, l := range s.lists {
		all = append(all, l.nearby(), l.within(), l.withinRegion(), l.count(), l.withinPosted(), l.countPosted())
		if l.Open {
			all = append(all, l.one())
		}
		if l.named {
			all = append(all, l.cluster(), l.track())
		}
	}
	return added.AppendTo(s, all...)
}

// endpoint returns the common part of the endpoints of a list. end is the rest of the path, id is
// the rest of the operation's id, and rank is the position relative to the first endpoint.
func (l *list) endpoint(end, id string, rank int, several bool) endpoint.Endpoint {
	e := endpoint.Endpoint{
		Path: l.Path + end, ID: "get" + l.Words.IDSuffix + id, Tag: l.Words.Tag, Rank: l.Words.Rank + rank, Layer: l.of,
		Cost: endpoint.Heavy, CachePolicy: endpoint.CacheTagged, Problems: []string{"bad-parameter", "dataset-missing"},
		Example: endpoint.Example{Request: l.Examples[end]},
	}
	if l.named {
		e.CachePolicy = endpoint.CacheVaries
		e.Problems = append(e.Problems, "data-damaged", "storage-failing")
		if several {
			e.Params = append(e.Params, layersParam)
		} else {
			e.Params = append(e.Params, layerParam)
		}
	}
	if l.NoLayer != "dataset-missing" {
		e.Problems = append(e.Problems, l.NoLayer)
	}
	return e
}

// filtered adds the parameters of filters. With shown it also adds the parameters that change how
// features are shown.
func (l *list) filtered(e *endpoint.Endpoint, shown bool, before, behind []endpoint.Param) {
	e.Params = append(e.Params, before...)
	if shown {
		e.Params = append(append(e.Params, l.ShowParams...), listing.Properties, listing.SkipGeometry)
	}
	e.Params = append(append(e.Params, l.Params...), behind...)
	if l.Open {
		if shown {
			e.Params = append(e.Params, fieldsParam)
		}
		e.Params, e.TakesFilters = append(e.Params, pastParam, filtersParam), true
	}
}

func (l *list) nearby() endpoint.Endpoint {
	e := l.endpoint("/nearby", "Nearby", 0, true)
	e.Summary, e.Doc, e.Handle = "The nearest "+l.Words.Things, l.Words.NearbyText, l.getNearby
	e.Answers, e.Problems = l.Answers(), append(append(e.Problems, "cursor-expired", "search-too-wide"), listing.NearProblems...)
	first := slices.Clone(listing.NearParams)
	if l.Open {
		first = append(first, minRadiusParam)
	}
	if e.Cost = endpoint.Light; l.Open || l.IsDear != nil {
		e.Cost = endpoint.Mixed
	}
	l.filtered(&e, true, append(first, listing.Limit), []endpoint.Param{endpoint.Cursor, l.handlers.pageForm})
	return e
}

func (l *list) within() endpoint.Endpoint {
	e := l.endpoint("/within", "Within", 1, false)
	e.Summary, e.Handle = "The "+l.Words.Things+" in a box, a tile or a polygon"+l.Words.OrderText, l.getWithin
	tile := listing.TileUnlessBBox
	if l.AppendToFirstPage != nil {
		tile = tile.WithDoc(tile.Doc + " Up to zoom 10 the answer has also `counts`.")
	}
	l.area(&e, listing.BBoxUnlessTile, tile, listing.DrawnPolygon, listing.DrawnRadius)
	return e
}

// posted completes the endpoint of a question about the area in a body.
func (l *list) posted(e endpoint.Endpoint, summary string, handle endpoint.Handler) endpoint.Endpoint {
	e.Methods, e.ID, e.Summary, e.Handle = []string{http.MethodPost}, "post"+strings.TrimPrefix(e.ID, "get"), summary, handle
	e.Body, e.BodyRequired, e.BodyContent, e.Doc = true, true, listing.DrawnContent, listing.DrawnText
	e.CachePolicy, e.Problems = endpoint.CacheNever, append(e.Problems, listing.DrawnProblems...)
	e.Example.Request, _, _ = strings.Cut(e.Example.Request, "?")
	if e.Example.Request != "" {
		e.Example.Body = listing.DrawnExample
	}
	return e
}

func (l *list) withinPosted() endpoint.Endpoint {
	e := l.endpoint("/within", "Within", 1, false)
	l.area(&e, listing.DrawnRadius)
	return l.posted(e, "The "+l.Words.Things+" in an area"+l.Words.OrderText, l.postWithin)
}

func (l *list) countPosted() endpoint.Endpoint {
	e := l.endpoint("/count", "Count", 1, true)
	e.Answers = listing.CountContent
	e.Problems = append(e.Problems, "search-too-wide")
	l.filtered(&e, false, []endpoint.Param{listing.DrawnRadius}, append(listing.TallyParams(), listing.CountForm))
	return l.posted(e, "How many "+l.Words.Things+" are in an area", l.postCount)
}

func (l *list) withinRegion() endpoint.Endpoint {
	e := l.endpoint("/within/"+l.regionPath(), "WithinRegion", 1, false)
	e.Summary, e.Handle = "The "+l.Words.Things+" in a region"+l.Words.OrderText, l.getWithinRegion
	e.Doc = "Exactly those of which `/regions/at` says that they are in the region."
	e.Problems = append(e.Problems, "unknown-layer", "region-not-found")
	if l.named {
		l.area(&e, regionTypeParam, regionIDParam)
	} else {
		l.area(&e, ofTypeParam, ofIDParam)
	}
	return e
}

func (l *list) cluster() endpoint.Endpoint {
	e := l.endpoint("/cluster/{cluster}", "Cluster", 2, false)
	e.Summary, e.Handle = "The "+l.Words.Things+" in a cluster", l.getCluster
	e.Doc = "Exactly those that the cluster of a tile stands for: every point is in one cluster of a zoom, or shown " +
		"alone. A cluster is one of the tiles as they are now; when points have moved, its id may be gone. The list is of " +
		"the points as they are now, too: one that was written in between may be there or missing."
	e.Problems = append(e.Problems, "cluster-not-found")
	l.area(&e, clusterParam)
	e.Params = slices.DeleteFunc(e.Params, func(p endpoint.Param) bool { return p == endpoint.Param(pastParam) })
	return e
}

// regionPath declares the parameters of a region. The result is the path with the names of these
// parameters. The names differ if a layer may have a filter named type.
func (l *list) regionPath() string {
	if l.named {
		return "{type}/{id}"
	}
	return "{region_type}/{region_id}"
}

// area declares the list of an area.
func (l *list) area(e *endpoint.Endpoint, of ...endpoint.Param) {
	e.Answers, e.Problems = l.Answers(), append(e.Problems, "cursor-expired", "search-too-wide")
	behind := []endpoint.Param{endpoint.Cursor}
	if l.Open {
		behind = append(behind, sortParam)
	}
	l.filtered(e, true, append(of, listing.Limit), append(behind, l.handlers.areaForm))
}

func (l *list) count() endpoint.Endpoint {
	e := l.endpoint("/count", "Count", 1, true)
	e.Summary, e.Handle = "How many "+l.Words.Things+" there are", l.getCount
	e.Doc = "In a box, a tile, a region or a polygon, or in all. With `by` of each group, with `sum`, `mean`, `min`, `max` and `distinct` " +
		"what is asked of their properties."
	if l.named {
		e.Doc += " Of several collections the sum, and each."
	}
	e.Answers = listing.CountContent
	e.Problems = append(e.Problems, "unknown-layer", "region-not-found", "search-too-wide")
	l.filtered(&e, false, []endpoint.Param{
		boxParam,
		endpoint.Tile,
		listing.Region,
		listing.DrawnPolygon,
		listing.DrawnRadius,
	}, append(listing.TallyParams(), listing.CountForm))
	return e
}

func (l *list) one() endpoint.Endpoint {
	const end = "/{id}"
	e := l.endpoint(end, "Point", 4, false)
	e.Summary, e.Handle, e.Cost = "A point", l.getOne, endpoint.Light
	e.Doc = "An id that is a word of the paths above, such as `count`, is written with one letter percent-encoded: " +
		"`%63ount`. A point of a live collection has the ETag of its version, which writes take as If-Match, unless " +
		"`fields`, `properties`, `skipGeometry` or `at` is given."
	e.Params = append(e.Params, oneParam, fieldsParam, listing.Properties, listing.SkipGeometry, pastParam)
	e.Answers, e.Problems = endpoint.Content{"application/geo+json": l.Item}, append(e.Problems, l.NoFeature)
	return e
}

func (l *list) track() endpoint.Endpoint {
	const end = "/{id}/track"
	e := l.endpoint(end, "Track", 5, false)
	e.Summary, e.Handle, e.Cost, e.CachePolicy = "Where a point was", l.getTrack, endpoint.Light, endpoint.CacheNever
	e.Doc = "Of a live collection that has a history, as far back as it reaches. Every write is a stop, also one that " +
		"left the point where it was. A position holds until the next stop."
	e.Params = append(e.Params, oneParam, trackFromParam, trackToParam, trackLimitParam, trackFormParam)
	e.Answers = endpoint.Content{
		"application/json":     listing.Track{},
		"application/geo+json": TrackLine{},
		"text/csv":             nil,
		"application/gpx+xml":  nil,
	}
	e.Problems = append(e.Problems, l.NoFeature)
	return e
}
