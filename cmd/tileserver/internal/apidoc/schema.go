package apidoc

import (
	"cmp"
	"encoding"
	"encoding/json"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// schemas makes components of Go types: of those that are marshalled, and of others that stand
// for what is written by hand. Tags of a field say what its type cannot:
//
//	json    its name; with omitempty or omitzero it may be missing, and so may the members of
//	        a struct that is embedded by a pointer
//	doc     its description
//	schema  bounds and the like, see constrain
//
// A struct is a component if it has a field _, whose tags are about the struct: doc, schema, and
// name where it is not the type's. Others are written out where they are used. What is no struct
// of members has a method Schema, and is a component if its name is exported. Values of Go types
// in what that returns stand for their schemas.
type schemas struct {
	all   object
	types map[string]reflect.Type // of components
	err   error                   // the first
}

type schemer interface{ Schema() object }

// schemasOf returns the components of types, and those that they refer to.
func schemasOf(types []any) (all map[string]object, err error) {
	s := schemas{all: object{}, types: map[string]reflect.Type{}}
	for _, v := range types {
		if t := reflect.TypeOf(v); s.of(t)["$ref"] == nil {
			s.fail(t, "it is no component: give it a field _ with its description")
		}
	}
	raw, err := json.Marshal(s.all) // lists and numbers are to be as those that are read
	if err = cmp.Or(s.err, err); err == nil {
		err = json.Unmarshal(raw, &all)
	}
	return all, err
}

func (s *schemas) fail(t reflect.Type, format string, args ...any) {
	s.err = cmp.Or(s.err, bad("type %s: "+format, append([]any{t}, args...)...))
}

// of is the schema of a type, of a component a reference.
func (s *schemas) of(t reflect.Type) object {
	name := ""
	if t.Implements(reflect.TypeFor[schemer]()) {
		if token.IsExported(t.Name()) {
			name = t.Name()
		}
	} else if about := aboutOf(t); about != nil {
		name = cmp.Or(about.Tag.Get("name"), t.Name())
	}
	if name == "" {
		return s.write(t)
	}
	if was := s.types[name]; was == nil {
		s.types[name] = t // before its members, which may have it in turn
		s.all[name] = s.write(t)
	} else if was != t {
		s.fail(t, "%s is called %s, too", was, name)
	}
	return ref("schemas", name)
}

// aboutOf is the field _ of a struct, nil if there is none.
func aboutOf(t reflect.Type) *reflect.StructField {
	if t.Kind() == reflect.Struct {
		if f, ok := t.FieldByName("_"); ok && len(f.Index) == 1 {
			return &f
		}
	}
	return nil
}

// write is the schema of a type, written out.
func (s *schemas) write(t reflect.Type) object {
	own, described := reflect.Zero(t).Interface().(schemer)
	switch kind := t.Kind(); {
	case described:
		return s.resolve(own.Schema()).(object)
	case kind == reflect.Pointer:
		return s.of(t.Elem())
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[json.RawMessage](), kind == reflect.Interface:
		return object{}
	case kind == reflect.String, t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}
	case t.Implements(reflect.TypeFor[json.Marshaler]()):
		s.fail(t, "it marshals itself: give it a method Schema")
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
		return s.members(t)
	default:
		s.fail(t, "there is no schema of a %s", kind)
	}
	return object{}
}

// resolve puts schemas in the place of values of Go types.
func (s *schemas) resolve(v any) any {
	switch v := v.(type) {
	case object:
		for key, value := range v {
			v[key] = s.resolve(value)
		}
	case []any:
		for i := range v {
			v[i] = s.resolve(v[i])
		}
	case string, int:
	default:
		return s.of(reflect.TypeOf(v))
	}
	return v
}

// members is the schema of a struct. Those of structs that are embedded come last: as in what
// is marshalled, a member of their name comes before them.
func (s *schemas) members(t reflect.Type) object {
	properties, required := object{}, []string{}
	o := object{"type": "object"}
	var embedded []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch mayMiss := strings.HasPrefix(options, "omit"); {
		case f.Anonymous && name == "":
			embedded = append(embedded, f)
		case f.IsExported() && name != "-":
			m := s.of(f.Type)
			if mayMiss && f.Type.Kind() == reflect.Bool {
				m = object{"const": true} // it is not there if it is false
			}
			if properties[name] = s.constrain(t, &f, m); !mayMiss || f.Tag.Get("schema") == "required" {
				required = append(required, name)
			}
		}
	}
	for _, f := range embedded {
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		from := s.members(inner)
		always, _ := from["required"].([]string)
		of, _ := from["properties"].(object)
		for name := range of {
			if properties[name] != nil {
				continue
			}
			if properties[name] = of[name]; inner == f.Type && slices.Contains(always, name) {
				required = append(required, name)
			}
		}
	}
	if len(properties) > 0 {
		o["properties"] = properties
	}
	if f := aboutOf(t); f != nil {
		s.constrain(t, f, o)
	}
	if required = slices.DeleteFunc(required, func(name string) bool { return properties[name] == nil }); len(required) > 0 {
		slices.Sort(required)
		o["required"] = required
	}
	return o
}

// constrain adds to a schema what the tags of a field say. Of a list or a map that is about
// what is in it, but for the number of items.
//
//	min= max= format= pattern= const= enum=a|b type=a|b example=a|b minItems= maxItems=
//	ref=a       the component of that name instead
//	required    whatever the tag json says
//	without=a|b members of structs that are embedded, which it has not; of a field _
//	open=a|b    it has further members, of these types; of a field _
//
// A pattern comes last, since it may have commas.
func (s *schemas) constrain(t reflect.Type, f *reflect.StructField, o object) object {
	in := o
	for in["items"] != nil || in["additionalProperties"] != nil {
		in, _ = cmp.Or(in["items"], in["additionalProperties"]).(object)
	}
	values := func(text string) (list []any) {
		for one := range strings.SplitSeq(text, "|") {
			number, err := strconv.ParseFloat(one, 64)
			switch {
			case in["type"] == "boolean":
				list = append(list, one == "true")
			case in["type"] == "string" || err != nil:
				list = append(list, one)
			default:
				list = append(list, number)
			}
		}
		return list
	}
	for tag := f.Tag.Get("schema"); tag != ""; {
		part, rest, _ := strings.Cut(tag, ",")
		if strings.HasPrefix(part, "pattern=") {
			part, rest = tag, ""
		}
		key, text, _ := strings.Cut(part, "=")
		switch tag = rest; key {
		case "required":
		case "min", "max":
			in[key+"imum"] = values(text)[0]
		case "format", "pattern":
			in[key] = text
		case "const":
			in[key] = values(text)[0]
			delete(in, "type")
		case "enum", "type":
			in[key] = values(text)
		case "example":
			in["examples"] = values(text)
		case "minItems", "maxItems":
			o[key], _ = strconv.Atoi(text)
		case "ref":
			o = ref("schemas", text)
		case "without":
			for name := range strings.SplitSeq(text, "|") {
				if o["properties"].(object)[name] == nil {
					s.fail(t, "it has no member %s anyway", name)
				}
				delete(o["properties"].(object), name)
			}
		case "open":
			o["additionalProperties"] = object{}
			if text != "" {
				o["additionalProperties"] = object{"type": values(text)}
			}
		default:
			s.fail(t, "field %s: the tag schema has no %q", f.Name, key)
		}
	}
	if text := f.Tag.Get("doc"); text != "" {
		o["description"] = text
	}
	return o
}
