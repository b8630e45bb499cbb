package ops

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/apidoc"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/theme"
	"quadrille/cmd/tileserver/internal/web"
)

// sendGuide answers with a page of the documents, or with a picture of such a page.
func (s *Handlers) sendGuide(c echo.Context, _ *endpoint.Params) error {
	all, err := s.pages()
	if err != nil {
		return err
	}
	values, err := endpoint.PathParams(c)
	if err != nil {
		return err
	}
	a := all[docsPath+"/"+values[0]]
	if a == nil {
		return endpoint.ErrNoRoute
	}
	return s.SendAsset(c, a)
}

// sendDocument returns a handler that answers with the page of the description, or with its
// style.
func (s *Handlers) sendDocument(path string) endpoint.Handler {
	return func(c echo.Context, _ *endpoint.Params) error {
		all, err := s.pages()
		if err != nil {
			return err
		}
		return s.SendAsset(c, all[path])
	}
}

// These are the paths of the description of the interface.
const (
	openAPIPath   = "/openapi.json"
	docsPath      = "/docs"
	docsStylePath = "/" + theme.StylesheetPath
	guidePath     = docsPath + "/{document}"
	// docsScriptPath is the path of a file of the built map page.
	docsScriptPath = "/docs.js"
)

// getOpenAPI answers GET /openapi.json. The server's address in the document is the one that the
// operator gave. Otherwise it is a path on the host of the request, with the prefix that the
// nearest proxy gives. It does not depend on the Host header, so that a wrong header has no effect.
func (s *Handlers) getOpenAPI(c echo.Context, _ *endpoint.Params) error {
	doc, err := s.description()
	if err != nil {
		return err
	}
	server := cmp.Or(s.PublicURL, s.RootPath(c.Request()))
	a := web.Answer{Format: web.FormatJSON, CacheControl: []string{"no-cache"}}
	return s.Reply(c, a, []uint64{uint64(web.HashStart.Bytes(server))}, func(_ context.Context, out *web.Scratch) error {
		out.Body = doc.AppendJSON(out.Body, server)
		return nil
	})
}

// documents makes the description as a page, and the guide. Its links are relative, so it is the
// same for every request.
func (s *Handlers) documents() (map[string]*web.Asset, error) {
	doc, err := s.description()
	if err != nil {
		return nil, err
	}
	all := map[string]*web.Asset{
		docsPath:      web.NewAsset("docs.html", assetTypes[".html"], doc.HTML()),
		docsStylePath: web.NewAsset("docs.css", assetTypes[".css"], theme.CSS()),
	}
	g, err := s.guide()
	if err != nil {
		return nil, err
	}
	for _, d := range g.Documents {
		page, err := g.HTML(d)
		if err != nil {
			return nil, err
		}
		all[docsPath+"/"+d.Name] = web.NewAsset(d.Name+".html", assetTypes[".html"], page)
	}
	for name, picture := range g.Pictures {
		all[docsPath+"/"+name] = web.NewAsset(name, assetTypes[path.Ext(name)], picture)
	}
	return all, nil
}

// DescribeBelow describes the endpoints below a path in OpenAPI 3.0. server is the address of path.
func (s *Handlers) DescribeBelow(path, server string) ([]byte, error) {
	doc, err := s.description()
	if err != nil {
		return nil, err
	}
	return doc.OpenAPI30(path, server)
}

func (s *Handlers) makeDescription() (*apidoc.Document, error) {
	options := apidoc.Options{
		Version:   s.Version,
		PublicURL: s.PublicURL,
		Problem:   web.Problem{},
		Problems:  s.problems(),
		Endpoints: s.AllEndpoints(),
	}
	if s.page.assets[docsScriptPath] != nil {
		options.Script = docsScriptPath[1:]
	}
	g, err := s.guide()
	if err != nil {
		return nil, err
	}
	for _, d := range g.Documents {
		options.Guide = append(options.Guide, apidoc.Link{Address: docsPath[1:] + "/" + d.Name, Title: d.Title})
	}
	return apidoc.New(options)
}

// problems returns the types of errors, each once, in the form that most of its errors have.
func (s *Handlers) problems() []apidoc.Problem {
	var all []apidoc.Problem
	for _, k := range append(slices.Clone(s.Kinds), web.InternalProblem) {
		known := slices.ContainsFunc(all, func(p apidoc.Problem) bool { return p.Type == k.Type })
		if !known && !k.IsUnsent() {
			all = append(all, apidoc.Problem{
				Type:   k.Type,
				Title:  k.Title,
				Detail: k.Detail,
				Status: k.Status,
				Retry:  k.Retry || errors.Is(k.Err, web.ErrRateLimited),
			})
		}
	}
	return all
}
