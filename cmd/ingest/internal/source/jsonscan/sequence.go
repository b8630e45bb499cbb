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
func Lines(r io.Reader) *ElementLines { return &ElementLines{r: r, line: 1} }

// ElementLines is the reader of Lines. It belongs to one goroutine.
type ElementLines struct {
	r               io.Reader
	depth           int
	inText, escaped bool

	line   int   // in r
	begun  bool  // the line that is written has text
	begins []int // the lines in r of those that are written, without the first ones
	gone   int   // the number of the first ones
}

// Line returns the line in the array at which a line that was read begins, both counted from 1. Lines are asked for in
// order.
func (l *ElementLines) Line(written int) int {
	i := written - 1 - l.gone
	if i < 0 || i >= len(l.begins) {
		return l.line
	}
	l.begins, l.gone = l.begins[i:], l.gone+i
	return l.begins[0]
}

func (l *ElementLines) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for i, c := range p[:n] {
		l.split(p, i, c)
		switch c {
		case '\n':
			l.line++
		case ' ', '\t', '\r':
			continue
		}
		if p[i] == '\n' || p[i] != ' ' && !l.begun {
			if !l.begun {
				l.begins = append(l.begins, l.line)
			}
			l.begun = p[i] != '\n'
		}
	}
	return n, err
}

// split replaces a byte between elements by the end of a line, or by a blank.
func (l *ElementLines) split(p []byte, i int, c byte) {
	switch {
	case l.inText:
		l.inText = l.escaped || c != '"'
		l.escaped = !l.escaped && c == '\\'
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
