// Package workbook reads the sheets of workbooks: Office Open XML (.xlsx, .xlsm) and OpenDocument
// (.ods). A sheet is a table with a row of column names. Nothing is kept of it but the row at hand and,
// of XLSX, the texts that cells share.
package workbook

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/internal/jsontext"
)

// These are bounds of a workbook. Excel and LibreOffice have 16,384 columns.
const (
	maxColumns = 16384
	maxRows    = 16 << 20
	maxText    = 1 << 20   // bytes of a piece of XML
	maxRow     = 4 << 20   // bytes of the values of a row
	maxShared  = 256 << 20 // bytes of the texts that cells share
	maxSheets  = 10000
	maxName    = 1 << 10 // bytes of the name of a sheet or part
	headRows   = 20      // rows with values in which the column names are looked for
)

// Is reports whether an archive is a workbook by the names of its members. An OpenDocument text has
// the same names as a spreadsheet.
func Is(members []string) bool {
	return slices.Contains(members, xlsxBook) || slices.Contains(members, odsContent) && slices.Contains(members, odsManifest)
}

// kind is the kind of the value of a cell.
type kind uint8

const (
	text    kind = iota // JSON text, not empty
	other               // a number, boolean or time
	failure             // an error such as #N/A
)

// cell is a cell with a value.
type cell struct {
	column int // 0-based
	kind   kind
	value  []byte // JSON, empty of an error
}

// row is a row with its cells in their order. Cells without a value are left out.
type row struct {
	number int // 1-based
	cells  []cell
	values []byte // holds the values
}

// err returns an error if the row is too large.
func (r *row) err() error {
	if len(r.values) <= maxRow {
		return nil
	}
	return fmt.Errorf("has more than %d bytes of values; leave columns out", maxRow)
}

func (r *row) reset() { r.cells, r.values = r.cells[:0], r.values[:0] }

// add adds a cell, whose value is what values has from an offset on.
func (r *row) add(column int, kind kind, from int) {
	r.cells = append(r.cells, cell{column, kind, r.values[from:len(r.values):len(r.values)]})
}

// addText adds a cell with a text, unless it is blank.
func (r *row) addText(column int, s []byte) {
	if s = bytes.TrimSpace(s); len(s) == 0 {
		return
	}
	from := len(r.values)
	r.values = jsontext.AppendString(r.values, string(s))
	r.add(column, text, from)
}

// reader reads the rows of one sheet.
type reader interface {
	// next reads the next row that has cells into r. The error is io.EOF after the last one.
	next(r *row) error
	// others returns the names of the other sheets with tables, as far as they are known, and asides
	// returns further notes.
	others() []string
	asides() []string
	io.Closer
}

// merged counts cells that are merged of several.
type merged int

func (m merged) asides() []string {
	if m == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d cells are merged of several; their value counts in the first of these only", m)}
}

// File is an open sheet. One goroutine reads it, and others may call Progress.
type File struct {
	Columns []string // names of the columns, in their order
	Sheet   string
	// Name is the name of the file in Notes, if that is not its path.
	Name string

	path    string
	archive *source.Archive
	rows    reader
	counted *counted
	named   bool // the sheet is, by the caller
	header  int  // row
	above   []string
	columns []string // by their positions; "": none
	waiting []row    // read to find the column names
	errors  tally
	blank   tally // values below no name
}

// tally counts cells and remembers the first.
type tally struct {
	count, row int
	column     int
}

func (t *tally) add(row, column int) {
	if t.count == 0 {
		t.row, t.column = row, column
	}
	t.count++
}

// Open opens the sheet with a name, or, if that is empty, the first one that has a table. It reads the
// column names.
func Open(path, sheet string) (_ *File, err error) {
	f := &File{path: path, Sheet: sheet, named: sheet != "", counted: &counted{}}
	if f.archive, err = source.OpenArchive(path); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // only read
		}
	}()
	open := openODS
	if find(f.archive, xlsxBook) != nil {
		open = openXLSX
	}
	if f.rows, err = open(f); err != nil {
		return nil, err
	}
	return f, f.readHeader()
}

// failure returns an error of the whole file.
func (f *File) failure(format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{f.path}, args...)...)
}

// noSheet returns the error for a sheet that is not there.
func (f *File) noSheet(names []string) error {
	const most = 20
	if len(names) > most {
		names = append(names[:most:most], "…")
	}
	return f.failure("has no sheet %s; it has %q", source.Excerpt(f.Sheet), names)
}

// next reads the next row with cells.
func (f *File) next(r *row) error {
	err := f.rows.next(r)
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	if strings.HasPrefix(err.Error(), f.path+": ") {
		return fmt.Errorf("%w (in sheet %s, after row %d)", err, source.Excerpt(f.Sheet), r.number)
	}
	return f.failure("sheet %s, row %d: %w", source.Excerpt(f.Sheet), r.number, err)
}

// readHeader finds the row of column names among the first rows: the first one that is mostly texts,
// and more than half as wide as the widest of them. What is above it are titles.
func (f *File) readHeader() error {
	widest := 0
	for len(f.waiting) <= headRows {
		var r row
		if err := f.next(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		f.waiting = append(f.waiting, r)
		widest = max(widest, len(r.cells))
	}
	if len(f.waiting) == 0 {
		return f.failure("sheet %s has no rows; name another sheet as FILE#SHEET", source.Excerpt(f.Sheet))
	}
	at := slices.IndexFunc(f.waiting, func(r row) bool {
		texts := 0
		for _, c := range r.cells {
			if c.kind == text {
				texts++
			}
		}
		return 2*texts > len(r.cells) && 2*len(r.cells) > widest
	})
	if at < 0 {
		return f.failure("sheet %s has no row with the names of its columns among its first %d; write them above the values, or "+
			"name another sheet as FILE#SHEET", source.Excerpt(f.Sheet), len(f.waiting))
	}
	for _, r := range f.waiting[:at] {
		f.above = append(f.above, nameOf(r.cells[0].value))
	}
	head := f.waiting[at]
	f.waiting, f.header = f.waiting[at+1:], head.number
	for _, c := range head.cells {
		name := nameOf(c.value)
		if name == "" {
			continue
		}
		if slices.Contains(f.Columns, name) {
			return f.failure("sheet %s: two columns are called %s: rename one in row %d", source.Excerpt(f.Sheet), source.Excerpt(name), head.number)
		}
		f.columns = append(f.columns, make([]string, c.column+1-len(f.columns))...)
		f.columns[c.column] = name
		f.Columns = append(f.Columns, name)
	}
	return nil
}

// nameOf returns a value as a name, in one line.
func nameOf(value []byte) string {
	return strings.Join(strings.Fields(string(source.TextOf(value))), " ")
}

// Features yields the rows below the column names. Their Members are the cells with values, in the
// order of the columns. Members are valid until the next one. They have no geometry. Any error ends
// the sequence.
func (f *File) Features() iter.Seq2[source.Feature, error] {
	return func(yield func(source.Feature, error) bool) {
		var r row
		var members []source.Member
		for {
			if len(f.waiting) > 0 {
				r, f.waiting = f.waiting[0], f.waiting[1:]
			} else if err := f.next(&r); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				yield(source.Feature{}, err)
				return
			}
			members = members[:0]
			for _, c := range r.cells {
				switch {
				case c.kind == failure:
					f.errors.add(r.number, c.column)
				case c.column >= len(f.columns) || f.columns[c.column] == "":
					f.blank.add(r.number, c.column)
				default:
					members = append(members, source.Member{Name: f.columns[c.column], Value: c.value})
				}
			}
			if !yield(source.Feature{Line: r.number, Members: members}, nil) {
				return
			}
		}
	}
}

// Notes returns the guesses and losses up to now.
func (f *File) Notes() (notes []string) {
	note := func(format string, args ...any) {
		notes = append(notes, fmt.Sprintf("%s: sheet %s"+format, append([]any{cmp.Or(f.Name, f.path), source.Excerpt(f.Sheet)}, args...)...))
	}
	if others := f.rows.others(); !f.named && len(others) > 0 {
		note(" is read; FILE#SHEET names another: %s", quoted(others))
	}
	if len(f.above) > 0 {
		note(": the names of the columns are in row %d; what is above them is left out: %s", f.header, quoted(f.above))
	}
	if e := f.errors; e.count > 0 {
		note(": %d cells are errors such as #N/A and are left out, the first is %s", e.count, cellName(e.row, e.column))
	}
	if b := f.blank; b.count > 0 {
		note(": %d values are in columns without a name in row %d and are left out, the first is %s", b.count, f.header, cellName(b.row, b.column))
	}
	for _, aside := range f.rows.asides() {
		note(": %s", aside)
	}
	return notes
}

// quoted lists some texts.
func quoted(texts []string) string {
	const most = 5
	var list []string
	for _, t := range texts[:min(len(texts), most)] {
		list = append(list, source.Excerpt(t))
	}
	if more := len(texts) - most; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}

// cellName returns the name of a cell, such as AB12.
func cellName(row, column int) string {
	var letters []byte
	for n := column + 1; n > 0; n = (n - 1) / 26 {
		letters = append(letters, byte('A'+(n-1)%26))
	}
	slices.Reverse(letters)
	return fmt.Sprintf("%s%d", letters, row)
}

// Progress returns how many bytes of Size have been read.
func (f *File) Progress() int64 { return f.counted.n.Load() }

// Size returns the number of bytes of the sheet's XML.
func (f *File) Size() int64 { return f.counted.size }

// Close closes the file.
func (f *File) Close() error {
	if f.rows != nil {
		_ = f.rows.Close() // only read
	}
	return f.archive.Close()
}
