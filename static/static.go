// Package static holds the map page: the built form of the sources under leaflet/, embedded in the program.
//
// The page is made by Node (see leaflet/package.json) and the programs by Go alone: a program built before the page
// simply has none, and says so when asked for it.
package static

import (
	"embed"
	"io/fs"
)

// A program without the page still compiles, because leaflet/dist always holds its README.
//
//go:embed leaflet/dist
var files embed.FS

// FS returns the files of the built page, and whether it has been built. The page is index.html at the root; what it
// loads lies under assets/, under names that carry a hash of the content and may therefore be cached for ever, while
// index.html itself must be asked for anew. Beside most of them lies the same packed with brotli,
// NAME.br. It loads nothing from elsewhere, and works under
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

// Tokens is static/leaflet/src/tokens.json: the colours and the type scale of everything the project draws.
//
//go:embed leaflet/src/tokens.json
var Tokens []byte

// Names is static/leaflet/src/names.json: which names a map shows at which zoom, and how they look.
//
//go:embed leaflet/src/names.json
var Names []byte
