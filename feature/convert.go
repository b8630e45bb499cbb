package feature

import (
	"bytes"
	"fmt"
	"time"

	"quadrille/internal/instant"
	"quadrille/internal/jsontext"
)

func typeError(format string, args ...any) error { return Faultf(ErrType, format, args...) }

// Convert appends a compact object whose members have the types of the schema:
//
//   - A number is made of text that spells one as JSON does, but it may lack the
//     digits on one side of its point.
//   - A boolean is made of true, yes, 1 or false, no, 0 as text, in any case, and of the numbers
//     1 and 0.
//   - A time of RFC 3339 is written in UTC with the fewest digits, a date as its
//     first instant. Digits beyond nanoseconds are cut.
//   - Text is made of numbers and booleans, as JSON writes them.
//   - Texts are made of text by splitting it at semicolons. Space around a part
//     goes, and so do empty parts. A number or a boolean becomes one text.
//
// A member is left out in three cases: its text is empty and its field's type is neither text nor
// any; its text splits into nothing; or it is an empty list and its field is no list. Null stays,
// and so do members that the schema lacks.
func (s Schema) Convert(dst, object []byte) ([]byte, error) {
	out := append(dst, '{')
	for name, value := range Members(object) {
		t := s.typeOf(name)
		if t == Null || t == Any || string(value) == "null" {
			out = appendMember(out, name, value)
			continue
		}
		if t != Texts && string(value) == "[]" {
			continue // the Learner takes it for a value of any type
		}
		before := len(out)
		out = appendMember(out, name, nil)
		valueStart := len(out)
		var reason string
		if out, reason = appendTyped(out, value, t); reason != "" {
			return dst, typeError("%s: %s", TextOf(name), reason)
		}
		if len(out) == valueStart {
			out = out[:before]
		}
	}
	out = append(out, '}')
	if n := len(out) - len(dst); n > MaxPropertiesBytes {
		return dst, badProperties("%d bytes as the schema has them: leave out long values, at most %d bytes can stay", n, MaxPropertiesBytes)
	}
	return out, nil
}

// appendTyped appends the value in a type, or nothing if it is empty, or
// returns why it cannot.
func appendTyped(dst, value []byte, t Kind) (out []byte, reason string) {
	if t == Texts {
		return appendTexts(dst, value)
	}
	if t == Text {
		switch {
		case IsText(value):
			return append(dst, value...), ""
		case IsNumber(value) || IsBoolean(value):
			return append(append(append(dst, '"'), value...), '"'), ""
		}
		return dst, fmt.Sprintf("%.40s is no text: write it in quotation marks, or declare the field any", value)
	}
	if t == Number && IsNumber(value) || t == Boolean && IsBoolean(value) {
		return append(dst, value...), ""
	}
	text := value
	switch {
	case IsText(value):
		text = bytes.TrimSpace(TextOf(value))
	case t != Boolean:
		return dst, noValue(value, t)
	}
	if len(text) == 0 {
		return dst, ""
	}
	switch t {
	case Number:
		if out, ok := appendTextNumber(dst, text); ok {
			return out, ""
		}
	case Boolean:
		if b, ok := textFlag(text); ok {
			if b {
				return append(dst, "true"...), ""
			}
			return append(dst, "false"...), ""
		}
	case Time:
		if when, ok := instant.Parse(text); ok {
			return appendTime(dst, when), ""
		}
	}
	if IsText(value) {
		value = jsontext.AppendString(nil, string(text))
	}
	return dst, noValue(value, t)
}

// textFlag does the same as textBoolean, and also accepts the other words for yes and no that a
// declared boolean may have.
func textFlag(text []byte) (value, ok bool) {
	switch {
	case len(text) == 1 && (text[0] == '0' || text[0] == '1'):
		return text[0] == '1', true
	case bytes.EqualFold(text, []byte("yes")):
		return true, true
	case bytes.EqualFold(text, []byte("no")):
		return false, true
	}
	return textBoolean(text)
}

// noValue returns why a value, in compact form, is not of a type.
func noValue(value []byte, t Kind) string {
	switch t {
	case Number:
		if IsText(value) {
			if text := TextOf(value); hasDecimalComma(text) {
				return fmt.Sprintf("%.40s has a decimal comma: write a point, as in %.40s", value, bytes.Replace(text, []byte{','}, []byte{'.'}, 1))
			}
		}
		return fmt.Sprintf("%.40s is no number: write digits as in 12.5, without leading zeros, or declare the field text", value)
	case Boolean:
		return fmt.Sprintf("%.40s is neither true nor false: write one of them, yes, no, 1 or 0, or declare the field text", value)
	default:
		return fmt.Sprintf("%.40s is no time: write one as in 2026-01-31T12:00:00Z, or a date as in 2026-01-31, or declare the field text", value)
	}
}

func appendTexts(dst, value []byte) (out []byte, reason string) {
	switch {
	case IsNumber(value) || IsBoolean(value):
		return append(append(append(dst, `["`...), value...), `"]`...), ""
	case IsText(value):
		out = append(dst, '[')
		start := len(out)
		for part := range bytes.SplitSeq(TextOf(value), []byte{';'}) {
			if part = bytes.TrimSpace(part); len(part) == 0 {
				continue
			}
			out = jsontext.AppendString(jsontext.Next(out), string(part))
		}
		if len(out) == start {
			return dst, ""
		}
		return append(out, ']'), ""
	case IsList(value):
		out = append(dst, '[')
		for element := range Elements(value) {
			if out, reason = appendTyped(jsontext.Next(out), element, Text); reason != "" {
				return dst, reason
			}
		}
		return append(out, ']'), ""
	}
	return dst, fmt.Sprintf("%.40s is no list of text: write one as in [\"a\",\"b\"], or declare the field any", value)
}

// appendTime writes a time as a JSON string: RFC 3339 in UTC, with the fewest
// digits. Without their Z, such texts sort in the order of their times.
func appendTime(dst []byte, t time.Time) []byte {
	return append(t.AppendFormat(append(dst, '"'), time.RFC3339Nano), '"')
}
