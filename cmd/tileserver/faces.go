package main

import (
	"context"
	"log/slog"

	"quadrille/cmd/tileserver/internal/httpapi"
)

// openFaces opens the files that the flags of faces name, for a server that api is about.
func (c *config) openFaces(ctx context.Context, api *httpapi.Config, log *slog.Logger) (closing func() error, err error) {
	again := func(look func()) { c.reloads = append(c.reloads, look) }
	return c.faces.Open(ctx, &httpapi.Process{
		Config: api, Log: log, Cache: int64(c.Cache), Reload: again,
		Reloaded: func(flag string, load func() (any, error), files ...string) (func() any, error) {
			r, err := newReloaded(log, flag, load, files...)
			if err != nil {
				return nil, err
			}
			again(r.again)
			return r.get, nil
		},
	})
}
