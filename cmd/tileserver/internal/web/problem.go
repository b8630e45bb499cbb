package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
)

// Problem is the body of every refusal, in the form of RFC 9457.
type Problem struct {
	// Type is stable: clients may branch on it. Title goes with the type.
	Type  string `json:"type"`
	Title string `json:"title"`
	// Status repeats the HTTP status.
	Status int `json:"status"`
	// Detail says what to change. It never carries internals.
	Detail string `json:"detail"`
	// Parameter names the query or path parameter at fault.
	Parameter string `json:"parameter,omitempty"`
	// RequestID names the request as the server's log does, of failures that are
	// in it.
	RequestID string `json:"request_id,omitempty"`
}

// ProblemType is the media type of problems.
const ProblemType = "application/problem+json"

// RetryAfter is what a client told to come back is told to wait, in seconds.
const RetryAfter = "1"

// Fail answers a request with the problem an error maps to. It is the
// router's error handler too, so that unknown paths and methods answer in the
// same form.
func (s *Kit) Fail(err error, c echo.Context) {
	err = s.Replaced(err)
	if errors.Is(err, context.Canceled) && c.Request().Context().Err() == nil {
		// Somebody else's cancellation, which must not pass for the client's.
		err = fmt.Errorf("reading was cancelled, but not by the client: %v", err) //nolint:errorlint // what it is, is lost on purpose
	}
	k, p := s.Classify(err)
	if s.metrics != nil {
		s.metrics.problem(k.Type)
	}
	if s.tracer != nil && k.Status >= http.StatusInternalServerError {
		s.traceProblem(c.Request().Context(), k)
	}
	if k.Status >= http.StatusInternalServerError && !k.Expected {
		s.LogFailure(c, err)
		p.RequestID = s.requestID(c)
	}
	res := c.Response()
	if res.Committed {
		return
	}
	body, merr := json.Marshal(p)
	if merr != nil {
		// Every field is a string or a number, so this cannot happen; answer
		// with the status alone if it ever does.
		body = nil
	}
	h := res.Header()
	for name := range h {
		if !survives(name) {
			delete(h, name)
		}
	}
	if s.Origin != nil {
		h["Access-Control-Allow-Origin"] = s.Origin
	}
	h["Cache-Control"] = NoStore
	h["Content-Type"] = problemTypes
	h["X-Content-Type-Options"] = NoSniff
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	if k.Retry {
		h["Retry-After"] = []string{RetryAfter}
	}
	res.WriteHeader(k.Status)
	if c.Request().Method != http.MethodHead {
		_, _ = res.Write(body) // the client is gone if this fails
	}
}

// Header values, ready to be put into a header map.
var (
	problemTypes   = []string{ProblemType}
	NoStore        = []string{"no-store"}
	PrivateNoStore = []string{"private, no-store"}
	NoSniff        = []string{"nosniff"}
)
