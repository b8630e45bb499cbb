package feature

import (
	"bytes"
	"encoding/binary"
	"iter"
	bits64 "math/bits"

	"quadrille/internal/jsontext"
)

// This file reads compact JSON, the output of AppendProperties. Its functions check no syntax,
// but no bytes make them panic or loop.

// memberKey returns the beginning of a member in a compact object, given its name.
func memberKey(name string) string {
	return string(append(jsontext.AppendString(nil, name), ':'))
}

// Member returns the value of the member with the given name, as the bytes in the compact object.
func Member(object []byte, name string) (value []byte, ok bool) {
	var buf [192]byte
	return lookup(object, append(jsontext.AppendString(buf[:0], name), ':'))
}

// lookup does the same as Member, with a prepared memberKey.
func lookup[K string | []byte](object []byte, key K) (value []byte, ok bool) {
	if len(object) == 0 {
		return nil, false
	}
	return lookupAmong(object[1:], key)
}

// lookupAmong does the same as lookup, given the members of an object, which may be followed by its
// closing brace.
func lookupAmong[K string | []byte](members []byte, key K) (value []byte, ok bool) {
	for i := 0; i < len(members) && members[i] == '"'; i++ {
		if end := i + len(key); end <= len(members) && string(members[i:end]) == string(key) {
			return members[end:valueEnd(members, end)], true
		}
		i = valueEnd(members, stringEnd(members, i)+1)
	}
	return nil, false
}

// Members yields the members of a compact object, in its order: each name in compact form, with its
// quotation marks, and each value as JSON.
func Members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		if len(object) > 0 {
			among(object[1:])(yield)
		}
	}
}

// among does the same as Members, given the members of an object, which may be followed by its
// closing brace.
func among(members []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for rest := members; len(rest) > 0 && rest[0] == '"'; rest = rest[1:] {
			colon := stringEnd(rest, 0)
			if colon >= len(rest) {
				return
			}
			end := valueEnd(rest, colon+1)
			if !yield(rest[:colon], rest[colon+1:end]) {
				return
			}
			if rest = rest[end:]; len(rest) == 0 {
				return
			}
		}
	}
}

// Elements yields the elements of a compact array in their order.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func(value []byte) bool) {
		for rest := array; len(rest) >= 2 && rest[1] != ']'; {
			end := valueEnd(rest, 1)
			if !yield(rest[1:end]) {
				return
			}
			rest = rest[end:]
		}
	}
}

// valueEnd returns the end of the value that begins at i.
func valueEnd(b []byte, i int) int {
	if i >= len(b) {
		return len(b)
	}
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		for depth := 0; i < len(b); {
			switch b[i] {
			case '"':
				i = stringEnd(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return len(b)
	}
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' {
		i++
	}
	return i
}

// stringEnd returns the end of the string whose first quotation mark is at i.
// It looks at eight bytes at once, because filters skip strings all the time.
func stringEnd(b []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for i++; i+8 <= len(b); {
		word := binary.LittleEndian.Uint64(b[i:])
		quotes, slashes := word^('"'*ones), word^('\\'*ones)
		// The lowest of these bits belongs to the first byte that is zero in quotes or slashes.
		found := ((quotes-ones)&^quotes | (slashes-ones)&^slashes) & highs
		if found == 0 {
			i += 8
			continue
		}
		if i += bits64.TrailingZeros64(found) / 8; b[i] == '"' {
			return i + 1
		}
		i += 2
	}
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(b)
}

// IsText reports whether a value is a string.
func IsText(value []byte) bool { return len(value) >= 2 && value[0] == '"' }

// IsNumber reports whether a value is a number.
func IsNumber(value []byte) bool {
	return len(value) > 0 && (value[0] == '-' || '0' <= value[0] && value[0] <= '9')
}

// IsList reports whether a value is an array.
func IsList(value []byte) bool { return len(value) > 0 && value[0] == '[' }

// IsBoolean reports whether a value is true or false.
func IsBoolean(value []byte) bool { return string(value) == "true" || string(value) == "false" }

// TextOf returns the text of a string of valid JSON. If nothing in the string is escaped, the
// result is a part of it.
func TextOf(value []byte) []byte {
	inner := value[1 : len(value)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	text, _ := unescape(make([]byte, 0, len(inner)), inner)
	return text
}
