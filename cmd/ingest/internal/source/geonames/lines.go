package geonames

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/textline"
)

// MaxLine is the longest line taken, in bytes with its end. GeoNames' longest
// column, the alternate names, has up to 10,000 characters.
const MaxLine = 256 << 10

// parser fills a record from line n of a file, given without its end and not
// empty, or says why it cannot. The reason skip passes over a line that is no
// record and no fault.
type parser[T any] func(line []byte, n int, rec *T) (reason, detail string)

const skip = "\x00"

// rows yields the records of r; see Read for what else. A parser is begun for
// each reading, since it may remember what came before.
func rows[T any](r io.Reader, name string, begin func() parser[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none, rec T
		lines := textline.New(r, MaxLine)
		parse := begin()
		for n := 1; ; n++ {
			line, last, err := lines.Next()
			rec = none
			var reason, detail string
			switch {
			case errors.Is(err, textline.ErrLong):
				reason, detail = reasonLine, fmt.Sprintf("over %d bytes", MaxLine)
			case err != nil:
				yield(none, fmt.Errorf("%s: line %d: %w", name, n, err))
				return
			case len(line) == 0:
				reason = skip
			default:
				reason, detail = parse(line, n, &rec)
			}
			switch reason {
			case "":
				if !yield(rec, nil) {
					return
				}
			case skip:
			default:
				if !yield(none, &source.BadRecord{Source: name, Line: n, Reason: reason, Detail: detail}) {
					return
				}
			}
			if last {
				return
			}
		}
	}
}

// row is a line whose columns are taken one after another.
type row struct{ rest string }

func (r *row) next() (column string) {
	i := strings.IndexByte(r.rest, '\t')
	if i < 0 {
		column, r.rest = r.rest, ""
		return column
	}
	column, r.rest = r.rest[:i], r.rest[i+1:]
	return column
}

// text is next without white space around it.
func (r *row) text() string { return strings.TrimSpace(r.next()) }

// split checks the form of a line of which the other columns are parts, so
// that it is copied once. Its columns are counted against those allowed.
func split(line []byte, wrong string, allowed ...int) (r row, reason, detail string) {
	n := bytes.Count(line, []byte{'\t'}) + 1
	found := false
	for _, want := range allowed {
		found = found || n == want
	}
	switch {
	case !found:
		return row{}, wrong, strconv.Itoa(n)
	case !utf8.Valid(line):
		return row{}, reasonUTF8, source.Excerpt(line)
	}
	return row{string(line)}, "", ""
}

// parseID parses an id, which is not 0.
func parseID(s string) (uint32, bool) {
	id, err := strconv.ParseUint(s, 10, 32)
	return uint32(id), err == nil && id != 0
}

// parseAnyID is parseID for a column that may be empty or 0, for none.
func parseAnyID(s string) (uint32, bool) {
	if s == "" {
		return 0, true
	}
	id, err := strconv.ParseUint(s, 10, 32)
	return uint32(id), err == nil
}

// list takes a comma-separated column apart.
func list(s string) (elements []string) {
	for e := range strings.SplitSeq(s, ",") {
		if e = strings.TrimSpace(e); e != "" {
			elements = append(elements, e)
		}
	}
	return elements
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
