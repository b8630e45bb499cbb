//go:build !unix

package dataset

import "io/fs"

// allocated is the size of a file, on systems that do not tell how much space it takes.
func allocated(info fs.FileInfo) int64 { return info.Size() }
