package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/theme"
)

// RetryAfter is the number of seconds after which the client should try again.
const RetryAfter = 1

// SetRetryAfter sets the header Retry-After, the number of seconds after which a client should try
// again.
func SetRetryAfter(h http.Header, seconds int) { h["Retry-After"] = lengthHeader(seconds) }

// Fail answers a request with the problem of an error. It is also the router's error handler, so
// that unknown paths and methods answer in the same form.
func (s *Kit) Fail(err error, c echo.Context) {
	var to *moved
	if errors.As(err, &to) {
		to.redirect(c)
		return
	}
	err = s.Translate(err)
	if errors.Is(err, context.Canceled) && c.Request().Context().Err() == nil {
		// Another request was cancelled. This must not look like a cancellation by this client.
		err = fmt.Errorf("reading was cancelled, but not by the client: %v", err) //nolint:errorlint // what it is, is lost on purpose
	}
	k, p := s.judge(c, err)
	if s.metrics != nil {
		s.metrics.problem(k.Type)
	}
	if s.tracer != nil && k.Status >= http.StatusInternalServerError {
		s.traceProblem(c.Request().Context(), k)
	}
	if k.Status >= http.StatusInternalServerError && !k.IsExpected {
		p.RequestID = s.requestID(c)
	}
	res := c.Response()
	if res.Committed {
		return
	}
	html := PrefersHTML(c.Request())
	body := p.encode(html, theme.RelativeRoot(c.Request().URL.EscapedPath()))
	h := res.Header()
	onlySurvivors(h)
	h["Cache-Control"] = NoStore
	h["Content-Type"] = problemTypes
	if html {
		for name, values := range pageHeaders {
			h[name] = values
		}
		if c.Get(framedProblems) != nil {
			h["Content-Security-Policy"] = framedPolicy
		}
		h["Vary"] = varyAccept // nobody keeps problems, so problems for programs need not say so
		h["Content-Type"] = htmlTypes
	}
	h["X-Content-Type-Options"] = noSniff
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	if k.Retry {
		SetRetryAfter(h, RetryAfter)
	}
	res.WriteHeader(k.Status)
	if c.Request().Method != http.MethodHead {
		_, _ = res.Write(body) // the client is gone if this fails
	}
}

// framedProblems is the key of requests whose problems may be shown in a frame.
const framedProblems = "framed-problems"

// FrameProblems lets other sites show the problem of this request in a frame, where they show the page
// that it stands for.
func FrameProblems(c echo.Context) { c.Set(framedProblems, true) }

// Judge returns the kind and the problem of an error, for imitated services with their own format
// of errors. It logs the error if it is a server error.
func (s *Kit) Judge(c echo.Context, err error) (*ProblemKind, Problem) {
	return s.judge(c, s.Translate(err))
}

// judge does the same as Judge, for an error that Config.Meaning has already converted.
func (s *Kit) judge(c echo.Context, err error) (*ProblemKind, Problem) {
	k, p := s.Classify(err)
	p.Detail += slashAdvice(k, c.Request().URL.EscapedPath())
	if k.Status >= http.StatusInternalServerError && !k.IsExpected {
		s.LogFailure(c, err)
	}
	return k, p
}

// slashAdvice returns advice about an extra slash in the escaped path of a request that failed
// because of its address. Proxies and clients make such paths when they join two halves. A slash
// that is escaped belongs to an id.
func slashAdvice(k *ProblemKind, path string) string {
	if k.Status != http.StatusNotFound && k.Status != http.StatusBadRequest {
		return ""
	}
	if strings.Contains(path, "//") {
		return " There are two slashes in a row in the path: write one."
	}
	if k.Type == "not-found" && len(path) > 1 && path[len(path)-1] == '/' {
		return " The path ends with a slash: leave it out."
	}
	return ""
}

// encode writes the problem for a program or, if a browser asks for a page, as a page. Every field
// is a string or a number, so writing cannot fail; if it failed, the answer would be only the
// status.
func (p *Problem) encode(html bool, root string) []byte {
	if !html {
		body, _ := json.Marshal(p) //nolint:errchkjson // as said above
		return body
	}
	var text bytes.Buffer
	_ = problemPage.Execute(&text, struct {
		*Problem
		Root string
	}{p, root})
	//nolint:gosec // the template has escaped it
	page := theme.Document{Title: p.Title, Root: root, Body: template.HTML(text.String())}
	body, _ := page.HTML()
	return body
}

var problemPage = template.Must(template.New("problem").Parse(`<main id="main" class="sheet problem-page">
<p class="number">{{.Status}}</p>
<h1>{{.Title}}</h1>
<p>{{.Detail}}{{if .Parameter}} <span class="badge">{{.Parameter}}</span>{{end}}</p>
{{- if .RequestID}}
<p class="quiet">request_id {{.RequestID}}</p>
{{- end}}
<p><a class="button strong" href="{{.Root}}.">Open the map</a> <a class="button" href="{{.Root}}docs">Read the docs</a></p>
</main>
`))

// onlySurvivors removes headers of the failed answer.
func onlySurvivors(h http.Header) {
	for name := range h {
		if !survives(name) {
			delete(h, name)
		}
	}
}

// survives reports whether an error answer keeps a header that was set earlier. All other headers
// belong to the failed answer.
func survives(name string) bool {
	switch name {
	case "Allow", "Connection", "Www-Authenticate", "Retry-After", "Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset",
		requestIDHeader, allowOriginHeader, exposeHeadersHeader:
		return true
	}
	return false
}
