// Package fetch downloads files of publishers into a directory and keeps them there, so that the
// next run only checks whether they have changed.
//
// A broken download resumes where it stopped (Range with If-Range), or starts again from the
// beginning if the file has changed meanwhile. A file with the wrong content, be it truncated,
// damaged or an HTML page, never gets the file's name: the version that was downloaded before stays
// there.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/cenkalti/backoff/v5"

	"quadrille/cellstore/filelock"
	"quadrille/cmd/ingest/internal/disk"
)

// Callers can check for these errors with errors.Is.
var (
	// ErrTooLarge means that the file, or all files together, exceed the limit.
	ErrTooLarge = errors.New("larger than allowed")
	// ErrContent means that the server did not send the expected kind of file.
	ErrContent = errors.New("not the expected content")
	// ErrStalled means that the server sent nothing for a while.
	ErrStalled = errors.New("the server stopped sending")
	// ErrLocked means that another process downloads into the same directory.
	ErrLocked = errors.New("another download runs in this directory")
	// ErrSpace means that the file system has too little free space for the file.
	ErrSpace = errors.New("not enough free disk space")
)

// File is a file to download.
type File struct {
	// URL is its address, https or http.
	URL string
	// Name is its name in the directory: a plain file name.
	Name string
	// Kind is its expected content.
	Kind Kind
	// MaxBytes bounds its size.
	MaxBytes int64
	// ChecksumURL is the address of a file that begins with the SHA-256 or MD5 in
	// hexadecimal, as sha256sum writes it; empty if the publisher has no such file.
	ChecksumURL string
	// User and Password are sent only to the host of URL and to that of ChecksumURL.
	User, Password string
}

// Result is a file in the directory.
type Result struct {
	Path      string
	Bytes     int64
	Unchanged bool // since the run before
}

// Options set how to download.
type Options struct {
	// UserAgent tells publishers the name of the program, and how to reach the person who runs it.
	UserAgent string
	// Attempts is the number of attempts at a file before it fails; 0 means 6. An attempt that
	// makes progress does not count.
	Attempts int
	// StallTimeout is the longest time without a byte from the server; 0 means 30 seconds.
	StallTimeout time.Duration
	// MaxTotal bounds the total number of downloaded bytes; 0 means no bound.
	MaxTotal int64
	// Progress, if set, is called with the bytes of a file so far. total is 0 if it is unknown.
	Progress func(name string, done, total int64)
	// OnRetry, if set, is called with a text about each failed attempt that will be repeated.
	OnRetry func(text string)
	// Wait pauses between attempts. If it is nil, the pause has the given length, or ends with ctx.
	Wait func(ctx context.Context, d time.Duration) error
}

const (
	defaultAttempts = 6
	defaultStall    = 30 * time.Second
	firstPause      = time.Second
	longestPause    = 2 * time.Minute
	// longestRetryAfter is the longest Retry-After for which a run waits.
	longestRetryAfter = 15 * time.Minute
	maxRedirects      = 5
	// forward is the least number of bytes that an attempt must bring in order not to count.
	forward       = 256 << 10
	checksumBytes = 4 << 10
)

// Client downloads files into one directory, one after the other, so that a
// publisher sees one connection at a time. It belongs to one goroutine.
type Client struct {
	dir   string
	o     Options
	http  *http.Client
	lock  *os.File
	total int64
	free  func(dir string) (uint64, bool)
}

// New creates the directory if it is missing, and locks it until Close.
func New(dir string, o Options) (*Client, error) {
	if o.Attempts <= 0 {
		o.Attempts = defaultAttempts
	}
	if o.StallTimeout <= 0 {
		o.StallTimeout = defaultStall
	}
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	if o.OnRetry == nil {
		o.OnRetry = func(string) {}
	}
	if o.Wait == nil {
		o.Wait = wait
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	switch err := filelock.LockExclusive(lock); {
	case errors.Is(err, filelock.ErrLocked):
		return nil, errors.Join(fmt.Errorf("%s: %w; wait until it is done, or choose another --downloads", dir, ErrLocked), lock.Close())
	case errors.Is(err, errors.ErrUnsupported):
		// Two concurrent downloads into one file would not pass the file's check.
	case err != nil:
		return nil, errors.Join(fmt.Errorf("%s: %w; choose another --downloads", dir, err), lock.Close())
	}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		MaxConnsPerHost:       1,
		ResponseHeaderTimeout: o.StallTimeout,
		TLSHandshakeTimeout:   o.StallTimeout,
		IdleConnTimeout:       time.Minute,
		ForceAttemptHTTP2:     true,
		// With a content coding, ranges and lengths would refer to the compressed bytes.
		DisableCompression: true,
	}
	return &Client{dir: dir, o: o, lock: lock, free: disk.Free, http: &http.Client{Transport: transport, CheckRedirect: checkRedirect}}, nil
}

// Close releases the lock of the directory.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return c.lock.Close()
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// checkRedirect allows only few redirects, and none from https to http. It sends no credentials to
// another host.
func checkRedirect(req *http.Request, via []*http.Request) error {
	last := via[len(via)-1]
	switch {
	case len(via) > maxRedirects:
		return permanent(fmt.Errorf("more than %d redirects; look at the address in a browser", maxRedirects))
	case req.URL.Scheme != "https" && req.URL.Scheme != "http":
		return permanent(fmt.Errorf("redirected to %s, which is not a web address", req.URL.Scheme))
	case last.URL.Scheme == "https" && req.URL.Scheme != "https":
		return permanent(fmt.Errorf("redirected from https to http (%s); this is refused because anybody could change the file", req.URL.Host))
	}
	if req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
		req.Header.Del("Authorization")
	}
	req.Header.Del("Referer") // an address may hold a secret
	return nil
}

// Get returns the file, downloaded if it is missing or has changed. After an error the version that
// was downloaded before, if any, is still in the directory.
func (c *Client) Get(ctx context.Context, f File) (Result, error) {
	if filepath.Base(f.Name) != f.Name || f.Name == "." || f.Name == "" {
		return Result{}, fmt.Errorf("%q is not a plain file name", f.Name)
	}
	u, err := url.Parse(f.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return Result{}, fmt.Errorf("%s: %q is not a web address", f.Name, f.URL)
	}
	d := &download{Client: c, file: f, path: filepath.Join(c.dir, f.Name)}
	// The pauses are random, so that many machines do not return at the same time.
	pauses := backoff.ExponentialBackOff{InitialInterval: firstPause, MaxInterval: longestPause, Multiplier: 2, RandomizationFactor: 0.5}
	for failed := 0; ; {
		before := d.partSize()
		res, err := d.attempt(ctx)
		if err == nil {
			return res, nil
		}
		if ctx.Err() != nil {
			return Result{}, fmt.Errorf("%s: %w", f.Name, ctx.Err())
		}
		var final *permanentError
		if errors.As(err, &final) {
			return Result{}, fmt.Errorf("%s from %s: %w", f.Name, u.Redacted(), err)
		}
		if d.partSize()-before >= forward {
			failed = 0
			pauses.Reset()
		}
		if failed++; failed >= c.o.Attempts {
			return Result{}, fmt.Errorf("%s from %s: %w; given up after %d attempts, run it again later: it goes on where it stopped",
				f.Name, u.Redacted(), err, failed)
		}
		delay := pauses.NextBackOff()
		var told *retryAfterError
		if errors.As(err, &told) && told.after > 0 {
			delay = told.after
		}
		c.o.OnRetry(fmt.Sprintf("%s: %v; trying again in %v", f.Name, err, delay.Round(time.Second)))
		if err := c.o.Wait(ctx, delay); err != nil {
			return Result{}, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
}

// permanentError is an error that another attempt would not change.
type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

func permanent(err error) error { return &permanentError{err} }

// retryAfterError is a temporary refusal.
type retryAfterError struct {
	status string
	after  time.Duration // 0: unknown
}

func (e *retryAfterError) Error() string { return "the server answered " + e.status }

// count adds n to the total bytes of all files.
func (c *Client) count(n int64) error {
	if c.total += n; c.o.MaxTotal > 0 && c.total > c.o.MaxTotal {
		return permanent(fmt.Errorf("%w: the files together exceed %d bytes; raise --max-download", ErrTooLarge, c.o.MaxTotal))
	}
	return nil
}

// request makes a request for one of the file's two addresses.
func (c *Client) request(ctx context.Context, f File, address string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, permanent(err)
	}
	req.Header.Set("User-Agent", c.o.UserAgent)
	req.Header.Set("Accept-Encoding", "identity")
	if f.User != "" {
		own, err := url.Parse(f.URL)
		if err == nil && own.Host == req.URL.Host && own.Scheme == req.URL.Scheme {
			req.SetBasicAuth(f.User, f.Password)
		}
	}
	return req, nil
}

// watched returns a context that ends with ErrStalled unless alive is called often enough.
func (c *Client) watched(ctx context.Context) (_ context.Context, alive, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	t := time.AfterFunc(c.o.StallTimeout, func() {
		cancel(fmt.Errorf("%w for %v", ErrStalled, c.o.StallTimeout))
	})
	return ctx, func() { t.Reset(c.o.StallTimeout) }, func() { t.Stop(); cancel(nil) }
}

// checksum fetches the publisher's checksum. It returns nil if the file has no ChecksumURL.
func (c *Client) checksum(ctx context.Context, f File) ([]byte, error) {
	if f.ChecksumURL == "" {
		return nil, nil
	}
	ctx, _, stop := c.watched(ctx)
	defer stop()
	req, err := c.request(ctx, f, f.ChecksumURL)
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("checksum: %w", cause(ctx, err))
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("checksum: %w", refusal(res))
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, checksumBytes))
	if err != nil {
		return nil, fmt.Errorf("checksum: %w", cause(ctx, err))
	}
	return parseChecksum(b)
}

// cause returns the cause of the end of a context, if err only says that the context has ended.
func cause(ctx context.Context, err error) error {
	if why := context.Cause(ctx); why != nil && ctx.Err() != nil {
		return why
	}
	return err
}
