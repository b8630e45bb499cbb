// Package textline reads text line by line and lines field by field, in bounded
// memory.
package textline

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// ErrLong is the error of a line longer than the bound. Reading goes on after
// it.
var ErrLong = errors.New("line is too long")

// Reader reads lines.
type Reader struct{ r *bufio.Reader }

// New returns a Reader of lines of up to most bytes, their ends included. A byte
// order mark is passed over.
func New(r io.Reader, most int) *Reader {
	lines := bufio.NewReaderSize(r, most)
	if bom, _ := lines.Peek(3); bytes.Equal(bom, []byte("\xef\xbb\xbf")) {
		_, _ = lines.Discard(3) // they have just been peeked
	}
	return &Reader{lines}
}

// Next returns the next line without its end, valid until the next call, and
// whether it is the last one: what follows the last line feed, if only nothing.
// The error is ErrLong, or that of the reader, after which there is no more.
func (r *Reader) Next() (line []byte, last bool, err error) {
	line, err = r.r.ReadSlice('\n')
	if err == io.EOF {
		last, err = true, nil
	}
	if !errors.Is(err, bufio.ErrBufferFull) {
		return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'}), last, err
	}
	for {
		switch _, err := r.r.ReadSlice('\n'); {
		case err == io.EOF:
			return nil, true, ErrLong
		case err == nil:
			return nil, false, ErrLong
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, err
		}
	}
}

// Split appends the fields of a line that commas separate, without the blanks
// around them, and unquotes them in place (RFC 4180, but a quoted field ends with
// its line). It reports false for quotes that are not closed or not alone in
// their field.
func Split(line []byte, fields [][]byte) ([][]byte, bool) {
	for {
		line = bytes.TrimLeft(line, " \t")
		if len(line) == 0 || line[0] != '"' {
			field, rest, more := bytes.Cut(line, []byte{','})
			fields = append(fields, bytes.TrimSpace(field))
			if !more {
				return fields, true
			}
			line = rest
			continue
		}
		in, out := 1, 0
		for {
			i := bytes.IndexByte(line[in:], '"')
			if i < 0 {
				return fields, false
			}
			out += copy(line[out:], line[in:in+i])
			in += i + 1
			if in == len(line) || line[in] != '"' {
				break
			}
			line[out] = '"' // two quotes stand for one; out < in always
			out, in = out+1, in+1
		}
		fields = append(fields, bytes.TrimSpace(line[:out]))
		line = bytes.TrimLeft(line[in:], " \t")
		if len(line) == 0 {
			return fields, true
		}
		if line[0] != ',' {
			return fields, false
		}
		line = line[1:]
	}
}
