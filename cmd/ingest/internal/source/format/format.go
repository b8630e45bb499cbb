// Package format is the table of the formats of files that hold features: points, polygons and
// lines. Every command that reads such files opens them here. So it reads every format in the table
// that has the content for the command. Package source lists kinds of files that no reader here
// supports, with advice.
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

// Format is a row of the table. Several goroutines may call its functions, each with a File of
// its own.
type Format struct {
	Name       string        // of such a file in messages, such as "a shapefile"
	Contents   []source.Want // the possible contents of such files
	Extensions []string      // of such files in an archive, in lower case
	Late       bool          // in an archive such files count only if there are none of another format
	// Matches reports whether the beginning of a file shows this format. It is nil only for the format
	// of plain text, which has no mark.
	Matches func(*Head) bool
	// Archives reports whether a zip archive with members of these names is such a file; nil: none is.
	Archives func(members []string) bool
	Named    bool   // whether Open opens only files that have a name
	Parts    string // names of the parts, if the file is one of several files in no archive
	Layered  bool   // whether such files may have several layers, chosen by File.Layer
	Joined   bool   // whether the files of a folder or a pattern are read as one, in the order of File.Names
	Untyped  bool   // all values are texts, so that the type of a property is known only after all its values
	Advice   string // advice for the file, %s, if it cannot have the wanted content
	// Read begins to read a UTF-8 text. Open opens a file on the disk that is not read
	// sequentially. A format has one of the two.
	Read func(f *File, text *bufio.Reader) *Layer
	Open func(ctx context.Context, f *File) (*Layer, error)
}

// Layer is an open layer of a file. It belongs to one goroutine, but for Progress.
type Layer struct {
	// Features yields the features in order, once. An unusable feature gives a *source.BadRecord,
	// beside the feature if only its geometry is unusable, and reading continues. Any other error ends the sequence.
	Features iter.Seq2[source.Feature, error]
	// Records is set if the features have no geometry and no id of their own, so that their columns tell both. A
	// feature with a geometry keeps it. Cells is set if texts such as NULL stand for empty values, as in tables.
	Records, Cells bool
	// Columns are the names of the properties. It is nil if they are not known before the features
	// are read. Key is the column of the primary key, or "".
	Columns []string
	Key     string
	// Property returns the name of the property that a column of the file has become; it is nil if all keep theirs.
	Property func(column string) string
	// Times are the properties that the file declares to be times, and whose values name no zone.
	Times []string
	// TakenColumns are the columns used for position and id, and Properties the other columns. They are
	// known after the first feature. TakenColumns is nil if features have geometries and ids of their own.
	TakenColumns *pointtable.Columns
	Properties   func() []string
	Notes        func() []string // on assumptions so far; may be nil
	// Table is the table, for callers that read its rows instead of Features; nil for other formats.
	Table *pointtable.Table
	// A format with Read does not set the following fields.
	Progress func() int64 // how much of Size has been read
	Size     int64
	Unit     string   // "" is bytes
	Paths    []string // the files it is read from; nil: File.OnDisk
	Close    func() error
	LeftOut  func() int64 // how many features MayPass has left out so far; may be nil
	Stream   *source.File // the input; nil for a format with Open
}

func (f *Format) gives(want source.Want) bool { return slices.Contains(f.Contents, want) }

// has reports whether a member of an archive may be of the format, by its name, compressed or not.
func (f *Format) has(member string) bool {
	member = strings.ToLower(source.CutCompression(member))
	return slices.ContainsFunc(f.Extensions, func(ext string) bool { return strings.HasSuffix(member, ext) })
}

// IsNamed reports whether a file is of a format that opens only files of a name, by its own.
func IsNamed(name string) bool {
	return slices.ContainsFunc(table, func(f *Format) bool { return f.Named && f.has(name) })
}

// joins reports whether a file is read together with others of the format, by its name.
func (f *Format) joins(name string) bool {
	return f.Joined && f.has(name) && source.CutCompression(name) == name
}

// Head is the beginning of a file.
type Head struct {
	Bytes []byte // unchanged
	Text  []byte // the same in UTF-8, without white space before it
}

// begins returns a Matches of files that begin with bytes.
func begins(with string) func(*Head) bool {
	return func(h *Head) bool { return bytes.HasPrefix(h.Bytes, []byte(with)) }
}

// json reports whether the text is JSON, and returns the member type of its first value, or "" if
// it is not in the beginning.
func (h *Head) json() (typ string, is bool) {
	found := errors.New("found")
	s := jsonscan.New(bytes.NewReader(h.Text))
	_ = s.Object(func(member []byte) (err error) { // the end of the text is no error here
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

// listed returns a text with the names of formats.
func listed(formats []*Format) string {
	var names []string
	for _, f := range formats {
		names = append(names, f.Name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " nor " + names[last]
}
