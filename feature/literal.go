package feature

import "time"

// Truth is a value of three-valued logic. NOT t is Yes − t. AND is the least and OR
// the greatest.
type Truth int8

const (
	No Truth = iota
	Unknown
	Yes
)

func truthOf(b bool) Truth {
	if b {
		return Yes
	}
	return No
}

// Literal is a value that a Test compares with. It has one type, independent of any schema.
type Literal struct{ operand operand }

// TextLiteral returns the literal of a text.
func TextLiteral(text string) Literal { return Literal{textOperand(text)} }

// BooleanLiteral returns the literal of a boolean.
func BooleanLiteral(v bool) Literal { return Literal{booleanOperand(v)} }

// TimeLiteral returns the literal of an instant. It is compared with texts that are times.
func TimeLiteral(t time.Time) Literal {
	return Literal{operand{is: kindTime, time: t, compact: appendTime(nil, t)}}
}

// NumberLiteral returns the literal of a number in decimal digits, with or without a point and an
// exponent.
func NumberLiteral(digits string) Literal {
	d := parseDecimal([]byte(digits))
	return Literal{operand{is: kindNumber, number: d, compact: d.appendTo(nil)}}
}

// These are operators that a Term does not have.
const (
	OpEach = "each" // each of the values is in the list; a value that is no list is a list of one
	OpOnly = "only" // every element of the list is one of the values
	opLike = "like" // a text of the list is of the pattern
)
