package pointtable

import (
	"bytes"
	"errors"
	"iter"
	"slices"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/columnname"
)

// Records gives features their geometry by their columns, for formats whose records have none of their own. It belongs to one goroutine.
type Records struct {
	positions
	// Properties are the names of the other columns of the first records, set with Columns.
	Properties []string
	// Emptied says that words such as NULL stand for empty values, as in tables. Otherwise only those of
	// Columns.Empty do.
	Emptied bool

	in      iter.Seq2[source.Feature, error]
	names   []string // of all columns; nil if they have to be found in the first records
	line    int      // of the record
	members []source.Member
	words   source.WordTally
	codes   map[string]bool // columns of two-letter codes, where NA may be one
	kept    source.WordTally
	filled  map[string]bool // columns that are not empty in all of the first records
	found   bool            // the columns
}

// These bound the records in which columns are looked for, where they are not known before.
const (
	mostAhead      = 200
	mostAheadBytes = 1 << 20
)

// NewRecords returns the records of a sequence, each with its Members only. columns are their names, or nil if
// they are not known before the records are read. name is the file's name in errors.
func NewRecords(in iter.Seq2[source.Feature, error], columns []string, name string, want source.Want, told Columns) *Records {
	r := &Records{positions: newPositions(want, name, told), in: in, names: columns}
	r.latFirstLists = latFirstLists
	r.bad = func(reason, detail string) error {
		return &source.BadRecord{Source: name, Line: r.line, Reason: reason, Detail: detail}
	}
	return r
}

// Features yields the records with their geometries. Their Members lack the columns of positions. An
// unusable record gives a *source.BadRecord, and reading continues. Any other error ends the sequence.
func (r *Records) Features() iter.Seq2[source.Feature, error] {
	return func(yield func(source.Feature, error) bool) {
		type record struct {
			source.Feature
			err error
		}
		var ahead []record
		size := 0
		// begin finds the columns and yields what has been read.
		begin := func() bool {
			placed := r.names != nil // or there is a record
			var members []source.Member
			for _, a := range ahead {
				members = append(members, a.Members...)
			}
			r.findCodes(members)
			r.filled = map[string]bool{}
			for _, m := range members {
				r.filled[m.Name] = r.filled[m.Name] || !r.isNoPosition(m.Value)
			}
			var whole []source.Member // where the names of columns are known, they alone tell of positions
			if r.found = true; r.names == nil {
				seen := map[string]bool{}
				whole = members
				for _, a := range ahead {
					placed = placed || a.err == nil
					r.Columns.Optional = r.Columns.Optional || a.Geometry != nil
					for _, m := range a.Members {
						if !seen[m.Name] {
							seen[m.Name] = true
							r.names = append(r.names, m.Name)
						}
					}
				}
			}
			if r.Columns.Lat == "" && r.Columns.Lon == "" && !r.Columns.None {
				r.findWhole(whole)
			}
			if err := r.find(); err != nil && placed {
				yield(source.Feature{}, err)
				return false
			}
			r.found = placed
			for _, a := range ahead {
				if !r.yield(a.Feature, a.err, yield) {
					return false
				}
			}
			ahead = nil
			return true
		}
		for f, err := range r.in {
			if r.found {
				if !r.yield(f, err, yield) {
					return
				}
				continue
			}
			wait := r.names == nil || r.Emptied
			if wait {
				for i, m := range f.Members {
					size += len(m.Name) + len(m.Value)
					f.Members[i].Value = bytes.Clone(m.Value)
				}
				f.Members = slices.Clone(f.Members)
			}
			if ahead = append(ahead, record{f, err}); !wait || len(ahead) == mostAhead || size > mostAheadBytes {
				if !begin() {
					return
				}
			}
		}
		if !r.found && (len(ahead) > 0 || r.names != nil) {
			begin()
		}
	}
}

// findWhole takes a column that has whole positions or shapes, if no two columns have positions: one with a name for
// that of whose values some are positions, or else one of which all values are geometries of GeoJSON.
func (r *Records) findWhole(members []source.Member) {
	if lat, lon := columnname.Axes(r.names, "", ""); r.want != source.WantPolygons && lat != "" && lon != "" && !hasGeoPoint(r.names) {
		return
	}
	good, shapes, other := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, m := range members {
		cell := cell(m.Value)
		named := slices.Contains(oneNames, columnname.Key(m.Name))
		switch {
		case r.isNoPosition(m.Value) || good[m.Name] || other[m.Name] && !named:
			continue
		case cell[0] != '{' && !named:
			other[m.Name] = true
			continue
		}
		probe := r.positions
		probe.Columns.Lat, probe.Columns.Lon = m.Name, m.Name
		if _, err := probe.geometry(cells{lat: cell, lon: cell}); err != nil {
			other[m.Name] = true
			continue
		}
		good[m.Name], shapes[m.Name] = named, true
	}
	of := func(some func(name string) bool) []string {
		return slices.DeleteFunc(slices.Clone(r.names), func(name string) bool { return !some(name) })
	}
	column := columnname.First(of(func(name string) bool { return good[name] }), oneNames)
	if rest := of(func(name string) bool { return shapes[name] && !other[name] }); column == "" && len(rest) > 0 {
		column = rest[0]
	}
	r.Columns.Lat, r.Columns.Lon = column, column
}

// find sets Columns and Properties.
func (r *Records) find() error {
	if err := r.choose(r.names, func(column string) bool { return r.filled[column] }); err != nil {
		return err
	}
	for _, name := range r.names {
		if name != r.Columns.Lat && name != r.Columns.Lon {
			r.Properties = append(r.Properties, name)
		}
	}
	return nil
}

func (r *Records) yield(f source.Feature, err error, yield func(source.Feature, error) bool) bool {
	if err == nil {
		r.line = f.Line
		err = r.complete(&f)
	}
	if err == nil || errors.As(err, new(*source.BadRecord)) {
		return yield(f, err)
	}
	yield(f, err)
	return false
}

// complete sets the geometry of a record.
func (r *Records) complete(f *source.Feature) (err error) {
	var at cells
	c := &r.Columns
	r.members = r.members[:0]
	for _, m := range f.Members {
		if r.isEmpty(m.Name, m.Value) {
			continue
		}
		if m.Name == c.Lat {
			at.lat = cell(m.Value)
		}
		if m.Name == c.Lon {
			at.lon = cell(m.Value)
		}
		if m.Name == r.other.Lat {
			at.otherLat = cell(m.Value)
		}
		if m.Name == r.other.Lon {
			at.otherLon = cell(m.Value)
		}
		if m.Name != c.Lat && m.Name != c.Lon {
			r.members = append(r.members, m)
		}
	}
	if f.Geometry == nil && (c.Lat != "" || c.Lon != "") {
		if f.Geometry, err = r.geometry(at); err != nil {
			return err
		}
	}
	f.Members = r.members
	return nil
}

// isEmpty reports whether a value is null, or a text that means an empty one.
func (r *Records) isEmpty(column string, value []byte) bool {
	switch {
	case string(value) == "null":
		return true
	case len(value) < 2 || value[0] != '"' || len(value) > 64:
		return false
	case len(value) == 2:
		return true
	}
	word := source.TextOf(value)
	if !r.Emptied && r.Columns.Empty == nil || !r.empty.Has(word) {
		return false
	}
	if r.codes[column] && string(word) == notAvailable {
		r.kept.Add([]byte(column), r.line)
		return false
	}
	r.words.Add(word, r.line)
	return true
}

// findCodes finds the columns of codes of two letters by the first members of the records.
func (r *Records) findCodes(members []source.Member) {
	if !r.Emptied || r.Columns.Empty != nil {
		return
	}
	tallies := map[string]*codeTally{}
	for _, m := range members {
		if tallies[m.Name] == nil {
			tallies[m.Name] = &codeTally{}
		}
		word := source.TextOf(m.Value)
		tallies[m.Name].add(word, string(word) == "null" || r.empty.Has(word))
	}
	r.codes = map[string]bool{}
	for name, tally := range tallies {
		r.codes[name] = tally.hasCodes()
	}
}

// cell returns the text of a value that has a position, which is empty for a list of nulls.
func cell(value []byte) []byte {
	t := source.TextOf(value)
	if len(t) > 0 && t[0] == '[' && len(bytes.Trim(t, "[], \t\r\nnul")) == 0 {
		return nil
	}
	return t
}

// isNoPosition reports whether a value is null, or one that has no position because it is empty.
func (r *Records) isNoPosition(value []byte) bool {
	return string(value) == "null" || r.isNothing(cell(value))
}

// Notes returns the guesses about the records that were read so far.
func (r *Records) Notes() (notes []string) {
	for _, note := range []string{r.words.Note(source.NoteEmptied), r.kept.Note(noteKept)} {
		if note != "" {
			notes = append(notes, r.name+": "+note)
		}
	}
	return append(notes, r.positions.notes()...)
}
