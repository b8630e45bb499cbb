// Package bom passes over the byte order mark of UTF-8, which some editors and programs begin
// every text with. It is no part of the text.
package bom

import (
	"bufio"
	"bytes"
	"os"
)

// mark is the byte order mark.
var mark = []byte("\ufeff")

// Trim returns a text without the mark it may begin with.
func Trim(text []byte) []byte { return bytes.TrimPrefix(text, mark) }

// Begins reports whether what is read begins with the mark. The next read returns an error, if
// there is one.
func Begins(r *bufio.Reader) bool {
	begin, _ := r.Peek(len(mark))
	return bytes.Equal(begin, mark)
}

// Skip passes over the mark at the beginning of what is read. The next read returns an
// error, if there is one.
func Skip(r *bufio.Reader) *bufio.Reader {
	if Begins(r) {
		_, _ = r.Discard(len(mark)) // just peeked
	}
	return r
}

// ReadFile is [os.ReadFile] of a text.
func ReadFile(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	return Trim(text), err
}
