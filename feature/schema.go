package feature

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// MaxFields bounds the fields of a schema.
const MaxFields = 1000

// ErrType is matched by the errors of values that are not of their property's
// type, and of invalid schemas.
var ErrType = errors.New("wrong type")

// Field is one property that features have.
type Field struct {
	Name string `json:"name"`
	Kind Kind   `json:"type" schema:"enum=text|number|boolean|time|texts|any"`
	// Upper is set if the texts are codes in upper case. Terms may write them in any case.
	Upper bool `json:"-"`
}

// ParseField reads the declaration of a property, such as price and "number". Errors match
// ErrType or ErrProperties.
func ParseField(name, kind string) (f Field, err error) {
	f.Name = name
	f.Kind, _ = parseKind([]byte(kind))
	if f.Kind == Null {
		return f, typeError("%s: there is no type %.20q: give "+kindsToGive, name, kind)
	}
	_, err = NewSchema([]Field{f})
	return f, err
}

// Schema has the fields of the features of a data set, sorted by name.
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
		switch f.Kind {
		case Text, Number, Boolean, Time, Texts, Any:
		default:
			return nil, typeError("%s: there is no type %.20q: give "+kindsToGive, f.Name, f.Kind)
		}
		if i > 0 && s[i-1].Name == f.Name {
			return nil, typeError("%s is declared twice: leave one out", f.Name)
		}
	}
	return s, nil
}

// Merge returns the fields of both schemas. A property with different kinds in them gets the kind
// Any.
func (s Schema) Merge(other Schema) Schema {
	all := slices.Concat(s, other)
	slices.SortStableFunc(all, byName)
	merged := all[:0]
	for _, f := range all {
		if n := len(merged); n > 0 && merged[n-1].Name == f.Name {
			if merged[n-1].Kind != f.Kind {
				merged[n-1].Kind = Any
			}
			continue
		}
		merged = append(merged, f)
	}
	return merged
}

// Lookup returns the field of that name.
func (s Schema) Lookup(name string) (Field, bool) {
	i, found := slices.BinarySearchFunc(s, name, func(f Field, name string) int { return cmp.Compare(f.Name, name) })
	if !found {
		return Field{}, false
	}
	return s[i], true
}

// LookupPath returns the field with a name, or a field for a member of nested objects. Such a member has
// a name with dots, such as address.city, in which the first part names a property whose values are
// objects. The member can be of any kind.
func (s Schema) LookupPath(name string) (Field, bool) {
	if f, ok := s.Lookup(name); ok {
		return f, true
	}
	outer, _, nested := strings.Cut(name, ".")
	f, ok := s.Lookup(outer)
	return Field{Name: name, Kind: Any}, ok && nested && f.Kind == Any
}

// typeOf returns the type of the member of that name, a string in compact form,
// or Null where the schema has none.
func (s Schema) typeOf(name []byte) Kind {
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
		return s[low].Kind
	}
	return Null
}

func byName(a, b Field) int { return cmp.Compare(a.Name, b.Name) }
