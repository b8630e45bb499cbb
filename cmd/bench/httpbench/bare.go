package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"

	"github.com/labstack/echo/v4"
)

// bareCmd is the comparator: package echo, with only routes that write the given bytes.
type bareCmd struct{}

func (*bareCmd) Run(ctx context.Context) error {
	var answers []answer
	if err := json.NewDecoder(os.Stdin).Decode(&answers); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: bare(answers)}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	fmt.Printf("bare echo serves http://%s\n", l.Addr())
	if err := server.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// bare answers the paths of answers with the bytes of the answers. It has the same routes as the
// tile server. Content-Length is set, since without it larger bodies would be sent in chunks, which
// costs more.
func bare(answers []answer) http.Handler {
	type blob struct {
		contentType, encoding, length string
		body                          []byte
	}
	blobs := make(map[string]blob, len(answers))
	for _, a := range answers {
		blobs[a.Path+a.Forwarded+a.Accept] = blob{a.Type, a.Encoding, strconv.Itoa(len(a.Body)), a.Body}
	}
	e := echo.New()
	e.Logger.SetOutput(io.Discard)
	h := func(c echo.Context) error {
		key := c.Request().RequestURI
		header := c.Request().Header
		if f := header["X-Forwarded-For"]; len(f) > 0 {
			key += f[0]
		}
		if a := header["Accept-Encoding"]; len(a) > 0 {
			key += a[0]
		}
		b, ok := blobs[key]
		if !ok {
			return echo.ErrNotFound
		}
		header = c.Response().Header()
		header.Set(echo.HeaderContentLength, b.length)
		if b.encoding != "" {
			header.Set(echo.HeaderContentEncoding, b.encoding)
		}
		return c.Blob(http.StatusOK, b.contentType, b.body)
	}
	e.GET("/tiles/:layers/:z/:x/:file", h)
	e.GET("/basemap/:name/:z/:x/:file", h)
	e.GET("/ip/:addr", h)
	e.GET("/ogc/collections/:collection/items", h)
	for _, path := range []string{"/places/search", "/geocode", "/reverse", "/at"} {
		e.GET(path, h)
	}
	return e
}
