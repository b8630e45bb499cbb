package web

import (
	"iter"
	"strings"
)

// ForwardedHeader is the header in which trusted proxies give the client of a forwarded request.
// Only one header is trusted, because a proxy that writes one of them forwards the client's value
// of the other unchanged.
type ForwardedHeader uint8

const (
	// XForwardedFor is the customary list of addresses, together with X-Forwarded-Proto and
	// X-Forwarded-Host.
	XForwardedFor ForwardedHeader = iota
	// Forwarded is the header of RFC 7239.
	Forwarded
)

// xForwarded maps the parameters of RFC 7239 to the equivalent customary headers.
var xForwarded = map[string]string{
	"for":    "X-Forwarded-For",
	"proto":  "X-Forwarded-Proto",
	"host":   "X-Forwarded-Host",
	"prefix": "X-Forwarded-Prefix",
}

// header returns the name of the header with a parameter, or "" for none.
func (f ForwardedHeader) header(parameter string) string {
	switch {
	case f == XForwardedFor:
		return xForwarded[parameter]
	case parameter == "prefix":
		return ""
	}
	return "Forwarded"
}

// parameter returns the value of a parameter in an element, if it has one.
func (f ForwardedHeader) parameter(element, name string) (string, bool) {
	if f == Forwarded {
		return elementParameter(element, name)
	}
	return element, true
}

// elements returns the elements of a header, which may have several lines. It begins with the last
// element, which the nearest proxy has written, and returns at most maxHops. Empty elements are
// skipped (RFC 9110, 5.6.1).
func (f ForwardedHeader) elements(lines []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		read := 0
		for i := len(lines) - 1; i >= 0; i-- {
			rest := lines[i]
			for more := true; more; {
				var element string
				rest, element, more = cutLast(rest)
				if read++; read > maxHops {
					return
				}
				if element = strings.TrimSpace(element); element != "" && !yield(element) {
					return
				}
			}
		}
	}
}

// cutLast cuts a value at the last comma outside of quotes. It reads from the right, so that text
// to the left of an element, such as an unclosed quote from a client, does not change its meaning.
func cutLast(value string) (rest, last string, more bool) {
	quoted := false
	for i := len(value) - 1; i >= 0; i-- {
		switch c := value[i]; {
		case c == '"' && !(quoted && escaped(value, i)):
			quoted = !quoted
		case c == ',' && !quoted:
			return value[:i], value[i+1:], true
		}
	}
	return "", value, false
}

// escaped reports whether the byte at i follows an odd number of backslashes.
func escaped(s string, i int) bool {
	n := 0
	for i--; i >= 0 && s[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}

// elementParameter returns the value of a parameter of an element, and whether
// the element is well-formed and has it exactly once. Quoted values lose their
// quotes.
func elementParameter(element, name string) (value string, found bool) {
	for element != "" {
		var pair string
		if pair, element = cutPair(element); strings.TrimSpace(pair) == "" {
			continue
		}
		key, v, ok := strings.Cut(pair, "=")
		if v = strings.TrimSpace(v); strings.HasPrefix(v, `"`) {
			end := 1
			for end < len(v) && (v[end] != '"' || escaped(v, end)) {
				end++
			}
			if end != len(v)-1 {
				return "", false
			}
			v = v[1:end]
		}
		named := strings.EqualFold(strings.TrimSpace(key), name)
		if !ok || named && found {
			return "", false
		}
		if named {
			value, found = v, true
		}
	}
	return value, found
}

// cutPair cuts the first pair off an element. Only a quote at the beginning of a value opens a
// quoted string, because proxies copy a client's Host unchanged, and it may contain quotes.
func cutPair(element string) (pair, rest string) {
	quoted, begins := false, false
	for i := 0; i < len(element); i++ {
		switch c := element[i]; {
		case quoted && c == '\\':
			i++
		case c == '"' && (quoted || begins):
			quoted, begins = !quoted, false
		case quoted:
		case c == ';':
			return element[:i], element[i+1:]
		case c == '=':
			begins = true
		case c != ' ' && c != '\t':
			begins = false
		}
	}
	return element, ""
}

// maxHops bounds the hops of a forwarding header that are examined. No real chain of proxies is
// longer.
const maxHops = 32
