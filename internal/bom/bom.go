// Package bom skips the UTF-8 byte order mark, which some editors and programs write at the
// beginning of every text. It is not part of the text.
package bom

import (
	"bufio"
	"bytes"
	"os"
)

// mark is the byte order mark.
var mark = []byte("\ufeff")

// Trim returns a text without a byte order mark at its beginning.
func Trim(text []byte) []byte { return bytes.TrimPrefix(text, mark) }

// TrimPart does the same as Trim, also for a text that ends within the mark.
func TrimPart(text []byte) []byte {
	if len(text) < len(mark) && bytes.HasPrefix(mark, text) {
		return nil
	}
	return Trim(text)
}

// HasMark reports whether the input begins with the byte order mark. The next read returns an
// error, if there is one.
func HasMark(r *bufio.Reader) bool {
	begin, _ := r.Peek(len(mark))
	return bytes.Equal(begin, mark)
}

// Skip skips the byte order mark at the beginning of the input. The next read returns an error, if
// there is one.
func Skip(r *bufio.Reader) *bufio.Reader {
	if HasMark(r) {
		_, _ = r.Discard(len(mark)) // just peeked
	}
	return r
}

// ReadFile does the same as [os.ReadFile], without the byte order mark.
func ReadFile(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	return Trim(text), err
}
