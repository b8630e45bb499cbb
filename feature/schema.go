package feature

import (
	"cmp"
	"errors"
	"slices"
)

// Type is what the values of a property are.
type Type string

// Types of properties.
const (
	Text    Type = "text"
	Number  Type = "number"
	Boolean Type = "boolean"
	Time    Type = "time"  // text: a time of RFC 3339, or a date
	Texts   Type = "texts" // a list of text
	Any     Type = "any"   // values of several types, or none of the above
)

// MaxFields bounds the fields of a schema.
const MaxFields = 1000

// ErrType matches the errors of values that do not have their property's type,
// and of schemas that cannot be.
var ErrType = errors.New("wrong type")

// Field is one property that features have.
type Field struct {
	Name string `json:"name"`
	Type Type   `json:"type" schema:"enum=text|number|boolean|time|texts|any"`
}

// Schema is the fields of the features of a data set, sorted by name.
type Schema []Field

// NewSchema checks and sorts fields.
func NewSchema(fields []Field) (Schema, error) {
	if len(fields) > MaxFields {
		return nil, typeError("%d fields: declare at most %d", len(fields), MaxFields)
	}
	s := Schema(slices.Clone(fields))
	slices.SortFunc(s, byName)
	for i, f := range s {
		if err := checkName([]byte(f.Name)); err != nil {
			return nil, err
		}
		switch f.Type {
		case Text, Number, Boolean, Time, Texts, Any:
		default:
			return nil, typeError("%s: there is no type %.20q: give text, number, boolean, time, texts or any", f.Name, f.Type)
		}
		if i > 0 && s[i-1].Name == f.Name {
			return nil, typeError("%s is declared twice: leave one out", f.Name)
		}
	}
	return s, nil
}

// Lookup returns the field of that name.
func (s Schema) Lookup(name string) (Field, bool) {
	i, found := slices.BinarySearchFunc(s, name, func(f Field, name string) int { return cmp.Compare(f.Name, name) })
	if !found {
		return Field{}, false
	}
	return s[i], true
}

// typeOf returns the type of the member of that name, a string in compact form,
// or "" where the schema has none.
func (s Schema) typeOf(name []byte) Type {
	text := TextOf(name)
	low, high := 0, len(s)
	for low < high {
		middle := (low + high) / 2
		if s[middle].Name < string(text) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low < len(s) && s[low].Name == string(text) {
		return s[low].Type
	}
	return ""
}

func byName(a, b Field) int { return cmp.Compare(a.Name, b.Name) }
