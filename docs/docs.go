// Package docs holds the documents of this folder, embedded in the server.
package docs

import "embed"

// FS has the documents and their pictures.
//
//go:embed *.md *.png
var FS embed.FS
