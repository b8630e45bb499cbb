package endpoint

import (
	"strconv"
	"time"
)

// These are the places of parameters.
const (
	InQuery  = ""
	InPath   = "path"
	InHeader = "header"
)

// Schema is a JSON schema.
type Schema map[string]any

// Param is a declared parameter: a [Value] of some type.
type Param interface {
	// Declaration returns the declaration, which must not be changed.
	Declaration() *Spec
	try(q *Params)
}

// Spec is the declaration of a parameter.
type Spec struct {
	Name     string
	In       string // InQuery, InPath or InHeader
	Doc      string
	Required bool
	Schema   Schema
	Example  any // nil for none
}

// Declaration implements Param.
func (s *Spec) Declaration() *Spec { return s }

// absentText returns the default as a query writes it.
func (s *Spec) absentText() (string, bool) {
	switch d := s.Schema["default"].(type) {
	case string:
		return d, true
	case bool:
		return strconv.FormatBool(d), true
	case int64:
		return strconv.FormatInt(d, 10), true
	case float64:
		return FormatBound(d), true
	}
	return "", false
}

// Value is a parameter with a value of type T. If the parameter is absent, the value is the zero T
// or the declared default.
type Value[T any] struct {
	Spec
	absent T
	given  func(q *Params, name string) T // reads the value of a parameter that is given
}

// New declares a parameter. read reads its value if it is given, and refuses values with
// [Params.Refuse].
func New[T any](name, doc string, schema Schema, read func(q *Params, name string) T) *Value[T] {
	return &Value[T]{Spec: Spec{Name: name, Doc: doc, Schema: schema}, given: read}
}

// Of returns the value that a request has. The first refusal is in q.Err.
func (v *Value[T]) Of(q *Params) T {
	if !q.Has(v.Name) && !v.Required {
		return v.absent
	}
	return v.given(q, v.Name)
}

// Given reports whether a request has the parameter, even with an empty text.
func (v *Value[T]) Given(q *Params) bool { return q.Has(v.Name) }

func (v *Value[T]) try(q *Params) { v.given(q, v.Name) }

// with returns a changed copy.
func (v *Value[T]) with(change func(w *Value[T])) *Value[T] {
	w := New(v.Name, v.Doc, Schema{}, v.given)
	w.In, w.Required, w.Example, w.absent = v.In, v.Required, v.Example, v.absent
	for key, value := range v.Schema {
		w.Schema[key] = value
	}
	change(w)
	return w
}

// WithDefault sets the default value of an absent parameter. It is also the default in the schema.
func (v *Value[T]) WithDefault(absent T) *Value[T] {
	return v.with(func(w *Value[T]) { w.absent, w.Schema["default"] = absent, absent })
}

// AsRequired makes the parameter required: a request without it is refused.
func (v *Value[T]) AsRequired() *Value[T] { return v.with(func(w *Value[T]) { w.Required = true }) }

// AsOptional makes the parameter optional.
func (v *Value[T]) AsOptional() *Value[T] { return v.with(func(w *Value[T]) { w.Required = false }) }

// WithExample sets an example.
func (v *Value[T]) WithExample(example any) *Value[T] {
	return v.with(func(w *Value[T]) { w.Example = example })
}

// WithDoc replaces the description.
func (v *Value[T]) WithDoc(doc string) *Value[T] { return v.with(func(w *Value[T]) { w.Doc = doc }) }

// WithBound sets a bound in the schema that the reader enforces already.
func (v *Value[T]) WithBound(key string, bound any) *Value[T] {
	return v.with(func(w *Value[T]) { w.Schema[key] = bound })
}

// DescribedParam declares a parameter that is read elsewhere: in the path, which the router parses, in a
// header, or by code that imitates another service.
func DescribedParam(in, name, doc string, schema Schema, example any) Param {
	return &described{Spec{Name: name, In: in, Doc: doc, Required: in == InPath, Schema: schema, Example: example}}
}

type described struct{ Spec }

func (*described) try(*Params) {}

// ForeignParams declares parameters of a service that is imitated. The documentation of that
// service describes them.
func ForeignParams(service string, names ...string) []Param {
	list := make([]Param, len(names))
	for i, name := range names {
		list[i] = DescribedParam(InQuery, name, "As "+service+" documents it.", Schema{"type": "string"}, nil)
	}
	return list
}

// everyOther is the name, in the description, for all parameters that an endpoint with TakesFilters
// checks itself. It is described as an object whose members are parameters.
const everyOther = "filters"

// FilterParams describes the further parameters of an endpoint with TakesFilters.
func FilterParams(doc string, example any) Param {
	return DescribedParam(InQuery, everyOther, doc, Schema{"type": "object", "additionalProperties": Schema{"type": "string"}}, example)
}

// Number declares a decimal number.
func Number(name, unit string, min, max float64, doc string) *Value[float64] {
	return New(name, doc, Schema{"type": "number", "minimum": min, "maximum": max}, func(q *Params, name string) float64 {
		return q.number(name, unit, min, max)
	})
}

// Integer declares an integer.
func Integer(name string, min, max int64, doc string) *Value[int64] {
	return New(name, doc, Schema{"type": "integer", "minimum": min, "maximum": max}, func(q *Params, name string) int64 {
		return q.integer(name, min, max)
	})
}

// Word declares one of a few words.
func Word(name, doc string, words ...string) *Value[string] {
	return New(name, doc, Schema{"type": "string", "enum": words}, func(q *Params, name string) string {
		return q.oneOf(name, words...)
	})
}

// Flag declares true or false.
func Flag(name, doc string) *Value[bool] {
	return New(name, doc, Schema{"type": "boolean"}, func(q *Params, name string) bool {
		return q.oneOf(name, "true", "false") == "true"
	})
}

// Text declares a text of at most max bytes. The handler refuses an empty one.
func Text(name string, max int, doc string) *Value[string] {
	return New(name, doc, Schema{"type": "string", "minLength": 1, "maxLength": max}, func(q *Params, name string) string {
		return q.Text(name, max)
	})
}

// list returns the schema of a comma-separated list.
func list(of Schema, most int) Schema {
	return Schema{"type": "array", "items": of, "minItems": 1, "maxItems": most}
}

// List declares a list of at most max entries.
func List(name string, max int, doc string) *Value[[]string] {
	return New(name, doc, list(Schema{"type": "string", "minLength": 1}, max), func(q *Params, name string) []string {
		return q.List(name, max)
	})
}

// Codes declares a list of codes of min to max letters, and digits if they are allowed. Letters may
// have either case, and become upper case.
func Codes(name, what string, min, max int, digits bool, doc string) *Value[[]string] {
	class := "[A-Za-z]"
	if digits {
		class = "[A-Za-z0-9]"
	}
	times := strconv.Itoa(min)
	if min != max {
		times += "," + strconv.Itoa(max)
	}
	of := Schema{"type": "string", "pattern": "^" + class + "{" + times + "}$"}
	if min == 1 && max == 1 {
		of["pattern"] = "^" + class + "$"
	}
	return New(name, doc, list(of, maxCodes), func(q *Params, name string) []string {
		return q.codes(name, what, min, max, digits)
	})
}

// These are parameters of many endpoints.
var (
	Lat    = Degrees("lat", "Latitude in degrees WGS84.", 90).WithExample(47.37).AsRequired()
	Lon    = Degrees("lon", "Longitude in degrees WGS84.", 180).WithExample(8.54).AsRequired()
	Radius = Number("radius", "metres", 1, MaxRadiusM, "Farthest distance in metres; without it there is none.")

	BBox = New("bbox", "West, south, east, north in degrees. West greater than east means across 180 degrees.",
		Schema{"type": "array", "items": Schema{"type": "number"}, "minItems": 4, "maxItems": 4},
		(*Params).box).WithExample([]int{7, 46, 9, 48}).AsRequired()
	Tile = New("tile", "A tile, z/x/y.", Schema{"type": "string", "pattern": "^[0-9]{1,2}/[0-9]+/[0-9]+$"},
		(*Params).tile).WithExample("4/8/5")

	Country = New("country", "A country, ISO 3166-1 alpha-2.", Schema{"type": "string", "pattern": "^[A-Za-z]{2}$"},
		(*Params).country).WithExample("CH")
	Countries = New("country", "Countries, ISO 3166-1 alpha-2.",
		list(Schema{"type": "string", "pattern": "^[A-Za-z]{2}$"}, maxCodes), (*Params).countries).WithExample([]string{"CH"})
	Lang = New("lang", "Language of names, such as de or pt-BR.",
		Schema{"type": "string", "pattern": "^[A-Za-z0-9-]{1,16}$"}, (*Params).language).WithExample("de")
	Names = New("names",
		"A language, such as de or pt-BR. Places and labels of regions that have a name in it get that as the attribute "+
			"`name:` with the language, beside `name`; pictures write it. GeoJSON and addresses that name generations have it "+
			"of places alone. Each name costs a read or a few; the first 1000 of a tile are looked up.",
		Schema{"type": "string", "pattern": "^[A-Za-z0-9-]{1,16}$"}, (*Params).language).WithExample("de")
	Cursor = New("cursor", "`next` of the page before, with the same parameters.",
		Schema{"type": "string", "minLength": 1, "maxLength": MaxCursorBytes},
		func(q *Params, _ string) string { return q.cursor() })

	// At is an instant for which time zones are known, or the zero time if it is absent.
	At = New("at", "An instant of the years 1900 to 2100, RFC 3339, or a day, whose beginning in UTC it is; without it, now.",
		moment, func(q *Params, name string) time.Time {
			at, _ := q.instant(name)
			return at
		}).WithExample("2026-07-01T12:00:00Z")

	// Zoom, Column and Row are parts of the path of a tile.
	Zoom   = DescribedParam(InPath, "z", "Zoom.", Schema{"type": "integer", "minimum": 0, "maximum": 22}, 4)
	Column = DescribedParam(InPath, "x", "Column, from the west.", Schema{"type": "integer", "minimum": 0}, 8)
	Row    = DescribedParam(InPath, "y", "Row, from the north.", Schema{"type": "integer", "minimum": 0}, 5)
)

// moment is the schema of a day or a time.
var moment = Schema{"type": "string", "maxLength": 64}

// Instant declares a parameter with a day or a time. The function read reads it.
func Instant[T any](name, doc string, read func(q *Params, name string) T) *Value[T] {
	return New(name, doc, moment, read)
}

// Degrees declares a coordinate.
func Degrees(name, doc string, most float64) *Value[float64] {
	return New(name, doc, Schema{"type": "number", "minimum": -most, "maximum": most}, func(q *Params, name string) float64 {
		return q.number(name, "degrees", -most, most) + 0 // -0 is 0
	})
}

// Position reads lat and lon; both must be given.
func Position(q *Params) (lat, lon float64) { return Lat.Of(q), Lon.Of(q) }
