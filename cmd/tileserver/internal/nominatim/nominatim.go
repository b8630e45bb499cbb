// Package nominatim imitates Nominatim's web service, so that its clients only need another
// address. Names, types and quirks are those of Nominatim: numbers as strings, an error with status
// 200 if no feature is at a point, and ignored parameters if they are meaningless.
// docs/geocoding.md lists the differences.
package nominatim

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/ask/geocoder"
	"quadrille/cellstore"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/places"
)

// Handlers answers as Nominatim does.
type Handlers struct {
	*web.Kit
}

// New returns the handlers.
func New(k *web.Kit) *Handlers { return &Handlers{k} }

// question describes the answers of an endpoint. Its path may also end with .php.
type question struct {
	name   string
	format format // the default format
	simple bool   // the answer is one result
	// details is set if the address is part of the answer by default.
	details bool
	fresh   bool // the answer is not cached
	find    func(q *request, ctx context.Context) error
}

var (
	searchQuestion  = question{name: "/search", format: formatJSONV2, find: (*request).search}
	reverseQuestion = question{name: "/reverse", format: formatXML, simple: true, details: true, find: (*request).reverse}
	lookupQuestion  = question{name: "/lookup", format: formatXML, details: true, find: (*request).lookup}
	statusQuestion  = question{name: "/status", format: formatText, fresh: true, find: (*request).status}
)

// RootEndpoints returns the endpoints at the root of a server that imitates Nominatim. /status
// remains this server's own page, because monitoring reads it.
func (s *Handlers) RootEndpoints() []endpoint.Endpoint {
	list := endpoint.AtRoot(s.Endpoints(), "/nominatim")
	last := &list[len(list)-1]
	last.Path, last.OtherPaths = last.OtherPaths[0], nil
	return list
}

// request is one Nominatim request with its results.
type request struct {
	params
	*geocoder.Session
	kit      *web.Kit
	question *question
	format   format
	callback string
	langs    []string // the preferred first
	text     string   // as the answer repeats it
	// address, extra and names are set if results have these members.
	address, extra, names bool
	outlines              bool
	threshold             float64 // degrees, of outlines
	budget                int     // bytes of outlines that may still be read
	found                 []entry
	body                  []byte // the whole answer, if it is not a list of results
}

// handle makes the handler of an endpoint.
func (s *Handlers) handle(e *question) endpoint.Handler {
	return func(c echo.Context, p *endpoint.Params) error {
		r := c.Request()
		q := &request{params: readParams(r), kit: s.Kit, question: e, format: e.format}
		a := web.Answer{Coding: web.AcceptedCoding(r)}
		err := q.readFormat()
		a.Format = q.form()
		if err != nil {
			return s.fail(c, q, a, err)
		}
		a.ByLanguage = q.get("accept-language") == ""
		if a.ByLanguage {
			q.langs = web.Languages(r)
		} else {
			q.langs = web.PreferredLanguages(q.get("accept-language"))
		}
		q.Session = &geocoder.Session{View: p.View(), NoAddresses: true}
		from := q.GenerationIDs()
		if e.simple {
			from = q.View.WithAreas(from)
		}
		if from != nil {
			from = append(from, uint64(web.HashStart.Bytes(strings.Join(q.langs, ","))))
		}
		if e.fresh {
			s.TraceFrom(r.Context(), from...)
			from, a.ByLanguage = nil, false
		}
		err = s.Reply(c, a, from, func(ctx context.Context, out *web.Scratch) error {
			err := q.readDetails()
			if err == nil {
				err = e.find(q, s.WithClientOf(ctx, c))
			}
			if err != nil {
				return err
			}
			if q.callback != "" {
				// The comment keeps the caller's own text from being the first bytes of the
				// answer, which programs other than browsers might run.
				out.Body = append(append(append(out.Body, "/**/"...), q.callback...), '(')
			}
			out.Body = q.appendAnswer(out.Body)
			if q.callback != "" {
				out.Body = append(out.Body, ')')
			}
			return nil
		})
		if err != nil {
			return s.fail(c, q, a, err)
		}
		return nil
	}
}

// failure is an error answer of Nominatim.
type failure struct {
	status  int
	message string
}

func (e *failure) Error() string { return "nominatim: " + e.message }

func refuse(message string) error { return &failure{http.StatusBadRequest, message} }

// failureOf returns the status and message for an error of the domain packages.
func failureOf(err error) *failure {
	var own *failure
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, ask.ErrMissing):
		return &failure{http.StatusNotFound,
			"A data set this needs is not published on this server: ask its operator to ingest places and names."}
	case errors.Is(err, web.ErrKeyMissing), errors.Is(err, web.ErrKeyUnknown):
		return &failure{http.StatusUnauthorized, "This server wants a key: add key= to the address."}
	case errors.Is(err, web.ErrRateLimited):
		return &failure{http.StatusTooManyRequests, cmp.Or(endpoint.DetailOf(err), "The limit of requests is used up.")}
	case errors.Is(err, web.ErrBusy):
		return &failure{http.StatusServiceUnavailable, "The server is overloaded, try again in a moment."}
	case unreadable(err):
		return &failure{http.StatusServiceUnavailable, "The data cannot be read right now, try again in a moment."}
	case errors.Is(err, places.ErrTooMuchWork):
		return &failure{http.StatusBadRequest, "The search is too wide: add countrycodes, or a viewbox with bounded=1."}
	case errors.Is(err, context.DeadlineExceeded):
		return &failure{http.StatusServiceUnavailable, "The answer took too long: ask for less."}
	}
	return &failure{http.StatusInternalServerError, "The server failed; its operator will find the reason in the log."}
}

// unreadable reports whether an error means that the data cannot be read temporarily.
func unreadable(err error) bool {
	return errors.Is(err, ask.ErrFailed) || errors.Is(err, cellstore.ErrUnavailable) || errors.Is(err, cellstore.ErrUnknownOutcome)
}

// refusing returns the function that answers a request which is refused before it is handled.
func (s *Handlers) refusing(e *question) func(c echo.Context, err error) {
	return func(c echo.Context, err error) { s.refuse(c, e, err) }
}

func (s *Handlers) refuse(c echo.Context, e *question, err error) {
	r := c.Request()
	q := &request{params: readParams(r), question: e, format: e.format}
	_ = q.readFormat() // the answer is for err
	_ = s.fail(c, q, web.Answer{Format: q.form(), Coding: web.AcceptedCoding(r)}, err)
}

// fail answers with an error in the requested format.
func (s *Handlers) fail(c echo.Context, q *request, a web.Answer, err error) error {
	err = s.Translate(err)
	e := failureOf(err)
	if own := (*failure)(nil); e.status >= http.StatusInternalServerError && !errors.As(err, &own) {
		if k, _ := s.Classify(err); k.Status >= http.StatusInternalServerError && !k.IsExpected {
			s.LogFailure(c, err)
		}
	}
	if e.status == http.StatusServiceUnavailable {
		web.SetRetryAfter(c.Response().Header(), web.RetryAfter)
	}
	out := web.GetScratch()
	defer out.Release()
	status := strconv.Itoa(e.status)
	switch q.format {
	case formatXML:
		out.Body = append(out.Body, xmlHead+"<error><code>"+status+"</code><message>"...)
		out.Body = append(appendXML(out.Body, e.message), "</message></error>\n"...)
	case formatText:
		out.Body = append(append(out.Body, "ERROR "+status+": "...), e.message...)
	default:
		out.Body = append(out.Body, `{"error":{"code":`+status+`,"message":`...)
		out.Body = append(jsontext.AppendString(out.Body, e.message), "}}"...)
	}
	if a.Format == web.FormatScript {
		a.Format = web.FormatJSON
	}
	a.Status, a.CacheControl, a.ByLanguage = e.status, web.NoStore, false
	return s.Send(c, a, out)
}
