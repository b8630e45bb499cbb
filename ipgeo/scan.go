package ipgeo

import "bytes"

// The scanner reads the JSON of objectWriter: no white space, every string terminated. For other
// input it may report the end too early or return too short a value, but it never reads beyond its
// input.

// nextMember splits the first member off an object's members, given without the
// braces. The key is the raw text between its quotes.
func nextMember(members []byte) (key, value, rest []byte, ok bool) {
	if len(members) < 4 || members[0] != '"' {
		return nil, nil, nil, false
	}
	k := stringEnd(members)
	if k == 0 || k+1 >= len(members) || members[k] != ':' {
		return nil, nil, nil, false
	}
	key, members = members[1:k-1], members[k+1:]
	v := valueEnd(members)
	value, rest = members[:v], members[v:]
	if len(rest) > 0 {
		if rest[0] != ',' {
			return nil, nil, nil, false
		}
		rest = rest[1:]
	}
	return key, value, rest, v > 0
}

// nextElement splits the first element off an array's elements, given without
// the brackets.
func nextElement(elements []byte) (value, rest []byte, ok bool) {
	v := valueEnd(elements)
	value, rest = elements[:v], elements[v:]
	if len(rest) > 0 {
		if rest[0] != ',' {
			return nil, nil, false
		}
		rest = rest[1:]
	}
	return value, rest, v > 0
}

// stringEnd returns the length of the string at the start of b, quotes
// included, or 0 if there is none.
func stringEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		j := bytes.IndexByte(b[i:], '"')
		if j < 0 {
			return 0
		}
		end := i + j
		slashes := 0
		for end-slashes > i && b[end-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return end + 1
		}
		i = end // and past the escaped quote
	}
	return 0
}

// valueEnd returns the length of the value at the start of b, or 0 if there is
// none.
func valueEnd(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"':
		return stringEnd(b)
	case '{', '[':
		depth := 0
		for i := 0; i < len(b); i++ {
			switch b[i] {
			case '"':
				n := stringEnd(b[i:])
				if n == 0 {
					return 0
				}
				i += n - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
		return 0
	}
	for i, c := range b {
		if c == ',' || c == '}' || c == ']' {
			return i
		}
	}
	return len(b)
}

// inner returns the bytes between the first and the last: the members of an
// object or the elements of an array.
func inner(value []byte) []byte {
	if len(value) < 2 {
		return nil
	}
	return value[1 : len(value)-1]
}

// member returns the value of the member with the given name, or nil.
func member[T ~string | ~[]byte](members []byte, name T) []byte {
	for len(members) > 0 {
		key, value, rest, ok := nextMember(members)
		if !ok {
			return nil
		}
		if string(key) == string(name) {
			return value
		}
		members = rest
	}
	return nil
}
