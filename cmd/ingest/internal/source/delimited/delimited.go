// Package delimited reads tables of text in bounded memory: one row per line, with columns
// separated by commas, semicolons or tabs. It reads all tables of foreign data.
package delimited

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/columnname"
	"quadrille/internal/bom"
)

// Format is the syntax of a table.
type Format struct {
	// Separator is a comma, a semicolon or a tab. With a comma or a semicolon fields may be quoted
	// (RFC 4180). With a tab a quote is part of the text unless rows are Quoted. A first line such
	// as sep=; is not a row, but names another separator.
	Separator byte
	Quoted    bool
	// MaxBytes bounds a row, its line ends included.
	MaxBytes int
	// MaxLines bounds the number of lines of a row that has line ends in quotes. 0 means that every
	// line is a row.
	MaxLines int
	// With AllowBlanks, rows may have blanks around themselves and around their fields, which are dropped,
	// and a quote within an unquoted field. If a row's quotes do not match, but without them it has
	// as many columns as the header, the quotes are text. If \" stands in a row that has as many columns only if that is
	// a quote within quotes, it is one, as MySQL and PHP write.
	AllowBlanks bool
	// IsCertain, if set, reports whether the fields of a line are certainly a row, for example
	// because of numbers in the right columns. If most lines between two quotes are certainly rows,
	// the quotes are text.
	IsCertain func(fields [][]byte) bool
	// Comments are the beginnings of rows to skip. A beginning that ends in a blank also matches a
	// row that consists only of the beginning.
	Comments         []string
	TrailingComments bool // text after a # outside quotes is a comment, too
	RequireUTF8      bool // other rows are bad
	// Columns are the allowed numbers of columns in a row. If it is empty, any number is allowed.
	Columns []int
	// Header is called with the names in the first row, which are valid until it returns, or with
	// the error of reading them. That error is io.EOF for an empty table. All other rows must have
	// as many columns. An error of Header ends the reading. If Header is nil, the first row is an
	// ordinary row.
	Header func(names [][]byte, err error) error
}

// These are the reasons of bad rows.
const (
	ReasonLong   = "line is too long"
	ReasonQuotes = "quotes are not closed or not alone in their field"
	ReasonUTF8   = "not UTF-8"
	ReasonHeader = "not as many columns as the header"
)

// ReasonColumns returns the reason of a row with a wrong number of columns.
func ReasonColumns(columns ...int) string {
	allowed := make([]string, len(columns))
	for i, n := range columns {
		allowed[i] = strconv.Itoa(n)
	}
	return "not " + strings.Join(allowed, " or ") + " columns"
}

// Reader reads the rows of a table sequentially.
type Reader struct {
	Line int // where the row read last begins, 1-based
	// StrayQuotes counts the rows whose quotes are read as text, JoinedLines the rows of several lines, and Backslashes
	// those in which \" within quotes is a quote.
	StrayQuotes, JoinedLines, Backslashes Occurrences

	name   string // in errors
	format Format
	header bool     // the number of columns is the header's
	given  [][]byte // names for the header, if the table has none
	in     *bufio.Reader
	lines  int    // consumed
	apart  int    // before this line no quote closes open ones, so none is looked for
	text   []byte // of the row
	first  []byte // line of a row that may have several
	// unquoted is the text of the fields of a row that has quotes.
	unquoted []byte
	fields   [][]byte
}

// Occurrences counts rows and stores the line of the first.
type Occurrences struct{ Count, Line int }

func (s *Occurrences) add(line int) {
	if s.Count++; s.Count == 1 {
		s.Line = line
	}
}

// DetectSeparator returns the separator of the columns in the first row of text, or 0 for none. It
// considers the first group with a candidate outside quotes. Of that group it returns the most
// frequent candidate if frequent is set, and otherwise the first.
func DetectSeparator(text []byte, frequent bool, groups ...string) byte {
	var counts, first [256]int
	for i := 0; i < len(text) && text[i] != '\n'; i++ {
		c := text[i]
		if c == '"' {
			if end := bytes.IndexByte(text[i+1:], '"'); end >= 0 {
				i += end + 1
				continue
			}
		}
		if counts[c]++; counts[c] == 1 {
			first[c] = i
		}
	}
	for _, group := range groups {
		var best byte
		for _, c := range []byte(group) {
			if counts[c] > 0 && (best == 0 || frequent && counts[c] > counts[best] || !frequent && first[c] < first[best]) {
				best = c
			}
		}
		if best != 0 {
			return best
		}
	}
	return 0
}

// New returns a Reader of r. Errors and bad rows have the name. A byte order mark is skipped. If no
// line ends in a line feed, lines end in carriage returns.
func New(r io.Reader, name string, format Format) *Reader {
	in := bom.Skip(bufio.NewReaderSize(r, format.MaxBytes))
	head, _ := in.Peek(min(format.MaxBytes, 4<<10)) // reading returns the error
	if bytes.IndexByte(head, '\r') >= 0 && bytes.IndexByte(head, '\n') < 0 {
		in = bufio.NewReaderSize(&returns{in}, format.MaxBytes)
	}
	t := &Reader{name: name, format: format, in: in}
	const sep = "sep=" // Excel's own
	if len(head) > len(sep)+1 && bytes.EqualFold(head[:len(sep)], []byte(sep)) && (head[len(sep)+1] == '\r' || head[len(sep)+1] == '\n') {
		t.format.Separator = head[len(sep)]
		_, _ = t.line() // just peeked
	}
	return t
}

// returns is a reader that replaces carriage returns by line feeds.
type returns struct{ r io.Reader }

func (r *returns) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	for i, c := range p[:n] {
		if c == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

// Next goes to the next row that is not blank and returns its first line without the line end,
// valid until the next call. The error is a *source.BadRecord, after which reading can continue,
// io.EOF, or the error of the underlying reader.
func (r *Reader) Next() (text []byte, err error) {
	for {
		if r.text, err = r.line(); err != nil {
			return nil, err
		}
		trimmed := bytes.TrimSpace(r.text)
		switch {
		case r.format.AllowBlanks && r.format.Separator == '\t':
			r.text = bytes.Trim(r.text, " ") // a row that ends in empty cells ends in tabs
		case r.format.AllowBlanks:
			r.text = trimmed
		}
		if len(r.text) == 0 || r.format.isComment(trimmed) {
			continue
		}
		if r.format.TrailingComments {
			r.text = beforeHash(r.text)
		}
		if !r.format.quotes() && len(r.format.Columns) > 0 {
			// Columns are counted here, so that callers that walk through the text do not need to
			// call Fields.
			if err := r.count(bytes.Count(r.text, []byte{'\t'})+1, r.text); err != nil {
				return nil, err
			}
		}
		if r.format.RequireUTF8 && !utf8.Valid(r.text) {
			return nil, r.Bad(ReasonUTF8, source.Excerpt(r.text))
		}
		return r.text, nil
	}
}

// line returns the next line without its end.
func (r *Reader) line() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	if len(line) == 0 && errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	r.lines++
	r.Line = r.lines
	long := errors.Is(err, bufio.ErrBufferFull)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.in.ReadSlice('\n')
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, r.failure(err)
	case long:
		return nil, r.Bad(ReasonLong, fmt.Sprintf("over %d bytes", r.format.MaxBytes))
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'}), nil
}

// isComment reports whether a row, without the blanks around it, is a comment.
func (f *Format) isComment(row []byte) bool {
	for _, begin := range f.Comments {
		if bytes.HasPrefix(row, []byte(begin)) || len(row) > 0 && len(row)+1 == len(begin) && begin == string(row)+" " {
			return true
		}
	}
	return false
}

// beforeHash returns a row without its trailing comment.
func beforeHash(row []byte) []byte {
	quoted := false
	for i, c := range row {
		switch {
		case c == '"':
			quoted = !quoted
		case c == '#' && !quoted:
			return bytes.TrimRight(row[:i], " ")
		}
	}
	return row
}

// Separator returns the separator: that of the Format, unless the first line names another.
func (r *Reader) Separator() byte { return r.format.Separator }

// Text returns the text that Next returned.
func (r *Reader) Text() []byte { return r.text }

func (r *Reader) failure(err error) error { return fmt.Errorf("%s: line %d: %w", r.name, r.Line, err) }

// Bad returns a BadRecord error for the row that was read last, or nil if reason is "".
func (r *Reader) Bad(reason, detail string) error {
	if reason == "" {
		return nil
	}
	return &source.BadRecord{Source: r.name, Line: r.Line, Reason: reason, Detail: detail}
}

// ColumnIndex returns the first column with one of the names, compared by columnname.Key, or -1.
func ColumnIndex(header [][]byte, names ...string) int {
	return slices.IndexFunc(header, func(field []byte) bool {
		return slices.ContainsFunc(names, func(name string) bool { return columnname.Key(field) == columnname.Key(name) })
	})
}

// Fields returns the fields of the row that Next returned, valid until the next call. A row with
// unclosed quotes or a wrong number of columns is a *source.BadRecord for its first line. Reading
// then goes on with the next line, because perhaps only the first line is at fault.
//
// Quotes may span several lines, which are then one row. As an exception, these lines are separate
// rows if the first line and most of the others have the header's number of columns, unless this
// may be chance.
func (r *Reader) Fields() ([][]byte, error) {
	text := r.text
	r.fields = r.fields[:0]
	if r.format.quotes() && bytes.IndexByte(text, '"') >= 0 {
		if r.unquoted == nil {
			r.unquoted = make([]byte, 0, r.format.MaxBytes) // never moves under the fields
		}
		s := splitter{format: &r.format, text: r.unquoted, fields: r.fields}
		s.feed(text)
		if fields := r.escaped(&s, text); fields != nil {
			r.fields = fields
			r.Backslashes.add(r.Line)
			return r.fields, nil
		}
		if s.quoted && r.format.MaxLines > 1 && r.Line >= r.apart {
			r.first = append(r.first[:0], text...) // looking ahead moves the buffer
			text = r.first
			if err := r.join(&s); err != nil {
				return nil, err
			}
		}
		stray := s.misfit || s.quoted
		r.fields = s.fields
		if stray {
			if row, _ := r.isRow(text); !row || !r.format.AllowBlanks {
				return nil, r.Bad(ReasonQuotes, source.Excerpt(text))
			}
		}
		if !stray {
			return r.fields, r.count(len(r.fields), text)
		}
		r.StrayQuotes.add(r.Line)
	}
	r.fields = r.format.split(text, r.fields[:0])
	return r.fields, r.count(len(r.fields), text)
}

// escaped returns the fields of a row in which \" is a quote within quotes, or nil if it is a row without that, read as s
// has, or none with it.
func (r *Reader) escaped(s *splitter, text []byte) [][]byte {
	whole := func(s *splitter) bool { return !s.misfit && !s.quoted && len(s.fields) == r.format.Columns[0] }
	if !r.header || !r.format.AllowBlanks || !bytes.Contains(text, []byte(`\"`)) || whole(s) {
		return nil
	}
	e := splitter{format: &r.format, text: make([]byte, 0, len(text)), backslash: true} // never moves under the fields
	if e.feed(text); !whole(&e) {
		return nil
	}
	return e.fields
}

// isRow reports whether a line alone has the header's columns, and whether its fields are a row for
// certain. Quotes that do not match within it count as text.
func (r *Reader) isRow(line []byte) (row, certain bool) {
	s := splitter{format: &r.format}
	if s.feed(line); s.misfit || s.quoted {
		s.fields = r.format.split(line, nil)
	}
	row = r.header && len(s.fields) == r.format.Columns[0]
	return row, row && r.format.IsCertain != nil && r.format.IsCertain(s.fields)
}

// join feeds the lines after one with open quotes, up to the line that closes them. If no line
// closes the quotes within the limits, or if the lines are separate rows, the quotes do not match
// and no line is consumed. Quotes that open in the first half of those lines would fail in the same
// way, so they are not followed. Otherwise every line would be read once for each such quote.
func (r *Reader) join(s *splitter) error {
	size, lines, rows, most := 0, 0, 0, r.format.MaxBytes-len(r.first)
	first, certain := r.isRow(r.first)
	last := false // the line that closes them is a row for certain
	defer func() { r.apart = r.Line + 1 + lines/2 }()
	for look := min(512, most); s.quoted && !s.misfit; look = min(2*look, most) {
		text, err := r.in.Peek(look)
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return r.failure(err)
		}
		for s.quoted && !s.misfit && size < len(text) {
			line, rest, whole := bytes.Cut(text[size:], []byte{'\n'})
			if !whole && !end {
				break
			}
			if size, lines = len(text)-len(rest), lines+1; lines >= r.format.MaxLines {
				return nil
			}
			line = bytes.TrimSuffix(line, []byte{'\r'})
			var row bool
			if row, last = r.isRow(line); row {
				rows++
			}
			s.text = append(s.text, '\n')
			s.feed(line)
		}
		if end || look == most {
			break
		}
	}
	columns := len(s.fields)
	// A few separators may match by chance, for example in opening hours or in an address in a
	// cell.
	switch apart := first && 2*rows > lines && (rows*(columns-1) > 20 || certain && last); {
	case s.quoted, s.misfit:
		return nil
	case apart, r.header && columns != r.format.Columns[0]:
		s.misfit = true
		return nil
	case r.format.RequireUTF8 && !utf8.Valid(s.text):
		return r.Bad(ReasonUTF8, source.Excerpt(r.first))
	}
	r.JoinedLines.add(r.Line)
	r.lines += lines
	_, err := r.in.Discard(size)
	return err
}

func (r *Reader) count(columns int, text []byte) error {
	switch {
	case len(r.format.Columns) == 0 || slices.Contains(r.format.Columns, columns):
		return nil
	case r.header:
		return r.Bad(ReasonHeader, source.Excerpt(text))
	}
	return r.Bad(ReasonColumns(r.format.Columns...), strconv.Itoa(columns))
}

// quotes reports whether a quote may be more than text.
func (f *Format) quotes() bool { return f.Separator != '\t' || f.Quoted }

// unindented returns text without the blanks that may stand before the fields of lax rows.
func (f *Format) unindented(text []byte) []byte {
	for f.AllowBlanks && len(text) > 0 && (text[0] == ' ' || text[0] == '\t' && f.Separator != '\t') {
		text = text[1:]
	}
	return text
}

// split appends the fields of a row that has no quotes, or whose quotes are text.
func (f *Format) split(row []byte, fields [][]byte) [][]byte {
	for more := true; more; {
		var field []byte
		field, row, more = bytes.Cut(row, []byte{f.Separator})
		fields = append(fields, f.trim(field))
	}
	return fields
}

func (f *Format) trim(field []byte) []byte {
	if f.AllowBlanks {
		return bytes.TrimSpace(field)
	}
	return field
}

// splitter splits a row with quotes, line by line.
type splitter struct {
	format *Format
	text   []byte // the fields' text without their quotes
	fields [][]byte
	from   int  // start of the current field's text
	quoted bool // in quotes that stay open
	misfit bool // a quote stands where none may
	// backslash is set if a quote after a backslash is text, unless that is itself behind one.
	backslash bool
}

func (s *splitter) feed(row []byte) {
	for more := true; more; {
		opened := s.quoted
		if first := s.format.unindented(row); !opened && len(first) > 0 && first[0] == '"' {
			row, opened = first[1:], true
		}
		if opened {
			if row = s.unquote(row); s.quoted {
				return
			}
		}
		var rest []byte
		rest, row, more = bytes.Cut(row, []byte{s.format.Separator})
		if opened {
			s.misfit = s.misfit || len(s.format.unindented(rest)) > 0
		} else {
			s.misfit = s.misfit || !s.format.AllowBlanks && bytes.IndexByte(rest, '"') >= 0
			s.text = append(s.text, rest...)
		}
		s.fields = append(s.fields, s.format.trim(s.text[s.from:]))
		s.from = len(s.text)
	}
}

// unquote reads a quoted field, given the text after its opening quote, and returns the text after
// the field.
func (s *splitter) unquote(text []byte) (rest []byte) {
	for {
		end := bytes.IndexByte(text, '"')
		if s.quoted = end < 0; s.quoted {
			s.text = append(s.text, text...)
			return nil
		}
		if s.backslash && (end-len(bytes.TrimRight(text[:end], `\`)))%2 == 1 {
			s.text, text = append(append(s.text, text[:end-1]...), '"'), text[end+1:]
			continue
		}
		if end+1 == len(text) || text[end+1] != '"' {
			s.text = append(s.text, text[:end]...)
			return text[end+1:]
		}
		s.text, text = append(s.text, text[:end+1]...), text[end+2:] // two quotes are an escaped one
	}
}

// Records yields the record that parse makes from each row, and an error for each bad row, after
// which it continues. parse is called after Next. A *source.BadRecord from it makes the row bad,
// and ErrSkip skips the row. Any other error, such as that of the underlying reader, is the last
// value yielded.
func Records[T any](in *Reader, parse func(rec *T) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none, rec T
		if err := in.names(); err != nil {
			yield(none, err)
			return
		}
		for {
			rec = none
			_, err := in.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil {
				err = parse(&rec)
			}
			switch {
			case err == nil:
				if !yield(rec, nil) {
					return
				}
			case errors.Is(err, ErrSkip):
			case !yield(none, err), !IsBad(err):
				return
			}
		}
	}
}

// ErrSkip is the error of parse for a row that is neither a record nor a fault.
var ErrSkip = errors.New("no record")

// IsBad reports whether an error concerns only one row, so that reading continues after it.
func IsBad(err error) bool {
	var bad *source.BadRecord
	return errors.As(err, &bad)
}

// Headless calls Format.Header with these names, instead of those in the first row, which is an ordinary row then.
func (r *Reader) Headless(names [][]byte) { r.given = names }

// names reads the header, if there is one.
func (r *Reader) names() error {
	switch {
	case r.format.Header == nil:
		return nil
	case r.given != nil:
		r.format.Columns, r.header = []int{len(r.given)}, true
		return r.format.Header(r.given, nil)
	}
	_, err := r.Next()
	var names [][]byte
	if err == nil {
		names, err = r.Fields()
	}
	r.format.Columns, r.header = []int{len(names)}, true
	return r.format.Header(names, err)
}
