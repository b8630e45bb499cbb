package points

import (
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strconv"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/features"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/format"
	"quadrille/cmd/ingest/internal/source/pointtable"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/places/points"
)

// The place of a point is one number. It combines the number of the file, the number of the line or
// record in the file, and the number of the feature in the line. A number too large for its bits
// becomes the largest that fits.
const (
	pointFileShift = 49
	pointLineShift = 19
	maxPointFiles  = 10000
)

// pointFile is one of the files.
type pointFile struct {
	*features.File
	index      int                 // among the files
	line       int                 // of the current record
	number     int64               // of the current record in its line
	taken      *pointtable.Columns // nil where features have ids of their own; a table's are set with its first record
	properties func() []string     // of a table
	emptied    source.WordTally    // empty values; not for tables
	key        string              // column of the primary key
}

// record is a point as its file gives it.
type record struct {
	ID         string // "" when the file gives none
	Lat, Lon   float64
	Properties []byte // a JSON object as the file spells it, or empty
	Lost       source.Lost
	Expires    []byte // as in source.Feature
	Line       int
}

// place returns the number of the place of the current record. A line of GeoJSON may have many
// features.
func (f *pointFile) place(line int) int64 {
	if f.line != line {
		f.line, f.number = line, 0
	}
	f.number++
	return int64(f.index)<<pointFileShift | int64(min(line, 1<<(pointFileShift-pointLineShift)-1))<<pointLineShift | min(f.number,
		1<<pointLineShift-1)
}

// open opens the files and detects their formats.
func (j *pointsJob) open(paths []string) (err error) {
	if len(paths) > maxPointFiles {
		return fmt.Errorf("%d files: name at most %d, or join some", len(paths), maxPointFiles)
	}
	o := format.Options{
		Want: source.WantPoints, Layer: j.of.Layer, Encoding: j.of.Encoding, Columns: j.of.Columns, Said: &j.said,
		Style: j.of.Style, Headless: j.of.Headless, ColumnNames: j.of.ColumnNames, Tags: j.of.Tags, Bounds: j.of.Bounds,
	}
	if len(j.types) > 0 {
		is := func(kind feature.Kind) func(string) bool {
			return func(property string) bool {
				of, declared := j.types.Lookup(property)
				return declared && of.Kind == kind
			}
		}
		o.Style.IsTime, o.Style.IsNumber = is(feature.Time), is(feature.Number)
	}
	if j.input, err = features.New(j.ctx, j.rep, j.dir, j.of.Stdin); err != nil {
		return err
	}
	for _, path := range paths {
		f := &pointFile{index: len(j.files)}
		if f.File, err = j.input.Open(job.Input{Path: path, Credit: j.of.Credit}, o); err != nil {
			return err
		}
		if first := append(j.files, f)[0]; first.Format.Untyped != f.Format.Untyped {
			table, other := first, f
			if f.Format.Untyped {
				table, other = f, first
			}
			return fmt.Errorf("%s is a table and %s is not: publish them as two collections, or make a table of the other by: "+
				"ogr2ogr -lco GEOMETRY=AS_XY out.csv %s",
				table.Path, other.Path, other.CommandWord())
		}
		j.files = append(j.files, f)
	}
	return j.look()
}

// readFile calls take with the points of a file.
func (j *pointsJob) readFile(f *pointFile, take func(points.Point) error) error {
	before := j.tally.TakenCount()
	f.emptied = source.WordTally{} // forget the count of look
	err := j.readRecords(f, func(seq iter.Seq2[record, error], report func()) error {
		return job.ReadRecords(j.ctx, job.ReadAhead(j.checked(f, seq)), j.tally, report, take)
	})
	if err == nil && len(f.Sources) > 0 {
		f.Sources[0].Records = j.tally.TakenCount() - before
	}
	return err
}

// readRecords opens the file and calls read with the sequence of its records. report reports the
// progress.
func (j *pointsJob) readRecords(f *pointFile, read func(seq iter.Seq2[record, error], report func()) error) error {
	return f.Read("reading "+filepath.Base(f.Path), func(l *format.Layer, report func()) error {
		if l.Columns != nil {
			if err := j.checkColumns(f, l.Columns); err != nil {
				return err
			}
		}
		return read(j.records(f, l), report)
	})
}

// records converts features to points. If the columns are known, one of them is the id. A feature
// of GeoJSON has no columns. Its id is the feature's own id, or else its property id, unless the
// user names another property. The reader of a table has already set the id.
func (j *pointsJob) records(f *pointFile, l *format.Layer) iter.Seq2[record, error] {
	f.key, f.taken, f.properties = l.Key, l.TakenColumns, l.Properties
	names := j.of.Columns
	switch {
	case l.TakenColumns != nil:
		names = pointtable.Columns{}
	case l.Columns != nil:
		if names.ID == "" && !names.OnlyCertain {
			names.ID = f.key
		}
		found := l.Columns
		if names.OnlyCertain { // then the key is not an id by its name either
			found = slices.DeleteFunc(slices.Clone(found), func(name string) bool { return name == f.key })
		}
		names.FindID(found)
		f.taken = &names
	}
	return func(yield func(record, error) bool) {
		counted := int64(0) // features whose ids number them from 0
		numbered := f.taken == nil && names.ID == ""
		defer func() {
			if numbered && counted > 1 {
				j.rows = f
			}
		}()
		for feature, err := range l.Features {
			var p record
			if err == nil {
				if numbered {
					n, bad := strconv.ParseInt(feature.ID, 10, 64)
					numbered = bad == nil && n == counted
					counted++
				}
				p, err = j.feature(f, &feature, l, names)
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// feature converts a feature to a point. The geometry must be a point. Its properties are the
// members, in their order and without the id. They are valid until the next call.
func (j *pointsJob) feature(f *pointFile, of *source.Feature, l *format.Layer, names pointtable.Columns) (p record, err error) {
	bad := func(reason, detail string) (record, error) {
		return record{}, &source.BadRecord{Source: f.Path, Line: of.Line, Reason: reason, Detail: detail}
	}
	at, reason, detail := source.PositionOf(of.Geometry)
	switch {
	case reason != "":
		return bad(reason, detail)
	case f.taken == nil && of.Lost.Count > 0:
		return bad(source.ReasonTooLarge, of.Lost.First)
	}
	p = record{ID: of.ID, Lat: at[1], Lon: at[0], Lost: of.Lost, Expires: of.Expires, Line: of.Line}
	id := names.ID
	if id != "" {
		p.ID = ""
	} else if p.ID == "" && f.taken == nil {
		id = "id"
	}
	out := j.object[:0]
	begin := func(name string) bool {
		switch {
		case name == "name" && names.Name != "" && names.Name != "name":
			return false
		case name == names.Name:
			name = "name"
		}
		out = append(jsontext.AppendString(append(out, ','), name), ':')
		return true
	}
	for _, m := range of.Members {
		if l.TakenColumns == nil && j.isEmpty(f, m.Value, of.Line) {
			continue
		}
		if m.Name == id {
			p.ID = idOf(m.Value, l.Columns != nil)
		} else if begin(m.Name) {
			out = append(out, m.Value...)
		}
	}
	if names.ID != "" && p.ID == "" {
		return bad(source.ReasonNoID, source.Excerpt(id)+" is empty, or neither text nor a number")
	}
	if len(out) > 0 {
		out[0] = '{'
		p.Properties = append(out, '}')
		j.object = p.Properties
	}
	return p, nil
}

// isEmpty reports whether a property is a word for an empty value.
func (j *pointsJob) isEmpty(f *pointFile, value []byte, line int) bool {
	if j.of.Empty == nil || value[0] != '"' || len(value) > 1<<10 {
		return false
	}
	var text string
	_ = json.Unmarshal(value, &text) // valid, because it has been scanned
	if !j.empty.Has([]byte(text)) {
		return false
	}
	f.emptied.Add([]byte(text), line)
	return true
}
