package ogcapi

import (
	"bytes"
	"context"
	"encoding/json"
	"html/template"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/theme"
	"quadrille/cmd/tileserver/internal/web"
)

// Document is a document that browsers get as an HTML page and programs get as JSON.
type Document struct {
	Title  string
	JSON   any
	Format web.Format // of JSON
	// Template is the name of the template in Templates that makes a page from Data.
	Templates *template.Template
	Template  string
	Data      any
}

// Send answers with a document. The document depends on the address and on the generations from. A
// live document may not be cached.
func Send(k *web.Kit, c echo.Context, q *endpoint.Params, from []uint64, live bool, doc *Document) error {
	r := c.Request()
	format, byAccept, err := ChooseFormat(q, r, DocumentFormats)
	if err != nil {
		return err
	}
	if format.Name == "html" {
		return SendHTML(k, c, doc)
	}
	a := web.Answer{Format: doc.Format, ByAccept: byAccept}
	base, err := k.BaseURL(r)
	if err != nil {
		return err
	}
	if a.Format != FormatOpenAPI { // the server's address in it is no link to follow
		a.Base = base
	}
	if from = append(from[:len(from):len(from)], uint64(web.HashStart.Bytes(base))); live { // the base address is part of the links
		from = nil
	}
	return k.Reply(c, a, from, func(_ context.Context, out *web.Scratch) error {
		text, err := json.Marshal(doc.JSON)
		out.Body = append(out.Body, text...)
		return err
	})
}

// SendHTML answers with the page of a document.
func SendHTML(k *web.Kit, c echo.Context, doc *Document) error {
	var body bytes.Buffer
	if err := doc.Templates.ExecuteTemplate(&body, doc.Template, doc.Data); err != nil {
		return err
	}
	//nolint:gosec // the template has escaped it
	page, err := (&theme.Document{
		Title: doc.Title,
		Root:  theme.RelativeRoot(c.Request().URL.EscapedPath()),
		Body:  template.HTML(body.String()),
	}).HTML()
	if err != nil {
		return err
	}
	base, err := k.BaseURL(c.Request())
	if err != nil {
		return err
	}
	return k.SendPage(c, base, page)
}

// FormatOpenAPI is a description of an API.
var FormatOpenAPI = web.NewFormat(web.Media{Name: "openapi", Type: TypeOpenAPI})
