package problems

import (
	"net/http"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/places/live"
	"quadrille/places/points"
	"quadrille/places/stations"
	"quadrille/tiles"
)

// These are the problems of questions to each data set. Several packages answer from the same data
// set.
var (
	RegionProblems = []web.ProblemKind{
		{Err: tiles.ErrUnknownType, Status: http.StatusNotFound, Type: "unknown-layer", Title: "There is no such layer",
			Detail: "Use a layer that /tiles/all.json lists."},
		{Err: tiles.ErrNotFound, Status: http.StatusNotFound, Type: "region-not-found", Title: "There is no such region",
			Detail: "Check the region's type and id, such as country/fr; letters of the id may be in either case."},
		{Err: tiles.ErrTooLarge, Status: http.StatusBadRequest, Type: "bad-parameter", Title: "A parameter is not valid",
			Detail: "Ask for the region in a smaller bbox: its border in this one is too much for one answer."},
	}
	// LayerProblems are the problems of questions that a layer of features cannot answer.
	LayerProblems = []web.ProblemKind{
		{Err: ask.ErrNoLayer, Status: http.StatusNotFound, Type: "collection-not-found", Title: "There is no such collection",
			Detail: "Use one of the collections that /points lists."},
		{Err: feature.ErrQuery, Status: http.StatusBadRequest, Type: "bad-parameter", Title: "A parameter is not valid",
			Detail: "Correct the parameters of the search and send the request again."},
		{Err: feature.ErrCursor, Status: http.StatusBadRequest, Type: "bad-parameter", Title: "A parameter is not valid",
			Detail: "Send the cursor exactly as the page before gave it in next, with the same parameters, or none to begin again."},
		{Err: feature.ErrCursorExpired, Status: http.StatusGone, Type: "cursor-expired", Title: "The cursor has expired",
			Detail: "The data has been published anew since the page before. Begin again without a cursor."},
		{Err: feature.ErrTooMuchWork, Status: http.StatusUnprocessableEntity, Type: "search-too-wide", Title: "The search is too wide",
			Detail: "Too few places pass the filters to find that many. Add a radius, lower the limit or drop a filter."},
		{Err: feature.ErrFilter, Status: http.StatusBadRequest, Type: "bad-parameter", Title: "A parameter is not valid",
			Detail: "Correct the filters; /points lists the properties of each collection."},
	}
	PlaceProblems = []web.ProblemKind{
		{Err: places.ErrNotFound, Status: http.StatusNotFound, Type: "place-not-found", Title: "There is no such place",
			Detail: "Check the GeoNames id; this server may hold only part of GeoNames."},
		{Err: places.ErrNoCode, Status: http.StatusNotFound, Type: "country-not-found", Title: "There is no such country",
			Detail: "Give a code of ISO 3166-1 alpha-2, such as FR; a country without places may be unknown."},
	}
	AirportProblems = []web.ProblemKind{
		{Err: airports.ErrNotFound, Status: http.StatusNotFound, Type: "airport-not-found", Title: "There is no such airport",
			Detail: "Check the code: IATA, ICAO or the airport's local code; this server may hold only the largest airports."},
	}
	PointProblems = []web.ProblemKind{
		{Err: live.ErrNoCollection, Status: http.StatusNotFound, Type: "collection-not-found", Title: "There is no such collection",
			Detail: "Use one of the collections that /points lists."},
		{Err: points.ErrNoCluster, Status: http.StatusNotFound, Type: "cluster-not-found", Title: "There is no such cluster",
			Detail: "Ask the tile again, and use a cluster_id of it; points may have moved, or have been published anew."},
		{Err: points.ErrNotFound, Status: http.StatusNotFound, Type: "point-not-found", Title: "There is no such point",
			Detail: "Check the point's id; it may have been removed, or have expired."},
	}
	StationProblems = []web.ProblemKind{
		{Err: stations.ErrNotFound, Status: http.StatusNotFound, Type: "station-not-found", Title: "There is no such station",
			Detail: "Check the station's id, its USAF and WBAN numbers, such as 066600-99999, or its GHCN id, such as SZM00006660."},
	}
)
