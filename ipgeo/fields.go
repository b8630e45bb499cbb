package ipgeo

import (
	"errors"
	"fmt"
	"strings"
)

// ErrFields is the error that every [FieldsError] matches.
var ErrFields = errors.New("the list of fields is not valid")

// FieldsError is the error of a list with an invalid field.
type FieldsError struct {
	Field  string // at most 64 bytes of it
	Reason string
}

func (e *FieldsError) Error() string {
	return fmt.Sprintf("field %q: %s; give names such as country.iso_code,city.names.en,traits.network", e.Field, e.Reason)
}

// Is reports whether target is ErrFields.
func (e *FieldsError) Is(target error) bool { return target == ErrFields }

const (
	maxFields     = 50
	maxFieldBytes = 64
)

// Fields is a choice of members of an answer. The zero Fields chooses all. Any
// number of goroutines may use it.
type Fields struct{ nodes []fieldNode }

// fieldNode is a chosen name and the choice within its value. Without nodes
// below, it chooses the whole value.
type fieldNode struct {
	name string
	sub  []fieldNode
}

// placeFields are the members of cities and similar places.
var placeFields = []string{"confidence", "geoname_id", "names"}

// known lists the members of an answer and the members within them. An empty list is a plain value.
// nil is an open object with members of any name.
var known = map[string][]string{
	"continent":           {"code", "geoname_id", "names"},
	"country":             append([]string{"is_in_european_union", "iso_code"}, placeFields...),
	"registered_country":  append([]string{"is_in_european_union", "iso_code"}, placeFields...),
	"represented_country": append([]string{"is_in_european_union", "iso_code", "type"}, placeFields...),
	"city":                placeFields,
	"location":            {"accuracy_radius", "average_income", "latitude", "longitude", "metro_code", "population_density", "time_zone"},
	"postal":              {"code", "confidence"},
	"subdivisions":        append([]string{"iso_code"}, placeFields...),
	"traits":              append([]string{"ip_address", "network"}, traitNames[:]...),
	"quadkey":             {},
	"derived":             {},
	"extra":               nil,
	"ip":                  {}, // members that callers add around the answer
	"source":              {},
}

// ParseFields parses a list of names separated by commas. A name is a path of members separated by
// dots: "country", "country.iso_code", "city.names.en", "traits.network". In a list such as
// subdivisions, the path continues in every element: "subdivisions.iso_code". A name that includes
// another makes the other redundant. "ip", "source" and "traits.ip_address" are accepted for
// callers that test for them with Has. The error is a *FieldsError.
func ParseFields(list string) (Fields, error) {
	var f Fields
	rest, more := list, true
	for n := 0; more; n++ {
		var name string
		name, rest, more = strings.Cut(rest, ",")
		if n == maxFields {
			return Fields{}, &FieldsError{Field: shown(name), Reason: fmt.Sprintf("a list has at most %d names", maxFields)}
		}
		if reason := checkField(name); reason != "" {
			return Fields{}, &FieldsError{Field: shown(name), Reason: reason}
		}
		f.nodes = addField(f.nodes, name)
	}
	return f, nil
}

func shown(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), maxFieldBytes)], "\ufffd")
}

func checkField(name string) (reason string) {
	if name == "" {
		return "a name is empty"
	}
	if len(name) > maxFieldBytes {
		return fmt.Sprintf("a name has at most %d bytes", maxFieldBytes)
	}
	for part := range strings.SplitSeq(name, ".") {
		if part == "" {
			return "a part of the name is empty"
		}
		for i := range len(part) {
			c := part[i]
			if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-') {
				return "a name has letters, digits, _ and - between its dots"
			}
		}
	}
	top, rest, deeper := cutPath(name)
	within, ok := known[top]
	switch {
	case !ok:
		return "there is no such member"
	case !deeper || within == nil:
		return ""
	}
	sub, rest, deeper := cutPath(rest)
	for _, w := range within {
		if w != sub {
			continue
		}
		if deeper && (sub != "names" || strings.Contains(rest, ".")) {
			return "it goes on where there is nothing more"
		}
		return ""
	}
	return "there is no such member of " + top
}

func addField(nodes []fieldNode, path string) []fieldNode {
	name, rest, deeper := cutPath(path)
	for i := range nodes {
		n := &nodes[i]
		switch {
		case n.name != name:
			continue
		case !deeper:
			n.sub = nil
		case n.sub != nil:
			n.sub = addField(n.sub, rest)
		}
		return nodes
	}
	n := fieldNode{name: name}
	if deeper {
		n.sub = addField(nil, rest)
	}
	return append(nodes, n)
}

// All reports whether f chooses everything.
func (f Fields) All() bool { return len(f.nodes) == 0 }

// Has reports whether f chooses the value of a path or something within it.
func (f Fields) Has(path string) bool {
	nodes, more := f.nodes, true
	for len(nodes) > 0 && more {
		var name string
		name, path, more = cutPath(path)
		n := find(nodes, name)
		if n == nil {
			return false
		}
		nodes = n.sub
	}
	return true
}

func find[T ~string | ~[]byte](nodes []fieldNode, name T) *fieldNode {
	for i := range nodes {
		if nodes[i].name == string(name) {
			return &nodes[i]
		}
	}
	return nil
}

// AppendFields appends the chosen members of the answer, as JSON without braces and in the order of
// JSON. It drops objects and arrays that become empty. If lang is set, every "names" keeps only the
// English name and the names in that language: "pt" keeps "pt-BR", and "de-AT" keeps "de". A
// language chosen by the fields, as in "city.names.fr", is always kept, without any other language.
// An empty lang keeps all languages.
//
// The choice takes no memory beyond dst.
func (r *Result) AppendFields(dst []byte, f Fields, lang string) []byte {
	if f.All() && lang == "" {
		return append(dst, r.JSON...)
	}
	c := chooser{dst: dst, lang: lang}
	c.members(r.JSON, f.nodes)
	return c.dst
}

// AppendRecord appends the chosen members of the range's record, like AppendFields. It leaves out
// "traits.network", which depends on the address that was looked up, while the record belongs to
// all addresses of the range.
func (r *Result) AppendRecord(dst []byte, f Fields) []byte {
	n := len(dst)
	for _, members := range [...][]byte{r.country, r.city} {
		if len(members) > 0 {
			dst = append(append(dst, members...), ',')
		}
	}
	if len(r.traits) > 0 {
		dst = append(append(append(dst, `"traits":{`...), r.traits...), "},"...)
	}
	if dst = append(dst, r.own...); len(r.own) == 0 && len(dst) > n {
		dst = dst[:len(dst)-1] // the comma
	}
	if f.All() {
		return dst
	}
	c := chooser{dst: dst}
	c.members(dst[n:], f.nodes)
	return append(c.dst[:n], c.dst[len(dst):]...)
}

type chooser struct {
	dst   []byte
	lang  string
	depth int // of the current value
}

// maxChosen bounds the depth of the search in values. No builder writes deeper
// answers.
const maxChosen = maxDepth + 8

// members appends the members of an object that nodes choose.
func (c *chooser) members(members []byte, nodes []fieldNode) {
	start := len(c.dst)
	for len(members) > 0 {
		key, value, rest, ok := nextMember(members)
		if !ok {
			return
		}
		members = rest
		var sub []fieldNode
		if len(nodes) > 0 {
			n := find(nodes, key)
			if n == nil {
				continue
			}
			sub = n.sub
		}
		before := len(c.dst)
		if before > start {
			c.dst = append(c.dst, ',')
		}
		c.dst = append(append(append(c.dst, '"'), key...), '"', ':')
		if !c.value(key, value, sub) {
			c.dst = c.dst[:before]
		}
	}
}

// value appends the part of a key's value that nodes choose, and reports
// whether it is not empty.
func (c *chooser) value(key, value []byte, nodes []fieldNode) bool {
	switch {
	case len(nodes) == 0 && (c.lang == "" || string(key) == "extra"):
	case value[0] == '{' || value[0] == '[':
		if c.depth == maxChosen {
			return false
		}
		c.depth++
		before := len(c.dst)
		c.dst = append(c.dst, value[0])
		if value[0] == '{' {
			c.object(key, inner(value), nodes)
		} else {
			c.array(inner(value), nodes)
		}
		c.depth--
		if len(c.dst) == before+1 {
			c.dst = c.dst[:before]
			return false
		}
		c.dst = append(c.dst, value[0]+2) // } or ]
		return true
	case len(nodes) > 0:
		return false // the path goes on, the value does not
	}
	c.dst = append(c.dst, value...)
	return true
}

// object appends the chosen members of a key's object.
func (c *chooser) object(key, members []byte, nodes []fieldNode) {
	if len(nodes) == 0 && string(key) == "names" {
		c.names(members)
		return
	}
	saved := c.lang
	if string(key) == "extra" {
		c.lang = ""
	}
	c.members(members, nodes)
	c.lang = saved
}

// array appends the chosen part of each element.
func (c *chooser) array(elements []byte, nodes []fieldNode) {
	start := len(c.dst)
	for len(elements) > 0 {
		v, rest, ok := nextElement(elements)
		if !ok {
			return
		}
		elements = rest
		before := len(c.dst)
		if before > start {
			c.dst = append(c.dst, ',')
		}
		if !c.value(nil, v, nodes) {
			c.dst = c.dst[:before]
		}
	}
}

// names appends the names in English and in the language.
func (c *chooser) names(members []byte) {
	start := len(c.dst)
	for len(members) > 0 {
		key, value, rest, ok := nextMember(members)
		if !ok {
			return
		}
		members = rest
		if string(key) != "en" && !speaks(key, c.lang) {
			continue
		}
		if len(c.dst) > start {
			c.dst = append(c.dst, ',')
		}
		c.dst = append(append(append(c.dst, '"'), key...), '"', ':')
		c.dst = append(c.dst, value...)
	}
}

// speaks reports whether two language tags are equal, or one is the other plus
// a hyphen and more. Case does not matter.
func speaks(tag []byte, lang string) bool {
	n := min(len(tag), len(lang))
	if n == 0 {
		return false
	}
	for i := range n {
		if lower(tag[i]) != lower(lang[i]) {
			return false
		}
	}
	return len(tag) == len(lang) || len(tag) > n && tag[n] == '-' || len(lang) > n && lang[n] == '-'
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
