package web

import (
	"iter"
	"strings"
)

// ForwardedHeader names the header in which trusted proxies say for whom they
// forward a request. Only one header is ever believed: a proxy that writes one
// of them passes on whatever the client put into the other.
type ForwardedHeader uint8

const (
	// XForwardedFor is the customary list of addresses, with X-Forwarded-Proto
	// and X-Forwarded-Host beside it.
	XForwardedFor ForwardedHeader = iota
	// Forwarded is the header of RFC 7239.
	Forwarded
)

// xForwarded are the customary headers, by the names of the same parameters in RFC 7239.
var xForwarded = map[string]string{"for": "X-Forwarded-For", "proto": "X-Forwarded-Proto", "host": "X-Forwarded-Host", "prefix": "X-Forwarded-Prefix"}

// header is the header that has a parameter, "" for none.
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

// elements returns the elements of a header, which may have several lines, beginning with
// the last one, which the nearest proxy has written. There are at most maxHops. Empty
// ones do not count (RFC 9110, 5.6.1).
func (f ForwardedHeader) elements(lines []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		read := 0
		for i := len(lines) - 1; i >= 0; i-- {
			rest := lines[i]
			for more := true; more; {
				var element string
				if f == Forwarded {
					rest, element, more = lastElement(rest)
				} else if at := strings.LastIndexByte(rest, ','); at >= 0 {
					rest, element = rest[:at], rest[at+1:]
				} else {
					element, more = rest, false
				}
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

// lastElement cuts the right-most element off a Forwarded value. It reads from
// the right, so that nothing to the left of an element, such as a quote that a
// client has opened and not closed, changes how it is read.
func lastElement(value string) (rest, element string, more bool) {
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
func elementParameter(element, name string) (string, bool) {
	value, found := "", false
	for rest := strings.TrimSpace(element); rest != ""; {
		key, after, ok := strings.Cut(rest, "=")
		if !ok {
			return "", false
		}
		var v string
		if strings.HasPrefix(after, `"`) {
			end := 1
			for end < len(after) && (after[end] != '"' || escaped(after, end)) {
				end++
			}
			if end == len(after) {
				return "", false
			}
			v, after = after[1:end], strings.TrimSpace(after[end+1:])
			if after != "" && after[0] != ';' {
				return "", false
			}
			rest = strings.TrimSpace(strings.TrimPrefix(after, ";"))
		} else {
			v, rest, _ = strings.Cut(after, ";")
			v, rest = strings.TrimSpace(v), strings.TrimSpace(rest)
		}
		if strings.EqualFold(strings.TrimSpace(key), name) {
			if found {
				return "", false
			}
			value, found = v, true
		}
	}
	return value, found
}

// maxHops bounds the hops of a forwarding header that are looked at; no honest
// chain of proxies is longer.
const maxHops = 32
