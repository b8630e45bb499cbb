package feature

import (
	"errors"
	"slices"
	"strings"
)

// These are bounds of filters.
const (
	MaxTerms      = 20
	MaxTermValues = 50
	MaxTermBytes  = 256 // of one value
)

// ErrFilter is matched by errors about invalid filters.
var ErrFilter = errors.New("bad filter")

func badFilter(format string, args ...any) error { return Faultf(ErrFilter, format, args...) }

// These are operators of terms.
const (
	OpEquals         = ""       // the value equals one of Values; if it is a list, it contains one of them
	OpFalsy          = "not"    // the member is absent, null, false, empty text or an empty list
	OpDiffers        = "ne"     // the member is present and equals none of Values; if it is a list, it contains none of them
	OpLess           = "lt"     // the value is less than the one of Values
	OpLessOrEqual    = "lte"    //
	OpGreater        = "gt"     //
	OpGreaterOrEqual = "gte"    //
	OpPrefix         = "prefix" // the text, or one of a list, begins with one of Values; case counts, unless Field.Upper is set
	OpHas            = "has"    // all members that Values name are present; Name is empty
	OpLacks          = "lacks"  // no member that Values name is present; Name is empty
)

// suffixes lists the operators with which a key may end.
var suffixes = []string{OpDiffers, OpLess, OpLessOrEqual, OpGreater, OpGreaterOrEqual, OpPrefix}

// Term is one condition on the properties of a feature. A member that is null counts as absent
// everywhere. An absent member fulfils only "not" and "lacks".
type Term struct {
	Name   string
	Op     string
	Values []string
}

// ParseTerm parses a term in the syntax of a query:
//
//	category=cafe,bakery   one of them
//	category.ne=cafe       any other
//	price.lt=20            also lte, gt, gte
//	name.prefix=Caf
//	address.city=Bern      the member city of an object, if no property has the whole name
//	-closed=               not true
//	has=phone,email        both present
//	lacks=website
//
//	p.price.lt=20         the property price.lt, see PropertyPrefix
//
// Commas separate values. A comma or backslash after a backslash is a part of the value. The
// meaning of a key without the prefix does not depend on the existing properties: a property that
// only one feature has must not change it.
func (s Schema) ParseTerm(key, values string) (Term, error) {
	if len(values) > MaxTermValues*(2*MaxTermBytes+1) {
		return Term{}, badFilter("%.40s: %d bytes of values: give at most %d values of at most %d bytes", key, len(values),
			MaxTermValues, MaxTermBytes)
	}
	key, prefixed := strings.CutPrefix(key, PropertyPrefix)
	t := Term{Name: key}
	if _, known := s.Lookup(key); !prefixed || !known {
		dot := strings.LastIndexByte(key, '.')
		switch {
		case !prefixed && (key == OpHas || key == OpLacks):
			t.Name, t.Op = "", key
		case !prefixed && strings.HasPrefix(key, "-"):
			if values != "" {
				return Term{}, badFilter("%.40s=%.40s: give it no value; %.40s.ne=%.40s asks for another value, and p.%.40s=%.40s "+
					"for a property of that name", key, values, key[1:], values, key, values)
			}
			return Term{Name: key[1:], Op: OpFalsy}, nil
		case dot >= 0 && slices.Contains(suffixes, key[dot+1:]):
			t.Name, t.Op = key[:dot], key[dot+1:]
		}
	}
	t.Values = SplitValues(values)
	if f, _ := s.Lookup(t.Name); f.Upper {
		for i, v := range t.Values {
			t.Values[i] = strings.ToUpper(v)
		}
	}
	return t, nil
}

// PropertyPrefix before a property's name reaches any property, even if it has the name of a
// parameter or ends like an operator: if a property has the whole name after the prefix, no
// operator is read from it.
const PropertyPrefix = "p."

// mixed returns advice about values of several types, or "" if t is a single type.
func mixed(t Kind) string {
	if t != Any {
		return ""
	}
	return ", as its values are of several types or lists or objects: correct those that are not meant, or declare the " +
		"type in the schema of the collection"
}

// SplitValues splits at commas that have no backslash before them. It removes a
// backslash before a comma or a backslash.
func SplitValues(s string) []string {
	var values []string
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == ',':
			values = append(values, b.String())
			b.Reset()
		case s[i] == '\\' && i+1 < len(s) && (s[i+1] == ',' || s[i+1] == '\\'):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(s[i])
		}
	}
	return append(values, b.String())
}
