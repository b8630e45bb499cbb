// Package docs holds the documents of this folder, embedded in the server.
package docs

import "embed"

// FirstDocuments are the documents in the order in which README leads to them. Others follow.
var FirstDocuments = []string{"maps.md", "points.md", "geocoding.md", "ip.md", "data.md", "operations.md", "hbase.md", "reference.md"}

// FS has the documents and their pictures.
//
//go:embed *.md *.png
var FS embed.FS
