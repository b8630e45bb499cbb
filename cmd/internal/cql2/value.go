package cql2

import "quadrille/feature"

type kind uint8

const (
	kindText kind = iota
	kindNumber
	kindBoolean
	kindInstant
)

// value is a literal of a filter.
type value struct {
	kind    kind
	text    string // of text, folded if it stands in CASEI
	truth   bool
	literal feature.Literal
}

func textValue(text string) value { return value{text: text, literal: feature.TextLiteral(text)} }

func booleanValue(truth bool) value {
	return value{kind: kindBoolean, truth: truth, literal: feature.BooleanLiteral(truth)}
}

func numberValue(digits string) value {
	return value{kind: kindNumber, literal: feature.NumberLiteral(digits)}
}
