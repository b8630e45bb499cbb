package cql2

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SyntaxError reports where a filter cannot be read, and what to write instead.
type SyntaxError struct {
	Offset  int // bytes of the text before the place
	Message string
	// Property is the property at the place, as it is written, if a value should be there. It is "" otherwise.
	Property string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("filter, byte %d: %s", e.Offset, e.Message)
}

func refuse(offset int, format string, args ...any) *SyntaxError {
	return &SyntaxError{Offset: offset, Message: fmt.Sprintf(format, args...)}
}

// short shortens a part of a filter for error messages.
func short(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	cut := most
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

type tokenKind uint8

const (
	tokenEnd    tokenKind = iota
	tokenName             // without quotes: a keyword, a function or a property
	tokenQuoted           // a property in double quotes
	tokenText
	tokenNumber
	tokenSign // one of = <> < <= > >= ( ) ,
)

type token struct {
	kind   tokenKind
	offset int
	text   string // without quotes
	number float64
}

// String describes a token in messages.
func (t token) String() string {
	switch t.kind {
	case tokenEnd:
		return "the end"
	case tokenText:
		return "the text '" + short(t.text) + "'"
	case tokenQuoted:
		return `the property "` + short(t.text) + `"`
	default:
		return short(t.text)
	}
}

type lexer struct {
	input  string
	pos    int
	tokens []token // those of another form than text; nil for text
}

func (l *lexer) skipSpace() {
	l.pos = len(l.input) - len(strings.TrimLeftFunc(l.input[l.pos:], unicode.IsSpace))
}

// opens reports whether the next token is an opening parenthesis.
func (l *lexer) opens() bool {
	if l.tokens != nil {
		return len(l.tokens) > 0 && l.tokens[0].kind == tokenSign && l.tokens[0].text == "("
	}
	l.skipSpace()
	return strings.HasPrefix(l.input[l.pos:], "(")
}

// span returns the text from a token to the next one.
func (l *lexer) span(from, to token) string {
	if l.tokens != nil { // they are not in the order of the text
		return from.String()
	}
	return strings.TrimSpace(l.input[from.offset:to.offset])
}

func (l *lexer) next() (token, error) {
	if l.tokens != nil {
		if len(l.tokens) == 0 {
			return token{offset: len(l.input)}, nil
		}
		t := l.tokens[0]
		l.tokens = l.tokens[1:]
		return t, nil
	}
	l.skipSpace()
	rest := l.input[l.pos:]
	t := token{offset: l.pos}
	if rest == "" {
		return t, nil
	}
	first, _ := utf8.DecodeRuneInString(rest)
	switch {
	case first == '\'' || first == '"':
		return l.quoted(byte(first))
	case startsName(first):
		t.kind = tokenName
		t.text = rest[:nameLength(rest)]
	case numberLength(rest) > 0:
		t.kind = tokenNumber
		t.text = rest[:numberLength(rest)]
		if after, _ := utf8.DecodeRuneInString(rest[len(t.text):]); startsName(after) {
			return t, refuse(l.pos, `%s is no number; write a property whose name begins with a digit in double quotes, such as "1st"`,
				short(rest[:len(t.text)+nameLength(rest[len(t.text):])]))
		}
		var err error
		if t.number, err = strconv.ParseFloat(t.text, 64); err != nil {
			return t, refuse(l.pos, "the number %s is too large; give one within ±1.7e308", short(t.text))
		}
	default:
		t.kind = tokenSign
		for _, sign := range []string{"<>", "<=", ">=", "<", ">", "=", "(", ")", ","} {
			if strings.HasPrefix(rest, sign) {
				t.text = sign
				break
			}
		}
		if t.text == "" {
			return t, strange(l.pos, first)
		}
	}
	l.pos += len(t.text)
	return t, nil
}

// strange returns the error for a character that begins no token.
func strange(offset int, r rune) *SyntaxError {
	switch r {
	case '!':
		return refuse(offset, `"!" is no operator; write <> for different and NOT for the opposite`)
	case '+', '-', '*', '/', '^', '%':
		return refuse(offset, "%q: filters do not calculate; compare a property with a finished value, and write a name "+
			"with such a character in double quotes", r)
	case '&', '|':
		return refuse(offset, "%q is no operator; write AND or OR", r)
	default:
		return refuse(offset, "%q is not expected here; write a name with such a character in double quotes, and text in single quotes", r)
	}
}

// quoted reads a quoted text or name. A doubled quote stands for one, and in text a backslash
// before a quote does too, unless the backslash is itself escaped in a pattern.
func (l *lexer) quoted(quote byte) (token, error) {
	t := token{kind: tokenText, offset: l.pos}
	if quote == '"' {
		t.kind = tokenQuoted
	}
	rest := l.input[l.pos+1:]
	var plain []byte // the text before rest[from], once there was an escape
	from, escaped := 0, false
	for i := 0; i < len(rest); i++ {
		switch {
		case rest[i] == '\\' && t.kind == tokenText:
			escaped = !escaped
			continue
		case rest[i] != quote:
		case escaped:
			plain = append(plain, rest[from:i-1]...)
			from = i
		case strings.HasPrefix(rest[i+1:], string(quote)):
			plain = append(plain, rest[from:i]...)
			i++
			from = i
		default:
			if t.text = rest[from:i]; plain != nil {
				t.text = string(append(plain, t.text...))
			}
			if t.kind == tokenQuoted && t.text == "" {
				return t, refuse(l.pos, `"" names no property; write its name within the quotes, or '' for empty text`)
			}
			l.pos += i + 2
			return t, nil
		}
		escaped = false
	}
	return t, refuse(l.pos, "the quote %c is not closed; write another one at its end, and two for a quote within", quote)
}

func startsName(r rune) bool { return r == '_' || r == ':' || unicode.IsLetter(r) }

// nameLength returns the length in bytes of the name at the start of s.
func nameLength(s string) int {
	end := strings.IndexFunc(s, func(r rune) bool {
		return !startsName(r) && r != '.' && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	if end < 0 {
		return len(s)
	}
	return end
}

// numberLength returns the length in bytes of the number at the start of s, including a sign.
func numberLength(s string) int {
	i := 0
	if s != "" && (s[0] == '+' || s[0] == '-') {
		i++
	}
	whole := digits(s[i:])
	i += whole
	part := 0
	if strings.HasPrefix(s[i:], ".") {
		part = digits(s[i+1:])
		i += 1 + part
	}
	if whole+part == 0 {
		return 0
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		exponent := i + 1
		if exponent < len(s) && (s[exponent] == '+' || s[exponent] == '-') {
			exponent++
		}
		if n := digits(s[exponent:]); n > 0 {
			i = exponent + n
		}
	}
	return i
}

func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}

// isNumber reports whether the whole of s is a number.
func isNumber(s string) bool { return s != "" && numberLength(s) == len(s) }
