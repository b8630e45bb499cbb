package ops

import (
	"bytes"
	"html"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
)

// page is the built map page, in memory. It is small, and a fixed table of files is not vulnerable
// to malicious paths.
type page struct {
	assets map[string]*web.Asset // by URL path
}

// embedPath is the path of the map for frames of other pages.
const embedPath = "/embed"

// The page for frames has noHosts where the origins go.
const (
	hostsMeta = `<meta name="quadrille-hosts" content="`
	noHosts   = hostsMeta + `">`
)

const unbuilt = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Quadrille</title>
<h1>Quadrille is running</h1>
<p>This program was built without its map page. Run <code>make page build</code> in the source tree, which needs
Node.js, and start the new <code>bin/tileserver</code>.</p>
<p>Everything else works: see <a href="status">/status</a>.</p>
</html>
`

// newPage reads the built page; fsys may be nil. Files that cannot be read are omitted. The page for frames
// tells what is clicked only to pages of the given origins.
func newPage(fsys fs.FS, origins []string) *page {
	p := &page{assets: map[string]*web.Asset{}}
	if fsys != nil {
		_ = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil //nolint:nilerr // serve the part that can be read
			}
			typ, ok := assetTypes[path.Ext(name)]
			if !ok {
				return nil
			}
			if body, err := fs.ReadFile(fsys, name); err == nil {
				if name == "embed.html" {
					body = bytes.Replace(body, []byte(noHosts), []byte(hostsMeta+html.EscapeString(strings.Join(origins, " "))+`">`), 1)
				}
				p.assets["/"+name] = web.NewAsset(name, typ, body)
				if packed, err := fs.ReadFile(fsys, name+".br"); err == nil {
					p.assets["/"+name].SetPacked(packed)
				}
			}
			return nil
		})
	}
	document := func(file string) *web.Asset {
		if a := p.assets["/"+file]; a != nil {
			return a
		}
		return web.NewAsset(file, assetTypes[".html"], []byte(unbuilt))
	}
	p.assets["/"], p.assets[embedPath] = document("index.html"), document("embed.html").AllowFraming()
	delete(p.assets, "/embed.html") // it has one address, with headers that let it be framed
	return p
}

// assetTypes has the media types of files of the page, by their extensions.
var assetTypes = map[string]string{
	".html":        "text/html; charset=utf-8",
	".js":          "text/javascript; charset=utf-8",
	".mjs":         "text/javascript; charset=utf-8",
	".css":         "text/css; charset=utf-8",
	".json":        "application/json",
	".map":         "application/json",
	".webmanifest": "application/manifest+json",
	".svg":         "image/svg+xml",
	".png":         "image/png",
	".jpg":         "image/jpeg",
	".gif":         "image/gif",
	".ico":         "image/x-icon",
	".woff2":       "font/woff2",
	".txt":         "text/plain; charset=utf-8",
}

// switchedOff maps documented paths that are off by default to the way to enable them.
var switchedOff = map[string]string{
	"/usage": "This server asks for no keys, so there is no use of one to tell: the operator can start it with --keys FILE.",
	"/usage/top": "The busiest clients are listed on the operator's listener alone: start the server with --admin-listen, " +
		"and --keys or --address-limit.",
	"/metrics": "Metrics are served on the operator's listener alone, --admin-listen: start the server with " +
		"--public-metrics to have them here too.",
}

// getPage answers GET /, /embed and the files of the map page.
func (s *Handlers) getPage(c echo.Context, _ *endpoint.Params) error {
	r := c.Request()
	a := s.page.assets[r.URL.Path]
	if a == nil {
		if r.URL.Path == "/favicon.ico" {
			// Browsers request this file even if the page has none.
			c.Response().WriteHeader(http.StatusNoContent)
			return nil
		}
		if how, ok := switchedOff[r.URL.Path]; ok {
			return endpoint.Refuse(endpoint.ErrNoRoute, "", how)
		}
		return endpoint.ErrNoRoute
	}
	return s.SendAsset(c, a)
}
