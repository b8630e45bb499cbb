package ourairports

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// records cuts text into records of fields, by RFC 4180. It is strict: a quote
// may only begin and end a field or be one of two. The csv reader of Go's
// library would read all that follows a quote that is never closed into one
// field; this one holds MaxRecord bytes, and goes on with the next line.
type records struct {
	r      *bufio.Reader // its buffer has MaxRecord bytes
	line   int           // where the record last returned begins, 1-based
	passed int           // lines before what comes next
}

func newRecords(r io.Reader) *records { return &records{r: bufio.NewReaderSize(r, MaxRecord)} }

// next returns the fields of the next record. When they are not as many as
// want, unless that is 0, or no record can be made out, it gives the reason and
// what there is of the first line, and has passed that line only. Empty lines
// are skipped. The end is io.EOF.
func (in *records) next(want int) (fields []string, reason string, err error) {
	for {
		// A record and its lines are looked at before any is consumed.
		first, size, lines, err := in.record()
		in.line = in.passed + 1
		switch {
		case errors.Is(err, errNoEnd):
			text := string(bytes.TrimRight(in.window(first), "\r\n"))
			if first == 0 {
				text = string(in.window(80))
				return []string{text}, reasonLength, in.skipLine()
			}
			return []string{text}, reasonQuotes, in.discard(first, 1)
		case err != nil:
			return nil, "", err
		}
		text := in.window(size)
		trimmed := bytes.TrimRight(text, "\r\n")
		if len(trimmed) == 0 {
			if err := in.discard(size, lines); err != nil {
				return nil, "", err
			}
			continue
		}
		fields, ok := split(string(trimmed))
		if ok && (want == 0 || len(fields) == want) {
			return fields, "", in.discard(size, lines)
		}
		reason = reasonColumns
		if !ok {
			reason = reasonQuotes
		}
		// Only the first line may be at fault.
		return []string{string(bytes.TrimRight(text[:first], "\r\n"))}, reason, in.discard(first, 1)
	}
}

var errNoEnd = errors.New("no end of the record within the limits")

// record measures the next record in bytes and lines, and its first line in
// bytes. Quotes that are not closed within the limits, and a line over them,
// are errNoEnd; of the latter first is 0.
func (in *records) record() (first, size, lines int, err error) {
	text, err := in.r.Peek(512)
	quoted := false
	for {
		for size < len(text) {
			c := text[size]
			size++
			switch {
			case c == '"':
				quoted = !quoted
			case c == '\n':
				if lines++; lines == 1 {
					first = size
				}
				if !quoted {
					return first, size, lines, nil
				}
				if lines == maxLines {
					return first, size, lines, errNoEnd
				}
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			switch {
			case size == 0:
				return 0, 0, 0, io.EOF
			case lines == 0:
				first = size
			}
			if quoted {
				return first, size, lines, errNoEnd
			}
			return first, size, lines + 1, nil
		case errors.Is(err, bufio.ErrBufferFull):
			return first, size, lines, errNoEnd
		case err != nil:
			return 0, 0, 0, err
		}
		if len(text) == MaxRecord {
			return first, size, lines, errNoEnd
		}
		text, err = in.r.Peek(min(2*len(text), MaxRecord))
	}
}

// window is the first bytes of what comes next, all of them looked at before.
func (in *records) window(n int) []byte {
	text, _ := in.r.Peek(n)
	return text
}

func (in *records) discard(n, lines int) error {
	in.passed += lines
	_, err := in.r.Discard(n)
	return err
}

// skipLine passes a line longer than the buffer.
func (in *records) skipLine() error {
	in.passed++
	for {
		_, err := in.r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil // the next call says so
		default:
			return err
		}
	}
}

// split takes a record apart. Line ends inside quotes become \n.
func split(s string) (fields []string, ok bool) {
	for {
		if s == "" || s[0] != '"' {
			field, rest, more := strings.Cut(s, ",")
			if strings.Contains(field, `"`) {
				return nil, false
			}
			fields = append(fields, field)
			if !more {
				return fields, true
			}
			s = rest
			continue
		}
		field, rest, ok := unquote(s[1:])
		if !ok {
			return nil, false
		}
		fields = append(fields, strings.ReplaceAll(field, "\r\n", "\n"))
		switch {
		case rest == "":
			return fields, true
		case rest[0] != ',':
			return nil, false
		}
		s = rest[1:]
	}
}

// unquote reads a quoted field from behind its first quote.
func unquote(s string) (field, rest string, ok bool) {
	i := strings.IndexByte(s, '"')
	if i >= 0 && (i+1 == len(s) || s[i+1] != '"') {
		return s[:i], s[i+1:], true // as nearly all are
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '"')
		if i < 0 {
			return "", "", false
		}
		b.WriteString(s[:i])
		s = s[i+1:]
		if s == "" || s[0] != '"' {
			return b.String(), s, true
		}
		b.WriteByte('"')
		s = s[1:]
	}
}
