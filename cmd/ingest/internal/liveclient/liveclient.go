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
	"strconv"

	"quadrille/cmd/ingest/internal/serverclient"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/places/live"
)

// These bound the lines that one call of Write should have. They are below the default limits of
// tileserver and of proxies in front of it.
const (
	MaxLines = 5000
	MaxBytes = 1_000_000
)

// Target is the collection to write.
type Target struct {
	Collection string
	serverclient.Client
}

// Line is a feature that is to be written.
type Line struct {
	SourcePosition int64 // where it stands in its source
	Text           []byte
}

// Client writes a collection. It belongs to one goroutine.
type Client struct {
	server *serverclient.Client
	url    string
	lines  int // most lines of a request
}

// New returns a client of a collection.
func New(to Target) *Client {
	to.Scope, to.Least = "write:"+to.Collection, "one point"
	return &Client{server: &to.Client, lines: MaxLines, url: to.Server.JoinPath("points", to.Collection).String()}
}

// do sends a request about the collection.
func (c *Client) do(ctx context.Context, method string, body []byte) (*http.Response, context.CancelFunc, error) {
	r := serverclient.Request{Method: method, URL: c.url, Body: body, Accepts: refusedLines}
	if method == http.MethodPost {
		r.ContentType = "application/x-ndjson"
	}
	return c.server.Do(ctx, &r)
}

// Exists reports whether there is such a collection. The error says why it cannot
// be written.
func (c *Client) Exists(ctx context.Context) (bool, error) {
	err := c.server.Repeat(ctx, func() (int, error) {
		res, cancel, err := c.do(ctx, http.MethodPost, nil)
		if err != nil {
			return 0, err
		}
		defer cancel()
		return 0, res.Body.Close()
	})
	var refused *serverclient.RefusedError
	if errors.As(err, &refused) && refused.Type == "collection-not-found" {
		return false, nil
	}
	return err == nil, err
}

// Schema returns the types that the properties of the collection have.
func (c *Client) Schema(ctx context.Context) (feature.Schema, error) {
	var m struct{ Schema []feature.Field }
	if err := c.get(ctx, c.url, &m); err != nil {
		return nil, err
	}
	return feature.NewSchema(m.Schema)
}

// get reads JSON into a value that json.Unmarshal takes.
func (c *Client) get(ctx context.Context, url string, into any) error {
	return c.server.Repeat(ctx, func() (int, error) {
		res, cancel, err := c.server.Do(ctx, &serverclient.Request{Method: http.MethodGet, URL: url})
		if err != nil {
			return 0, err
		}
		defer cancel()
		defer res.Body.Close()
		if err := json.NewDecoder(res.Body).Decode(into); err != nil {
			return 0, fmt.Errorf("%s describes no collection: %w", c.url, err)
		}
		return 0, nil
	})
}

// pageLimit is the number of points that are listed at a time, the most that the server lists.
const pageLimit = 1000

// Points calls fn with the id and the version of each point of the collection. Points that are
// written meanwhile may be missing. An error of fn ends it and is returned.
func (c *Client) Points(ctx context.Context, fn func(id string, version int64) error) error {
	for cursor := ""; ; {
		var page struct {
			Points []struct {
				ID      string `json:"id"`
				Version int64  `json:"version"`
			} `json:"points"`
			Next string `json:"next"`
		}
		query := url.Values{"bbox": {"-180,-90,180,90"}, "limit": {strconv.Itoa(pageLimit)}}
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		if err := c.get(ctx, c.url+"/within?"+query.Encode(), &page); err != nil {
			return err
		}
		for _, p := range page.Points {
			if err := fn(p.ID, p.Version); err != nil {
				return err
			}
		}
		if cursor = page.Next; cursor == "" {
			return nil
		}
	}
}

// Deletion returns the line that deletes a point if it still has the given version.
func Deletion(id string, version int64) []byte {
	line := jsontext.AppendString([]byte(`{"id":`), id)
	return fmt.Appendf(line, `,"delete":true,"if_match":"\"v%d\""}`, version)
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
	return c.server.Repeat(ctx, func() (int, error) {
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
	return c.server.Repeat(ctx, func() (done int, err error) {
		for len(lines) > 0 {
			n := min(len(lines), c.lines)
			answers, err := c.post(ctx, lines[:n])
			for i, refusal := range answers {
				if err := answered(&lines[i], refusal); err != nil {
					return done, serverclient.Final(err)
				}
			}
			done += len(answers)
			lines = lines[len(answers):]
			var refused *serverclient.RefusedError
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
		case a.Line == next && (a.Status/100 == 2 || a.Status == http.StatusNotFound && a.Type == "point-not-found"): // deleted before
			refusals = append(refusals, "")
		case a.Line == next && (a.Status == http.StatusBadRequest && a.Type != "bad-body" || a.Status == http.StatusPreconditionFailed):
			refusals = append(refusals, a.Detail)
		case a.Status >= http.StatusBadRequest: // for the rest of the request
			return refusals, &serverclient.RefusedError{URL: c.url, Status: a.Status, Type: a.Type, Detail: a.Detail}
		default:
			return refusals, serverclient.Final(fmt.Errorf("%s answers no lines of points: is this a tileserver?", c.url))
		}
	}
	return refusals, nil
}

// refusedLines reports whether a response has answers to the lines of a batch whose lines were
// all refused.
func refusedLines(res *http.Response) bool {
	return res.StatusCode == http.StatusBadRequest && res.Header.Get("Content-Type") == "application/x-ndjson"
}
