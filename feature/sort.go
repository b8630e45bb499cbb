package feature

import (
	"math"
	"strconv"
	"strings"

	"quadrille/internal/instant"
)

// Sort is the order of the features of a page.
type Sort struct {
	Field      Field // of numbers, times or booleans; without a name the order is that of the rows
	Descending bool  // greatest first
}

// ParseSort reads an order: the name of a property, with - before it for the greatest first. After
// PropertyPrefix everything is the name of the property.
func (s Schema) ParseSort(text string) (Sort, error) {
	name, down := strings.CutPrefix(text, "-")
	if behind, ok := strings.CutPrefix(name, PropertyPrefix); ok {
		name = behind
	}
	field, err := s.known(name)
	if err == nil && !Sortable(field.Kind) {
		err = badFilter("sort by a property of numbers, times or booleans: %.40q has the type %s%s", name, field.Kind, mixed(field.Kind))
	}
	return Sort{Field: field, Descending: down}, err
}

// SortKey returns a number that sorts as a field's values do. ok is true for these values: numbers
// as float64, times to 100 nanoseconds, false before true. Values closer than that can have the
// same key.
func SortKey(object []byte, f Field) (key uint64, ok bool) {
	value, ok := Member(object, f.Name)
	if !ok {
		return 0, false
	}
	switch f.Kind.ordinary() {
	case Number:
		if !IsNumber(value) {
			return 0, false
		}
		v, err := strconv.ParseFloat(string(value), 64)
		if err != nil {
			return 0, false
		}
		key = math.Float64bits(v)
		if key>>63 != 0 {
			return ^key, true
		}
		return key | 1<<63, true
	case Boolean:
		if string(value) == "true" {
			return 2, true
		}
		return 1, string(value) == "false" // 0 would leave no room after it in reverse order
	case Time:
		if !IsText(value) {
			return 0, false
		}
		t, ok := instant.Parse(value[1 : len(value)-1])
		if !ok {
			return 0, false
		}
		// The first second of the year 0 is 0. A key of nanoseconds would end within 600 years.
		return uint64(t.Unix()+62_167_219_200)*1e7 + uint64(t.Nanosecond()/100), true
	}
	return 0, false
}

// Rank returns the rank of an object in the order. The lowest comes first, and objects without
// the property last.
func (s Sort) Rank(object []byte) uint64 {
	key, ok := SortKey(object, s.Field)
	switch {
	case !ok:
		return math.MaxUint64
	case s.Descending:
		key = ^key
	}
	return min(key, math.MaxUint64-1)
}

// Sortable reports whether SortKey knows an order of the values of a type.
func Sortable(t Kind) bool { return t.ordinary() == Number || t == Boolean || t == Time }
