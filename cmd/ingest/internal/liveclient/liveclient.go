// Package liveclient writes points into a live collection of a running tileserver.
//
// Requests are small and are repeated when a connection breaks or the server is busy: a second put
// of the same point changes nothing. Lines that the server has answered are not sent again.
package liveclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"quadrille/feature"
	"quadrille/places/live"
)

// These bound the lines that one call of Write should have. They are below the default limits of
// tileserver and of proxies in front of it.
const (
	MaxLines = 5000
	MaxBytes = 1_000_000
)

const (
	attempts     = 6 // without an answer to any line
	firstPause   = time.Second
	longestPause = time.Minute
	// longestAnswer bounds the time of a request.
	longestAnswer = 2 * time.Minute
)

// Target is the collection to write.
type Target struct {
	Server     *url.URL // such as http://127.0.0.1:8080
	Collection string
	Key        string
	// OnRetry is called with a text for each failed attempt that will be repeated.
	OnRetry func(text string)
	// Wait pauses between attempts. If it is nil, the pause lasts for d, or until the context ends.
	Wait func(ctx context.Context, d time.Duration) error
}

// Line is a feature that is to be written.
type Line struct {
	SourcePosition int64 // where it stands in its source
	Text           []byte
}

// Client writes a collection. It belongs to one goroutine.
type Client struct {
	to    Target
	http  http.Client
	url   string
	lines int // most lines of a request
}

// New returns a client of a collection.
func New(to Target) *Client {
	c := &Client{to: to, lines: MaxLines, url: to.Server.JoinPath("points", to.Collection).String()}
	// A redirect would send the key to another address.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if c.to.Wait == nil {
		c.to.Wait = func(ctx context.Context, d time.Duration) error {
			select {
			case <-time.After(d):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return c
}

// Exists reports whether there is such a collection. The error says why it cannot
// be written.
func (c *Client) Exists(ctx context.Context) (bool, error) {
	err := c.repeat(ctx, func() (int, error) {
		res, cancel, err := c.do(ctx, http.MethodPost, nil)
		if err != nil {
			return 0, err
		}
		defer cancel()
		return 0, res.Body.Close()
	})
	var refused *RefusedError
	if errors.As(err, &refused) && refused.Type == "collection-not-found" {
		return false, nil
	}
	return err == nil, err
}

// Schema returns the types that the properties of the collection have.
func (c *Client) Schema(ctx context.Context) (feature.Schema, error) {
	var m struct{ Schema []feature.Field }
	err := c.repeat(ctx, func() (int, error) {
		res, cancel, err := c.do(ctx, http.MethodGet, nil)
		if err != nil {
			return 0, err
		}
		defer cancel()
		defer res.Body.Close()
		if err := json.NewDecoder(res.Body).Decode(&m); err != nil {
			return 0, fmt.Errorf("%s describes no collection: %w", c.url, err)
		}
		return 0, nil
	})
	if err != nil {
		return nil, err
	}
	return feature.NewSchema(m.Schema)
}

// Create creates the collection of the target.
func (c *Client) Create(ctx context.Context, m *live.Meta) error {
	types := map[string]feature.Kind{}
	for _, f := range m.Schema {
		types[f.Name] = f.Kind
	}
	body, err := json.Marshal(struct {
		Title       string                  `json:"title,omitempty"`
		Attribution string                  `json:"attribution,omitempty"`
		Licence     string                  `json:"licence,omitempty"`
		Private     bool                    `json:"private,omitempty"`
		Schema      map[string]feature.Kind `json:"schema,omitempty"`
	}{m.Title, m.Attribution, m.Licence, m.Private, types})
	if err != nil {
		return err
	}
	return c.repeat(ctx, func() (int, error) {
		res, cancel, err := c.do(ctx, http.MethodPut, body)
		if err != nil {
			return 0, err
		}
		defer cancel()
		return 0, res.Body.Close()
	})
}

// Write writes lines, in several requests if the server takes fewer at once. It calls answered for
// each line in order, with the reason why the server has refused the line, or with "". An error of
// answered ends Write and is returned.
func (c *Client) Write(ctx context.Context, lines []Line, answered func(l *Line, refusal string) error) error {
	return c.repeat(ctx, func() (done int, err error) {
		for len(lines) > 0 {
			n := min(len(lines), c.lines)
			answers, err := c.post(ctx, lines[:n])
			for i, refusal := range answers {
				if err := answered(&lines[i], refusal); err != nil {
					return done, &finalError{err}
				}
			}
			done += len(answers)
			lines = lines[len(answers):]
			var refused *RefusedError
			if errors.As(err, &refused) && refused.Status == http.StatusRequestEntityTooLarge && n > 1 {
				if c.lines = len(answers); c.lines == 0 { // the refusal is from a proxy, or because of the length alone
					c.lines = n / 2
				}
				err = nil
			}
			if err != nil {
				return done, err
			}
		}
		return done, nil
	})
}

// post sends a request and returns the answers to its first lines. If there is no error, they are
// the answers to all lines.
func (c *Client) post(ctx context.Context, lines []Line) (refusals []string, err error) {
	var body bytes.Buffer
	for i := range lines {
		body.Write(lines[i].Text)
		body.WriteByte('\n')
	}
	res, cancel, err := c.do(ctx, http.MethodPost, body.Bytes())
	if err != nil {
		return nil, err
	}
	defer cancel()
	defer res.Body.Close()
	in := json.NewDecoder(res.Body)
	for len(refusals) < len(lines) {
		var a struct {
			Line   int64  `json:"line"`
			Status int    `json:"status"`
			Type   string `json:"type"`
			Detail string `json:"detail"`
		}
		if err := in.Decode(&a); err != nil {
			return refusals, fmt.Errorf("%s: the answer ends after %d of %d lines: %w", c.url, len(refusals), len(lines), err)
		}
		switch next := int64(len(refusals) + 1); {
		case a.Line == next && a.Status/100 == 2:
			refusals = append(refusals, "")
		case a.Line == next && (a.Status == http.StatusBadRequest && a.Type != "bad-body" || a.Status == http.StatusPreconditionFailed):
			refusals = append(refusals, a.Detail)
		case a.Status >= http.StatusBadRequest: // for the rest of the request
			return refusals, &RefusedError{URL: c.url, Status: a.Status, Type: a.Type, Detail: a.Detail}
		default:
			return refusals, &finalError{fmt.Errorf("%s answers no lines of points: is this a tileserver?", c.url)}
		}
	}
	return refusals, nil
}

// do sends a request. If the answer is neither a success nor in lines, the error is a
// *RefusedError. The caller calls cancel once it has read the answer.
func (c *Client) do(ctx context.Context, method string, body []byte) (res *http.Response, cancel context.CancelFunc, err error) {
	ctx, cancel = context.WithTimeout(ctx, longestAnswer)
	req, err := http.NewRequestWithContext(ctx, method, c.url, bytes.NewReader(body))
	if err != nil {
		cancel()
		return nil, nil, &finalError{err}
	}
	if c.to.Key != "" {
		req.Header.Set("X-API-Key", c.to.Key)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-ndjson")
	}
	if res, err = c.http.Do(req); err == nil && res.StatusCode/100 != 2 && !refusedLines(res) {
		err = c.refusal(res)
		res.Body.Close()
	}
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return res, cancel, nil
}

// refusedLines reports whether a response has answers to the lines of a batch whose lines were
// all refused.
func refusedLines(res *http.Response) bool {
	return res.StatusCode == http.StatusBadRequest && res.Header.Get("Content-Type") == "application/x-ndjson"
}

// repeat calls send until it succeeds or fails permanently. An attempt with progress resets the
// count of failures.
func (c *Client) repeat(ctx context.Context, send func() (done int, err error)) error {
	failures := 0
	for {
		done, err := send()
		var final *finalError
		var refused *RefusedError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &final):
			return final.err
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &refused) && !refused.passes():
			return err
		}
		if done > 0 {
			failures = 0
		}
		if failures++; failures == attempts {
			return fmt.Errorf("%w (tried %d times)", err, attempts)
		}
		pause := firstPause << (failures - 1)
		if refused != nil {
			pause = max(pause, refused.RetryAfter)
		}
		pause = min(pause, longestPause)
		if c.to.OnRetry != nil {
			c.to.OnRetry(fmt.Sprintf("%s; trying again in %v", strings.TrimSuffix(err.Error(), "."), pause))
		}
		if err := c.to.Wait(ctx, pause); err != nil {
			return err
		}
	}
}

// finalError is an error after which no further attempt is made.
type finalError struct{ err error }

func (e *finalError) Error() string { return e.err.Error() }
