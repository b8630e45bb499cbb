// Package static has the map page: it embeds the built form of the sources in leaflet/.
//
// The page is built with Node (see leaflet/package.json), but the programs only with Go. A program
// that was built before the page has no page, and reports this when a client requests it.
package static

import (
	"embed"
	"io/fs"
)

// A program without the page still compiles, because leaflet/dist always holds its README.
//
//go:embed leaflet/dist
var files embed.FS

// FS returns the files of the built page, and whether it has been built. The page is index.html at
// the root. The files that it loads are in assets/. Their names contain a hash of the content, so
// they may be cached forever, but index.html must be revalidated. Most files also exist in brotli
// form, as NAME.br. The page loads nothing from other servers, and works with the policy
//
//	default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'
//
// The file system is read-only and safe for concurrent use.
func FS() (fs.FS, bool) {
	page, err := fs.Sub(files, "leaflet/dist")
	if err != nil {
		panic(err) // the path above is a constant and valid
	}
	_, err = fs.Stat(page, "index.html")
	return page, err == nil
}

// Tokens is static/leaflet/src/tokens.json: the colours and the type scale of everything that the project draws.
//
//go:embed leaflet/src/tokens.json
var Tokens []byte

// Names is static/leaflet/src/names.json. It defines which names a map shows at which zoom, and their style.
//
//go:embed leaflet/src/names.json
var Names []byte
