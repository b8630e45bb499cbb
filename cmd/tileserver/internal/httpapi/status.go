package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
)

// What the handlers refuse on their own account. Errors of the domain packages
// keep their own sentinels; the table below gives both their answer.
var (
	errNoRoute      = errors.New("no such resource")
	errMethod       = errors.New("method not offered here")
	errParameter    = errors.New("parameter is not valid")
	errHost         = errors.New("host is not valid")
	errTileOutside  = errors.New("tile is outside the grid")
	errFormat       = errors.New("format is not offered")
	errBodyTooLarge = errors.New("request body is too large")
	errBusy         = errors.New("too many requests at once")
	errBodyCoding   = errors.New("coding of the request body is not offered")
	errBodyCorrupt  = errors.New("request body is damaged")
	errBodyType     = errors.New("type of the request body is not offered")
)

// statusClientClosed is the customary status, never sent, of a request whose
// client left before the answer.
const statusClientClosed = 499

// kind is what one sort of error looks like from outside. The table of kinds, which
// the rooms contribute to, is the only place where an error becomes a status. The
// first match wins. "Nothing there", "outside the grid" and "could not be read" are
// different answers: a failure is never reported as something not found.
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

// kitKinds are what requests to any endpoint are refused for.
var kitKinds = []kind{
	{err: errRateLimited, status: http.StatusTooManyRequests, typ: "rate-limited", title: "The limit of requests is used up",
		detail: "Ask again when Retry-After says, in seconds."},
	{err: errKeyMissing, status: http.StatusUnauthorized, typ: "key-missing", title: "A key is needed",
		detail: "Send a key in the header X-API-Key, as a bearer token, or as the parameter key; the operator hands them out."},
	{err: errKeyUnknown, status: http.StatusUnauthorized, typ: "key-unknown", title: "The key is not valid",
		detail: "Check the key for missing characters, or ask the operator for a new one."},
	{err: errParameter, status: http.StatusBadRequest, typ: "bad-parameter", title: "A parameter is not valid",
		detail: "Correct the parameter and send the request again."},
	{err: errHost, status: http.StatusBadRequest, typ: "bad-host", title: "The Host header is not valid",
		detail: "Send a Host header holding a host name or address with an optional port."},
	{err: errTileOutside, status: http.StatusNotFound, typ: "tile-outside", title: "There is no such tile",
		detail: "Ask for z from 0 to 22, and x and y from 0 to 2^z - 1."},
	{err: errFormat, status: http.StatusNotFound, typ: "unknown-format", title: "The format is not offered",
		detail: "End the address in .geojson, .mvt, .pbf, .png or @2x.png."},
	{err: errNoRoute, status: http.StatusNotFound, typ: "not-found", title: "There is nothing at this address",
		detail: "Check the path; /docs describes every endpoint."},
	{err: errMethod, status: http.StatusMethodNotAllowed, typ: "method-not-allowed", title: "The method is not offered here",
		detail: "Use one of the methods the Allow header lists."},
	{err: errBodyTooLarge, status: http.StatusRequestEntityTooLarge, typ: "body-too-large", title: "The request body is too large",
		detail: "Send the request without a body."},
	{err: errBodyCoding, status: http.StatusUnsupportedMediaType, typ: "unsupported-coding", title: "The coding of the request body is not offered",
		detail: "Send the body as it is, or with Content-Encoding: gzip."},
	{err: errBodyCorrupt, status: http.StatusBadRequest, typ: "bad-body", title: "The request body is damaged",
		detail: "Send all of the body, framed and packed as the headers of the request say."},
	{err: errBodyType, status: http.StatusUnsupportedMediaType, typ: "unsupported-type", title: "The type of the request body is not offered",
		detail: "Send the lines as application/x-ndjson or text/plain, not as a form (curl: --data-binary @FILE)."},
	{err: errBusy, status: http.StatusServiceUnavailable, typ: "too-busy", title: "The server is at its limit of concurrent requests",
		detail: "Wait for the time that Retry-After gives and send the request again.", retry: true, expected: true},
}

// interruptedKinds come after those of the rooms: what interrupted a read matters
// less than what the read said.
var interruptedKinds = []kind{
	{err: context.DeadlineExceeded, status: http.StatusServiceUnavailable, typ: "timeout", title: "The answer took too long",
		detail: "Ask for less, or try again in a moment.", retry: true},
	{err: context.Canceled, status: statusClientClosed, typ: "client-closed", title: "The client closed the request",
		detail: "Keep the connection open until the answer arrives."},
}

// internal is every error the table does not know.
var internal = kind{status: http.StatusInternalServerError, typ: "internal", title: "The server failed",
	detail: "Tell the operator; the reason is in the server's log under the request_id of this answer."}

// refusal is an error with words of its own for the client.
type refusal struct {
	cause     error // one of the errors in the table of kinds
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

// detailOf is what a refusal tells the client, "" for other errors.
func detailOf(err error) string {
	if own := (*refusal)(nil); errors.As(err, &own) {
		return own.detail
	}
	return ""
}

// replaced gives an error of the store its meaning.
func (s *kit) replaced(err error) error {
	if s.meaning == nil {
		return err
	}
	return s.meaning(err)
}

// unionOf joins the kinds of the rooms. An error that two rooms describe, and a type
// with two statuses, are faults of the program.
func unionOf(kinds []kind) []kind {
	for i := range kinds {
		k := &kinds[i]
		for j := range kinds[:i] {
			other := &kinds[j]
			if errors.Is(k.err, other.err) || k.typ == other.typ && k.status != other.status {
				panic("httpapi: the kinds of " + k.err.Error() + " and " + other.err.Error() + " contradict each other")
			}
		}
	}
	return kinds
}

// classify finds what an error looks like from outside.
func (s *kit) classify(err error) (*kind, problem) {
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
	k := s.kindOf(err)
	p := problem{Type: k.typ, Title: k.title, Status: k.status, Detail: k.detail}
	var own *refusal
	if errors.As(err, &own) {
		p.Detail, p.Parameter = own.detail, own.parameter
	}
	return k, p
}

// kindOf finds the first entry of the table that an error matches.
func (s *kit) kindOf(err error) *kind {
	for i := range s.kinds {
		if errors.Is(err, s.kinds[i].err) {
			return &s.kinds[i]
		}
	}
	return &internal
}
