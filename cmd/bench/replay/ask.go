package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// A request is a request that both servers get.
type request struct {
	method, target string // target is path and query as they are sent, broken or not
	headers        []string
	body           string
}

// parseRequest reads METHOD PATH [| Header: value]... [| Body: text].
func parseRequest(line string) (r request, err error) {
	parts := strings.Split(line, " | ")
	method, target, _ := strings.Cut(parts[0], " ")
	if target == "" || target[0] != '/' {
		return r, fmt.Errorf("write METHOD PATH, not %q", parts[0])
	}
	r = request{method: method, target: target}
	for _, part := range parts[1:] {
		if body, ok := strings.CutPrefix(part, "Body: "); ok {
			r.body = escapes.Replace(body)
		} else {
			r.headers = append(r.headers, part)
		}
	}
	return r, nil
}

func (r request) String() string {
	parts := append([]string{r.method + " " + shorten(r.target, 200)}, r.headers...)
	if r.body != "" {
		parts = append(parts, "Body: "+shorten(r.body, 100))
	}
	return strings.Join(parts, " | ")
}

// A server receives the requests. The latest tag, cursor and generations in its answers to seeds
// replace {etag}, {cursor} and {pinned} in later requests.
type server struct {
	url    string
	client http.Client
	kept   map[string]string
}

var kept = map[string]*regexp.Regexp{
	"{cursor}": regexp.MustCompile(`(?:cursor=|"next":")([\w-]+)`),
	"{pinned}": regexp.MustCompile(`/g/([^/"]+)/tiles`),
}

func newServer(address string) *server {
	return &server{url: strings.TrimSuffix(address, "/"), kept: map[string]string{}, client: http.Client{
		Timeout:       time.Minute,
		Transport:     &http.Transport{DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// An answer is a server's answer, or the reason why there is none.
type answer struct {
	status    int
	header    http.Header
	raw, text string // text is decoded
	failure   error
}

func (s *server) ask(r request, seed bool) (a answer) {
	fill := func(text string) string {
		for name, value := range s.kept {
			text = strings.ReplaceAll(text, name, value)
		}
		return text
	}
	if slices.Contains(r.headers, "Content-Encoding: gzip") {
		r.body = pack(r.body)
	}
	req, err := http.NewRequest(r.method, s.url, strings.NewReader(r.body))
	if err != nil {
		return answer{failure: err}
	}
	req.URL.Opaque, req.URL.RawQuery, req.URL.ForceQuery = strings.Cut(fill(r.target), "?")
	req.Host = "replay.example" // addresses in answers are the same
	for _, h := range r.headers {
		name, value, _ := strings.Cut(h, ": ")
		if req.Header.Add(name, fill(value)); name == "Host" {
			req.Host = value
		}
	}
	resp, err := s.client.Do(req)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		return answer{failure: failed.Err} // without the address, which is its own
	}
	defer resp.Body.Close()
	a = answer{status: resp.StatusCode, header: resp.Header}
	a.header["Transfer-Encoding"] = resp.TransferEncoding
	if a.header.Get("Content-Type") != "text/event-stream" { // which has no end
		a.raw, a.text, a.failure = read(resp.Body, a.header.Get("Content-Encoding"))
	}
	if tag := a.header.Get("ETag"); seed && tag != "" {
		s.kept["{etag}"] = tag
	}
	for name, pattern := range kept {
		if m := pattern.FindStringSubmatch(a.text); seed && m != nil {
			s.kept[name] = m[1]
		}
	}
	return a
}

func pack(text string) string {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(text)) // a buffer takes all
	_ = z.Close()
	return packed.String()
}

func read(body io.Reader, coding string) (sent, decoded string, err error) {
	raw, err := io.ReadAll(body)
	if err != nil || len(raw) == 0 { // of HEAD and 304
		return "", "", err
	}
	var r io.Reader = bytes.NewReader(raw)
	switch coding {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "br":
		r = brotli.NewReader(r)
	case "zstd":
		r, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	}
	if err != nil {
		return "", "", err
	}
	text, err := io.ReadAll(r)
	return string(raw), string(text), err
}
