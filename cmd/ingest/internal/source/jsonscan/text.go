package jsonscan

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Text reads a string. It returns at most limit bytes of it. whole is false if the string was
// longer. The bytes are valid until the next call. A surrogate escape without its other half
// becomes U+FFFD.
func (s *Scanner) Text(limit int) (text []byte, whole bool, err error) {
	if err := s.want(String); err != nil {
		return nil, false, err
	}
	s.pos++
	s.text, whole = s.text[:0], true
	keep := func(run []byte) {
		if room := limit - len(s.text); len(run) > room {
			run, whole = run[:room], false
		}
		s.text = append(s.text, run...)
	}
	var rune4 [utf8.UTFMax]byte
	keepRune := func(r rune) { keep(rune4[:utf8.EncodeRune(rune4[:], r)]) }
	var high rune // surrogate that waits for its low half
	for {
		c, ok := s.peek()
		if !ok {
			return nil, false, s.cut()
		}
		if c == '\\' {
			s.pos++
			r, err := s.escape()
			if err != nil {
				return nil, false, err
			}
			if high != 0 {
				if both := utf16.DecodeRune(high, r); both != utf8.RuneError {
					keepRune(both)
					high = 0
					continue
				}
				keepRune(utf8.RuneError)
				high = 0
			}
			if 0xd800 <= r && r < 0xdc00 {
				high = r
			} else {
				keepRune(r) // a lone low surrogate encodes as U+FFFD
			}
			continue
		}
		if high != 0 {
			keepRune(utf8.RuneError)
			high = 0
		}
		switch {
		case c == '"':
			s.pos++
			if !utf8.Valid(s.text) {
				s.text = append(s.text[:0], string([]rune(string(s.text)))...)
			}
			return s.text, whole, nil
		case c < 0x20:
			return nil, false, s.fail("control character %#02x in a string; a quote may be missing", c)
		}
		// Most text consists of runs of plain bytes, so read a run at once.
		i := s.pos + 1
		for i < s.end && s.buf[i] >= 0x20 && s.buf[i] != '"' && s.buf[i] != '\\' {
			i++
		}
		keep(s.buf[s.pos:i])
		s.pos = i
	}
}

// escape reads the part after a backslash. A \u escape may be half of a surrogate pair.
func (s *Scanner) escape() (rune, error) {
	c, ok := s.peek()
	if !ok {
		return 0, s.cut()
	}
	s.pos++
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		var r rune
		for range 4 {
			c, ok := s.peek()
			if !ok {
				return 0, s.cut()
			}
			d, ok := unhex(c)
			if !ok {
				return 0, s.fail("%s in a \\u escape", show(c))
			}
			r = r<<4 | d
			s.pos++
		}
		return r, nil
	}
	return 0, s.fail("escape \\%s in a string", show(c))
}

func unhex(c byte) (rune, bool) {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0'), true
	case 'a' <= c && c <= 'f':
		return rune(c-'a') + 10, true
	case 'A' <= c && c <= 'F':
		return rune(c-'A') + 10, true
	}
	return 0, false
}
