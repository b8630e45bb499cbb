package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// host is what both servers are called, so that addresses in answers are the same.
const host = "replay.example"

// A server is one that is asked, with what its answers gave to be sent back.
type server struct {
	url    string
	client http.Client
	kept   map[string]string
}

func newServer(address string) *server {
	return &server{url: strings.TrimSuffix(address, "/"), kept: map[string]string{}, client: http.Client{
		Timeout:       time.Minute,
		Transport:     &http.Transport{DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// An answer is what came back.
type answer struct {
	status  int
	header  http.Header
	raw     string // as it was sent
	text    string // decoded, with what differs by nature put alike
	failure string // why there is none
}

var (
	cursor = regexp.MustCompile(`(?:cursor=|"next":")([\w-]+)`)
	pinned = regexp.MustCompile(`/g/([^/"]+)/tiles`)
)

// ask sends a request. What the answer to a seed gives is kept for later ones.
func (s *server) ask(ctx context.Context, r request, seed bool) (a answer) {
	a, err := s.send(ctx, r)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // without the address, which is its own
		}
		return answer{failure: err.Error()}
	}
	if seed {
		if tag := a.header.Get("ETag"); tag != "" {
			s.kept["{etag}"] = tag
		}
		for name, pattern := range map[string]*regexp.Regexp{"{cursor}": cursor, "{pinned}": pinned} {
			if m := pattern.FindStringSubmatch(a.text); m != nil {
				s.kept[name] = m[1]
			}
		}
	}
	a.text = alike(a.text)
	return a
}

func (s *server) send(ctx context.Context, r request) (a answer, err error) {
	fill := func(text string) string {
		for name, value := range s.kept {
			text = strings.ReplaceAll(text, name, value)
		}
		return text
	}
	// A broken target is sent as it is: net/url would not read it.
	req, err := http.NewRequestWithContext(ctx, r.method, s.url, strings.NewReader(r.body))
	if err != nil {
		return a, err
	}
	path, query, asks := strings.Cut(fill(r.target), "?")
	req.URL.Opaque, req.URL.RawQuery, req.URL.ForceQuery = path, query, asks
	req.Host = host
	for _, h := range r.headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
		}
		req.Header.Add(name, fill(value))
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	a = answer{status: resp.StatusCode, header: resp.Header}
	if len(resp.TransferEncoding) > 0 {
		a.header["Transfer-Encoding"] = resp.TransferEncoding
	}
	if strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
		return a, nil // it has no end
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return a, err
	}
	a.raw = string(raw)
	a.text, err = decode(a.header.Get("Content-Encoding"), raw)
	return a, err
}

func decode(coding string, raw []byte) (string, error) {
	var from io.Reader = bytes.NewReader(raw)
	var err error
	switch {
	case len(raw) == 0: // of HEAD and 304
	case coding == "gzip":
		from, err = gzip.NewReader(from)
	case coding == "br":
		from = brotli.NewReader(from)
	case coding == "zstd":
		var z *zstd.Decoder
		if z, err = zstd.NewReader(from, zstd.WithDecoderConcurrency(1)); err == nil {
			defer z.Close()
			from = z
		}
	}
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(from)
	return string(text), err
}
