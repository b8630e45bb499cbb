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

	line  int  // in r
	begun bool // the line that is written has text
	LineNumbers
}

// LineNumbers has the numbers of the lines of a text from which those of another text are made. Its zero value is ready.
type LineNumbers struct {
	begins []int // without the first ones
	gone   int   // the number of the first ones
}

// Add sets the line at which the next line begins.
func (l *LineNumbers) Add(line int) { l.begins = append(l.begins, line) }

// Line returns the line at which a line that was made begins, both counted from 1. Lines are asked for in order.
// For one that is not made yet it is the last.
func (l *LineNumbers) Line(written int) int {
	i := min(written-1-l.gone, len(l.begins)-1)
	if i < 0 {
		return 1
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
				l.Add(l.line)
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
