package tile

import (
	"encoding/json"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/web"
)

func (s *Room) sendDocument(c echo.Context, h web.Hash, live bool, doc any) error {
	r := c.Request()
	a := web.Answer{Form: web.FormJSON, Cache: s.CacheControl, Coding: web.Accepted(r)}
	etag := h.Number(uint64(a.Coding)).Tag()
	if live {
		a.Cache = web.NoStore
	} else {
		a.Tag = &etag
		if web.Matches(r, a.Tag, true) {
			return s.NotModified(c, a)
		}
	}
	b := web.GetScratch()
	defer b.Release()
	body, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	b.Body = append(b.Body, body...)
	return s.Send(c, a, b)
}
