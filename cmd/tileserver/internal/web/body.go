package web

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/internal/bom"
)

// formType is the media type that curl sends for every body by default.
const formType = "application/x-www-form-urlencoded"

// bodyType returns the media type of a body of JSON. It returns "" if the request has no type, or
// has the type of curl -d, which calls every body a form. Other types are refused, except lines and
// plain text if the body may have these.
func bodyType(r *http.Request, lines, text bool) (string, error) {
	given := r.Header.Get("Content-Type")
	t, _, _ := mime.ParseMediaType(given)
	_, sub, _ := strings.Cut(t, "/")
	switch {
	case given == "", t == "text/plain", t == "application/octet-stream", t == formType:
		return "", nil
	case sub == "json-patch+json":
	case sub == "json", sub == "geojson", strings.HasSuffix(sub, "+json"):
		return t, nil
	case lines && (strings.HasSuffix(sub, "json-seq") || strings.Contains(sub, "ndjson") || strings.Contains(sub, "jsonl") ||
		strings.Contains(sub, "json-lines")),
		text && strings.HasPrefix(t, "text/") && sub != "html" && sub != "xml":
		return t, nil
	}
	if lines {
		return "", ErrBodyType
	}
	return "", endpoint.Refuse(ErrBodyType, "", "Send the body as application/json.")
}

// bodyCoding returns the coding of the body of a request.
func bodyCoding(r *http.Request) (Coding, error) {
	switch c := strings.TrimSpace(strings.Join(r.Header["Content-Encoding"], ",")); {
	case c == "" || strings.EqualFold(c, "identity"):
		return Identity, nil
	case strings.EqualFold(c, "gzip"), strings.EqualFold(c, "x-gzip"):
		return gzipped, nil
	}
	return 0, errBodyCoding
}

// limited is a reader that refuses a body of more than max bytes after unpacking.
type limited struct {
	r         io.Reader
	left, max int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	if l.left -= int64(n); l.left <= 0 {
		return n, bodyTooLong(l.max)
	}
	return n, err
}

// ReadBody reads a body of JSON, compressed or not, and returns its media type, or "" if the
// request gives none. most bounds the bytes of the body; tooLarge is the error for a larger one.
func ReadBody(c echo.Context, most int64, tooLarge error) (body []byte, mediaType string, err error) {
	r := c.Request()
	if mediaType, err = bodyType(r, false, false); err != nil {
		return nil, "", err
	}
	cd, err := bodyCoding(r)
	if err != nil {
		return nil, "", err
	}
	if r.ContentLength > most {
		return nil, "", tooLarge
	}
	var from io.Reader = http.MaxBytesReader(c.Response().Writer, r.Body, most)
	if cd == gzipped {
		if from, err = gzip.NewReader(from); err != nil {
			return nil, "", errBodyCorrupt
		}
	}
	body, err = io.ReadAll(io.LimitReader(from, most+1))
	switch long := (*http.MaxBytesError)(nil); {
	case errors.As(err, &long), int64(len(body)) > most:
		return nil, "", tooLarge
	case err != nil:
		return nil, "", errBodyCorrupt
	}
	return bom.Trim(body), mediaType, nil
}

// These bound the reading of the rest of a body after the answer.
const (
	lingerPause = 2 * time.Second  // between bytes
	lingerTime  = 10 * time.Second // less than the default of --drain-timeout
	lingerBytes = 1 << 30
)

// unread marks a request whose body was not read to its end although its status is no failure.
const unread = "unread body"

// lingering reads the rest of the bodies of refused requests. Meanwhile the request takes no place
// among the running requests, and this time is not measured.
func lingering(h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		err := h(c)
		if c.Response().Status >= http.StatusBadRequest || c.Get(unread) != nil {
			leaveRead(c)
		}
		return err
	}
}

// leaveRead sends the answer to a request whose body may not have been read to its end, and
// continues to read for a while. Many clients read the answer only after they have sent the whole
// body. If the connection were closed earlier, they would lose the answer. The bytes are discarded.
func leaveRead(c echo.Context) {
	r := c.Request()
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	rc := http.NewResponseController(c.Response().Writer)
	if rc.Flush() != nil {
		return // the client is gone
	}
	var piece [8 << 10]byte
	end := time.Now().Add(lingerTime)
	for left := lingerBytes; left > 0; {
		now := time.Now()
		if !now.Before(end) {
			return
		}
		_ = rc.SetReadDeadline(now.Add(lingerPause)) // a writer without deadlines is a test's
		n, err := r.Body.Read(piece[:])
		if err != nil {
			return
		}
		left -= n
	}
}

// bodyTold returns an error if the Content-Length of a body is too great.
func bodyTold(told, max int64) error {
	return endpoint.Refuse(errBatchTooLong, "",
		"The body has "+strconv.FormatInt(told, 10)+" bytes, and nothing of it was done; send it in requests of at most "+
			strconv.FormatInt(max, 10)+" bytes each.")
}

func bodyTooLong(max int64) error {
	return endpoint.Refuse(errBatchTooLong, "",
		"The body is over its limit of "+strconv.FormatInt(max, 10)+" bytes; send the rest in further requests.")
}
