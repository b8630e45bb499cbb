package source

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// utf16Of returns the byte order of a text in UTF-16 and the length of its mark, or nil for other
// bytes. Such a text begins with the byte order mark, or in all pairs the first or in all pairs the
// second byte is 0, as for letters and digits. A search tree begins with two zeros, and a mark of
// UTF-32 has two behind it, so they are different.
func utf16Of(head []byte) (order binary.ByteOrder, mark int) {
	const pairs = 8
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")) && !bytes.HasPrefix(head, []byte(utf32Mark)):
		return binary.LittleEndian, 2
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return binary.BigEndian, 2
	case len(head) < 4: // one pair is not enough
		return nil, 0
	}
	order, zero := binary.ByteOrder(binary.BigEndian), 0
	if head[0] != 0 {
		order, zero = binary.LittleEndian, 1
	}
	for i := 0; i+1 < min(len(head), 2*pairs); i += 2 {
		if head[i+zero] != 0 || head[i+1-zero] == 0 {
			return nil, 0
		}
	}
	return order, 0
}

const utf32Mark = "\xff\xfe\x00\x00"

// utf16Reader reads a text in UTF-16 as UTF-8. A half of a surrogate pair that stands alone is no
// character. It becomes bytes that are not UTF-8, so that every reader treats it as it treats such
// bytes in other files.
type utf16Reader struct {
	path  string
	in    *bufio.Reader
	order binary.ByteOrder
	held  []byte // what did not fit into the last read
	buf   []byte
	err   error
}

// Read implements [io.Reader].
func (r *utf16Reader) Read(p []byte) (int, error) {
	for len(r.held) == 0 && r.err == nil {
		r.held = r.buf[:0]
		r.fill()
		r.buf = r.held[:0]
	}
	n := copy(p, r.held)
	if r.held = r.held[n:]; len(r.held) > 0 {
		return n, nil
	}
	return n, r.err
}

// fill decodes what the input has at hand.
func (r *utf16Reader) fill() {
	units, err := r.in.Peek(max(4, r.in.Buffered()))
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err // what is peeked is half a file
		return
	}
	at := 0
	for ; at+1 < len(units); at += 2 {
		c := rune(r.order.Uint16(units[at:]))
		if !utf16.IsSurrogate(c) {
			r.held = utf8.AppendRune(r.held, c)
			continue
		}
		if at+3 >= len(units) && err == nil {
			break // the other half is read next
		}
		if at+3 < len(units) {
			if both := utf16.DecodeRune(c, rune(r.order.Uint16(units[at+2:]))); both != utf8.RuneError {
				r.held = utf8.AppendRune(r.held, both)
				at += 2
				continue
			}
		}
		r.held = append(r.held, 0xe0|byte(c>>12), 0x80|byte(c>>6)&0x3f, 0x80|byte(c)&0x3f)
	}
	odd := err != nil && at < len(units)
	_, _ = r.in.Discard(at) // just peeked
	switch {
	case odd:
		r.err = fmt.Errorf("%s: ends within a character of UTF-16; it may be truncated: fetch it again", r.path)
	case err != nil:
		r.err = io.EOF
	}
}
