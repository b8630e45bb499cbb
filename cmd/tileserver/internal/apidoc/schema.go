package apidoc

import (
	"cmp"
	"encoding"
	"encoding/json"
	"go/token"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// schemas makes components of Go types. Some of the types are marshalled; the others describe
// answers that are written by hand. Tags of a field _ are about the struct. An exported struct with
// such a field is a component. Its name is that in the tag name, or else the type's. Other structs
// are written out where they are used. Tags of other fields say what their types cannot:
//
//	json    its name; with omitempty or omitzero it may be missing, and so may the members of
//	        a struct that is embedded by a pointer
//	doc     its description
//	schema  bounds and the like, see constrain
type schemas struct {
	all   object
	types map[string]reflect.Type // of components
	refs  map[string]reflect.Type // types with a tag ref, by the component that it names
	err   error                   // the first
}

// check returns the faults of the types, once all have been described.
func (s *schemas) check() error {
	for name, t := range s.refs {
		if s.types[name] == nil {
			s.fail(t, "there is no component %s", name)
		}
	}
	return s.err
}

func (s *schemas) fail(t reflect.Type, format string, args ...any) {
	s.err = cmp.Or(s.err, bad("type %s: "+format, append([]any{t}, args...)...))
}

// of returns the schema of a type; for a component it returns a reference.
func (s *schemas) of(t reflect.Type) object {
	switch kind := t.Kind(); {
	case kind == reflect.Pointer:
		return s.of(t.Elem())
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[json.RawMessage](), kind == reflect.Interface:
		return object{}
	case kind == reflect.String, t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}
	case t.Implements(reflect.TypeFor[json.Marshaler]()):
		s.fail(t, "it marshals itself: describe it by another type")
	case kind == reflect.Bool:
		return object{"type": "boolean"}
	case kind >= reflect.Int && kind <= reflect.Uint64:
		return object{"type": "integer"}
	case kind == reflect.Float64:
		return object{"type": "number"}
	case kind == reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case kind == reflect.Array:
		return object{"type": "array", "items": s.of(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case kind == reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case kind == reflect.Struct:
		return s.component(t)
	default:
		s.fail(t, "there is no schema of a %s", kind)
	}
	return object{}
}

func (s *schemas) component(t reflect.Type) object {
	about, ok := t.FieldByName("_")
	name := cmp.Or(about.Tag.Get("name"), t.Name())
	if !ok || len(about.Index) > 1 || !token.IsExported(name) { // > 1: the field is of an embedded struct
		return s.members(t)
	}
	if was := s.types[name]; was == nil {
		s.types[name] = t // before its members: they may refer to it
		s.all[name] = s.members(t)
	} else if was != t {
		s.fail(t, "%s is called %s, too", was, name)
	}
	return ref("schemas", name)
}

// members returns the schema of a struct, written out. A member of the struct itself hides a member
// of the same name in an embedded struct, as in encoding/json.
func (s *schemas) members(t reflect.Type) object {
	properties, required := object{}, []string{}
	about, embedded := reflect.StructField{}, []reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch optional := strings.HasPrefix(options, "omit"); {
		case f.Name == "_":
			about = f
		case f.Anonymous && name == "":
			embedded = append(embedded, f.Type)
		case f.IsExported() && name != "-":
			m := s.of(f.Type)
			if optional && f.Type.Kind() == reflect.Bool {
				// For a const of booleans, generators of clients write code that does not compile.
				m["description"] = "False is left out."
			}
			if name = cmp.Or(name, f.Name); !optional || f.Tag.Get("schema") == "required" {
				required = append(required, name)
			}
			properties[name] = s.constrain(t, &f, m)
		}
	}
	for _, e := range embedded {
		always := e.Kind() != reflect.Pointer
		if !always {
			e = e.Elem()
		}
		inner := s.members(e)
		of, _ := inner["properties"].(object)
		names, _ := inner["required"].([]string)
		for name, m := range of {
			if properties[name] != nil {
				continue
			}
			if properties[name] = m; always && slices.Contains(names, name) {
				required = append(required, name)
			}
		}
		slices.Sort(required)
	}
	o := s.constrain(t, &about, object{"type": "object", "properties": properties, "required": required})
	if len(properties) == 0 {
		delete(o, "properties") // an object with any members
	}
	if names, _ := o["required"].([]string); len(names) == 0 {
		delete(o, "required")
	}
	return o
}

// constrain sets in a schema the keywords from the tags of a field:
//
//	min= max= format= pattern= const= enum=a|b type=a|b example=a|b minItems= maxItems=
//	ref=        the component of that name instead
//	required    whatever the tag json says
//	without=a|b of _: it has not these members of structs that are embedded
//	open=a|b    of _: it has further members, of these types
//	is          of _: it is no object, but one of its members
//
// A constraint that cannot apply to a list or a map applies to its elements. A pattern comes last,
// since it may have commas.
func (s *schemas) constrain(t reflect.Type, f *reflect.StructField, o object) object {
	in := o
	for in["items"] != nil || in["additionalProperties"] != nil {
		in, _ = cmp.Or(in["items"], in["additionalProperties"]).(object)
	}
	for key, text := range constraints(f.Tag.Get("schema")) {
		words := strings.Split(text, "|")
		values := make([]any, len(words))
		for i, word := range words {
			if values[i] = word; in["type"] != "string" {
				_ = json.Unmarshal([]byte(word), &values[i]) // words that are not JSON are strings
			}
		}
		properties, _ := o["properties"].(object)
		required, _ := o["required"].([]string)
		switch key {
		case "required": // members handles it
		case "min", "max":
			in[key+"imum"] = values[0]
		case "format", "pattern":
			in[key] = text
		case "const":
			in[key] = values[0]
			delete(in, "type")
		case "enum":
			in[key] = values
		case "example":
			in["examples"] = values
		case "type":
			delete(in, "type")
			maps.Copy(in, eitherType(words))
		case "minItems", "maxItems":
			o[key] = json.Number(text)
		case "ref":
			o, s.refs[text] = ref("schemas", text), t
		case "without":
			for _, name := range words {
				if properties[name] == nil {
					s.fail(t, "it has no member %s anyway", name)
				}
				delete(properties, name)
			}
			o["required"] = slices.DeleteFunc(required, func(name string) bool { return properties[name] == nil })
		case "open":
			o["additionalProperties"] = object{}
			if text != "" {
				o["additionalProperties"] = eitherType(words)
			}
		case "is":
			var either []any
			for _, name := range required {
				either = append(either, properties[name])
			}
			if o = (object{"anyOf": either}); len(either) == 1 {
				o = either[0].(object)
			}
		default:
			s.fail(t, "field %s: the tag schema has no %q", f.Name, key)
		}
	}
	if text := f.Tag.Get("doc"); text != "" {
		if types, _ := o["description"].(string); types != "" && o["$ref"] == nil {
			text += " " + types
		}
		o["description"] = text
	}
	return o
}

// constraints yields the keys of a tag with the text after their =. A pattern extends to the end of
// the tag.
func constraints(tag string) iter.Seq2[string, string] {
	return func(yield func(key, text string) bool) {
		for tag != "" {
			part, rest, _ := strings.Cut(tag, ",")
			if strings.HasPrefix(part, "pattern=") {
				part, rest = tag, ""
			}
			key, text, _ := strings.Cut(part, "=")
			if tag = rest; !yield(key, text) {
				return
			}
		}
	}
}

// eitherType returns a schema of several types. Generators of clients understand a list of types
// only if it is one type and null. OpenAPI Generator's client for Java does not compile if an
// array is one of several types, so those are named in the description alone.
func eitherType(words []string) object {
	if len(words) == 1 {
		return object{"type": words[0]}
	}
	if slices.Contains(words, "array") {
		return object{"description": "One of: " + strings.Join(words, ", ") + "."}
	}
	if slices.Contains(words, "null") {
		return object{"type": words}
	}
	types := make([]any, len(words))
	for i, word := range words {
		types[i] = object{"type": word}
	}
	return object{"anyOf": types}
}
