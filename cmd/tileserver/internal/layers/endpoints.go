package layers

import (
	"slices"
	"strconv"
	"time"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/feature"
	"quadrille/internal/instant"
)

// Parameters of this face alone.
var (
	minRadiusParam = endpoint.Number("min_radius", "metres", 0, endpoint.MaxRadius, "Nearest distance in metres.").Or(0)
	fieldsParam    = listing.PropertiesParam("fields", "Properties of the answer; all of them if absent. The same as `properties`.")
	pastParam      = endpoint.Moment("at",
		"As it was at an instant, RFC 3339 or milliseconds since 1970: of live collections that have a history, as far back "+
			"as it reaches.", readInstant).Like("2026-07-01T12:00:00Z")
	filtersParam = endpoint.Filtered("Every other parameter is a filter: `category=cafe,bakery` for one of these "+
		"values, `category.ne=`, `price.lt=`, `.lte=`, `.gt=`, `.gte=`, `name.prefix=`, `-closed=` for not true, `has=` and "+
		"`lacks=` with names of properties. All must hold. `p.` before a name says that it is a property's, such as `p.limit=5`.",
		map[string]any{"category": "cafe"})
	sortParam = endpoint.Text("sort", feature.MaxPropertyName+len("-"+feature.PropertyPrefix),
		"A property of numbers, times or booleans to sort by, with a - before it for the greatest first. Points that lack it come last.").Like("-price")
	regionTypeParam = endpoint.Described(endpoint.InPath, "type", "Its region type.", endpoint.Schema{"type": "string"}, "country")
	regionIDParam   = endpoint.Described(endpoint.InPath, "id", "Its id.", endpoint.Schema{"type": "string"}, "ch")
	ofTypeParam     = endpoint.Described(endpoint.InPath, "region_type", "Type of a region.", endpoint.Schema{"type": "string"}, "country")
	ofIDParam       = endpoint.Described(endpoint.InPath, "region_id", "Id of the region.", endpoint.Schema{"type": "string"}, "ch")
	boxParam        = endpoint.BBox.As("West, south, east, north in degrees. Without an area all are counted.").May()
	oneParam        = endpoint.Described(endpoint.InPath, "id", "Id of a point, percent-encoded.", endpoint.Schema{"type": "string"}, "zh-1")
	clusterParam    = endpoint.Described(endpoint.InPath, "cluster", "`cluster_id` of a cluster in a tile.",
		endpoint.Schema{"type": "string"}, "8-1z3k")
	trackFromParam = endpoint.Moment("from",
		"The earliest instant, RFC 3339 or milliseconds since 1970. The next page begins at `next`.", readInstant).Like("2026-07-01T12:00:00Z")
	trackToParam = endpoint.Moment("to", "The latest instant, RFC 3339 or milliseconds since 1970.",
		readInstant).Like("2026-07-02T12:00:00Z")
	trackLimitParam = endpoint.Integer("limit", 1, maxStops, "Most stops of a page.").Or(defaultStops)

	layersParam = endpoint.Described(endpoint.InPath, "collection",
		"Name of a collection, or up to "+strconv.Itoa(maxLayers)+" with commas between them.", endpoint.Schema{"type": "string"}, "shops")
	layerParam = endpoint.Described(endpoint.InPath, "collection", "Name of a collection.", endpoint.Schema{"type": "string"}, "shops")
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

// added are endpoints that other files declare.
var added endpoint.Added[*Handlers]

// Endpoints returns the endpoints of this face.
func (s *Handlers) Endpoints() (all []endpoint.Endpoint) {
	for _, l := range s.lists {
		all = append(all, l.nearby(), l.within(), l.withinRegion(), l.count())
		if l.Open {
			all = append(all, l.one())
		}
		if l.named {
			all = append(all, l.cluster(), l.track())
		}
	}
	return added.To(s, all...)
}

// endpoint returns the common part of the endpoints of a list. end is the rest of the path, id the
// rest of the operation's id, and rank the place behind the first.
func (l *list) endpoint(end, id string, rank int, several bool) endpoint.Endpoint {
	e := endpoint.Endpoint{
		Path: l.Path + end, ID: "get" + l.Words.IDs + id, Tag: l.Words.Tag, Rank: l.Words.Rank + rank, Layer: l.of,
		Cost: endpoint.Heavy, Keeps: endpoint.Tagged, Problems: []string{"bad-parameter", "dataset-missing"},
		Example: endpoint.Example{Request: l.Examples[end]},
	}
	if l.named {
		e.Keeps = endpoint.Varies
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
		e.Params = append(append(e.Params, l.Shown...), listing.Properties, listing.SkipGeometry)
	}
	e.Params = append(append(e.Params, l.Params...), behind...)
	if l.Open {
		if shown {
			e.Params = append(e.Params, fieldsParam)
		}
		e.Params, e.Filters = append(e.Params, pastParam, filtersParam), true
	}
}

func (l *list) nearby() endpoint.Endpoint {
	e := l.endpoint("/nearby", "Nearby", 0, true)
	e.Summary, e.Doc, e.Handle = "The nearest "+l.Words.Things, l.Words.Nearby, l.getNearby
	e.Answers, e.Problems = l.Answers(), append(e.Problems, "cursor-expired", "search-too-wide")
	first := []endpoint.Param{endpoint.Lat, endpoint.Lon, endpoint.Radius}
	if l.Open {
		first = append(first, minRadiusParam)
	}
	if e.Cost = endpoint.Light; l.Open || l.Dear != nil {
		e.Cost = endpoint.Mixed
	}
	l.filtered(&e, true, append(first, listing.Limit), []endpoint.Param{endpoint.Cursor, l.handlers.pageForm})
	return e
}

func (l *list) within() endpoint.Endpoint {
	e := l.endpoint("/within", "Within", 1, false)
	e.Summary, e.Handle = "The "+l.Words.Things+" in a box or a tile"+l.Words.Ordered, l.getWithin
	tile := listing.OrTile
	if l.More != nil {
		tile = tile.As(tile.Doc + " Up to zoom 10 the answer has also `counts`.")
	}
	l.area(&e, listing.OrBox, tile)
	return e
}

func (l *list) withinRegion() endpoint.Endpoint {
	e := l.endpoint("/within/"+l.regionPath(), "WithinRegion", 1, false)
	e.Summary, e.Handle = "The "+l.Words.Things+" in a region"+l.Words.Ordered, l.getWithinRegion
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

// regionPath declares the parameters of a region. Layers may have a filter named type.
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
	e.Doc = "In a box, a tile or a region, or in all."
	if l.named {
		e.Doc += " Of several collections the sum, and each."
	}
	e.Answers, e.Problems = endpoint.Content{"application/json": listing.Count{}}, append(e.Problems, "unknown-layer", "region-not-found")
	l.filtered(&e, false, []endpoint.Param{boxParam, endpoint.Tile, listing.Region}, nil)
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
	e.Answers, e.Problems = endpoint.Content{"application/geo+json": l.One}, append(e.Problems, l.NoFeature)
	return e
}

func (l *list) track() endpoint.Endpoint {
	const end = "/{id}/track"
	e := l.endpoint(end, "Track", 5, false)
	e.Summary, e.Handle, e.Cost, e.Keeps = "Where a point was", l.getTrack, endpoint.Light, endpoint.Never
	e.Doc = "Of a live collection that has a history, as far back as it reaches. Every write is a stop, also one that " +
		"left the point where it was. A position holds until the next stop."
	e.Params = append(e.Params, oneParam, trackFromParam, trackToParam, trackLimitParam)
	e.Answers, e.Problems = endpoint.Content{"application/json": listing.Track{}}, append(e.Problems, l.NoFeature)
	return e
}
