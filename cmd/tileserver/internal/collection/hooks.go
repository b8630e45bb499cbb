package collection

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/cmd/tileserver/internal/webhook"
	"quadrille/places/live"
)

// Hooks manages the webhooks of live collections. *webhook.Sender implements it.
type Hooks interface {
	Put(ctx context.Context, l *live.Collection, name string, d webhook.Definition) (webhook.State, bool, error)
	List(l *live.Collection) ([]webhook.State, error)
	Get(l *live.Collection, name string) (webhook.State, error)
	Delete(ctx context.Context, l *live.Collection, name string) error
}

var hookKinds = []web.ProblemKind{
	{Err: webhook.ErrInvalidHook, Status: http.StatusBadRequest, Type: "bad-hook", Title: "The hook is not valid",
		Detail: `Write an object such as {"url":"https://example.org/events","enter":["state:us-ks"]}: url, and lists of texts enter, leave, within and bbox.`},
	{Err: webhook.ErrNoHook, Status: http.StatusNotFound, Type: "hook-not-found", Title: "There is no such hook",
		Detail: "Use one of the hooks that /points/{collection}/hooks lists."},
	{Err: webhook.ErrTooManyHooks, Status: http.StatusConflict, Type: "too-many-hooks", Title: "The collection has too many hooks",
		Detail: "Delete one of the hooks of the collection first."},
}

// getHooks answers GET /points/{collection}/hooks. Only a client that may write a collection may
// see its hooks, because their addresses are confidential.
func (s *Handlers) getHooks(c echo.Context, _ *endpoint.Params) error {
	l, _, err := s.toWrite(c)
	if err != nil {
		return err
	}
	list, err := s.Hooks.List(l)
	if err != nil {
		return err
	}
	return s.sendDocument(c, http.StatusOK, HookList{Hooks: list})
}

// getHook answers GET /points/{collection}/hooks/{hook}.
func (s *Handlers) getHook(c echo.Context, _ *endpoint.Params) error {
	l, path, err := s.toWrite(c)
	if err != nil {
		return err
	}
	state, err := s.Hooks.Get(l, path[1])
	if err != nil {
		return err
	}
	return s.sendDocument(c, http.StatusOK, state)
}

// putHook answers PUT /points/{collection}/hooks/{hook}.
func (s *Handlers) putHook(c echo.Context, _ *endpoint.Params) error {
	l, path, err := s.toWrite(c)
	if err != nil {
		return err
	}
	body, _, err := readBody(c)
	if err != nil {
		return err
	}
	d, err := readHook(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), s.Timeout)
	defer cancel()
	state, isNew, err := s.Hooks.Put(ctx, l, path[1], d)
	if err != nil {
		return refusal(err)
	}
	status := http.StatusOK
	if isNew {
		status = http.StatusCreated
	}
	return s.sendDocument(c, status, state)
}

// deleteHook answers DELETE /points/{collection}/hooks/{hook}.
func (s *Handlers) deleteHook(c echo.Context, _ *endpoint.Params) error {
	l, path, err := s.toWrite(c)
	if err != nil {
		return err
	}
	if err := s.Hooks.Delete(c.Request().Context(), l, path[1]); err != nil {
		return refusal(err)
	}
	return s.sendNothing(c)
}

// readHook reads the definition of a hook.
func readHook(body []byte) (d webhook.Definition, err error) {
	if !utf8.Valid(body) || !json.Valid(body) {
		return d, webhook.ErrInvalidHook
	}
	in := json.NewDecoder(bytes.NewReader(body))
	in.DisallowUnknownFields()
	if err := in.Decode(&d); err != nil {
		if unknown, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return d, endpoint.Refuse(webhook.ErrInvalidHook, "",
				"Leave out "+unknown[:min(len(unknown), 40)]+": a hook has url, enter, leave, within, bbox and overlap.")
		}
		return d, webhook.ErrInvalidHook
	}
	return d, nil
}

// sendDocument answers with a document that may not be cached.
func (s *Handlers) sendDocument(c echo.Context, status int, doc any) error {
	a := web.Answer{Format: web.FormatJSON, Status: status, CacheControl: web.PrivateNoStore}
	return s.SendJSON(c, a, func() (any, error) { return doc, nil })
}
