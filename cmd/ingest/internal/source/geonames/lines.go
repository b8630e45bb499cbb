package geonames

import (
	"io"
	"iter"
	"strconv"
	"strings"

	"quadrille/cmd/ingest/internal/source/delimited"
)

// MaxLineBytes is the greatest length of a line, in bytes with its end. GeoNames' longest column, the
// alternate names, has up to 10,000 characters.
const MaxLineBytes = 256 << 10

// parser fills a record from the columns of a row, or returns a reason why that is impossible. The
// reason skip is for a row that is neither a record nor a fault.
type parser[T any] func(r row, rec *T) (reason, detail string)

const skip = "\x00"

// format returns the format of a table whose rows have one of these numbers of columns.
func format(columns ...int) delimited.Format {
	return delimited.Format{Separator: '\t', MaxBytes: MaxLineBytes, RequireUTF8: true, Columns: columns}
}

// rows yields the records of r; for details see Read.
func rows[T any](r io.Reader, name string, f delimited.Format, parse parser[T]) iter.Seq2[T, error] {
	in := delimited.New(r, name, f)
	return delimited.Records(in, func(rec *T) error {
		reason, detail := parse(row{in.Line, string(in.Text())}, rec)
		if reason == skip {
			return delimited.ErrSkip
		}
		return in.Bad(reason, detail)
	})
}

// row is a line whose columns are taken one after another. The columns are parts of
// the line, so the line is copied only once.
type row struct {
	line int // 1-based
	rest string
}

func (r *row) next() (column string) {
	i := strings.IndexByte(r.rest, '\t')
	if i < 0 {
		column, r.rest = r.rest, ""
		return column
	}
	column, r.rest = r.rest[:i], r.rest[i+1:]
	return column
}

// text does the same as next, and removes white space around the text.
func (r *row) text() string { return strings.TrimSpace(r.next()) }

// parseID parses an id, which is not 0.
func parseID(s string) (uint32, bool) {
	id, ok := parseAnyID(s)
	return id, ok && id != 0
}

// parseAnyID does the same as parseID for a column that may be empty or 0, which means that there
// is no id.
func parseAnyID(s string) (uint32, bool) {
	if s == "" {
		return 0, true
	}
	id, err := strconv.ParseUint(s, 10, 32)
	return uint32(id), err == nil
}

// list splits a comma-separated column.
func list(s string) (elements []string) {
	for e := range strings.SplitSeq(s, ",") {
		if e = strings.TrimSpace(e); e != "" {
			elements = append(elements, e)
		}
	}
	return elements
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
