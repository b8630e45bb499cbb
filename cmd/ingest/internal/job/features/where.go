package features

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/format"
	"quadrille/cmd/internal/columnname"
	"quadrille/cmd/internal/cql2"
	"quadrille/cmd/internal/nearest"
	"quadrille/feature"
	"quadrille/internal/jsontext"
)

// Where is a condition on the properties of features, in CQL2 text, as --where gives it. All features fulfil the zero Where.
type Where struct {
	text  string
	test  feature.Test
	names []string // of the properties in it
}

// UnmarshalText implements encoding.TextUnmarshaler. No text is no condition.
func (w *Where) UnmarshalText(text []byte) error {
	*w = Where{text: string(text)}
	if len(text) == 0 {
		return nil
	}
	f, err := cql2.Parse(w.text)
	if err != nil {
		if mended, words := quoted(w.text); mended != "" {
			return fmt.Errorf("%s is a property there; if it is a text, give --where %q", strings.Join(words, ", "), mended)
		}
		return err
	}
	if len(f.Areas()) > 0 {
		return errors.New("geometries are not for --where; give the box by --bbox W,S,E,N")
	}
	if w.test, w.names = f.Test, f.Properties(); len(w.names) == 0 {
		return fmt.Errorf("%s names no property; write a comparison such as subtype = 'county'", w.text)
	}
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (w Where) MarshalText() ([]byte, error) { return []byte(w.text), nil }

// quoted returns a filter with quotes around the words that stand where a value must, and these words. The filter is "" if
// that does not mend it.
func quoted(text string) (mended string, words []string) {
	const most = 20
	for range most {
		_, err := cql2.Parse(text)
		var wrong *cql2.SyntaxError
		if err == nil {
			return text, words
		}
		if !errors.As(err, &wrong) || wrong.Property == "" {
			break
		}
		words = append(words, wrong.Property)
		word := "'" + strings.ReplaceAll(strings.Trim(wrong.Property, `"`), "'", "''") + "'"
		text = text[:wrong.Offset] + word + text[wrong.Offset+len(wrong.Property):]
	}
	return "", nil
}

// Selection applies a Where to the files that make one layer or collection, and counts. The zero Selection takes all
// features. It belongs to one goroutine.
type Selection struct {
	Where
	keys    []string // the members that decide: names, and those that may hold what names with dots name
	records int64    // of files that were read to their end
	left    int64    // of them, those left out
	// seen has the properties of Where that the files have, with the first value of each, or "" while that is null.
	seen   map[string]string
	others map[string]bool // other properties, of features only until all of Where are seen
	layer  *format.Layer   // the last one
	// aliases are the properties of the last layer that Where calls as the file does.
	aliases []alias
}

// alias is a property that has another name in the file, which is one of Where.
type alias struct{ inFile, property string }

// Select returns a Selection by w.
func Select(w Where) *Selection {
	s := &Selection{Where: w, seen: map[string]string{}, others: map[string]bool{}}
	for _, name := range w.names {
		outer, _, _ := strings.Cut(name, ".")
		s.keys = append(s.keys, name, outer)
	}
	slices.Sort(s.keys)
	s.keys = slices.Compact(s.keys)
	return s
}

// IsSet reports whether there is a condition.
func (s *Selection) IsSet() bool { return s != nil && s.text != "" }

// mayPass is format.Options.MayPass. All must be read until every property is known to exist.
func (s *Selection) mayPass(within func(string) (low, high []byte)) bool {
	return len(s.seen) < len(s.names) || s.test.MayPass(within)
}

// reasonWhere is the reason of a bad record.
const reasonWhere = "the properties that --where names cannot be read"

// filter lets a layer have only the features that fulfil the condition. Values are texts in a file of texts. count gets the
// features and those left out.
func (s *Selection) filter(l *format.Layer, path string, texts bool, count *[2]int64) {
	test := s.test
	if texts {
		test = test.ForTexts()
	}
	s.aliases = nil
	if l.Property != nil {
		for _, name := range s.names {
			if property := l.Property(name); property != name {
				s.aliases = append(s.aliases, alias{name, property})
			}
		}
	}
	for _, name := range l.Columns {
		s.add(name)
	}
	s.layer = l
	passing, all := test.Expression(nil, nil, nil), l.Features
	values := make([][]byte, len(s.keys))
	l.Features = func(yield func(source.Feature, error) bool) {
		var text, compact []byte
		for f, err := range all {
			if err == nil || f.Line > 0 && errors.As(err, new(*source.BadRecord)) {
				text = s.object(text[:0], values, &f)
				var bad error
				if compact, bad = feature.AppendProperties(compact[:0], text); bad != nil {
					err = cmp.Or(err, error(&source.BadRecord{Source: path, Line: f.Line, Reason: reasonWhere, Detail: bad.Error()}))
				} else {
					s.see(compact)
					if count[0]++; !passing.MatchCompact(compact) {
						count[1]++
						continue
					}
				}
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

// noNumbers are what JSON of some programs has for a number that is none. They are as null.
var noNumbers = []string{"NaN", "Infinity", "-Infinity"}

// object appends the members that decide as a JSON object.
func (s *Selection) object(dst []byte, values [][]byte, f *source.Feature) []byte {
	clear(values)
	for _, m := range f.Members {
		if i, found := slices.BinarySearch(s.keys, m.Name); found {
			values[i] = m.Value // the last one counts
		}
		for _, a := range s.aliases {
			if i, found := slices.BinarySearch(s.keys, a.inFile); found && a.property == m.Name {
				values[i] = m.Value
			}
		}
		if len(s.seen) < len(s.names) {
			s.add(m.Name)
		}
	}
	dst = append(dst, '{')
	for i, value := range values {
		key := s.keys[i]
		if value == nil && key == "id" && f.ID != "" {
			value = jsontext.AppendString(nil, f.ID) // of a feature of GeoJSON
		}
		if value != nil && !slices.Contains(noNumbers, string(value)) {
			dst = append(append(jsontext.AppendString(jsontext.Next(dst), key), ':'), value...)
		}
	}
	return append(dst, '}')
}

// add notes that there is a property.
func (s *Selection) add(name string) {
	const most = 1000
	for _, a := range s.aliases {
		if a.property == name {
			s.seen[a.inFile] += ""
		}
	}
	if slices.Contains(s.names, name) {
		s.seen[name] += ""
	} else if len(s.others) < most {
		s.others[name] = true
	}
}

// see notes the first values of the properties of Where.
func (s *Selection) see(compact []byte) {
	for _, name := range s.names {
		if s.seen[name] != "" {
			continue
		}
		of := feature.CompactProperties(compact[1 : len(compact)-1])
		has := feature.NewTest(name, feature.OpLacks, false)
		if value, found := of.Lookup(name); found && value.Kind() != feature.Null {
			s.seen[name] = string(value.AppendJSON(nil))
		} else if found || has.Eval(of) == feature.No {
			s.seen[name] += ""
		}
	}
}

// end counts a file that was read to its end, and returns a note on what was left out, or "".
func (s *Selection) end(path string, l *format.Layer, count [2]int64) string {
	if l.LeftOut != nil {
		count[0] += l.LeftOut()
		count[1] += l.LeftOut()
	}
	if l.Properties != nil {
		for _, name := range l.Properties() {
			s.add(name)
		}
	}
	s.records += count[0]
	s.left += count[1]
	if count[1] == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %d of %d records are left out by --where", path, count[1], count[0])
}

// Err returns an error if the condition names a property that no record has, or if no record fulfils it. All files must have
// been read.
func (s *Selection) Err() error {
	if !s.IsSet() || s.records == 0 {
		return nil
	}
	var values string
	for _, name := range s.names {
		value, found := s.seen[name]
		if !found {
			return s.noProperty(name)
		}
		if value != "" {
			values += fmt.Sprintf("; %s is %.80s in the first that has it", name, value)
		}
	}
	if s.left < s.records {
		return nil
	}
	return &nothingLeft{fmt.Sprintf("--where %q leaves out all %d records%s", s.text, s.records, values)}
}

// nothingLeft is the error for a condition that no record fulfils.
type nothingLeft struct{ text string }

func (e *nothingLeft) Error() string { return e.text }

// Allowing is Err, but allows that no record fulfils the condition if empty is set.
func (s *Selection) Allowing(empty bool) error {
	err := s.Err()
	if empty && errors.As(err, new(*nothingLeft)) {
		return nil
	}
	return err
}

// LeftOut returns the number of records that were left out so far.
func (s *Selection) LeftOut() int64 {
	if s == nil {
		return 0
	}
	return s.left
}

// noProperty returns the error for a property that no record has.
func (s *Selection) noProperty(name string) error {
	if c := s.layer.TakenColumns; c != nil && (name == c.Lat || name == c.Lon) {
		return fmt.Errorf("--where: %s is a part of the position, and no property; --bbox W,S,E,N takes what lies in a box", name)
	}
	known := slices.Concat(slices.Sorted(maps.Keys(s.others)), slices.Sorted(maps.Keys(s.seen)))
	if like, found := nearest.Name(name, known); found {
		known = slices.Insert(slices.DeleteFunc(known, func(other string) bool { return other == like }), 0, like)
	}
	return fmt.Errorf("--where: no record has %s; there are %s", source.Excerpt(name), cmp.Or(columnname.List(known), "no properties"))
}
