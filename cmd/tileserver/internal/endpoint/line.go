package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// ReadLine passes the members of a JSON object to set, as parameters. Members that are null count
// as absent. Errors match ErrLine if the line is not such an object. Unknown and repeated names are
// refused, like in a query.
func (q *ParamNames) ReadLine(line []byte, set func(name, value string)) error {
	members := json.NewDecoder(bytes.NewReader(line))
	if begin, err := members.Token(); err != nil || begin != json.Delim('{') || !utf8.Valid(line) {
		return ErrLine
	}
	var refusal error // returned at the end: a line that is not an object is ErrLine
	var seen []string
	for members.More() {
		key, err := members.Token()
		name, _ := key.(string)
		var value json.RawMessage
		if err != nil || members.Decode(&value) != nil {
			return ErrLine
		}
		switch {
		case refusal != nil:
		case slices.Contains(q.Names, name) && !slices.Contains(seen, name):
			seen = append(seen, name)
			text, ok := memberText(value)
			if !ok {
				refusal = Refuse(ErrParameter, name, "Set "+name+" to a text, a number or a list of them.")
			} else if text != nil {
				set(name, *text)
			}
		case slices.Contains(seen, name):
			refusal = errTwice(name)
		case !isFree(name):
			refusal = q.Unknown(name)
		}
	}
	if _, err := members.Token(); err != nil {
		return ErrLine
	}
	if _, err := members.Token(); !errors.Is(err, io.EOF) {
		return ErrLine
	}
	return refusal
}

// memberText returns the value of a member in the form of a parameter: lists with commas between
// their entries. It is nil for null.
func memberText(value json.RawMessage) (*string, bool) {
	var text string
	switch value[0] {
	case 'n':
		return nil, true
	case '{':
		return nil, false
	case '"':
		if json.Unmarshal(value, &text) != nil {
			return nil, false
		}
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil || len(list) > MaxListEntries {
			return nil, false
		}
		entries := make([]string, len(list))
		for i, v := range list {
			if v[0] == '[' {
				return nil, false
			}
			entry, ok := memberText(v)
			if !ok || entry == nil {
				return nil, false
			}
			entries[i] = *entry
		}
		text = strings.Join(entries, ",")
	default:
		text = string(value)
	}
	return &text, true
}
