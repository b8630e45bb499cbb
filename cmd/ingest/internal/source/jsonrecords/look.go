package jsonrecords

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"quadrille/cmd/ingest/internal/source/jsonscan"
	"quadrille/cmd/internal/columnname"
)

// Verdict says what the beginning of a JSON text shows.
type Verdict int

// These are the verdicts.
const (
	Unknown  Verdict = iota // the beginning does not tell
	Features                // GeoJSON or TopoJSON
	Rows                    // records
)

// Look tells records from GeoJSON by the beginning of a text. A text that has a Feature behind other objects is
// GeoJSON with bad records.
func Look(text []byte) Verdict { return look(text).verdict }

const (
	maxLookedAt = 1000 // values of the top level, names in the first of them, and lists in it
	maxLists    = 3    // names in the path of a list
)

// head is what the beginning of a text shows.
type head struct {
	verdict Verdict
	// lists are the paths of the lists of objects in the first value, such as hits.hits.
	lists []string
	// empty has the paths of empty lists with a name for one of records.
	empty []string
	// single is set if the values of the top level are records.
	single bool
	cut    bool // the text ends within the first value
	// keyed is set if an object has the records as its members, and keys is its path, "" for the first value.
	keyed bool
	keys  string

	names    []string // of the first value's members, with those of the objects in it
	members  []member // of these names
	shaped   bool     // a member of it is one of GeoJSON or TopoJSON
	features Verdict  // what the first of its features is
	failed   bool     // it has a member that is an error
	located  bool
}

// member is a member of the first value or of an object in it. in is the index of that object, or atTop.
type member struct {
	in   int
	kind jsonscan.Kind
}

// atTop is the first value itself, and beyond a member that is not kept.
const (
	atTop  = -1
	beyond = -2
)

// look looks at the values of the top level.
func look(text []byte) (h head) {
	s := jsonscan.New(jsonscan.Unseparated(bytes.NewReader(text)))
	for n := range maxLookedAt {
		k, err := s.Kind()
		if err != nil || k == jsonscan.End {
			break
		}
		if k != jsonscan.Object {
			if n == 0 && k == jsonscan.Array {
				h.verdict = Rows
			}
			break
		}
		v := &h
		if n > 0 {
			v = &head{}
		}
		typ := ""
		whole := s.Object(func(name []byte) error { return v.member(s, "", string(name), atTop, 1, &typ) }) == nil
		v.cut = !whole
		v.judge(typ, whole)
		if v.verdict == Features {
			h.verdict = Features
			break
		}
		if !whole {
			break
		}
	}
	return h
}

// member looks at a member of the first value, or of an object in it. in is the index of that object, and depth the
// number of objects around the member.
func (h *head) member(s *jsonscan.Scanner, path, name string, in, depth int, typ *string) error {
	k, err := s.Kind()
	if err != nil {
		return err
	}
	top, at := in == atTop, beyond
	path += name
	if len(h.names) < maxLookedAt {
		at, h.names, h.members = len(h.names), append(h.names, path), append(h.members, member{in, k})
	}
	switch {
	case top && name == "type":
		*typ, err = s.ID()
		return err
	case top && (name == "coordinates" || name == "geometries"):
		h.located = true
		fallthrough
	case top && (name == "geometry" || name == "crs" || name == "bbox" || name == "arcs" || name == "objects"):
		h.shaped = true
	case top && name == "error" && (k == jsonscan.Object || k == jsonscan.String):
		h.failed = true
	}
	switch k {
	case jsonscan.Array:
		h.shaped = h.shaped || top && name == "features"
		n := 0
		err := s.Array(func(i int) error {
			n++
			k, err := s.Kind()
			if err != nil || i > 0 || k != jsonscan.Object {
				return orSkip(s, err)
			}
			if len(h.lists) < maxLookedAt {
				h.lists = append(h.lists, path)
			}
			if !top || name != "features" {
				return s.Skip()
			}
			h.features = Rows
			err = s.Object(func(member []byte) error { return h.feature(s, string(member)) })
			if err != nil && h.features == Rows {
				h.features = Unknown
			}
			if h.esri() || err == nil && !slices.Contains(h.names, "features.type") {
				h.features = Rows
			}
			return err
		})
		if err == nil && n == 0 && rank(path) < len(listNames) && len(h.empty) < maxLookedAt {
			h.empty = append(h.empty, path)
		}
		return err
	case jsonscan.Object:
		if depth < maxLists {
			return s.Object(func(member []byte) error { return h.member(s, path+".", string(member), at, depth+1, typ) })
		}
	}
	return s.Skip()
}

// esri reports whether the first feature is Esri's.
func (h *head) esri() bool { return slices.Contains(h.names, "features.attributes") }

// feature looks at a member of the first of the features.
func (h *head) feature(s *jsonscan.Scanner, name string) error {
	h.names, h.members = append(h.names, "features."+name), append(h.members, member{in: beyond})
	switch k, err := s.Kind(); {
	case err != nil:
		return err
	case name == "type":
		typ, err := s.ID()
		if typ == "Feature" {
			h.features = Features
		}
		return err
	case name == "geometry" && k == jsonscan.Object:
		return s.Object(func(member []byte) error {
			switch string(member) {
			case "coordinates", "geometries", "type":
				h.features = Features
			}
			return s.Skip()
		})
	}
	return s.Skip()
}

// judge sets the verdict about a value of this type. If it is not whole, the text ends within it.
func (h *head) judge(typ string, whole bool) {
	names := h.findKeyed()
	switch {
	case typ == "Topology" || typ == "Feature" || typ == "FeatureCollection" || geometries[typ] && (h.located || !whole):
		h.verdict = Features
		return
	case h.features == Features:
		h.verdict = Features
		return
	case whole, h.features == Rows, (len(h.lists) > 0 || h.keyed) && !h.shaped:
		h.verdict = Rows
	}
	flat := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.Contains(name, ".") })
	known := slices.ContainsFunc(h.lists, isKnown)
	shape := slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, ".coordinates") })
	h.single = whole && !h.failed && (len(h.lists)+len(h.empty) == 0 && !h.keyed || placed(flat) || !known && (shape || placed(names)))
}

// placed reports whether columns have positions.
func placed(names []string) bool {
	lat, lon := columnname.Axes(names, "", "")
	return lat != "" && lon != ""
}

// isKnown reports whether a path has a name for a list of records.
func isKnown(path string) bool { return rank(path) < len(listNames) }

// within returns the indexes of the members of an object.
func (h *head) within(in int) (members []int) {
	for i, m := range h.members {
		if m.in == in {
			members = append(members, i)
		}
	}
	return members
}

// areAlike reports whether the members of an object are objects, at least two, and most of the names in the second are
// names in the first too. names are those in the second.
func (h *head) areAlike(in int) (names []string, alike bool) {
	members := h.within(in)
	if len(members) < 2 || slices.ContainsFunc(members, func(i int) bool { return h.members[i].kind != jsonscan.Object }) {
		return nil, false
	}
	namesIn := func(i int) (names []string) {
		for _, m := range h.within(i) {
			if name := h.names[m][len(h.names[i])+1:]; !strings.HasPrefix(name, "$") { // an operator is a value
				names = append(names, name)
			}
		}
		return names
	}
	first, second := namesIn(members[0]), namesIn(members[1])
	others := slices.DeleteFunc(slices.Clone(second), func(name string) bool { return slices.Contains(first, name) })
	return second, 2*len(others) < len(second)
}

// findKeyed looks for an object that has the records as its members: the first value, or else an object in it if no
// list is beside it. Lists in the records are none of records then. names are those outside the records.
func (h *head) findKeyed() (names []string) {
	for _, in := range append([]int{atTop}, h.within(atTop)...) {
		path, prefix := "", ""
		if in != atTop {
			path, prefix = h.names[in], h.names[in]+"."
		}
		outside := func(names []string) []string {
			return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.HasPrefix(name, prefix) })
		}
		lists := slices.Concat(h.lists, h.empty)
		names, alike := h.areAlike(in)
		if alike && !h.failed && len(outside(lists)) == 0 && (placed(names) || !slices.ContainsFunc(lists, isKnown)) {
			h.keyed, h.keys, h.lists, h.empty = true, path, nil, nil
			return outside(h.names)
		}
	}
	return h.names
}

// areRecords reports whether the text has objects one after another, a line each, that are records with lists in them
// and not pages of a list.
func (h *head) areRecords(text []byte) bool {
	line, rest, more := bytes.Cut(text, []byte{'\n'})
	if rest = bytes.TrimSpace(rest); !more || len(rest) == 0 || rest[0] != '{' || !json.Valid(line) || h.verdict != Rows {
		return false
	}
	known := slices.ContainsFunc(append(slices.Clone(h.lists), h.empty...), isKnown)
	own := slices.ContainsFunc(h.names, func(name string) bool {
		return slices.Contains([]string{"id", "_id", "name", "title", "wkt", "location", "position", "geometry", "geo", "coordinates"}, name)
	})
	return !h.failed && (own || !known)
}

// geometries are the types of geometries.
var geometries = map[string]bool{
	"Point": true, "MultiPoint": true, "LineString": true, "MultiLineString": true, "Polygon": true, "MultiPolygon": true,
	"GeometryCollection": true,
}

// listNames are names of members that are the list of records, the most certain first. otherLists are those of
// lists beside it.
var (
	listNames  = []string{"features", "elements", "hits", "data", "results", "items", "records", "rows", "value", "docs", "result"}
	otherLists = []string{
		"fields", "columns", "links", "warnings", "errors", "messages", "facets", "facet_groups", "included", "meta", "metadata",
		"attributions", "sources", "parameters",
	}
)

// rank returns how uncertain it is that a list has the records.
func rank(path string) int {
	name := path[strings.LastIndexByte(path, '.')+1:]
	if i := slices.Index(listNames, name); i >= 0 {
		return i
	}
	if slices.Contains(otherLists, name) {
		return len(listNames) + 1
	}
	return len(listNames)
}

// list returns the path of the list of records: one with a name for it, or the shallowest, or the first. It is ""
// if the text has none so far.
func (h *head) list() string {
	if len(h.lists) == 0 && len(h.empty) > 0 && !h.cut {
		return h.empty[0]
	}
	if len(h.lists) == 0 {
		return ""
	}
	path := slices.MinFunc(h.lists, func(a, b string) int {
		if by := rank(a) - rank(b); by != 0 {
			return by
		}
		return strings.Count(a, ".") - strings.Count(b, ".")
	})
	if h.cut && rank(path) > len(listNames) {
		return "" // a better one may follow
	}
	return path
}

// orSkip skips a value, unless reading has failed.
func orSkip(s *jsonscan.Scanner, err error) error {
	if err != nil {
		return err
	}
	return s.Skip()
}
