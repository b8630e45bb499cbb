package serverclient

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"quadrille/cmd/internal/retryafter"
)

// RefusedError is a response other than a success.
type RefusedError struct {
	URL        string
	Status     int
	Type       string // the last part of the type of the problem
	Title      string
	Detail     string
	RetryAfter time.Duration // how long the server wants to be left alone
}

func (e *RefusedError) Error() string {
	text := fmt.Sprintf("%s answered %d", e.URL, e.Status)
	for _, more := range []string{e.Title, e.Detail} {
		if more != "" {
			text += ": " + strings.TrimSuffix(more, ".")
		}
	}
	return text
}

// passes reports whether the refusal is temporary, so that the same request may succeed a little
// later.
func (e *RefusedError) passes() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return true
	}
	return false
}

// maxProblem bounds the bytes read of a problem.
const maxProblem = 64 << 10

func (c *Client) refusal(url string, res *http.Response) *RefusedError {
	e := &RefusedError{URL: url, Status: res.StatusCode, RetryAfter: min(retryafter.Parse(res.Header), longestPause)}
	var problem struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Detail string `json:"detail"`
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxProblem)) // the status says enough
	isProblem := strings.HasPrefix(res.Header.Get("Content-Type"), "application/problem+json") && json.Unmarshal(body, &problem) == nil
	switch {
	case isProblem && res.StatusCode == http.StatusUnauthorized && c.Key == "":
		e.Detail = "a key"
		if c.Scope != "" {
			e.Detail += " with the scope " + c.Scope
		}
		e.Detail += " is needed: name the file that has it by --key-file"
	case isProblem:
		e.Type = problem.Type[strings.LastIndexAny(problem.Type, "/#:")+1:]
		e.Title, e.Detail = problem.Title, problem.Detail
	case res.StatusCode/100 == 3:
		e.Detail = "it redirects to " + strconv.Quote(res.Header.Get("Location")) + ", where the key is not sent: name that server"
	case res.StatusCode == http.StatusRequestEntityTooLarge:
		e.Detail = "a proxy takes no request as large as " + c.Least + ": raise its bound"
	case res.StatusCode == http.StatusNotFound:
		e.Detail = "name a tileserver, with its base path if it has one"
	}
	return e
}
