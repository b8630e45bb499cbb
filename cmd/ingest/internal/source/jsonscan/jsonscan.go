// Package jsonscan reads JSON front to back in constant memory. The GeoJSON and TopoJSON readers
// use it. It exists for three reasons. A single line of a boundary file can be larger than the
// available memory. Coordinates should become floats without a token or an interface value for
// each. An untrusted file must not determine the depth of the stack or the length of a string.
//
// It accepts RFC 8259 and, because writers produce them where a coordinate is unknown, the literals
// NaN, Infinity and -Infinity as numbers. Strings are not required to be valid UTF-8; invalid bytes
// become U+FFFD.
//
// The alternative would be jsontext.Decoder of go-json-experiment/json, which stores each token as
// a whole. For an unneeded string of 256 MB it allocates 2 GB, and this package allocates nothing.
// It also does not accept NaN, and does not give the line of an error. For Natural Earth's 1:10m
// provinces, 56 MB, both need the same time, 1.25 s and 1.21 s, and as many allocations.
package jsonscan

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"quadrille/cmd/ingest/internal/source"
)

const (
	// MaxDepth is the greatest allowed nesting of arrays and objects. GeoJSON needs about ten.
	MaxDepth  = 200
	maxDigits = 512 // bytes of one number
)

// Kind is the kind of a value. The first byte of the value determines it.
type Kind byte

// These are the kinds of values; End is the end of the input.
const (
	End    Kind = 0
	Object Kind = '{'
	Array  Kind = '['
	String Kind = '"'
	Number Kind = '0'
	True   Kind = 't'
	False  Kind = 'f'
	Null   Kind = 'n'
)

func (k Kind) String() string {
	switch k {
	case End:
		return "end of file"
	case Object:
		return "object"
	case Array:
		return "array"
	case String:
		return "string"
	case Number:
		return "number"
	case True, False:
		return "boolean"
	}
	return "null"
}

// SyntaxError has the position at which the input is not JSON any more, or ends too early.
type SyntaxError struct {
	Line   int   // 1-based
	Offset int64 // bytes from the start of the text
	Msg    string
	// Truncated means the input ended inside a value.
	Truncated bool
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, byte %d: %s", e.Line, e.Offset, e.Msg)
}

// Explain adds the name of the file to an error of reading it. To a *SyntaxError it also adds the
// expected format of the file, and advice.
func Explain(err error, file, format string) error {
	var syntax *SyntaxError
	switch {
	case !errors.As(err, &syntax):
		return err
	case syntax.Truncated:
		return fmt.Errorf("%s: %w; it is truncated: fetch it again", file, err)
	}
	return fmt.Errorf("%s: not %s: %w", file, format, err)
}

// Scanner reads values one after another. After the first error, which is a
// *SyntaxError or the error of the reader, every call returns it again.
//
// Each call of Object, Array, Float, Text, Bool, Null and Skip consumes one
// value, which must be of that kind. A Scanner is used by one goroutine.
type Scanner struct {
	r        io.Reader
	buf      []byte
	pos, end int
	base     int64 // offset of buf[0]
	line     int
	depth    int
	text     []byte // of the last Text or name
	number   []byte // literal of the last Float
	raw      *raw   // bytes of the value that Raw is reading; nil: none
	kept     raw
	names    map[string]string // interned member names
	members  []source.Member   // of the last Members
	values   []byte
	err      error
	readErr  error
}

// New returns a Scanner at the start of r. It reads ahead.
func New(r io.Reader) *Scanner {
	return &Scanner{r: r, buf: make([]byte, 64<<10), line: 1}
}

// Reset makes the Scanner read from the start of r, like New, and keeps its buffers.
func (s *Scanner) Reset(r io.Reader) {
	*s = Scanner{r: r, buf: s.buf, text: s.text, number: s.number, line: 1}
}

// Line returns the current line, 1-based.
func (s *Scanner) Line() int { return s.line }

// Offset returns how many bytes have been consumed.
func (s *Scanner) Offset() int64 { return s.base + int64(s.pos) }

// Err returns the error that ended the scan, if any.
func (s *Scanner) Err() error { return s.err }

func (s *Scanner) fail(format string, args ...any) error {
	if s.err == nil {
		s.err = &SyntaxError{Line: s.line, Offset: s.Offset(), Msg: fmt.Sprintf(format, args...)}
	}
	return s.err
}

// fill reads more input. It returns false at the end.
func (s *Scanner) fill() bool {
	if s.readErr != nil {
		return false
	}
	if s.raw != nil {
		s.raw.keep(s.buf[s.raw.from:s.end])
		s.raw.from = 0
	}
	s.base += int64(s.end)
	s.pos, s.end = 0, 0
	for range 100 {
		n, err := s.r.Read(s.buf)
		s.end, s.readErr = n, err
		if n > 0 {
			return true
		}
		if err != nil {
			return false
		}
	}
	s.readErr = io.ErrNoProgress
	return false
}

// cut returns the error for input that ends inside a value.
func (s *Scanner) cut() error {
	if s.err != nil {
		return s.err
	}
	if s.readErr != nil && !errors.Is(s.readErr, io.EOF) {
		s.err = s.readErr
		return s.err
	}
	s.err = &SyntaxError{Line: s.line, Offset: s.Offset(), Msg: "the file ends in the middle of a value", Truncated: true}
	return s.err
}

// peek returns the next byte without consuming it.
func (s *Scanner) peek() (byte, bool) {
	if s.pos == s.end && !s.fill() {
		return 0, false
	}
	return s.buf[s.pos], true
}

// space skips white space and returns the byte after it, not consumed.
func (s *Scanner) space() (byte, bool) {
	for {
		c, ok := s.peek()
		if !ok {
			return 0, false
		}
		switch c {
		case '\n':
			s.line++
		case ' ', '\t', '\r':
		default:
			return c, true
		}
		s.pos++
	}
}

// Kind looks at the next value. At the end of the input it is End.
func (s *Scanner) Kind() (Kind, error) {
	if s.err != nil {
		return End, s.err
	}
	c, ok := s.space()
	if !ok {
		if s.readErr != nil && !errors.Is(s.readErr, io.EOF) {
			s.err = s.readErr
		}
		return End, s.err
	}
	switch c {
	case '{', '[', '"', 't', 'f', 'n':
		return Kind(c), nil
	case '-', 'N', 'I':
		return Number, nil
	}
	if '0' <= c && c <= '9' {
		return Number, nil
	}
	return End, s.fail("%s where a value should begin", show(c))
}

func show(c byte) string {
	if c == 0xfe || c == 0xff || c == 0 {
		return fmt.Sprintf("byte %#02x (binary, or another encoding; convert the file to UTF-8)", c)
	}
	return strconv.QuoteRuneToASCII(rune(c))
}

func (s *Scanner) want(k Kind) error {
	got, err := s.Kind()
	switch {
	case err != nil:
		return err
	case got == End:
		return s.cut()
	case got != k:
		return s.fail("%s where %s should be", got, k)
	}
	return nil
}

func (s *Scanner) open(k Kind) error {
	if err := s.want(k); err != nil {
		return err
	}
	if s.depth++; s.depth > MaxDepth {
		return s.fail("values nested deeper than %d", MaxDepth)
	}
	s.pos++
	return nil
}

// more reads the separator between elements. It returns true if another one follows.
func (s *Scanner) more(first bool, closing byte) (bool, error) {
	c, ok := s.space()
	switch {
	case !ok:
		return false, s.cut()
	case c == closing:
		s.pos++
		s.depth--
		return false, nil
	case first:
		return true, nil
	case c != ',':
		return false, s.fail("%s where ',' or '%c' should be", show(c), closing)
	}
	s.pos++
	if c, ok := s.space(); ok && c == closing {
		return false, s.fail("'%c' after a comma", closing)
	}
	return true, nil
}

// Array reads an array, calling element for each of its values with the index.
// element must consume the value; an error from it ends the scan.
func (s *Scanner) Array(element func(i int) error) error {
	if err := s.open(Array); err != nil {
		return err
	}
	for i := 0; ; i++ {
		more, err := s.more(i == 0, ']')
		if err != nil || !more {
			return err
		}
		if err := element(i); err != nil {
			return s.stop(err)
		}
	}
}

// Object reads an object, calling member for each of its members with the
// name, which is valid until member reads on. member must consume the value;
// an error from it ends the scan. Names over 1 KiB are cut there.
func (s *Scanner) Object(member func(name []byte) error) error {
	if err := s.open(Object); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := s.more(first, '}')
		if err != nil || !more {
			return err
		}
		name, _, err := s.Text(1 << 10)
		if err != nil {
			return err
		}
		c, ok := s.space()
		switch {
		case !ok:
			return s.cut()
		case c != ':':
			return s.fail("%s where ':' should be", show(c))
		}
		s.pos++
		if err := member(name); err != nil {
			return s.stop(err)
		}
	}
}

// stop makes an error of a callback the scanner's own error, so that no caller continues to read in
// the middle of a value.
func (s *Scanner) stop(err error) error {
	if s.err == nil {
		s.err = err
	}
	return err
}

// Bool reads true or false.
func (s *Scanner) Bool() (bool, error) {
	k, err := s.Kind()
	if err != nil {
		return false, err
	}
	if k == True {
		return true, s.literal("true")
	}
	if err := s.want(False); err != nil {
		return false, err
	}
	return false, s.literal("false")
}

// Null reads null.
func (s *Scanner) Null() error {
	if err := s.want(Null); err != nil {
		return err
	}
	return s.literal("null")
}

func (s *Scanner) literal(word string) error {
	for i := range len(word) {
		c, ok := s.peek()
		if !ok {
			return s.cut()
		}
		if c != word[i] {
			return s.fail("%s where %q should be", show(c), word)
		}
		s.pos++
	}
	if c, ok := s.peek(); ok && numeric(c) {
		return s.fail("%s after %q", show(c), word)
	}
	return nil
}

// Skip reads a value of any kind and forgets it.
func (s *Scanner) Skip() error {
	k, err := s.Kind()
	if err != nil {
		return err
	}
	switch k {
	case End:
		return s.cut()
	case Object:
		return s.Object(func([]byte) error { return s.Skip() })
	case Array:
		return s.Array(func(int) error { return s.Skip() })
	case String:
		_, _, err = s.Text(0)
	case Number:
		_, err = s.Float()
	case Null:
		err = s.Null()
	default:
		_, err = s.Bool()
	}
	return err
}
