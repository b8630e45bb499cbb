package web

import (
	"net/http"
	"strings"
)

// ForwardedHeader names the header in which trusted proxies say whom they were
// called by. Only one is ever believed: a proxy that writes one of them hands
// on whatever the client put into the other.
type ForwardedHeader uint8

const (
	// XForwardedFor is the customary list of addresses, with X-Forwarded-Proto
	// and X-Forwarded-Host beside it.
	XForwardedFor ForwardedHeader = iota
	// Forwarded is the header of RFC 7239.
	Forwarded
)

// lastHop cuts the right-most hop off a value of a forwarding header. more
// reports whether anything is left of it.
func (f ForwardedHeader) lastHop(value string) (rest, hop string, more bool) {
	if f == Forwarded {
		rest, element, more := lastElement(value)
		hop, _ = elementParameter(element, "for") // without one the hop is no address
		return rest, hop, more
	}
	if i := strings.LastIndexByte(value, ','); i >= 0 {
		return value[:i], value[i+1:], true
	}
	return "", value, false
}

// hops are the header's values, in the order in which proxies append.
func (f ForwardedHeader) hops(h http.Header) []string {
	if f == Forwarded {
		return h["Forwarded"]
	}
	return h["X-Forwarded-For"]
}

// origin returns the scheme and host the nearest proxy was asked for, "" for
// what it does not say.
func (f ForwardedHeader) origin(h http.Header) (scheme, host string) {
	if f == XForwardedFor {
		return lastValue(h["X-Forwarded-Proto"]), lastValue(h["X-Forwarded-Host"])
	}
	values := h["Forwarded"]
	if len(values) == 0 {
		return "", ""
	}
	_, element, _ := lastElement(values[len(values)-1])
	scheme, _ = elementParameter(element, "proto")
	host, _ = elementParameter(element, "host")
	return scheme, host
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
