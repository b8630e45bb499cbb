package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/feature"
)

// These are errors of the handlers themselves. Errors of the domain packages have their own
// sentinels. The table below has the answers for both.
var (
	errMethod = errors.New("method not offered here")
	errHost   = errors.New("host is not valid")
	// errNothing is matched if an empty answer has the status 404.
	errNothing      = errors.New("there is nothing")
	ErrFormat       = errors.New("format is not offered")
	ErrBodyTooLarge = errors.New("request body is too large")
	ErrBusy         = errors.New("too many requests at once")
	errBodyCoding   = errors.New("coding of the request body is not offered")
	errBodyCorrupt  = errors.New("request body is damaged")
	ErrBodyType     = errors.New("type of the request body is not offered")
)

// These are errors for which a request is refused before it is handled.
var (
	ErrKeyMissing  = errors.New("no key was sent")
	ErrKeyUnknown  = errors.New("key is not known")
	ErrRateLimited = errors.New("limit of requests is used up")
	// errScopeMissing is matched if a key lacks the scope of the request.
	errScopeMissing = errors.New("key lacks the scope")
)

// These errors end a batch, except errLongLine.
var (
	errBatchTooLong = errors.New("batch is too long")
	errBatchTimeout = errors.New("batch came too slowly")
	// errLongLine is matched if a line longer than LineBytes has been skipped.
	errLongLine = errors.New("line is too long")
)

// ErrGone is matched if the client has disconnected, so that nothing can be written.
var ErrGone = errors.New("the client is gone")

// statusClientClosed is the customary status, never sent, of a request whose client disconnected
// before the answer.
const statusClientClosed = 499

// ProblemKind is the public description of one kind of error. The table of kinds, to which packages
// contribute, is the only place that assigns a status to an error. The first match applies.
// "Nothing there", "outside the grid" and "could not be read" are different answers: a server error
// is never reported as "not found".
type ProblemKind struct {
	Err    error
	Status int
	Type   string // stable: clients branch on it
	Title  string
	Detail string // used if the error has no detail of its own
	Retry  bool   // the same request may succeed a little later
	// Order decides for errors that match several kinds: kinds with the lowest Order are tried
	// first. It is 0 for nearly all kinds.
	Order int
	// IsExpected is set if the failure is part of normal operation. It is then not logged as an
	// error.
	IsExpected bool
}

// IsUnsent reports whether no client gets the kind, because the client has disconnected.
func (k *ProblemKind) IsUnsent() bool { return k.Status == statusClientClosed }

// kinds are the kinds of problems that can occur at any endpoint.
var kinds = []ProblemKind{
	{Err: ErrRateLimited, Status: http.StatusTooManyRequests, Type: "rate-limited", Title: "The limit of requests is used up",
		Detail: "Ask again when Retry-After says, in seconds."},
	{Err: ErrKeyMissing, Status: http.StatusUnauthorized, Type: "key-missing", Title: "A key is needed",
		Detail: "Send a key in the header X-API-Key, as a bearer token, or as the parameter key; the operator hands them out."},
	{Err: ErrKeyUnknown, Status: http.StatusUnauthorized, Type: "key-unknown", Title: "The key is not valid",
		Detail: "Check the key for missing characters, or ask the operator for a new one."},
	{Err: errScopeMissing, Status: http.StatusForbidden, Type: "scope-missing", Title: "The key does not allow this",
		Detail: "Send a key that has the scope for this collection; the operator makes one with tileserver keys new."},
	{Err: endpoint.ErrParameter, Status: http.StatusBadRequest, Type: "bad-parameter", Title: "A parameter is not valid",
		Detail: "Correct the parameter and send the request again."},
	{Err: errHost, Status: http.StatusBadRequest, Type: "bad-host", Title: "The Host header is not valid",
		Detail: "Send a Host header holding a host name or address with an optional port."},
	{Err: endpoint.ErrTileOutside, Status: http.StatusNotFound, Type: "tile-outside", Title: "There is no such tile",
		Detail: "Ask for z from 0 to 22, and x and y from 0 to 2^z - 1."},
	{Err: ErrFormat, Status: http.StatusNotFound, Type: "unknown-format", Title: "The format is not offered",
		Detail: "End the address in .geojson, .mlt, .mvt, .pbf, .png or @2x.png."},
	{Err: endpoint.ErrNoRoute, Status: http.StatusNotFound, Type: "not-found", Title: "There is nothing at this address",
		Detail: "Check the path; /docs describes every endpoint."},
	{Err: errMethod, Status: http.StatusMethodNotAllowed, Type: "method-not-allowed", Title: "The method is not offered here",
		Detail: "Use one of the methods the Allow header lists."},
	{Err: ErrBodyTooLarge, Status: http.StatusRequestEntityTooLarge, Type: "body-too-large", Title: "The request body is too large",
		Detail: "Send the request without a body."},
	{Err: errBodyCoding,
		Status: http.StatusUnsupportedMediaType,
		Type:   "unsupported-coding",
		Title:  "The coding of the request body is not offered",
		Detail: "Send the body as it is, or with Content-Encoding: gzip."},
	{Err: errBodyCorrupt, Status: http.StatusBadRequest, Type: "bad-body", Title: "The request body is damaged",
		Detail: "Send all of the body, framed and packed as the headers of the request say."},
	{Err: ErrBodyType, Status: http.StatusUnsupportedMediaType, Type: "unsupported-type", Title: "The type of the request body is not offered",
		Detail: "Send the lines as application/x-ndjson or text/plain, not as a form (curl: --data-binary @FILE)."},
	{Err: endpoint.ErrLine, Status: http.StatusBadRequest, Type: "bad-line", Title: "The line is not valid",
		Detail: `Write one JSON object per line, with the parameters of the endpoint as its members: {"lat":47.37,"lon":8.54}.`},
	{Err: errBatchTooLong, Status: http.StatusRequestEntityTooLarge, Type: "batch-too-long", Title: "The batch is too long",
		Detail: "Send the rest in further requests."},
	{Err: errBatchTimeout, Status: http.StatusRequestTimeout, Type: "batch-timeout", Title: "The batch came too slowly",
		Detail: "Send the lines and read the answers without long pauses, or in shorter batches."},
	{Err: ErrBusy, Status: http.StatusServiceUnavailable, Type: "too-busy", Title: "The server is at its limit of concurrent requests",
		Detail: "Wait for the time that Retry-After gives and send the request again.", Retry: true, IsExpected: true},
	{Err: errNothing, Status: http.StatusNotFound, Type: "tile-empty", Title: "There is nothing in this tile",
		Detail: "Show nothing here; the server can answer 204 or an empty 200 instead, by --empty-tile."},

	// The error of a read takes precedence over its interruption.
	{Err: context.DeadlineExceeded, Order: 1, Status: http.StatusServiceUnavailable, Type: "timeout", Title: "The answer took too long",
		Detail: "Ask for less, or try again in a moment.", Retry: true},
	{Err: context.Canceled, Order: 1, Status: statusClientClosed, Type: "client-closed", Title: "The client closed the request",
		Detail: "Keep the connection open until the answer arrives."},
}

// InternalProblem is the kind of all errors that are not in the table.
var InternalProblem = ProblemKind{Status: http.StatusInternalServerError, Type: "internal", Title: "The server failed",
	Detail: "Tell the operator; the reason is in the server's log under the request_id of this answer."}

// Translate returns the error that replaces a store error (by Config.Meaning), or err itself if
// nothing replaces it.
func (s *table) Translate(err error) error {
	if s.meaning == nil {
		return err
	}
	return s.meaning(err)
}

// table is the table of the kinds of errors.
type table struct {
	Kinds   []ProblemKind
	meaning func(error) error // nil for none
}

// tableOf joins the kinds of the packages with those of all requests. It panics if two packages
// describe the same error, or if a type has two statuses.
func tableOf(faces []ProblemKind) []ProblemKind {
	all := slices.Concat(kinds, faces)
	slices.SortStableFunc(all, func(a, b ProblemKind) int { return cmp.Compare(a.Order, b.Order) })
	for i := range all {
		k := &all[i]
		for j := range all[:i] {
			other := &all[j]
			if errors.Is(k.Err, other.Err) || k.Type == other.Type && k.Status != other.Status {
				panic("web: the kinds of " + k.Err.Error() + " and " + other.Err.Error() + " contradict each other")
			}
		}
	}
	return all
}

// Problem is the body of every refusal, in the form of RFC 9457.
type Problem struct {
	_         struct{} `doc:"An error (RFC 9457)."`
	Type      string   `json:"type" doc:"Stable: branch on it."`
	Title     string   `json:"title"` // goes with the type
	Status    int      `json:"status" doc:"The HTTP status again."`
	Detail    string   `json:"detail" doc:"What to change."` // never carries internals
	Parameter string   `json:"parameter,omitempty" doc:"The parameter at fault."`
	RequestID string   `json:"request_id,omitempty" doc:"Names the request in the server's log, of failures that are in it."`
}

// Classify returns the kind and the problem of an error.
func (s *table) Classify(err error) (*ProblemKind, Problem) {
	var he *echo.HTTPError
	if errors.As(err, &he) {
		// The router itself has only these two errors.
		switch he.Code {
		case http.StatusNotFound:
			err = endpoint.ErrNoRoute
		case http.StatusMethodNotAllowed:
			err = errMethod
		}
	}
	if detail := feature.DetailOf(err, errors.ErrUnsupported); detail != "" && endpoint.DetailOf(err) == "" {
		// A question that a layer cannot answer is an error of the client, whichever handler sends
		// it.
		err = endpoint.Refuse(endpoint.ErrParameter, "", endpoint.Sentence(detail))
	}
	if detail := feature.DetailOf(err, feature.ErrTooMuchWork); detail != "" && endpoint.DetailOf(err) == "" {
		err = endpoint.Refuse(feature.ErrTooMuchWork, "", endpoint.Sentence(detail))
	}
	k := s.kindOf(err)
	p := Problem{Type: k.Type, Title: k.Title, Status: k.Status, Detail: k.Detail}
	var own *endpoint.Refusal
	if errors.As(err, &own) {
		p.Detail, p.Parameter = own.Detail, own.Parameter
	}
	return k, p
}

// kindOf returns the first entry of the table that an error matches.
func (s *table) kindOf(err error) *ProblemKind {
	for i := range s.Kinds {
		if errors.Is(err, s.Kinds[i].Err) {
			return &s.Kinds[i]
		}
	}
	return &InternalProblem
}
