package cql2

import (
	"quadrille/feature"
)

type kind uint8

const (
	kindText kind = iota
	kindNumber
	kindBoolean
	kindDate
	kindTimestamp
)

// value is a literal of a filter.
type value struct {
	kind    kind
	text    string // of text, folded if it stands in CASEI; of an instant, as it is written; of a number, its one spelling
	fold    bool   // it stands in CASEI
	truth   bool
	literal feature.Literal
}

func textValue(text string) value { return value{text: text, literal: feature.TextLiteral(text)} }

func booleanValue(truth bool) value {
	return value{kind: kindBoolean, truth: truth, literal: feature.BooleanLiteral(truth)}
}

func numberValue(digits string) value {
	v := value{kind: kindNumber}
	v.literal, v.text = feature.NumberLiteral(digits)
	return v
}

func (v *value) instant() bool { return v.kind == kindDate || v.kind == kindTimestamp }
