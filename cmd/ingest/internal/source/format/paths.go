package format

import (
	"slices"
	"strings"

	"quadrille/cmd/ingest/internal/source"
)

// Paths returns what a path names as paths for Open: the files of a folder or a pattern one by one, in the order of their
// names, unless they are of a format whose files are read as one. Of a folder they are those with an extension of a format
// that has the wanted content. Each has the layer that the path names after #.
func Paths(path string, want source.Want) ([]string, error) {
	onDisk, layer := source.SplitLayer(path)
	f := &File{Options: Options{Want: want}}
	giving := f.giving()
	isPattern := strings.ContainsAny(onDisk, "*?[")
	names, root, err := source.Expand(onDisk, func(name string) bool {
		name = strings.ToLower(name)
		for _, packed := range []string{".gz", ".zst", ".bz2", ".xz"} {
			name = strings.TrimSuffix(name, packed)
		}
		return isPattern || strings.HasSuffix(name, ".zip") || strings.HasSuffix(name, ".shp") ||
			slices.ContainsFunc(giving, func(format *Format) bool { return format.has(name) })
	})
	joined := func(name string) bool {
		return slices.ContainsFunc(giving, func(format *Format) bool { return format.Joined && format.has(name) })
	}
	if err != nil || root == "" || len(names) == 0 || slices.ContainsFunc(names, joined) {
		return []string{path}, err // Open says what is wrong
	}
	if layer != "" {
		for i := range names {
			names[i] += "#" + layer
		}
	}
	return names, nil
}
