package cql2

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ParseJSON reads a filter in CQL2 JSON: operators are those of CQL2 text, by their names in the standard, and S_DWITHIN is
// {"op":"s_dwithin","args":[{"property":"geometry"},GEOMETRY,500,"meters"]}. The result is that of Parse for the same filter in
// text, and so are the bounds. Its error is a [*SyntaxError].
func ParseJSON(text string) (*Filter, error) {
	if err := check(text); err != nil {
		return nil, err
	}
	r := jsonReader{Decoder: json.NewDecoder(strings.NewReader(text))}
	r.UseNumber()
	root, err := r.value(0)
	if err == nil {
		if _, end := r.Token(); !errors.Is(end, io.EOF) {
			err = refuse(int(r.InputOffset()), "something follows the filter; end it with the object")
		}
	}
	var w tokenWriter
	if err == nil {
		err = w.expression(root)
	}
	if err != nil {
		return nil, err
	}
	return finish(&parser{lexer: lexer{input: text, tokens: w.tokens}})
}

// jsonValue is a value of JSON: nil, a bool, a json.Number, a string, a jsonList or a jsonObject.
type jsonValue struct {
	offset int // of the end of its first token
	is     any
}

type (
	jsonList   []jsonValue
	jsonObject map[string]jsonValue
)

type jsonReader struct{ *json.Decoder }

// maxJSONDepth bounds lists and objects within each other. An operator is an object and a list.
const maxJSONDepth = 2*MaxDepth + 10

func (r *jsonReader) value(depth int) (v jsonValue, err error) {
	t, err := r.Token()
	v.offset = int(r.InputOffset())
	switch {
	case err != nil:
		detail := "it ends too early"
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			detail = syntax.Error()
		}
		return v, refuse(v.offset, `the filter is no JSON: %s; write an object such as {"op":"=","args":[{"property":"name"},"Oak"]}`, detail)
	case depth > maxJSONDepth:
		return v, refuse(v.offset, "more than %d lists and objects within each other; leave out those that change nothing", maxJSONDepth)
	}
	switch t {
	case json.Delim('['):
		list := jsonList{}
		for r.More() {
			item, err := r.value(depth + 1)
			if err != nil {
				return v, err
			}
			list = append(list, item)
		}
		v.is = list
	case json.Delim('{'):
		object := jsonObject{}
		for r.More() {
			name, err := r.value(depth + 1)
			if err != nil {
				return v, err
			}
			key, _ := name.is.(string)
			if _, twice := object[key]; twice {
				return v, refuse(name.offset, "the member %s is there twice; write it once", short(key))
			}
			if object[key], err = r.value(depth + 1); err != nil {
				return v, err
			}
		}
		v.is = object
	default:
		v.is = t
		return v, nil
	}
	if _, err := r.Token(); err != nil { // the end of the list or object
		return v, refuse(int(r.InputOffset()), "the filter is no JSON: a list or an object does not end; close it")
	}
	return v, nil
}

// tokenWriter writes a filter as the tokens of CQL2 text.
type tokenWriter struct{ tokens []token }

func (w *tokenWriter) put(offset int, kind tokenKind, texts ...string) {
	for _, text := range texts {
		w.tokens = append(w.tokens, token{kind: kind, offset: offset, text: text})
	}
}

// infix has the words of text for operators between two operands, besides comparisons, which have the same sign.
var infix = map[string]string{"like": "LIKE", "in": "IN"}

// calls has the operators that are functions in text, with the least and the most arguments.
var calls = map[string][2]int{
	"casei": {1, 1}, "accenti": {1, 1}, "s_intersects": {2, 2}, "s_disjoint": {2, 2}, "s_within": {2, 2}, "s_dwithin": {3, 4},
	"a_contains": {2, 2}, "a_containedBy": {2, 2}, "a_equals": {2, 2}, "a_overlaps": {2, 2},
}

// expression writes what is no list.
func (w *tokenWriter) expression(v jsonValue) error {
	switch is := v.is.(type) {
	case bool:
		w.put(v.offset, tokenName, strings.ToUpper(strconv.FormatBool(is)))
	case string:
		w.put(v.offset, tokenText, is)
	case json.Number:
		number, err := strconv.ParseFloat(is.String(), 64)
		if err != nil {
			return refuse(v.offset, "the number %s is too large; give one within ±1.7e308", short(is.String()))
		}
		w.tokens = append(w.tokens, token{kind: tokenNumber, offset: v.offset, text: is.String(), number: number})
	case nil:
		w.put(v.offset, tokenName, "NULL")
	case jsonObject:
		return w.object(v.offset, is)
	default:
		return refuse(v.offset, "a list is not expected here; write an object, or lists as arguments of in and of a_contains")
	}
	return nil
}

func (w *tokenWriter) object(offset int, o jsonObject) error {
	one := func(member string) (text string, ok bool) {
		text, ok = o[member].is.(string)
		return text, ok && len(o) == 1
	}
	if name, ok := one("property"); ok && name != "" {
		w.put(offset, tokenQuoted, name)
		return nil
	}
	for member, function := range map[string]string{"date": "DATE", "timestamp": "TIMESTAMP"} {
		if text, ok := one(member); ok {
			w.put(offset, tokenName, function)
			w.put(offset, tokenSign, "(")
			w.put(offset, tokenText, text)
			w.put(offset, tokenSign, ")")
			return nil
		}
	}
	if box, ok := o["bbox"]; ok && len(o) == 1 {
		w.put(offset, tokenName, "BBOX")
		return w.list(box, w.expression)
	}
	if _, ok := o["type"].is.(string); ok && o["op"].is == nil {
		return w.geometry(jsonValue{offset, o})
	}
	op, isOp := o["op"].is.(string)
	args, listed := o["args"].is.(jsonList)
	if !isOp || !listed || len(o) != 2 {
		return refuse(offset, `an object is none of {"op":…,"args":[…]}, {"property":…}, {"date":…}, {"timestamp":…}, {"bbox":…} and a `+
			"geometry; write one of these")
	}
	return w.operation(o["op"].offset, op, args)
}

func (w *tokenWriter) operation(offset int, op string, args jsonList) error {
	word, kind := infix[op], tokenName
	if _, is := comparisons[op]; is {
		word, kind = op, tokenSign
	}
	count, call := calls[op]
	counted := func(least, most int) error {
		if len(args) < least || len(args) > most {
			return refuse(offset, "%s has %d arguments; give it %d", op, len(args), least)
		}
		return nil
	}
	switch {
	case op == "and" || op == "or":
		w.put(offset, tokenSign, "(")
		for i, arg := range args {
			if i > 0 {
				w.put(offset, tokenName, strings.ToUpper(op))
			}
			if err := w.expression(arg); err != nil {
				return err
			}
		}
		w.put(offset, tokenSign, ")")
		return counted(1, MaxNodes)
	case op == "not":
		if err := counted(1, 1); err != nil {
			return err
		}
		w.put(offset, tokenName, "NOT")
		w.put(offset, tokenSign, "(")
		err := w.expression(args[0])
		w.put(offset, tokenSign, ")")
		return err
	case op == "isNull":
		if err := counted(1, 1); err != nil {
			return err
		}
		err := w.expression(args[0])
		w.put(offset, tokenName, "IS", "NULL")
		return err
	case op == "between":
		if err := counted(3, 3); err != nil {
			return err
		}
		for i, arg := range args {
			w.put(offset, tokenName, [][]string{nil, {"BETWEEN"}, {"AND"}}[i]...)
			if err := w.expression(arg); err != nil {
				return err
			}
		}
		return nil
	case word != "":
		if err := counted(2, 2); err != nil {
			return err
		}
		if err := w.expression(args[0]); err != nil {
			return err
		}
		if w.put(offset, kind, word); op == "in" {
			return w.list(args[1], w.expression)
		}
		return w.expression(args[1])
	case call:
		if err := counted(count[0], count[1]); err != nil {
			return err
		}
		w.put(offset, tokenName, strings.ToUpper(op))
		return w.list(jsonValue{offset, args}, func(v jsonValue) error {
			if _, is := v.is.(jsonList); is && strings.HasPrefix(op, "a_") {
				return w.list(v, w.expression)
			}
			return w.expression(v)
		})
	}
	return refuse(offset, "%s", unsupported(op))
}

// list writes a list in parentheses, with commas between its items.
func (w *tokenWriter) list(v jsonValue, item func(v jsonValue) error) error {
	list, ok := v.is.(jsonList)
	if !ok {
		return refuse(v.offset, "a list must stand here; write it in [ and ]")
	}
	w.put(v.offset, tokenSign, "(")
	for i, of := range list {
		if i > 0 {
			w.put(of.offset, tokenSign, ",")
		}
		if err := item(of); err != nil {
			return err
		}
	}
	w.put(v.offset, tokenSign, ")")
	return nil
}

// geometry writes a geometry of GeoJSON in WKT.
func (w *tokenWriter) geometry(v jsonValue) error {
	o, _ := v.is.(jsonObject)
	name, _ := o["type"].is.(string)
	if !slices.Contains(geometries[2:], strings.ToUpper(name)) {
		return refuse(v.offset, "%q is no geometry; write one of GeoJSON, such as a Polygon, or {\"bbox\":[8,47,9,48]}", short(name))
	}
	w.put(v.offset, tokenName, strings.ToUpper(name))
	switch name {
	case "GeometryCollection":
		return w.list(o["geometries"], w.geometry)
	case "Point": // its position is a list of one
		return w.list(jsonValue{v.offset, jsonList{o["coordinates"]}}, w.coordinates)
	}
	return w.list(o["coordinates"], w.coordinates)
}

// coordinates writes a position, or a list of such.
func (w *tokenWriter) coordinates(v jsonValue) error {
	list, _ := v.is.(jsonList)
	for _, n := range list {
		if _, is := n.is.(json.Number); !is {
			return w.list(v, w.coordinates)
		}
		if err := w.expression(n); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		return refuse(v.offset, "a position must stand here; write [longitude, latitude]")
	}
	return nil
}
