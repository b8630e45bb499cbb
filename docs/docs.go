// Package docs has the documents of this folder, which are embedded in the server.
package docs

import "embed"

// FirstDocuments lists the documents in the order of README's links. Other documents follow.
var FirstDocuments = []string{
	"maps.md", "recipes.md", "files.md", "points.md", "geocoding.md", "ip.md", "data.md", "operations.md", "hbase.md", "reference.md",
}

// FS has the documents and their pictures.
//
//go:embed *.md *.png
var FS embed.FS
