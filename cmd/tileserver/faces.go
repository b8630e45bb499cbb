package main

import (
	"context"
	"errors"
	"log/slog"

	"quadrille/cmd/tileserver/internal/httpapi"
)

// openFaces opens the files that flags of groups of endpoints name, and sets them in the server's
// configuration. Call begin once the server's data is open. Always call closing.
func (c *config) openFaces(ctx context.Context, api *httpapi.Config, log *slog.Logger) (begin func(), closing func() error, err error) {
	in := &httpapi.Process{Config: api, Log: log, CacheBytes: int64(c.Cache), GracePeriod: c.DrainTimeout}
	in.Reloading = func(flag string, load func() (any, error), files ...string) (func() any, error) {
		r, err := newReloaded(log, flag, load, files...)
		if err != nil {
			return nil, err
		}
		in.PollFiles = append(in.PollFiles, r.again)
		return r.get, nil
	}
	for _, f := range c.faces {
		err = errors.Join(err, f.Open(ctx, in))
	}
	c.reloads = append(c.reloads, in.PollFiles...)
	begin = func() {
		for _, ready := range in.OnReady {
			ready()
		}
	}
	closing = func() (err error) {
		for _, end := range in.OnClose {
			err = errors.Join(err, end())
		}
		return err
	}
	return begin, closing, err
}
