package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/ipgeo"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/places/stations"
	"quadrille/places/zones"
	"quadrille/tiles"
	"quadrille/tiles/raster"
)

// What the handlers refuse on their own account. Errors of the domain packages
// keep their own sentinels; the table below gives both their answer.
var (
	errNoRoute        = errors.New("no such resource")
	errMethod         = errors.New("method not offered here")
	errParameter      = errors.New("parameter is not valid")
	errHost           = errors.New("host is not valid")
	errTileOutside    = errors.New("tile is outside the grid")
	errTileEmpty      = errors.New("tile is empty")
	errFormat         = errors.New("format is not offered")
	errBodyTooLarge   = errors.New("request body is too large")
	errDatasetMissing = errors.New("data set is not published")
	errDatasetFailed  = errors.New("data set cannot be read")
	errBusy           = errors.New("too many requests at once")
	errNoTimeZone     = errors.New("time zone is not known")
	errBatchLine      = errors.New("line is not an address")
	errBatchTooLong   = errors.New("batch is too long")
	errBatchTimeout   = errors.New("batch came too slowly")
	errBodyCoding     = errors.New("coding of the request body is not offered")
	errBodyCorrupt    = errors.New("request body is damaged")
	errBodyType       = errors.New("type of the request body is not offered")
	errDraining       = errors.New("server is about to stop")
	errNotReady       = errors.New("not every published data set is open")
	errDamaged        = errors.New("a data set in service is damaged")
)

// statusClientClosed is the customary status, never sent, of a request whose
// client left before the answer.
const statusClientClosed = 499

// kind is what one sort of error looks like from outside.
type kind struct {
	err    error
	status int
	typ    string // stable: clients branch on it
	title  string
	detail string // used when the error brings none of its own
	retry  bool   // the same request may succeed a little later
	// expected failures are part of normal operation and not logged as errors.
	expected bool
}

// kinds is the only place where an error becomes a status. The first match
// wins. "Nothing there", "outside the grid" and "could not be read" are
// different answers: a failure is never reported as something not found.
var kinds = []kind{
	{err: errDatasetFailed, status: http.StatusServiceUnavailable, typ: "dataset-unavailable", title: "The data set cannot be read right now",
		detail: "Try again in a moment; if it lasts, the operator will find the reason in the server's log.", retry: true},
	// Before what a data set is asked for: a store that does not answer never
	// means that something is not there.
	{err: cellstore.ErrUnavailable, status: http.StatusServiceUnavailable, typ: "dataset-unavailable", title: "The data set cannot be read right now",
		detail: "Try again in a moment; the store that the server reads from does not answer.", retry: true},
	{err: cellstore.ErrUnknownOutcome, status: http.StatusServiceUnavailable, typ: "dataset-unavailable", title: "The data set cannot be read right now",
		detail: "Try again in a moment; the store that the server reads from does not answer.", retry: true},
	{err: errDatasetMissing, status: http.StatusNotFound, typ: "dataset-missing", title: "The data set is not published on this server",
		detail: "Ask the operator to build it with the ingest command; /status lists what is published."},
	{err: errRateLimited, status: http.StatusTooManyRequests, typ: "rate-limited", title: "The limit of requests is used up",
		detail: "Ask again when Retry-After says, in seconds."},
	{err: errKeyMissing, status: http.StatusUnauthorized, typ: "key-missing", title: "A key is needed",
		detail: "Send a key in the header X-API-Key, as a bearer token, or as the parameter key; the operator hands them out."},
	{err: errKeyUnknown, status: http.StatusUnauthorized, typ: "key-unknown", title: "The key is not valid",
		detail: "Check the key for missing characters, or ask the operator for a new one."},
	{err: errParameter, status: http.StatusBadRequest, typ: "bad-parameter", title: "A parameter is not valid",
		detail: "Correct the parameter and send the request again."},
	{err: dataset.ErrPruned, status: http.StatusGone, typ: "generation-gone", title: "The generation has been removed",
		detail: "The data has been published anew. Read the TileJSON again and use the addresses it gives, or leave out the /g/ part for the newest data."},
	{err: dataset.ErrNoGeneration, status: http.StatusNotFound, typ: "generation-unknown", title: "There is no such generation",
		detail: "Use an address that a TileJSON with pinned=true gives, or leave out the /g/ part for the newest data."},
	{err: dataset.ErrOlderBusy, status: http.StatusServiceUnavailable, typ: "too-busy", title: "Other older generations are in use",
		detail: "Wait for the time that Retry-After gives, or leave out the /g/ part for the newest data.", retry: true, expected: true},
	{err: errHost, status: http.StatusBadRequest, typ: "bad-host", title: "The Host header is not valid",
		detail: "Send a Host header holding a host name or address with an optional port."},
	{err: errTileOutside, status: http.StatusNotFound, typ: "tile-outside", title: "There is no such tile",
		detail: "Ask for z from 0 to 22, and x and y from 0 to 2^z - 1."},
	{err: errTileEmpty, status: http.StatusNotFound, typ: "tile-empty", title: "There is nothing in this tile",
		detail: "Show nothing here; the server can answer 204 or an empty 200 instead, by --empty-tile."},
	{err: errFormat, status: http.StatusNotFound, typ: "unknown-format", title: "The format is not offered",
		detail: "End the address in .geojson, .mvt, .pbf, .png or @2x.png."},
	{err: tiles.ErrUnknownType, status: http.StatusNotFound, typ: "unknown-layer", title: "There is no such layer",
		detail: "Use a layer that /tiles/all.json lists."},
	{err: tiles.ErrNotFound, status: http.StatusNotFound, typ: "region-not-found", title: "There is no such region",
		detail: "Check the region's id; ids are lower case, such as country/fr."},
	{err: tiles.ErrCursor, status: http.StatusBadRequest, typ: "bad-parameter", title: "A parameter is not valid",
		detail: "Send the cursor exactly as the page before gave it in next, with the same parameters, or none to begin again."},
	{err: places.ErrNotFound, status: http.StatusNotFound, typ: "place-not-found", title: "There is no such place",
		detail: "Check the GeoNames id; this server may hold only part of GeoNames."},
	{err: places.ErrQuery, status: http.StatusBadRequest, typ: "bad-parameter", title: "A parameter is not valid",
		detail: "Correct the parameters of the search and send the request again."},
	{err: places.ErrCursor, status: http.StatusBadRequest, typ: "bad-parameter", title: "A parameter is not valid",
		detail: "Send the cursor exactly as the page before gave it in next, with the same parameters, or none to begin again."},
	{err: places.ErrCursorExpired, status: http.StatusGone, typ: "cursor-expired", title: "The cursor has expired",
		detail: "The data has been published anew since the page before. Begin again without a cursor."},
	{err: places.ErrTooMuchWork, status: http.StatusUnprocessableEntity, typ: "search-too-wide", title: "The search is too wide",
		detail: "Too few places pass the filters to find that many. Add a radius, lower the limit or drop a filter."},
	{err: airports.ErrNotFound, status: http.StatusNotFound, typ: "airport-not-found", title: "There is no such airport",
		detail: "Check the code: IATA, ICAO or the airport's local code; this server may hold only the largest airports."},
	{err: airports.ErrBadCode, status: http.StatusBadRequest, typ: "bad-parameter", title: "A parameter is not valid",
		detail: "Give the code of an airport: 1 to 16 letters, digits and hyphens, such as ZRH or LSZH."},
	{err: errNoTimeZone, status: http.StatusNotFound, typ: "timezone-unknown", title: "The time zone is not known",
		detail: "There is no time zone on record here, so no offset can be told."},
	{err: zones.ErrNotFound, status: http.StatusNotFound, typ: "timezone-unknown", title: "The time zone is not known",
		detail: "The published time zones do not have the one on record here; ask the operator to ingest them again."},
	{err: zones.ErrRange, status: http.StatusBadRequest, typ: "bad-parameter", title: "A parameter is not valid",
		detail: "Give a time from 1900 to 2100."},
	{err: stations.ErrNotFound, status: http.StatusNotFound, typ: "station-not-found", title: "There is no such station",
		detail: "Check the station's id, its USAF and WBAN numbers, such as 066600-99999."},
	{err: ipgeo.ErrBadAddress, status: http.StatusBadRequest, typ: "bad-parameter", title: "A parameter is not valid",
		detail: "Give an IP address, such as 1.2.3.4 or 2001:db8::1."},
	{err: ipgeo.ErrReserved, status: http.StatusNotFound, typ: "address-reserved", title: "The address is reserved",
		detail: "Ask for a public address: reserved and private ones are nowhere in particular."},
	{err: ipgeo.ErrNotFound, status: http.StatusNotFound, typ: "address-not-found", title: "Nothing is known about the address",
		detail: "No source this server was built from covers the address."},
	{err: raster.ErrTooComplex, status: http.StatusUnprocessableEntity, typ: "tile-too-complex", title: "The tile is too complex to be drawn",
		detail: "Ask for fewer layers, or for the vector tile by .mvt."},
	{err: errNoRoute, status: http.StatusNotFound, typ: "not-found", title: "There is nothing at this address",
		detail: "Check the path; /docs describes every endpoint."},
	{err: errMethod, status: http.StatusMethodNotAllowed, typ: "method-not-allowed", title: "The method is not offered here",
		detail: "Use one of the methods the Allow header lists."},
	{err: errBodyTooLarge, status: http.StatusRequestEntityTooLarge, typ: "body-too-large", title: "The request body is too large",
		detail: "Send the request without a body."},
	{err: errBatchLine, status: http.StatusBadRequest, typ: "bad-line", title: "The line is not valid",
		detail: `Write one address per line: 1.2.3.4, "1.2.3.4" or {"ip":"1.2.3.4","fields":"country.iso_code"}.`},
	{err: errBatchTooLong, status: http.StatusRequestEntityTooLarge, typ: "batch-too-long", title: "The batch is too long",
		detail: "Send the rest in further requests."},
	{err: errBatchTimeout, status: http.StatusRequestTimeout, typ: "batch-timeout", title: "The batch came too slowly",
		detail: "Send the lines and read the answers without long pauses, or in shorter batches."},
	{err: errBodyCoding, status: http.StatusUnsupportedMediaType, typ: "unsupported-coding", title: "The coding of the request body is not offered",
		detail: "Send the body as it is, or with Content-Encoding: gzip."},
	{err: errBodyCorrupt, status: http.StatusBadRequest, typ: "bad-body", title: "The request body is damaged",
		detail: "Send all of the body, framed and packed as the headers of the request say."},
	{err: errBodyType, status: http.StatusUnsupportedMediaType, typ: "unsupported-type", title: "The type of the request body is not offered",
		detail: "Send the lines as application/x-ndjson or text/plain, not as a form (curl: --data-binary @FILE)."},
	{err: errBusy, status: http.StatusServiceUnavailable, typ: "too-busy", title: "The server is at its limit of concurrent requests",
		detail: "Wait for the time that Retry-After gives and send the request again.", retry: true, expected: true},
	{err: errNotReady, status: http.StatusServiceUnavailable, typ: "not-ready", title: "The server is not ready",
		detail: "A published data set is not open yet; /status says which.", retry: true, expected: true},
	{err: errDamaged, status: http.StatusServiceUnavailable, typ: "data-damaged", title: "A data set is damaged",
		detail: "A data set in service is damaged; /status says which.", retry: true, expected: true},
	{err: errDraining, status: http.StatusServiceUnavailable, typ: "draining", title: "The server is about to stop",
		detail: "Send requests to another server.", retry: true, expected: true},
	{err: context.DeadlineExceeded, status: http.StatusServiceUnavailable, typ: "timeout", title: "The answer took too long",
		detail: "Ask for less, or try again in a moment.", retry: true},
	{err: context.Canceled, status: statusClientClosed, typ: "client-closed", title: "The client closed the request",
		detail: "Keep the connection open until the answer arrives."},
	{err: cellstore.ErrClosed, status: http.StatusServiceUnavailable, typ: "dataset-unavailable", title: "The data set cannot be read right now",
		detail: "Try again in a moment.", retry: true},
	{err: tiles.ErrCorrupt, status: http.StatusInternalServerError, typ: "data-corrupt", title: "Stored data is damaged",
		detail: "Tell the operator: ingest verify finds the damage, and ingest rollback serves the generation before it."},
	{err: cellstore.ErrCorrupt, status: http.StatusInternalServerError, typ: "data-corrupt", title: "Stored data is damaged",
		detail: "Tell the operator: ingest verify finds the damage, and ingest rollback serves the generation before it."},
}

// internal is every error the table does not know.
var internal = kind{status: http.StatusInternalServerError, typ: "internal", title: "The server failed",
	detail: "Tell the operator; the reason is in the server's log under the request_id of this answer."}

// refusal is an error with words of its own for the client.
type refusal struct {
	cause     error // one of the errors in kinds
	parameter string
	detail    string
}

// refuse makes an error that answers as cause does, with its own detail.
// parameter may be empty.
func refuse(cause error, parameter, detail string) error {
	return &refusal{cause: cause, parameter: parameter, detail: detail}
}

func (r *refusal) Error() string { return r.cause.Error() + ": " + r.detail }
func (r *refusal) Unwrap() error { return r.cause }

// replaced gives the error of a table that is gone its meaning. From a store that
// others change, a generation may be removed under a server that did not notice
// the next one yet, which passes. From a local one nothing is removed that is in
// use: then it is damage, as any error that nobody expects.
func (s *server) replaced(err error) error {
	if s.remote && errors.Is(err, cellstore.ErrTableNotFound) {
		return fmt.Errorf("%w: %w", cellstore.ErrUnavailable, err)
	}
	return err
}

// classify finds what an error looks like from outside.
func classify(err error) (*kind, problem) {
	var he *echo.HTTPError
	if errors.As(err, &he) {
		// The router's own errors are these two.
		switch he.Code {
		case http.StatusNotFound:
			err = errNoRoute
		case http.StatusMethodNotAllowed:
			err = errMethod
		}
	}
	k := kindOf(err)
	p := problem{Type: k.typ, Title: k.title, Status: k.status, Detail: k.detail}
	var own *refusal
	if errors.As(err, &own) {
		p.Detail, p.Parameter = own.detail, own.parameter
	}
	return k, p
}

// kindOf finds the first entry of the table that an error matches.
func kindOf(err error) *kind {
	for i := range kinds {
		if errors.Is(err, kinds[i].err) {
			return &kinds[i]
		}
	}
	return &internal
}
