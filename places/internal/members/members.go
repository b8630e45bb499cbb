// Package members reads and changes members of encoded JSON objects without decoding them. Keys
// include the comma, the quotes and the colon, such as `,"name":`. Quotes within a string are
// escaped, so the first match is the member itself, if the object has the member and no nested
// object with such a member comes before it.
package members

import (
	"bytes"
	"encoding/json"

	"quadrille/internal/jsontext"
)

// Text returns the JSON string of a member, with its quotes, or nil if there is
// no such member.
func Text(b []byte, key string) []byte {
	from, to := find(b, key)
	return b[from:to]
}

// Unquote returns the text of a JSON string, and false if it is damaged.
func Unquote(quoted []byte) (string, bool) {
	if len(quoted) < 2 {
		return "", false
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1]), true
	}
	var text string
	err := json.Unmarshal(quoted, &text)
	return text, err == nil
}

// AppendNamed appends members, with another text under a key. If the key is missing or text is "",
// it appends them unchanged.
func AppendNamed(dst, b []byte, key, text string) []byte {
	from, to := find(b, key)
	if text == "" || from == to {
		return append(dst, b...)
	}
	return append(jsontext.AppendString(append(dst, b[:from]...), text), b[to:]...)
}

// find returns the start and end of the JSON string of a member. from and to are equal if there is
// no such member.
func find(b []byte, key string) (from, to int) {
	at := bytes.Index(b, []byte(key))
	if at < 0 {
		return 0, 0
	}
	from = at + len(key)
	if from == len(b) || b[from] != '"' {
		return 0, 0
	}
	for i := from + 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return from, i + 1
		}
	}
	return 0, 0
}
