package feature

import (
	"unicode/utf16"
	"unicode/utf8"

	"quadrille/internal/jsontext"
)

// normalizer reads JSON once and writes its compact form.
type normalizer struct {
	in    []byte
	i     int
	out   []byte
	start int // where the properties begin in out
	most  int // bytes of them
}

// span is a part of the output.
type span struct{ from, to int }

// manyNames is the number of names of one object up to which they are compared one by one.
const manyNames = 32

func (n *normalizer) space() {
	for n.i < len(n.in) && (n.in[n.i] == ' ' || n.in[n.i] == '\n' || n.in[n.i] == '\r' || n.in[n.i] == '\t') {
		n.i++
	}
}

// peek returns the next byte, or 0 at the end.
func (n *normalizer) peek() byte {
	if n.i < len(n.in) {
		return n.in[n.i]
	}
	return 0
}

// literal skips a word if it is next.
func (n *normalizer) literal(word string) bool {
	if end := n.i + len(word); end <= len(n.in) && string(n.in[n.i:end]) == word {
		n.i = end
		return true
	}
	return false
}

func (n *normalizer) syntax(want string) error {
	return badProperties("no valid JSON: %s must be at byte %d", want, n.i)
}

func (n *normalizer) checkSize() error {
	if len(n.out)-n.start > n.most {
		return badProperties("more than %d bytes: leave out long values, and keep a link to them instead", n.most)
	}
	return nil
}

func (n *normalizer) value(depth int) error {
	if depth > MaxPropertyDepth && (n.peek() == '{' || n.peek() == '[') {
		return badProperties("objects and lists nested deeper than %d: write the inner ones as text", MaxPropertyDepth)
	}
	switch n.peek() {
	case '{':
		return n.object(depth)
	case '[':
		return n.array(depth)
	case '"':
		return n.text()
	}
	for _, word := range [...]string{"null", "true", "false"} {
		if n.literal(word) {
			n.out = append(n.out, word...)
			return nil
		}
	}
	return n.number()
}

func (n *normalizer) object(depth int) error {
	var first [manyNames]span    // the first names
	var seen map[string]struct{} // all names, once there are many
	count := 0
	n.i++
	n.out = append(n.out, '{')
	n.space()
	if n.peek() == '}' {
		n.i++
		n.out = append(n.out, '}')
		return nil
	}
	for {
		if n.space(); n.peek() != '"' {
			return n.syntax("a name in quotation marks")
		}
		from := len(n.out)
		if err := n.text(); err != nil {
			return err
		}
		name := n.out[from:]
		if depth == 1 {
			if err := checkName(TextOf(name)); err != nil {
				return err
			}
			if count == MaxProperties {
				return badProperties("more than %d members: leave some out, or join them in one object", MaxProperties)
			}
		}
		if count == manyNames {
			seen = make(map[string]struct{}, 2*manyNames)
			for _, s := range first {
				seen[string(n.out[s.from:s.to])] = struct{}{}
			}
		}
		if n.repeated(name, first[:min(count, manyNames)], seen) {
			return badProperties("two members named %.140s: leave one out", name)
		}
		if seen != nil {
			seen[string(name)] = struct{}{}
		} else {
			first[count] = span{from, len(n.out)}
		}
		count++
		if n.space(); n.peek() != ':' {
			return n.syntax("a colon")
		}
		n.i++
		n.space()
		n.out = append(n.out, ':')
		if err := n.value(depth + 1); err != nil {
			return err
		}
		if more, err := n.more('}', "a comma or }"); err != nil || !more {
			return err
		}
	}
}

// repeated reports whether an object has the name already. All names are in
// seen once there are many.
func (n *normalizer) repeated(name []byte, before []span, seen map[string]struct{}) bool {
	if seen != nil {
		_, found := seen[string(name)]
		return found
	}
	for _, s := range before {
		if s.to-s.from == len(name) && string(n.out[s.from:s.to]) == string(name) {
			return true
		}
	}
	return false
}

func (n *normalizer) array(depth int) error {
	n.i++
	n.out = append(n.out, '[')
	n.space()
	if n.peek() == ']' {
		n.i++
		n.out = append(n.out, ']')
		return nil
	}
	for {
		n.space()
		if err := n.value(depth + 1); err != nil {
			return err
		}
		if more, err := n.more(']', "a comma or ]"); err != nil || !more {
			return err
		}
	}
}

// more reads the separator after a member or an element: a comma, or the end.
func (n *normalizer) more(end byte, want string) (bool, error) {
	if err := n.checkSize(); err != nil {
		return false, err
	}
	n.space()
	c := n.peek()
	if c != ',' && c != end {
		return false, n.syntax(want)
	}
	n.i++
	n.out = append(n.out, c)
	return c == ',', nil
}

func (n *normalizer) number() error {
	length := scanNumber(n.in[n.i:], false)
	if length == 0 {
		return n.syntax("a value")
	}
	literal := n.in[n.i : n.i+length]
	if length > MaxPropertiesBytes {
		return badProperties("a number of %d digits: write it as text", length)
	}
	d := parseDecimal(literal)
	if !d.finite(literal) {
		return badProperties("the number %.40s is too large or too small for a float64: write it as text", literal)
	}
	n.i += length
	n.out = d.appendTo(n.out)
	return nil
}

// text reads a string.
func (n *normalizer) text() error {
	from := n.i + 1
	plain := true // whether the text is already in compact form
	for i := from; i < len(n.in); {
		switch c := n.in[i]; {
		case c == '"':
			n.i = i + 1
			if plain {
				n.out = append(n.out, n.in[from-1:n.i]...)
				return nil
			}
			text, at := unescape(make([]byte, 0, i-from), n.in[from:i])
			if at >= 0 {
				n.i = from + at
				return n.syntax(`an escape such as \n, \" or \u00e9`)
			}
			n.out = jsontext.AppendString(n.out, string(text))
			return nil
		case c < ' ':
			n.i = i
			return n.syntax("the end of a text, or its line break as \\n,")
		case c == '\\':
			plain = false
			i += 2
		case c < utf8.RuneSelf:
			if c == '<' || c == '>' || c == '&' || c == 0x7f {
				plain = false
			}
			i++
		default:
			r, size := utf8.DecodeRune(n.in[i:])
			if r == utf8.RuneError && size == 1 {
				return badProperties("byte %d is not UTF-8: write the file in UTF-8", i)
			}
			if r == '\u2028' || r == '\u2029' {
				plain = false
			}
			i += size
		}
	}
	n.i = len(n.in)
	return n.syntax("a quotation mark")
}

// unescape appends the text of a JSON string, given without its quotation
// marks. It returns the index of a bad escape, or -1.
func unescape(dst, inner []byte) (text []byte, bad int) {
	for i := 0; i < len(inner); i++ {
		c := inner[i]
		if c != '\\' {
			dst = append(dst, c)
			continue
		}
		if i++; i == len(inner) {
			return dst, i - 1
		}
		switch c = inner[i]; c {
		case '"', '\\', '/':
			dst = append(dst, c)
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, ok := hexRune(inner[i+1:])
			if !ok {
				return dst, i - 1
			}
			i += 4
			if utf16.IsSurrogate(r) {
				pair := rune(utf8.RuneError)
				if len(inner) > i+2 && inner[i+1] == '\\' && inner[i+2] == 'u' {
					if low, ok := hexRune(inner[i+3:]); ok {
						pair = utf16.DecodeRune(r, low)
					}
				}
				if r = pair; r != utf8.RuneError {
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, r)
		default:
			return dst, i - 1
		}
	}
	return dst, -1
}

// hexRune reads four hexadecimal digits.
func hexRune(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
