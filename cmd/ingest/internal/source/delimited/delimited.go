// Package delimited reads tables of text in bounded memory: a row a line, its
// columns separated by commas, semicolons or tabs. All tables of foreign data are read by it.
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
	"quadrille/internal/bom"
)

// Format says how a table is written.
type Format struct {
	// Separator is a comma or a semicolon, and then fields may be quoted (RFC 4180),
	// or a tab, and then a quote is part of the text.
	Separator byte
	// MaxBytes bounds a row, its line ends included.
	MaxBytes int
	// MaxLines bounds the lines of a row with line ends in quotes. At 0 a row is
	// a line.
	MaxLines int
	// Lax rows may have blanks around themselves and their fields, which are
	// dropped, and a quote within a field that is not quoted.
	Lax      bool
	Comments bool // rows that begin with # are passed over
	UTF8     bool // other rows are bad
	// Columns are the numbers of columns that a row may have; none: any number.
	Columns []int
	// Header takes the names in the first row, valid until it returns, or the error
	// of reading them, which is io.EOF in an empty table. Other rows must have as
	// many columns. An error from it ends the reading. Nil: the first row is a row
	// like others.
	Header func(names [][]byte, err error) error
}

// The reasons of bad rows.
const (
	ReasonLong   = "line is too long"
	ReasonQuotes = "quotes are not closed or not alone in their field"
	ReasonUTF8   = "not UTF-8"
	ReasonHeader = "not as many columns as the header"
)

// ReasonColumns is the reason of a row whose columns are not one of the numbers.
func ReasonColumns(columns ...int) string {
	allowed := make([]string, len(columns))
	for i, n := range columns {
		allowed[i] = strconv.Itoa(n)
	}
	return "not " + strings.Join(allowed, " or ") + " columns"
}

// Reader reads the rows of a table one after another.
type Reader struct {
	Line int // where the row read last begins, 1-based

	name   string // in errors
	format Format
	header bool // the number of columns is the header's
	in     *bufio.Reader
	lines  int    // consumed
	text   []byte // of the row
	joined []byte // of a row of several lines
	fields [][]byte
}

// New returns a Reader of r. Errors and bad rows bear the name. A byte order mark
// is passed over.
func New(r io.Reader, name string, format Format) *Reader {
	return &Reader{name: name, format: format, in: bom.Skip(bufio.NewReaderSize(r, format.MaxBytes))}
}

// Next goes to the next row that is not blank and returns its first line without
// the end, valid until the next call. The error is a *source.BadRecord, after
// which reading goes on, io.EOF, or that of the underlying reader.
func (r *Reader) Next() (text []byte, err error) {
	for {
		if r.text, err = r.line(); err != nil {
			return nil, err
		}
		trimmed := bytes.TrimSpace(r.text)
		if r.format.Lax {
			r.text = trimmed
		}
		if len(r.text) == 0 || r.format.Comments && len(trimmed) > 0 && trimmed[0] == '#' {
			continue
		}
		if r.format.Separator == '\t' && len(r.format.Columns) > 0 {
			// Counted here, so that callers that walk the text need no Fields.
			if err := r.count(bytes.Count(r.text, []byte{'\t'})+1, r.text); err != nil {
				return nil, err
			}
		}
		if r.format.UTF8 && !utf8.Valid(r.text) {
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

// Text is what Next returned.
func (r *Reader) Text() []byte { return r.text }

func (r *Reader) failure(err error) error { return fmt.Errorf("%s: line %d: %w", r.name, r.Line, err) }

// Bad is the error of the row read last, nil without a reason.
func (r *Reader) Bad(reason, detail string) error {
	if reason == "" {
		return nil
	}
	return &source.BadRecord{Source: r.name, Line: r.Line, Reason: reason, Detail: detail}
}

// Index finds the first column that bears one of the names, in either case. It is
// -1 where none does.
func Index(header [][]byte, names ...string) int {
	return slices.IndexFunc(header, func(field []byte) bool {
		field = bytes.TrimSpace(field)
		return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(string(field), name) })
	})
}

// Fields returns the fields of the row that Next returned, which are valid until
// the next call. A row whose quotes stay open, or that has not the right number of
// columns, is a *source.BadRecord of its first line, and the next line is a row:
// only the first may be at fault.
func (r *Reader) Fields() ([][]byte, error) {
	size, lines := 0, 0
	first, text := r.text, r.text
	if r.format.MaxLines > 1 && bytes.Count(text, []byte{'"'})%2 == 1 {
		var err error
		if size, lines, err = r.ahead(); err != nil {
			return nil, r.failure(err)
		}
		first, text = r.joined[:len(first)], r.joined
		if r.format.UTF8 && !utf8.Valid(text) {
			return nil, r.Bad(ReasonUTF8, source.Excerpt(first))
		}
	}
	var ok bool
	if r.fields, ok = r.format.split(text, r.fields[:0]); !ok {
		return nil, r.Bad(ReasonQuotes, source.Excerpt(first))
	}
	if err := r.count(len(r.fields), first); err != nil {
		return nil, err
	}
	r.lines += lines
	_, err := r.in.Discard(size)
	return r.fields, err
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

// ahead joins a line of open quotes with those that follow, up to the one that
// closes them, and returns the bytes and lines of these. It does
// not consume input. If no closing quote is found within the limits, it returns 0 and
// joins nothing.
func (r *Reader) ahead() (size, lines int, err error) {
	r.joined = append(r.joined[:0], r.text...) // looking ahead moves the buffer
	most := r.format.MaxBytes - len(r.text)
	quoted := true
	for look := min(512, most); ; look = min(2*look, most) {
		text, err := r.in.Peek(look)
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return 0, 0, err
		}
		for size < len(text) && (quoted || text[size-1] != '\n') {
			switch text[size] {
			case '"':
				quoted = !quoted
			case '\n':
				lines++
			}
			size++
		}
		if !quoted && (end || text[size-1] == '\n') {
			if text[size-1] != '\n' {
				lines++ // the last line of the file
			}
			if lines >= r.format.MaxLines {
				return 0, 0, nil
			}
			rest := bytes.ReplaceAll(bytes.TrimRight(text[:size], "\r\n"), []byte("\r\n"), []byte{'\n'})
			r.joined = append(append(r.joined, '\n'), rest...)
			return size, lines, nil
		}
		if end || lines >= r.format.MaxLines || look == most {
			return 0, 0, nil
		}
	}
}

// split appends the fields of a row. It unquotes them in place.
func (f *Format) split(row []byte, fields [][]byte) ([][]byte, bool) {
	trim := func(field []byte) []byte { return field }
	if f.Lax {
		trim = bytes.TrimSpace
	}
	for {
		rest := row
		if f.Lax {
			rest = bytes.TrimLeft(row, " \t")
		}
		if f.Separator == '\t' || len(rest) == 0 || rest[0] != '"' {
			field, rest, more := bytes.Cut(row, []byte{f.Separator})
			if f.Separator != '\t' && !f.Lax && bytes.IndexByte(field, '"') >= 0 {
				return fields, false
			}
			fields = append(fields, trim(field))
			if !more {
				return fields, true
			}
			row = rest
			continue
		}
		field, rest, ok := unquote(rest[1:])
		if !ok {
			return fields, false
		}
		fields = append(fields, trim(field))
		if rest = trim(rest); len(rest) == 0 {
			return fields, true
		}
		if rest[0] != f.Separator {
			return fields, false
		}
		row = rest[1:]
	}
}

// unquote parts a quoted field, given from behind its first quote, from what
// follows it.
func unquote(text []byte) (field, rest []byte, ok bool) {
	in, out := 0, 0
	for {
		i := bytes.IndexByte(text[in:], '"')
		if i < 0 {
			return nil, nil, false
		}
		if in > out {
			copy(text[out:], text[in:in+i])
		}
		in, out = in+i+1, out+i
		if in == len(text) || text[in] != '"' {
			return text[:out], text[in:], true
		}
		text[out] = '"' // two quotes stand for one
		in, out = in+1, out+1
	}
}

// Records yields what parse makes of each row, and bad rows, after which reading
// goes on. parse is called after Next: a *source.BadRecord from it is a bad row,
// ErrSkip passes over the row. Any other error, as that of the underlying reader, is
// the last thing yielded.
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

// IsBad reports whether an error is that of one row, after which reading goes on.
func IsBad(err error) bool {
	var bad *source.BadRecord
	return errors.As(err, &bad)
}

// names reads the header, where there is one.
func (r *Reader) names() error {
	if r.format.Header == nil {
		return nil
	}
	_, err := r.Next()
	var names [][]byte
	if err == nil {
		names, err = r.Fields()
	}
	r.format.Columns, r.header = []int{len(names)}, true
	return r.format.Header(names, err)
}
