// Package format is the table of the formats of files that hold features: points, polygons and
// lines. Whoever reads such files opens them here, so that a format in the table is read by every
// command that takes what it gives. Files that nothing reads are listed in package source, with
// advice.
package format

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/jsonscan"
	"quadrille/cmd/ingest/internal/source/pointtable"
)

// Format is a row of the table. Its functions are called by several goroutines, each with a File
// of its own.
type Format struct {
	Name       string        // what messages call such a file, such as "a shapefile"
	Gives      []source.Want // what such files may have
	Extensions []string      // that tell such files from others in an archive, in lower case
	// Is reports whether a file begins as such files do, and as those of no other format do. The
	// one format without it is text of which nothing tells what it is.
	Is      func(*Head) bool
	Member  string // the end of a name, in lower case: a zip archive with such a member is such a file
	Parts   string // of which the file is one, if it is in no archive
	Layered bool   // such files may have several layers, of which File.Layer is one
	Untyped bool   // all values are texts, so that only all of a property tell its type
	Instead string // what to do with the file, %s, where what it gives is not wanted
	// Read begins to read a text in UTF-8, and Open a file on the disk that is not read in
	// order. A format has one of them.
	Read func(f *File, text *bufio.Reader) *Layer
	Open func(ctx context.Context, f *File) (*Layer, error)
}

// Layer is an open layer of a file. It belongs to one goroutine, but for Progress.
type Layer struct {
	// Features yields the features in order, once. A feature that cannot be used is a
	// *source.BadRecord and reading goes on; any other error ends it.
	Features iter.Seq2[source.Feature, error]
	// Columns are the names of the properties, not nil if they are known before the features
	// are, and Key that of a primary key, or "".
	Columns []string
	Key     string
	// Taken are the columns that position and id were taken from, and Properties the others.
	// They are known once a feature has been read. Taken is nil where features have geometries
	// and ids of their own.
	Taken      *pointtable.Columns
	Properties func() []string
	Notes      func() []string // on what was assumed so far; may be left nil
	// The others are left out for a format with Read.
	Progress func() int64 // how much of Size has been read
	Size     int64
	Unit     string   // "" is bytes
	Paths    []string // the files it is read from; nil: File.OnDisk
	Close    func() error
	Stream   *source.File // that is read; nil for a format with Open
}

func (f *Format) gives(want source.Want) bool { return slices.Contains(f.Gives, want) }

// has reports whether a member of an archive may be of the format, by its name.
func (f *Format) has(member string) bool {
	return slices.ContainsFunc(f.Extensions, func(ext string) bool { return strings.HasSuffix(strings.ToLower(member), ext) })
}

// Head is how a file begins.
type Head struct {
	Bytes []byte // as they are
	Text  []byte // the same in UTF-8, without white space before it
}

// begins returns an Is of files that begin with bytes.
func begins(with string) func(*Head) bool {
	return func(h *Head) bool { return bytes.HasPrefix(h.Bytes, []byte(with)) }
}

// json reports whether the text is JSON, and returns the member type of its first value, "" where
// the beginning does not have it.
func (h *Head) json() (typ string, is bool) {
	found := errors.New("found")
	s := jsonscan.New(bytes.NewReader(h.Text))
	_ = s.Object(func(member []byte) (err error) { // that the text ends here is no error
		if string(member) != "type" {
			return s.Skip()
		}
		if typ, err = s.ID(); err == nil {
			err = found
		}
		return err
	})
	return typ, len(h.Text) > 0 && (h.Text[0] == '{' || h.Text[0] == '[')
}

// listed lists the names of formats.
func listed(formats []*Format) string {
	var names []string
	for _, f := range formats {
		names = append(names, f.Name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " nor " + names[last]
}
