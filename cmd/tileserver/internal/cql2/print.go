package cql2

import (
	"slices"
	"strings"
)

// String returns the filter as text: keywords are in capitals, properties are on the left,
// and parentheses stand only where they are needed. [Parse] reads it as the same filter,
// unless [Equal] was given text with a backslash at the end or before a quote, which CQL2
// cannot write.
func (f *Filter) String() string { return string(f.root.append(nil)) }

func (n *node) append(dst []byte) []byte {
	switch n.op {
	case opTrue:
		return append(dst, "TRUE"...)
	case opFalse:
		return append(dst, "FALSE"...)
	case opAnd, opOr:
		word := " AND "
		if n.op == opOr {
			word = " OR "
		}
		for i := range n.kids {
			if i > 0 {
				dst = append(dst, word...)
			}
			dst = n.kids[i].appendIn(dst, n.op == opAnd && n.kids[i].op == opOr)
		}
		return dst
	case opNot:
		kid := &n.kids[0]
		return kid.appendIn(append(dst, "NOT "...), kid.op == opAnd || kid.op == opOr)
	case opIntersects:
		dst = append(appendName(append(dst, "S_INTERSECTS("...), n.name), ", BBOX("...)
		return append(append(dst, n.box.String()...), "))"...)
	case opArray:
		dst = append(append(dst, arrayFunctions[n.array]...), '(')
		return append(n.appendValues(append(appendName(dst, n.name), ", "...)), ')')
	}
	if n.fold {
		dst = append(appendName(append(dst, "CASEI("...), n.name), ')')
	} else {
		dst = appendName(dst, n.name)
	}
	switch n.op {
	case opCompare:
		dst = append(append(append(dst, ' '), comparisons[n.compare]...), ' ')
		return n.values[0].append(dst)
	case opLike:
		return n.values[0].append(append(dst, " LIKE "...))
	case opBetween:
		dst = n.values[0].append(append(dst, " BETWEEN "...))
		return n.values[1].append(append(dst, " AND "...))
	case opIn:
		return n.appendValues(append(dst, " IN "...))
	default: // opNull
		return append(dst, " IS NULL"...)
	}
}

func (n *node) appendValues(dst []byte) []byte {
	dst = append(dst, '(')
	for i := range n.values {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = n.values[i].append(dst)
	}
	return append(dst, ')')
}

func (n *node) appendIn(dst []byte, parentheses bool) []byte {
	if !parentheses {
		return n.append(dst)
	}
	return append(n.append(append(dst, '(')), ')')
}

// appendName appends a property. A name that could be read as anything else has quotes.
func appendName(dst []byte, name string) []byte {
	first := []rune(name)
	plain := len(first) > 0 && startsName(first[0]) && nameLength(name) == len(name) &&
		!slices.ContainsFunc(reserved, func(word string) bool { return strings.EqualFold(word, name) })
	if plain {
		return append(dst, name...)
	}
	return appendQuoted(dst, name, `"`)
}

func appendQuoted(dst []byte, text, quote string) []byte {
	dst = append(dst, quote...)
	dst = append(dst, strings.ReplaceAll(text, quote, quote+quote)...)
	return append(dst, quote...)
}

func (v *value) append(dst []byte) []byte {
	var function string
	switch {
	case v.kind == kindNumber:
		return append(dst, v.text...)
	case v.kind == kindBoolean && v.truth:
		return append(dst, "TRUE"...)
	case v.kind == kindBoolean:
		return append(dst, "FALSE"...)
	case v.kind == kindDate:
		function = "DATE"
	case v.kind == kindTimestamp:
		function = "TIMESTAMP"
	case v.fold:
		function = "CASEI"
	default:
		return appendQuoted(dst, v.text, "'")
	}
	dst = append(append(dst, function...), '(')
	return append(appendQuoted(dst, v.text, "'"), ')')
}
