package jsonscan

import (
	"bytes"
	"io"
)

// recordSeparator precedes each value of a text sequence of RFC 7464.
const recordSeparator = 0x1e

// Unseparated returns a reader of the values of a text sequence: it replaces record separators by white space.
// They cannot occur within a value.
func Unseparated(r io.Reader) io.Reader { return &unseparated{r} }

type unseparated struct{ r io.Reader }

func (u *unseparated) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	for rest := p[:n]; ; {
		i := bytes.IndexByte(rest, recordSeparator)
		if i < 0 {
			return n, err
		}
		rest[i] = ' '
		rest = rest[i+1:]
	}
}

// Lines returns a reader of the elements of an array, one a line. The text has as many bytes as the array. It is not
// checked, and text behind the array is read as if it belonged to it.
func Lines(r io.Reader) io.Reader { return &lines{r: r} }

type lines struct {
	r               io.Reader
	depth           int
	inText, escaped bool
}

func (l *lines) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for i, c := range p[:n] {
		switch {
		case l.inText:
			l.inText = l.escaped || c != '"'
			l.escaped = !l.escaped && c == '\\'
			continue
		case c == '"':
			l.inText = true
		case c == '\n' || c == '\r':
			p[i] = ' '
		case c == '[' || c == '{':
			if l.depth++; l.depth == 1 {
				p[i] = ' '
			}
		case c == ']' || c == '}':
			if l.depth--; l.depth <= 0 {
				l.depth, p[i] = 0, '\n'
			}
		case c == ',' && l.depth <= 1:
			p[i] = '\n'
		}
	}
	return n, err
}
