// Package resp implements the part of the protocol of Redis and Tile38 that comparisons with them
// need.
package resp

import (
	"bufio"
	"errors"
	"io"
	"strconv"
)

// AppendCommand appends a command.
func AppendCommand(dst []byte, args ...string) []byte {
	dst = append(strconv.AppendInt(append(dst, '*'), int64(len(args)), 10), "\r\n"...)
	for _, a := range args {
		dst = append(strconv.AppendInt(append(dst, '$'), int64(len(a)), 10), "\r\n"...)
		dst = append(append(dst, a...), "\r\n"...)
	}
	return dst
}

// Read reads an answer and appends the strings in it.
func Read(r *bufio.Reader, into []string) ([]string, error) {
	line, err := r.ReadSlice('\n')
	if err != nil || len(line) < 3 {
		return into, errors.Join(err, io.ErrUnexpectedEOF)
	}
	kind, text := line[0], string(line[1:len(line)-2])
	switch kind {
	case '-':
		return into, errors.New(text)
	case '+', ':':
		return append(into, text), nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return into, err
	}
	if kind == '$' {
		if n < 0 { // there is none
			return into, nil
		}
		b := make([]byte, n+2)
		if _, err := io.ReadFull(r, b); err != nil {
			return into, err
		}
		return append(into, string(b[:n])), nil
	}
	for range n {
		if into, err = Read(r, into); err != nil {
			return into, err
		}
	}
	return into, nil
}
