// Package jsonrecords reads the records of JSON that is not GeoJSON, as services answer and tools dump it: a list of
// objects, objects one after another, such as one a line, or an object of which one member is the list. It also
// knows the forms of Overpass and of ArcGIS, of which it makes geometries. The members of a record are its columns,
// those of objects in it with the names of both: address.city. Memory is bounded by the largest record.
package jsonrecords

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/ingest/internal/source/jsonscan"
	"quadrille/cmd/internal/columnname"
)

// Options set how a file is read.
type Options struct {
	// List is the member whose list has the records, such as data or hits.hits. If it is empty, it is found.
	List string
	// Single says that the values of the top level are records; otherwise the beginning tells.
	Single bool
	Want   source.Want
	Said   *geojson.Said           // gets what says that a list is incomplete; not nil
	Unroll func(orb.Ring) orb.Ring // as in rings.Assemble
}

const (
	// headBytes is the number of bytes that are enough to find the list.
	headBytes = 64 << 10
	// maxRecord bounds a record in bytes.
	maxRecord = 64 << 20
)

// These are the reasons of bad records.
const (
	ReasonNotAnObject = "not an object with columns as members"
	ReasonTooLong     = "record is too long"
	ReasonNoList      = "an object without the list of records that the first one has"
)

// ErrSingle is the error for a text whose first value was taken for an object around a list, because it is longer than
// the beginning, and has none: the text has to be read again with Single.
var ErrSingle = errors.New("is no list of records")

// errStop ends the scan when the caller leaves the loop.
var errStop = errors.New("stop")

// Reader reads a file once. It belongs to one goroutine.
type Reader struct {
	Options
	name  string
	s     *jsonscan.Scanner
	told  bool // the caller has named the list
	keyed bool // the list may be an object, whose members are the records; without List it is the whole value
	head  head
	yield func(source.Feature, error) bool
	// object is set by Objects, and gets the records in place of yield.
	object func(Object) bool
	whole  geojson.Collection // of the current value of the top level
	flat   flattener
	raw    []byte    // the record
	top    []pair    // its members
	key    []byte    // its name, if the list is an object
	named  [2]string // the first such name, and the property that it became

	geometries  geojson.Geometries
	geometry    []byte   // text of a geometry
	judged      []byte   // the last spatialReference of a geometry
	dates       []string // columns of ArcGIS with times in milliseconds
	systemNotes []string
	dropped     source.Lost // members beside those of a wrapper
	late        []string    // lists behind the beginning that are not read
	bare        int         // elements of Overpass without tags
}

// pair is a member of a record.
type pair struct{ name, value []byte } // the name without its quotes

// New returns a reader of the text of a file with this name. The buffer of r is at least 64 KiB.
func New(r *bufio.Reader, name string, o Options) *Reader {
	head, _ := r.Peek(headBytes) // reading returns the error
	in := &Reader{Options: o, name: name, head: look(head), s: jsonscan.New(jsonscan.Unseparated(r))}
	in.head.single = in.head.single || o.Single || in.head.areRecords(head)
	switch in.told = in.List != ""; {
	case in.told:
		in.head.single, in.keyed = false, true
		if at := slices.Index(in.head.names, in.List); at >= 0 { // otherwise it is behind the beginning
			_, in.keyed = in.head.areAlike(at)
		}
	case in.head.single:
	case in.head.keyed:
		in.List, in.keyed = in.head.keys, true
	default:
		in.List = in.head.list()
	}
	return in
}

// Features yields the records, with Members and, in the forms that have one, with Geometry. An unusable record gives
// a *source.BadRecord, and reading continues. Any other error ends the sequence. Members are valid until the next
// record is read.
func (r *Reader) Features() iter.Seq2[source.Feature, error] {
	return func(yield func(source.Feature, error) bool) {
		r.yield = yield
		if err := r.values(); err != nil && !errors.Is(err, errStop) {
			yield(source.Feature{}, jsonscan.Explain(err, r.name, "JSON"))
		}
	}
}

// Object is a record as it is written. Its texts are valid until the next one is read.
type Object struct {
	Line int
	Name []byte // of the member that it is, if the records are the members of an object; otherwise nil
	Text []byte
}

// Objects does the same as Features for callers that read the records themselves.
func (r *Reader) Objects() iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		r.object = func(o Object) bool { return yield(o, nil) }
		for _, err := range r.Features() {
			if !yield(Object{}, err) {
				return
			}
		}
	}
}

// Notes returns the assumptions about what was read so far.
func (r *Reader) Notes() (notes []string) {
	others := append(r.otherLists(), r.late...)
	if r.named[0] != "" {
		of := "its first level"
		if r.List != "" {
			of = "its member " + source.Excerpt(r.List)
		}
		notes = append(notes, fmt.Sprintf("%s: the records are the members of %s; their names, such as %s, are the property %s",
			r.name, of, source.Excerpt(r.named[0]), r.named[1]))
	}
	if r.List != "" && !r.told && !r.keyed && len(others) == 0 {
		notes = append(notes, fmt.Sprintf("%s: the records are those of its member %s", r.name, source.Excerpt(r.List)))
	}
	if len(others) > 0 {
		notes = append(notes, fmt.Sprintf("%s: the records are those of its member %s; other lists, such as %s, are not read; write "+
			"FILE#%s for one of them", r.name, source.Excerpt(r.List), source.Excerpt(others[0]), others[0]))
	}
	if r.dropped.Count > 0 {
		notes = append(notes, fmt.Sprintf("%s: %d members around the records' own are left out, such as %s", r.name, r.dropped.Count, r.dropped.First))
	}
	if r.bare > 0 {
		notes = append(notes, fmt.Sprintf("%s: %d elements without tags, which only give others their shape, are left out", r.name, r.bare))
	}
	return append(notes, r.systemNotes...)
}

// otherLists returns the lists in the beginning from which another could have been meant.
func (r *Reader) otherLists() (others []string) {
	for _, path := range r.head.lists {
		if !r.told && r.List != "" && path != r.List && rank(path) <= len(listNames) && !strings.HasPrefix(path, r.List+".") {
			others = append(others, path)
		}
	}
	return others
}

// values reads the values of the top level.
func (r *Reader) values() error {
	for first := true; ; first = false {
		k, err := r.s.Kind()
		switch {
		case err != nil:
			return err
		case k == jsonscan.End && first:
			return fmt.Errorf("%s: is empty; it should be a list of objects, or objects one after another", r.name)
		case k == jsonscan.End:
			return nil
		case k == jsonscan.Array && r.told:
			return fmt.Errorf("%s: is a list itself and has no member %s; name the file alone", r.name, source.Excerpt(r.List))
		case k == jsonscan.Array:
			err = r.s.Array(func(i int) error {
				if k, err := r.s.Kind(); err == nil && first && i == 0 && k != jsonscan.Object {
					return fmt.Errorf(`%s: is a list of %ss; make it a list of objects with the names of columns: [{"id":1,"lat":…,"lon":…},…]`, r.name, k)
				}
				return r.next()
			})
		case k == jsonscan.Object && r.keyed && r.List == "":
			err = r.members()
		case k == jsonscan.Object && !r.head.single:
			err = r.envelope(first)
		default:
			err = r.next()
		}
		if err != nil {
			return err
		}
	}
}

// members reads an object whose members are the records.
func (r *Reader) members() error {
	r.key = make([]byte, 0, 64)
	defer func() { r.key = nil }()
	return r.s.Object(func(name []byte) error {
		r.whole.Features++
		r.key = append(r.key[:0], name...)
		return r.next()
	})
}

// envelope reads an object of which one member is the list of records.
func (r *Reader) envelope(first bool) error {
	line, found := r.s.Line(), false
	r.whole = geojson.Collection{}
	err := r.s.Object(func(name []byte) error { return r.around("", string(name), &found) })
	switch {
	case err != nil:
		return err
	case found:
		r.Said.Add(r.name, &r.whole)
		return nil
	case !first:
		return r.bad(line, ReasonNoList, source.Excerpt(r.List))
	case r.told:
		return fmt.Errorf("%s: its member %s is no list of objects; name one that is, or the file alone", r.name, source.Excerpt(r.List))
	}
	return ErrSingle
}

// around reads a member of the object around the list.
func (r *Reader) around(path, name string, found *bool) error {
	k, err := r.s.Kind()
	if err != nil {
		return err
	}
	top := path == ""
	path += name
	switch {
	case k == jsonscan.Array && path == r.List:
		*found = true
		return r.s.Array(func(int) error {
			r.whole.Features++
			return r.next()
		})
	case k == jsonscan.Object && path == r.List && r.keyed:
		*found = true
		return r.members()
	case k == jsonscan.Array && r.List == "" && rank(path) <= len(listNames):
		return r.s.Array(func(i int) error {
			k, err := r.s.Kind()
			if i == 0 && k == jsonscan.Object {
				r.List, *found = path, true
			}
			if r.List == "" {
				return orSkip(r.s, err)
			}
			r.whole.Features++
			return r.next()
		})
	case (path == "hits.total" || path == "hits.total.value") && k == jsonscan.Number:
		return r.whole.Matched(r.s)
	case k == jsonscan.Array && rank(path) <= len(listNames):
		return r.s.Array(func(i int) error {
			k, err := r.s.Kind()
			if i == 0 && k == jsonscan.Object && len(r.late) < maxLookedAt && !slices.Contains(r.head.lists, path) {
				r.late = append(r.late, path)
			}
			return orSkip(r.s, err)
		})
	case path == "hits.total" && k == jsonscan.Object:
		return r.s.Object(func(member []byte) error { return r.around(path+".", string(member), found) })
	case top && name == "error":
		return r.failure()
	case top && name == "remark" && k == jsonscan.String:
		return r.remark()
	case top && name == "spatialReference":
		text, _, err := r.s.Raw(nil, maxValue)
		if err != nil {
			return err
		}
		return r.system(text)
	case top && name == "fields" && k == jsonscan.Array:
		return r.fields()
	case top:
		if known, err := r.whole.Member(r.s, []byte(name)); known {
			return err
		}
	}
	if k == jsonscan.Object && strings.Count(path, ".")+1 < maxLists && (r.List == "" || strings.HasPrefix(r.List, path+".")) {
		return r.s.Object(func(member []byte) error { return r.around(path+".", string(member), found) })
	}
	return r.s.Skip()
}

// failure reads the error that a service has answered in place of data.
func (r *Reader) failure() error {
	text, _, err := r.s.Raw(nil, maxValue)
	if err != nil {
		return err
	}
	said, isFine := "", false
	switch {
	case len(text) > 2 && text[0] == '"':
		said = string(source.TextOf(text))
	case len(text) > 0 && text[0] == '{':
		each(text, func(name, value []byte) {
			switch string(name) {
			case `"code"`, `"message"`, `"details"`:
				if fine := string(source.TextOf(value)); string(name) == `"code"` && (fine == "0" || fine == "200") {
					isFine = true
				}
				if part := string(source.TextOf(value)); part != "" && part != "[]" && part != "null" {
					said += " " + part
				}
			}
		})
		if said == "" && len(text) > 2 {
			said = string(text)
		}
	}
	if said == "" || isFine {
		return nil
	}
	return fmt.Errorf("%s: is the error of a service and no data: %s; ask it again with what it wants", r.name, source.Excerpt(strings.TrimSpace(said)))
}

// next reads the next value as a record.
func (r *Reader) next() error {
	k, err := r.s.Kind()
	if err != nil {
		return err
	}
	line := r.s.Line()
	if k != jsonscan.Object {
		if err := r.s.Skip(); err != nil {
			return err
		}
		return r.bad(line, ReasonNotAnObject, k.String())
	}
	var whole bool
	if r.raw, whole, err = r.s.Raw(r.raw[:0], maxRecord); err != nil {
		return err
	}
	if !whole {
		return r.bad(line, ReasonTooLong, fmt.Sprintf("more than %d MiB", maxRecord>>20))
	}
	if r.object != nil {
		return r.give(line)
	}
	return r.record(line)
}

// give yields the record in raw as it is written, without a known wrapper.
func (r *Reader) give(line int) error {
	o := Object{line, r.key, r.raw}
	if n := r.split(); n <= maxWrapper {
		if w := r.wrapper(); w != nil {
			o.Text = r.member(w.around)
			for _, p := range r.top {
				if string(p.name) != w.around {
					r.dropped.Add(string(p.name), "beside "+w.around)
				}
			}
		}
	}
	if !r.object(o) {
		return errStop
	}
	return nil
}

// split sets the members of the record in raw, and returns their number, which may be greater than maxWrapper.
func (r *Reader) split() (n int) {
	r.top = r.top[:0]
	each(r.raw, func(name, value []byte) {
		if n++; n <= maxWrapper {
			r.top = append(r.top, pair{name[1 : len(name)-1], value})
		}
	})
	return n
}

func (r *Reader) bad(line int, reason, detail string) error {
	if !r.yield(source.Feature{}, &source.BadRecord{Source: r.name, Line: line, Reason: reason, Detail: detail}) {
		return errStop
	}
	return nil
}

// maxWrapper bounds the members of an object that is only a wrapper around the record.
const maxWrapper = 40

// record yields the record in raw.
func (r *Reader) record(line int) error {
	r.flat.begin()
	n := r.split()
	f := source.Feature{Line: line}
	if n > 0 && n <= maxWrapper {
		switch handled, reason, detail, err := r.special(&f); {
		case err != nil:
			return err
		case reason == reasonBare:
			r.bare++
			return nil
		case reason != "":
			return r.bad(line, reason, detail)
		case handled:
			return r.emit(f)
		}
	}
	r.flat.object(0, r.raw, 1)
	return r.emit(f)
}

func (r *Reader) emit(f source.Feature) error {
	if r.key != nil {
		r.keep()
	}
	f.Members, f.Lost = r.flat.members, r.flat.lost
	if !r.yield(f, nil) {
		return errStop
	}
	return nil
}

// keep makes a column of the record's name among its like: id, or key if it has an id.
func (r *Reader) keep() {
	name := "id"
	if slices.ContainsFunc(r.flat.members, func(m source.Member) bool { return columnname.Key(m.Name) == name }) {
		name = "key"
	}
	if r.named[0] == "" {
		r.named = [2]string{string(r.key), name}
	}
	r.flat.text(name, string(r.key))
}

// member returns the value of a member of the record, or nil.
func (r *Reader) member(name string) (value []byte) {
	for _, p := range r.top {
		if string(p.name) == name {
			value = p.value
		}
	}
	return value
}

func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

// special reads records of known forms.
func (r *Reader) special(f *source.Feature) (handled bool, reason, detail string, err error) {
	switch typ := string(source.TextOf(r.member("type"))); typ {
	case "node", "way", "relation":
		if r.member("id") != nil && (r.List == "elements" || r.member("tags") != nil) {
			reason, detail = r.element(typ, f)
			return true, reason, detail, nil
		}
	}
	if w := r.wrapper(); w != nil {
		return true, "", "", r.unwrap(w)
	}
	attributes := r.member("attributes")
	for _, p := range r.top {
		if !isObject(attributes) || !isIn(p.name, []string{"attributes", "geometry", "centroid"}) {
			return false, "", "", nil
		}
	}
	geometry := r.member("geometry")
	if !isObject(geometry) {
		geometry = r.member("centroid")
	}
	reason, detail, err = r.esri(attributes, geometry, f)
	return true, reason, detail, err
}

// wrapper is an object around a record.
type wrapper struct {
	around string // the member that has the record's own members
	// beside are the members that it has beside; those from keep on are no columns. Names that begin with _ may
	// always be there.
	keep, drop []string
}

// wrappers are the known ones: Elasticsearch, a Feature in a list, Airtable, Opendatasoft, and JSON:API.
var wrappers = []wrapper{
	{"_source", []string{"_id"}, []string{"sort", "fields", "highlight", "matched_queries", "inner_hits", "ignored_field_values"}},
	{"properties", []string{"id", "geometry"}, []string{"type", "bbox"}},
	{"fields", []string{"id", "createdTime"}, nil},
	{"fields", []string{"recordid", "geometry", "record_timestamp"}, []string{"datasetid"}},
	{"attributes", []string{"id", "type"}, []string{"relationships", "links", "meta"}},
}

// wrapper returns the wrapper of the record, or nil.
func (r *Reader) wrapper() *wrapper {
	for i := range wrappers {
		w := &wrappers[i]
		if !isObject(r.member(w.around)) || w.around == "properties" && r.member("type") != nil && string(r.member("type")) != `"Feature"` ||
			w.around == "attributes" && r.member("id") == nil {
			continue
		}
		fits := true
		for _, p := range r.top {
			fits = fits && (string(p.name) == w.around || isIn(p.name, w.keep) || isIn(p.name, w.drop) || bytes.HasPrefix(p.name, []byte("_")))
		}
		if fits {
			return w
		}
	}
	return nil
}

func isIn(name []byte, names []string) bool {
	for _, n := range names {
		if string(name) == n {
			return true
		}
	}
	return false
}

// unwrap makes columns of the members of a wrapped record, and of those beside it.
func (r *Reader) unwrap(w *wrapper) error {
	for _, p := range r.top {
		switch {
		case string(p.name) == w.around:
		case isIn(p.name, w.keep):
			r.flat.value(0, p.name, p.value, 1)
		case w.around != "properties":
			r.dropped.Add(string(p.name), "beside "+w.around)
		}
	}
	r.flat.inner(w.around, r.member(w.around))
	return nil
}
