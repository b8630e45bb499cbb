package format

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"quadrille/cmd/ingest/internal/source"
)

// Paths returns what a path names as paths for Open: the files of a folder or a pattern one by one, in the order of their
// names, unless they are of a format whose files are read as one. Of a folder they are those with an extension of a format
// that has the wanted content, and of archives; the note tells of others. Each has the layer that the path names after #.
func Paths(path string, want source.Want) (paths []string, note string, err error) {
	onDisk, layer := source.SplitLayer(path)
	f := &File{Options: Options{Want: want}}
	giving := f.giving()
	isPattern := strings.ContainsAny(onDisk, "*?[")
	var others []string
	names, root, err := source.Expand(onDisk, func(name string) bool {
		is := isPattern || source.IsArchiveName(name) || strings.HasSuffix(strings.ToLower(source.CutCompression(name)), ".shp") ||
			slices.ContainsFunc(giving, func(format *Format) bool { return format.has(name) })
		if !is {
			others = append(others, name)
		}
		return is
	})
	joined := func(name string) bool {
		return slices.ContainsFunc(giving, func(format *Format) bool { return format.joins(name) })
	}
	together := slices.ContainsFunc(names, joined)
	if together {
		others = append(others, slices.DeleteFunc(slices.Clone(names), joined)...)
	}
	others = slices.DeleteFunc(others, isPart)
	if len(others) > 0 && !isPattern {
		note = fmt.Sprintf("%s: %d of its files are not read, such as %s; name those that have %s", onDisk, len(others), others[0], want)
	}
	if err != nil || root == "" || len(names) == 0 || together {
		return []string{path}, note, err // Open says what is wrong
	}
	if layer != "" {
		for i := range names {
			names[i] += "#" + layer
		}
	}
	return names, note, nil
}

// isPart reports whether a file is one of those beside a shapefile, by its name.
func isPart(name string) bool {
	name = strings.ToLower(name)
	return slices.Contains([]string{".shx", ".dbf", ".prj", ".cpg", ".qix", ".qpj", ".sbn", ".sbx"}, filepath.Ext(name)) ||
		strings.HasSuffix(name, ".shp.xml")
}
