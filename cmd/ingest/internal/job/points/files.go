package points

import (
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/features"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/columns"
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
	taken      *pointtable.Columns // of positions, set with the first record; nil if features have positions of their own
	properties func() []string     // of a table
	emptied    source.WordTally    // empty values; not for tables
	key        string              // column of the primary key
	known      bool                // columns have the ids, and not the features
	choice     columns.Choice      // set with the first record
	guess      columns.Choice      // of a name that the user has not named
	learn      *columns.Chooser    // while look reads the first records
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
func (j *pointsJob) open(named []string) (err error) {
	if j.input, err = features.New(j.ctx, j.rep, j.dir, j.stdin); err != nil {
		return err
	}
	var paths []job.Input
	for _, name := range named {
		each, err := j.input.Expand(job.Input{Path: name, Credit: j.of.Credit}, source.WantPoints)
		if err != nil {
			return err
		}
		paths = append(paths, each...)
	}
	if len(paths) > maxPointFiles {
		return fmt.Errorf("%d files: name at most %d, or join some", len(paths), maxPointFiles)
	}
	o := format.Options{
		Want: source.WantPoints, Layer: j.of.Layer, Encoding: j.of.Encoding, Columns: j.of.Columns, Said: &j.said,
		Style: j.of.Style, Headless: j.of.Headless, ColumnNames: j.of.ColumnNames, Tags: j.of.Tags, Bounds: j.of.Bounds,
	}
	is := func(kind feature.Kind) func(string) bool {
		return func(property string) bool {
			of, declared := j.types.Lookup(property)
			return declared && of.Kind == kind
		}
	}
	if len(j.types) > 0 {
		o.Style.IsTime, o.Style.IsNumber = is(feature.Time), is(feature.Number)
	}
	// Ids stay as they are written, since addresses of points have them.
	o.Style.IsText = func(property string) bool {
		of, declared := j.types.Lookup(property)
		return declared && of.Kind != feature.Time && of.Kind != feature.Number || j.of.Told.HasID(property) ||
			columns.IDOfPoints([]string{property}, false) != ""
	}
	j.input.Selection = features.Select(j.of.Where)
	for _, path := range paths {
		f := &pointFile{index: len(j.files)}
		if f.File, err = j.input.Open(path, o); err != nil {
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
		return read(j.records(f, l), report)
	})
}

// choose decides which of the columns of a file, or of the members of its first feature, are the id and the name.
func (j *pointsJob) choose(f *pointFile, names []string) error {
	f.choice = columns.Choice{}
	c := &f.choice
	if err := c.Tell(&j.of.Told, names); err != nil {
		return err
	}
	if c.Name == nil {
		c.Name, c.NameBy = f.guess.Name, f.guess.NameBy
	}
	if !f.known || j.regions != nil { // its regions have ids
		return nil
	}
	if err := columns.Missing(f.Path, names, c.ID, c.Name); err != nil || c.ID != nil {
		return err
	}
	if f.key != "" && !j.onlyCertain {
		c.ID, c.IDBy = columns.Names{f.key}, columns.ByKey
		return nil
	}
	// A primary key that repeats is not an id by its name either.
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == f.key })
	if id := columns.IDOfPoints(names, j.onlyCertain); id != "" {
		c.ID, c.IDBy = columns.Names{id}, columns.ByName
	}
	return nil
}

// records converts features to points. If the columns are known, one of them is the id. A feature
// of GeoJSON has no columns. Its id is the feature's own id, or else its property id, unless the
// user names another property.
func (j *pointsJob) records(f *pointFile, l *format.Layer) iter.Seq2[record, error] {
	f.key, f.taken, f.properties = l.Key, l.TakenColumns, l.Properties
	f.known = l.Columns != nil || l.TakenColumns != nil
	begin := func(members []source.Member) error {
		names := l.Columns
		if l.Properties != nil {
			names = l.Properties()
		}
		if !f.known {
			for _, m := range members {
				names = append(names, m.Name)
			}
		}
		return j.choose(f, names)
	}
	return func(yield func(record, error) bool) {
		counted := int64(0) // features whose ids number them from 0
		begun, numbered := false, false
		defer func() {
			if numbered && counted > 1 {
				j.rows = f
			}
		}()
		features := l.Features
		if j.regions != nil {
			features = j.regions.rows(j.ctx, f.Path, j.rep, features)
		}
		for feature, err := range features {
			if !begun && (err == nil || f.known && errors.As(err, new(*source.BadRecord))) {
				begun = true
				if err := begin(feature.Members); err != nil {
					yield(record{}, err)
					return
				}
				numbered = !f.known && f.choice.ID == nil
			}
			var p record
			if err == nil {
				if numbered {
					n, bad := strconv.ParseInt(feature.ID, 10, 64)
					numbered = bad == nil && n == counted
					counted++
				}
				j.learn(f, feature.Members)
				p, err = j.feature(f, &feature, l)
			}
			if !yield(p, err) {
				return
			}
		}
		if !begun && f.known {
			if err := begin(nil); err != nil {
				yield(record{}, err)
			}
		}
	}
}

// learn lets the Chooser learn from a record, but for properties whose types the user has told.
func (j *pointsJob) learn(f *pointFile, members []source.Member) {
	if f.learn == nil || !f.learn.Begin() {
		return
	}
	for _, m := range members {
		if _, told := j.of.PropertyTypes.Lookup(m.Name); !told {
			f.learn.Learn(m.Name, strings.Trim(string(m.Value), `"`), m.Value[0] == '"')
		}
	}
}

// feature converts a feature to a point. The geometry must be a point. Its properties are the
// members, in their order and without the id. They are valid until the next call.
func (j *pointsJob) feature(f *pointFile, of *source.Feature, l *format.Layer) (p record, err error) {
	bad := func(reason, detail string) (record, error) {
		return record{}, &source.BadRecord{Source: f.Path, Line: of.Line, Reason: reason, Detail: detail}
	}
	at, reason, detail := source.PositionOf(of.Geometry)
	var region regionOf
	if j.regions != nil {
		region, reason, detail = j.regions.place(of.Members)
		at = orb.Point{region.at.Lon, region.at.Lat}
	}
	switch {
	case reason != "":
		return bad(reason, detail)
	case !f.known && of.Lost.Count > 0:
		return bad(source.ReasonTooLarge, of.Lost.First)
	}
	p = record{ID: of.ID, Lat: at[1], Lon: at[0], Lost: of.Lost, Expires: of.Expires, Line: of.Line}
	ids, names := f.choice.ID, f.choice.Name
	if ids != nil {
		p.ID = ""
	} else if p.ID == "" && !f.known {
		ids = columns.Names{"id"}
	}
	if f.guess.Name != nil && slices.ContainsFunc(of.Members, func(m source.Member) bool { return m.Name == "name" }) {
		names = nil // the record has a name of its own
	}
	out := j.object[:0]
	for _, m := range of.Members {
		if f.taken == nil && j.isEmpty(f, m.Value, of.Line) {
			continue
		}
		name := m.Name
		switch {
		case len(ids) == 1 && name == ids[0]:
			p.ID = idOf(m.Value, l.Columns != nil)
			continue
		case len(names) == 1 && name == names[0]:
			name = "name"
		case names != nil && name == "name":
			continue
		}
		out = append(jsontext.AppendString(append(out, ','), name), ':')
		out = append(out, m.Value...)
	}
	if len(ids) > 1 {
		if parts := j.joined(f, of, l, ids); !slices.Contains(parts, "") {
			p.ID = strings.Join(parts, "")
		}
	}
	if j.regions != nil {
		p.ID = region.id
	} else if f.choice.ID != nil && p.ID == "" {
		return bad(source.ReasonNoID, source.Excerpt(ids.String())+" is empty, or neither text nor a number")
	}
	if len(names) > 1 {
		if parts := slices.DeleteFunc(j.joined(f, of, l, names), func(part string) bool { return part == "" }); len(parts) > 0 {
			out = jsontext.AppendString(append(out, `,"name":`...), strings.Join(parts, " "))
		}
	}
	if len(out) > 0 {
		out[0] = '{'
		p.Properties = append(out, '}')
		j.object = p.Properties
	}
	return p, nil
}

// joined returns the values of columns of a feature, "" for one without a value.
func (j *pointsJob) joined(f *pointFile, of *source.Feature, l *format.Layer, names columns.Names) []string {
	parts := make([]string, len(names))
	for _, m := range of.Members {
		if i := slices.Index(names, m.Name); i >= 0 && !(f.taken == nil && j.isEmpty(f, m.Value, of.Line)) {
			parts[i] = idOf(m.Value, l.Columns != nil)
		}
	}
	return parts
}

// isEmpty reports whether a property is a word for an empty value.
func (j *pointsJob) isEmpty(f *pointFile, value []byte, line int) bool {
	if j.of.Empty == nil || value[0] != '"' || len(value) > 1<<10 {
		return false
	}
	text := source.TextOf(value)
	if !j.empty.Has(text) {
		return false
	}
	f.emptied.Add(text, line)
	return true
}
