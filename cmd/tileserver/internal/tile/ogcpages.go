package tile

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html"
	"html/template"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/look"
	"quadrille/cmd/tileserver/internal/ogcapi"
	"quadrille/cmd/tileserver/internal/web"
)

//go:embed tilesets.html
var tilesetsText string

var tilesetsTemplate = template.Must(template.New("tilesets").Funcs(template.FuncMap{"text": html.UnescapeString}).Parse(tilesetsText))

// ogcDocument is a document about tiles, which people get as a page.
type ogcDocument struct {
	title string
	json  any
	// part of the template tilesets.html
	part string
	data any
}

// documentFormats are those of documents; the first is the default.
var documentFormats = []ogcapi.Format{{Name: "json", Type: "application/json"}, {Name: "html", Type: "text/html"}}

// sendDocument answers with a document. tag is what it depends on, and live says that it
// may not be kept.
func (s *Room) sendDocument(c echo.Context, tag web.Hash, live bool, doc *ogcDocument) error {
	r := c.Request()
	format, byAccept, err := ogcapi.Choose(r, documentFormats)
	if err != nil {
		return err
	}
	if format.Name == "html" {
		var body bytes.Buffer
		if err := tilesetsTemplate.ExecuteTemplate(&body, doc.part, doc.data); err != nil {
			return err
		}
		//nolint:gosec // the template has escaped it
		page, err := (&look.Document{Title: doc.title, Root: look.Root(r.URL.EscapedPath()), Body: template.HTML(body.String())}).HTML()
		if err != nil {
			return err
		}
		return s.SendPage(c, page)
	}
	a := web.Answer{Form: web.FormJSON, Cache: s.CacheControl, Coding: web.Accepted(r), ByAccept: byAccept}
	etag := tag.Bytes(r.URL.RequestURI()).Number(uint64(a.Coding)).Tag()
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
	text, err := json.Marshal(doc.json)
	if err != nil {
		return err
	}
	b.Body = append(b.Body, text...)
	return s.Send(c, a, b)
}
