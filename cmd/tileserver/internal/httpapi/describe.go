package httpapi

import (
	"errors"
	"slices"
	"sync"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/apidoc"
)

// documentRoutes are the endpoints of the description.
func (s *opsRoom) documentRoutes() (list []route) {
	documents := sync.OnceValues(s.documents)
	for _, path := range []string{openAPIPath, docsPath, docsStylePath} {
		list = append(list, route{path: path, cost: light, query: anything, keys: keysUnasked, handle: func(c echo.Context) error {
			all, err := documents()
			if err != nil {
				return err
			}
			if s.origin != nil {
				c.Response().Header()["Access-Control-Allow-Origin"] = s.origin
			}
			return s.sendAsset(c, all[path])
		}})
	}
	return list
}

// Where the description of the interface is.
const (
	openAPIPath   = "/openapi.json"
	docsPath      = "/docs"
	docsStylePath = "/docs.css"
)

// documents makes the description of the interface. It is the same for every
// request: where the server is reached under an address that nobody has told it,
// the links are relative.
func (s *opsRoom) documents() (map[string]*asset, error) {
	doc, err := apidoc.New(apidoc.Options{Version: s.Version, PublicURL: s.publicURL, Problems: s.problems()})
	if err != nil {
		return nil, err
	}
	return map[string]*asset{
		openAPIPath:   newAsset("openapi.json", assetTypes[".json"], doc.JSON()),
		docsPath:      newAsset("docs.html", assetTypes[".html"], doc.HTML()),
		docsStylePath: newAsset("docs.css", assetTypes[".css"], apidoc.CSS),
	}, nil
}

// problems are the types of errors, each once, as most of its errors look.
func (s *opsRoom) problems() []apidoc.Problem {
	var all []apidoc.Problem
	for _, k := range append(slices.Clone(s.kinds), internal) {
		known := slices.ContainsFunc(all, func(p apidoc.Problem) bool { return p.Type == k.typ })
		if !known && k.status != statusClientClosed {
			all = append(all, apidoc.Problem{Type: k.typ, Title: k.title, Detail: k.detail, Status: k.status, Retry: k.retry || errors.Is(k.err, errRateLimited)})
		}
	}
	return all
}
