// Package serverclient sends requests to a running tileserver. Requests are repeated when a connection
// breaks or the server is busy, so they must be such as may be answered twice.
package serverclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	attempts     = 6 // without progress
	firstPause   = time.Second
	longestPause = time.Minute
	// longestAnswer bounds the time of a request.
	longestAnswer = 2 * time.Minute
)

// Client sends requests to a server. Any number of goroutines may use it, if OnRetry and Wait allow it.
type Client struct {
	Server *url.URL // such as http://127.0.0.1:8080
	Key    string
	// Scope is the scope that a key needs, and Least is a name for the smallest request, both for
	// errors.
	Scope, Least string
	// OnRetry, if set, is called with a text for each failed attempt that will be repeated.
	OnRetry func(text string)
	// Wait pauses between attempts. If it is nil, the pause lasts for d, or until the context ends.
	Wait func(ctx context.Context, d time.Duration) error
}

// A redirect would send the key to another address.
var client = http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (c *Client) wait(ctx context.Context, d time.Duration) error {
	if c.Wait != nil {
		return c.Wait(ctx, d)
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Request is a request. Accepts, if set, reports whether a response other than a success is an answer, too.
type Request struct {
	Method, URL, ContentType string
	Body                     []byte
	Accepts                  func(res *http.Response) bool
}

// Do sends a request once. If the response is no answer, the error is a *RefusedError. The caller closes the
// body of the response, and then calls cancel.
func (c *Client) Do(ctx context.Context, r *Request) (res *http.Response, cancel context.CancelFunc, err error) {
	ctx, cancel = context.WithTimeout(ctx, longestAnswer)
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		cancel()
		return nil, nil, Final(err)
	}
	if c.Key != "" {
		req.Header.Set("X-API-Key", c.Key)
	}
	if r.ContentType != "" {
		req.Header.Set("Content-Type", r.ContentType)
	}
	if res, err = client.Do(req); err == nil && res.StatusCode/100 != 2 && (r.Accepts == nil || !r.Accepts(res)) {
		err = c.refusal(r.URL, res)
		res.Body.Close()
	}
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return res, cancel, nil
}

// Final returns an error after which Repeat makes no further attempt. Repeat returns err itself.
func Final(err error) error { return &finalError{err} }

type finalError struct{ err error }

func (e *finalError) Error() string { return e.err.Error() }

// Repeat calls send until it succeeds or fails permanently. An attempt with progress resets the
// count of failures.
func (c *Client) Repeat(ctx context.Context, send func() (done int, err error)) error {
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
		if c.OnRetry != nil {
			c.OnRetry(fmt.Sprintf("%s; trying again in %v", strings.TrimSuffix(err.Error(), "."), pause))
		}
		if err := c.wait(ctx, pause); err != nil {
			return err
		}
	}
}
