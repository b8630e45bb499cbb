package feature

import (
	"errors"
	"unicode"

	"quadrille/internal/jsontext"
)

// These are bounds of the properties of a feature.
const (
	MaxProperties        = 256
	MaxPropertiesBytes   = 64 << 10
	MaxPropertyNameBytes = 128 // bytes
	MaxPropertyDepth     = 32  // objects and arrays within one another; the properties themselves count
)

// ErrProperties matches the errors of properties that cannot be kept.
var ErrProperties = errors.New("bad properties")

func badProperties(format string, args ...any) error { return Faultf(ErrProperties, format, args...) }

// AppendProperties checks the properties of a GeoJSON Feature, an object or null or nothing, and
// appends them in compact form: without white space, with one spelling for each text and number,
// and with members in their order. Numbers keep all their digits. Null and nothing become the empty
// object.
//
// Half a surrogate pair becomes U+FFFD, as in encoding/json. Bytes that are not
// UTF-8 are an error.
func AppendProperties(dst, object []byte) (out []byte, err error) {
	return appendObject(dst, object, MaxPropertiesBytes)
}

// appendObject is AppendProperties for objects of at most that many bytes.
func appendObject(dst, object []byte, most int) (out []byte, err error) {
	n := normalizer{in: object, out: dst, start: len(dst), most: most}
	n.space()
	switch {
	case len(object) == 0 || n.literal("null"):
		n.out = append(n.out, "{}"...)
	case n.peek() == '{':
		if err := n.object(1); err != nil {
			return dst, err
		}
	default:
		return dst, badProperties("they are no JSON object: write {\"name\":value, …} or null")
	}
	if n.space(); n.i < len(n.in) {
		return dst, n.syntax("the end")
	}
	if err := n.checkSize(); err != nil {
		return dst, err
	}
	return n.out, nil
}

func checkName(name []byte) error {
	if len(name) == 0 {
		return badProperties("a member without a name: name it, or leave it out")
	}
	if len(name) > MaxPropertyNameBytes {
		return badProperties("the name %.20q… is longer than %d bytes: shorten it", name, MaxPropertyNameBytes)
	}
	for _, r := range string(name) {
		if unicode.IsControl(r) {
			return badProperties("the name %q has a control character: take it out", name)
		}
	}
	return nil
}

// appendMember appends a member to an object that has been opened.
func appendMember(dst, name, value []byte) []byte {
	return append(append(append(jsontext.Next(dst), name...), ':'), value...)
}

// PatchProperties appends a compact object with changes applied. Each member of changes replaces
// the object's member of the same name, or is added after the others. A null removes the member.
// Nested objects are replaced as a whole. If changes itself is null, nothing changes.
func PatchProperties(dst, object, changes []byte) ([]byte, error) {
	return patchObject(dst, object, changes, false, MaxPropertiesBytes)
}

// MergeProperties does the same as PatchProperties, but follows RFC 7396: objects are merged at
// every depth, and if changes itself is null, all members are removed.
func MergeProperties(dst, object, changes []byte) ([]byte, error) {
	return MergeObject(dst, object, changes, MaxPropertiesBytes)
}

// MergeObject is MergeProperties for objects of at most that many bytes, such as a description of
// properties.
func MergeObject(dst, object, changes []byte, most int) ([]byte, error) {
	if string(changes) == "null" {
		return append(dst, "{}"...), nil
	}
	return patchObject(dst, object, changes, true, most)
}

func patchObject(dst, object, changes []byte, deep bool, most int) ([]byte, error) {
	changes, err := appendObject(nil, changes, most)
	if err != nil {
		return dst, err
	}
	out := appendPatched(dst, object, changes, deep)
	members := 0
	for range Members(out[len(dst):]) {
		members++
	}
	if members > MaxProperties {
		return dst, badProperties("%d members after the change: remove some by null, at most %d can stay", members, MaxProperties)
	}
	if n := len(out) - len(dst); n > most {
		return dst, badProperties("%d bytes after the change: remove members by null, at most %d bytes can stay", n, most)
	}
	return out, nil
}

// appendPatched appends a compact object in which the members of changes replace its own. Either is at
// most MaxPropertyDepth deep.
func appendPatched(dst, object, changes []byte, deep bool) []byte {
	left := make(map[string][]byte)
	for name, value := range Members(changes) {
		left[string(name)] = value
	}
	out := append(dst, '{')
	change := func(name, was, value []byte) {
		switch {
		case string(value) == "null":
		case deep && value[0] == '{':
			if was == nil || was[0] != '{' {
				was = noProperties
			}
			out = appendPatched(appendMember(out, name, nil), was, value, deep)
		default:
			out = appendMember(out, name, value)
		}
	}
	for name, value := range Members(object) {
		if changed, ok := left[string(name)]; ok {
			delete(left, string(name))
			change(name, value, changed)
		} else {
			out = appendMember(out, name, value)
		}
	}
	for name, value := range Members(changes) {
		if _, ok := left[string(name)]; ok {
			change(name, nil, value)
		}
	}
	return append(out, '}')
}

var noProperties = []byte("{}")
