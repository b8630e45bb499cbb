// Package points publishes collections of users' own points, or writes them into live ones.
package points

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/features"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/ingest/internal/source/crs"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/ingest/internal/source/osm"
	"quadrille/cmd/ingest/internal/source/pointtable"
	"quadrille/cmd/ingest/internal/source/spelling"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/live"
	"quadrille/places/points"
	"quadrille/quadkey"
)

// costs are per byte of the unpacked files. Disk includes temporary files for sorting.
var costs = job.Costs{Nanoseconds: 60, Memory: 6, Disk: 3}

// Collection describes the collection to publish from files of points.
type Collection struct {
	// Dataset is the data set to publish. If it has no name, it is the collection Name.
	Dataset ask.Dataset
	Name    string
	Told    columns.Told       // the columns of ids and names
	Columns pointtable.Columns // of positions, of tables
	// PropertyTypes are the given types of properties. The others are inferred from the points.
	PropertyTypes feature.Schema
	// Style is how numbers and times are written. Headless and ColumnNames are as in format.Options.
	Style       spelling.Style
	Headless    bool
	ColumnNames []string
	Tags        []osm.Tag // as in format.Options
	// Empty are the words that mean an empty value. If it is nil, they are source.EmptyWords in
	// tables. In other files there are none then, because such files have a null of their own.
	Empty []string
	// Encoding is the name of the encoding of tables and GeoJSON. If it is empty, they are UTF-8,
	// or windows-1252 if the text cannot be UTF-8.
	Encoding string
	// Bounds leaves out the points outside, as format.Options.Bounds.
	Bounds *orb.Bound
	// Where leaves out points by their properties in the files.
	Where features.Where
	// Repeated selects among points with the same id. IntoLive writes all of them.
	Repeated Repeated
	// ValuesOf is a published layer of regions that the rows name, by the column Told.ID or one that is
	// found. Points then have the ids and the places of their regions.
	ValuesOf string
	// AllowEmpty accepts files without points.
	AllowEmpty bool
	// Replace lets IntoLive remove the points of the live collection that the files lack.
	Replace bool
	// Layer is the layer to read from GeoPackages and archives with several. An input may name
	// another layer after #.
	Layer string
	// Title, Private and Search are as in live.Meta. Credit applies to all files.
	Title   string
	Private bool
	Search  bool
	Credit  job.Credit
}

// command returns the beginning of the command line that publishes the collection.
func (c *Collection) command() string {
	if c.Dataset.Name == c.Name {
		return "ingest " + c.Name
	}
	return "ingest points " + c.Name
}

// Repeated is the choice between points with the same id, in the order of the files.
type Repeated string

const (
	RefuseRepeated Repeated = ""      // the first is taken, and the others are bad records
	KeepFirst      Repeated = "first" // the first is taken, and the others are left out
	KeepLast       Repeated = "last"  // the last is taken, and the others are left out
)

// Ingest reads files of points and publishes a generation of a collection. Either all files or none
// must be tables. A point without an id gets the number of its record, counted over all files.
func Ingest(ctx context.Context, c *dataset.Catalog, of Collection, paths []string, o job.Options) (dataset.Manifest, error) {
	if err := live.CheckName(of.Name); err != nil {
		return dataset.Manifest{}, err
	}
	if err := o.Announce(c, costs.NeedFor(job.UnpackedBytes(paths...))); err != nil {
		return dataset.Manifest{}, err
	}
	d := of.Dataset
	if d.Name == "" {
		d = ask.CollectionOf(of.Name).Dataset
	}
	near := func(p *points.Point) string { return nearest(ctx, c, p) }
	j := newJob(ctx, of, o)
	j.near = near
	defer func() { j.tally.Report(j.rep) }()
	if of.ValuesOf != "" {
		r, done, err := openRegional(ctx, c, of.ValuesOf, of.Told.ID)
		defer func() { _ = done() }() // only read
		if err != nil {
			return dataset.Manifest{}, err
		}
		j.regions, j.of.Columns.None, j.of.Told.ID = r, true, ""
	}
	return job.Publish(ctx, c, d, o, func(b *dataset.Build, m *dataset.Manifest) (_ any, err error) {
		j.dir = filepath.Dir(b.Dir())
		defer func() { err = errors.Join(err, j.input.Close()) }()
		if err := j.open(paths); err != nil {
			return nil, err
		}
		var unseen error
		meta, err := points.Build(ctx, b.Store(), job.Sequence(j.read), points.BuildOptions{
			Name: of.Name, Schema: of.PropertyTypes, AllTexts: j.tables(), Timestamp: j.newest().UnixMilli(),
			Memory: o.MemoryLimit() / 4, TempDir: j.dir,
			KeepLast:    of.Repeated == KeepLast,
			OnDuplicate: j.duplicate,
			OnLearned:   func(l *feature.Learner) { unseen = j.learned(l) },
			Progress:    job.ProgressOf(j.rep, "points"),
		})
		if err = cmp.Or(err, unseen); err != nil {
			return nil, err
		}
		meta.Title, meta.Private, meta.Search, meta.Attribution, meta.Licence = of.Title, of.Private, of.Search, of.Credit.Attribution, of.Credit.License
		j.note(&meta)
		m.Bad, m.Records, m.Bounds = j.tally.Counts(), map[string]int64{"points": meta.Points}, meta.Bounds[:]
		for _, f := range j.files {
			m.Sources = append(m.Sources, f.Sources...)
		}
		return meta, nil
	})
}

// nearest returns the published place nearest to a point, so that people can check its position.
// It returns "" if there is none.
func nearest(ctx context.Context, c *dataset.Catalog, p *points.Point) string {
	finder, g, err := job.OpenCurrent(ctx, c, ask.Places)
	if g == nil || err != nil {
		return ""
	}
	defer func() { _ = g.Close() }() // only read
	hits, err := places.CollectHits(nil, finder.Features(ctx, &feature.Query{
		Near:   feature.NearTo(p.Lat, p.Lon, 0),
		Filter: places.OnlyPopulated,
		Limit:  1,
	}))
	if err != nil || len(hits) == 0 {
		return ""
	}
	return fmt.Sprintf(", %.0f km from %s, %s", hits[0].DistanceM/1000, hits[0].Name, hits[0].Country)
}

// These are the reasons of bad records.
const (
	reasonRange      = "latitude or longitude out of range"
	reasonSwapped    = "latitude out of range, where the longitude could be one"
	reasonID         = "id cannot be kept"
	reasonRepeated   = "id was given before"
	reasonProperties = "properties cannot be kept"
	reasonExpires    = "expires is not a time after 1970"
	reasonType       = "value has not the type that is declared"
)

// pointsJob is the work of Ingest and IntoLive. While the goroutine that reads ahead runs, only it
// uses first, number, unnamed, zero, lost, swapped, object, said and rows.
type pointsJob struct {
	ctx   context.Context
	rep   job.Reporter
	of    Collection
	types feature.Schema // required types of values
	tally *job.Tally
	dir   string
	stdin io.Reader
	files []*pointFile
	input *features.Files
	empty *source.Words // for files other than tables; not nil

	near    func(*points.Point) string // names the place at a point
	first   *points.Point              // the first good one
	number  int64                      // of the records so far, including bad ones
	unnamed int64                      // points that got their number as id
	zero    job.NullIsland             // points at exactly 0, 0
	repeats counted                    // points that are left out because another one has their id
	lost    job.LostProperties
	swapped int64
	object  []byte       // properties; reused
	said    geojson.Said // members of GeoJSON files outside the features
	rows    *pointFile   // a file whose ids number its features
	regions *regional    // nil if rows have positions of their own
	// onlyCertain is set if a column counts as the id only if its name certainly means one.
	onlyCertain bool
}

func newJob(ctx context.Context, of Collection, o job.Options) *pointsJob {
	j := &pointsJob{
		ctx:   ctx,
		rep:   o.ReporterOrSilent(),
		of:    of,
		types: of.PropertyTypes,
		tally: job.NewTally(o.MaxBad),
		stdin: o.Stdin,
		zero:  job.NullIsland{Drop: o.DropZero},
	}
	j.near = func(*points.Point) string { return "" }
	j.empty, j.input = source.NewWords(of.Empty...), &features.Files{}
	if of.Empty != nil {
		j.of.Columns.Empty = j.empty
	}
	return j
}

// tables reports whether the files are tables.
func (j *pointsJob) tables() bool { return len(j.files) > 0 && j.files[0].Format.Untyped }

// named reports whether the files tell the names of all properties before their points are read.
func (j *pointsJob) named() bool {
	return j.tables() && !slices.ContainsFunc(j.files, func(f *pointFile) bool { return f.properties == nil })
}

// newest returns when the newest of the files was changed.
func (j *pointsJob) newest() (t time.Time) {
	for _, f := range j.files {
		if f.Modified.After(t) {
			t = f.Modified
		}
	}
	return t
}

// read calls take with the points of all files.
func (j *pointsJob) read(take func(points.Point) error) error {
	for _, f := range j.files {
		if err := j.readFile(f, take); err != nil {
			return j.explain(f, err)
		}
	}
	if err := j.said.Missing(j.of.command() + " PAGE1 PAGE2"); err != nil {
		return err
	}
	if err := j.input.Selection.Allowing(j.of.AllowEmpty); err != nil {
		return err
	}
	err := j.tally.Err()
	if err == nil && j.tally.TakenCount() == 0 && (j.tally.LeftOutCount() == 0 || j.zero.Drop) {
		if !j.of.AllowEmpty {
			return errors.New("the files hold no points; check that they are the files you mean; if a collection may be empty, give --allow-empty")
		}
		j.rep.Note("the files hold no points: the collection " + j.of.Name + " gets none, as --allow-empty says")
	}
	return j.explain(j.files[len(j.files)-1], err)
}

// swappedCheck is the number of records that is enough to recognise swapped latitudes and
// longitudes.
const swappedCheck = 100

var errSwapped = errors.New("latitudes and longitudes are swapped")

// explain adds to an error the number of records in which latitude and longitude seem to be
// swapped, and the option that corrects this. It returns other errors unchanged, and also errors in
// which swaps are less than half of the faults.
func (j *pointsJob) explain(f *pointFile, err error) error {
	var many *job.TooManyBadError
	if !errors.Is(err, errSwapped) && (!errors.As(err, &many) || 2*j.swapped < many.Bad) {
		return err
	}
	advice := "put the longitude first in the coordinates of " + f.Path
	switch c := f.taken; {
	case c == nil || c.Lat == "":
	case c.Lat != c.Lon:
		advice = fmt.Sprintf("give --lat=%q --lon=%q", c.Lon, c.Lat)
	case c.Order == pointtable.LatLon:
		advice = "give --axis-order " + pointtable.LonLat
	case c.Order == pointtable.LonLat:
		advice = "give --axis-order " + pointtable.LatLon
	}
	if many == nil {
		return fmt.Errorf("%s: %w in %d of the first %d records: %s", f.Path, err, j.swapped, j.number, advice)
	}
	return fmt.Errorf("%w; in %d of them latitude and longitude seem to be swapped: %s", err, j.swapped, advice)
}

// checked converts a reader's records to points. A point that is not valid in a collection is a bad
// record.
func (j *pointsJob) checked(f *pointFile, records iter.Seq2[record, error]) iter.Seq2[points.Point, error] {
	return func(yield func(points.Point, error) bool) {
		for rec, err := range records {
			var p points.Point
			var bad *source.BadRecord
			if errors.As(err, &bad) {
				bad.Source = f.Path // the reader may see a copy
				rec.Line = bad.Line
			} else if err != nil {
				yield(p, err)
				return
			}
			j.number++
			at := f.place(rec.Line)
			if err == nil {
				p, err = j.point(f, &rec, at)
			}
			if err == nil && j.first == nil {
				j.first = &points.Point{Lat: p.Lat, Lon: p.Lon}
			}
			if err == nil {
				j.lost.Add(f.Path, rec.Line, rec.Lost)
			}
			if j.number >= swappedCheck && 10*j.swapped >= 9*j.number {
				yield(p, errSwapped)
				return
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

func (j *pointsJob) point(f *pointFile, rec *record, at int64) (points.Point, error) {
	p := points.Point{ID: rec.ID, Lat: rec.Lat, Lon: rec.Lon, Line: at}
	refuse := func(reason string, err error) (points.Point, error) {
		return points.Point{}, &source.BadRecord{Source: f.Path, Line: rec.Line, Reason: reason, Detail: err.Error()}
	}
	if err := points.CheckPosition(p.Lat, p.Lon); err != nil {
		if (quadkey.Position{Lat: p.Lon, Lon: p.Lat}).Valid() {
			j.swapped++
			return refuse(reasonSwapped, err)
		}
		return refuse(reasonRange, err)
	}
	if err := j.zero.Check(p.Lat, p.Lon, f.Path, rec.Line); err != nil {
		return p, err
	}
	if p.ID == "" {
		j.unnamed++
		p.ID = strconv.FormatInt(j.number, 10)
	} else if err := points.CheckID(p.ID); err != nil {
		return refuse(reasonID, err)
	}
	var err error
	if p.Expires, err = expiresOf(rec.Expires); err != nil {
		return refuse(reasonExpires, err)
	}
	if p.Properties, err = feature.AppendProperties(nil, orNull(rec.Properties)); err != nil {
		return refuse(reasonProperties, err)
	}
	if len(j.types) > 0 {
		if p.Properties, err = j.types.Convert(nil, p.Properties); errors.Is(err, feature.ErrType) {
			return refuse(reasonType, err)
		} else if err != nil {
			return refuse(reasonProperties, err)
		}
	}
	return p, nil
}

// expiresOf parses the JSON of an expiry time. A point with an empty time never expires.
func expiresOf(value []byte) (time.Time, error) {
	if len(value) == 0 {
		return time.Time{}, nil
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	return points.ParseExpires(text)
}

func orNull(object []byte) []byte {
	if len(object) == 0 {
		return []byte("null")
	}
	return object
}

// counted counts records and keeps the file and line of the first.
type counted struct {
	count int64
	first string
}

func (c *counted) add(path string, line int) {
	if c.count++; c.count == 1 {
		c.first = fmt.Sprintf("%s:%d", path, line)
	}
}

// duplicate leaves out a point because another one has its id.
func (j *pointsJob) duplicate(id string, at int64) error {
	if j.of.Repeated != RefuseRepeated {
		f, line, _ := j.place(at)
		j.tally.Retract()
		j.repeats.add(f.Path, line)
		return nil
	}
	if err := j.leaveOut(at, reasonRepeated, source.Excerpt(id)); err != nil {
		return fmt.Errorf("%w; if another property tells the points apart, name it by --id; --repeated last takes the last "+
			"of each id, and first the first", err)
	}
	return nil
}

// place decodes a number from pointFile.place: the file, the line or record in it, and the number
// of the feature in the line.
func (j *pointsJob) place(at int64) (f *pointFile, line, number int) {
	return j.files[at>>pointFileShift], int(at & (1<<pointFileShift - 1) >> pointLineShift), int(at & (1<<pointLineShift - 1))
}

// leaveOut counts a point as bad. The point was counted as good when it was read.
func (j *pointsJob) leaveOut(at int64, reason, detail string) error {
	f, line, number := j.place(at)
	if number > 1 {
		detail += fmt.Sprintf(", of feature number %d of the line", number)
	}
	j.tally.Retract()
	if err := j.tally.Bad(&source.BadRecord{Source: f.Path, Line: line, Reason: reason, Detail: detail}); err != nil {
		return err
	}
	return j.tally.Err()
}

// learned warns about properties with unexpected types, and refuses types for properties that no
// point has. For tables the headers have already been checked.
func (j *pointsJob) learned(l *feature.Learner) error {
	unseen := slices.DeleteFunc(l.UnseenFields(), func(name string) bool { _, told := j.of.PropertyTypes.Lookup(name); return !told })
	if !j.named() && len(unseen) > 0 && j.tally.TakenCount() > 0 {
		var names []string
		for _, f := range l.Schema() {
			if !slices.Contains(unseen, f.Name) {
				names = append(names, f.Name)
			}
		}
		return noProperty(unseen[0], names)
	}
	for _, f := range l.Schema() {
		if f.Kind == feature.Text && l.HasDecimalCommas(f.Name) {
			j.rep.Note(fmt.Sprintf("warning: the numbers of %s have decimal commas, so it is text; --decimal=, makes them numbers", source.Excerpt(f.Name)))
		}
	}
	for _, odd := range l.OddColumns() {
		if l.HasDecimalCommas(odd.Name) {
			continue
		}
		f, line, _ := j.place(odd.At)
		j.rep.Note(fmt.Sprintf("%s is text, since %d of its %d values are not of the type %s, the first %s in %s:%d; "+
			"--type=%s makes them bad records",
			source.Excerpt(odd.Name), odd.Count, odd.Total, odd.Kind, source.Excerpt(odd.Text), f.Path, line,
			crs.ShellQuoted(odd.Name+"="+odd.Kind.String())))
	}
	if n := l.UnlistedMembers(); n > 0 {
		j.rep.Note(fmt.Sprintf("warning: there are more than %d properties; %d values of the others are kept and have no type",
			feature.MaxFields, n))
	}
	return nil
}

// note reports how the files were read.
func (j *pointsJob) note(meta *live.Meta) {
	for _, f := range j.files {
		var taken []string
		c := f.taken
		switch {
		case c == nil || c.Lat == "":
		case c.Lat == c.Lon:
			taken = append(taken, strings.TrimSuffix(fmt.Sprintf("positions from %q in the order %s", c.Lat, c.Order), " in the order "))
		default:
			taken = append(taken, fmt.Sprintf("latitude from %q, longitude from %q", c.Lat, c.Lon))
		}
		if note := f.emptied.Note(source.NoteEmptied); note != "" {
			j.rep.Note(f.Path + ": " + note)
		}
		if f.known && f.choice.ID != nil || f.guess.Name != nil {
			taken = append(taken, f.choice.Sentence())
		}
		if taken != nil {
			j.rep.Note(filepath.Base(f.Path) + ": " + strings.Join(taken, ", "))
		}
	}
	if j.first != nil {
		j.rep.Note(fmt.Sprintf("the first position is latitude %v, longitude %v%s", j.first.Lat, j.first.Lon, j.near(j.first)))
	}
	j.lost.Note(j.rep)
	j.zero.Note(j.rep)
	if note := j.said.Together(); note != "" {
		j.rep.Note(note)
	}
	if j.unnamed > 0 {
		j.rep.Note(fmt.Sprintf("%d points have no id and got the number of their record; --id names the property that is the id", j.unnamed))
	}
	if j.rows != nil {
		j.rep.Note(j.rows.Path +
			": the ids of features number the rows (0, 1, …), and change with the next export; --id names the property that is the id")
	}
	if j.repeats.count > 0 {
		j.rep.Note(fmt.Sprintf("%d records have the id of another one, of which the %s counts, and are left out, one in %s",
			j.repeats.count, j.of.Repeated, j.repeats.first))
	}
	if j.of.Encoding != "" && !slices.ContainsFunc(j.files, func(f *pointFile) bool { return f.Format.Read != nil }) {
		j.rep.Note("--encoding is for tables and GeoJSON; a GeoPackage and Parquet are always UTF-8, and the .cpg of a shapefile says what it is")
	}
	placed := slices.ContainsFunc(j.files, func(f *pointFile) bool { return f.taken != nil && f.taken.Lat != "" })
	if c := j.of.Columns; !placed && (c.Lat != "" || c.Lon != "") {
		j.rep.Note("--lat and --lon are for tables; these files have positions of their own")
	}
	if _, ok := meta.Schema.Lookup("name"); !ok && j.of.Told.Name != "" {
		j.rep.Note(fmt.Sprintf("warning: no point has the property %s of --name", source.Excerpt(j.of.Told.Name)))
	}
	j.noteSearch(meta.Schema)
	const most = 30
	var fields []string
	for _, f := range meta.Schema[:min(len(meta.Schema), most)] {
		fields = append(fields, f.Name+" "+f.Kind.String())
	}
	if more := len(meta.Schema) - len(fields); more > 0 {
		fields = append(fields, fmt.Sprintf("and %d more", more))
	}
	if len(fields) > 0 {
		j.rep.Note("properties: " + strings.Join(fields, ", "))
	}
}

// noteSearch warns about points that search will not find. The index of names uses a text property
// called name, in any case.
func (j *pointsJob) noteSearch(schema feature.Schema) {
	texts := slices.DeleteFunc(slices.Clone(schema), func(f feature.Field) bool { return f.Kind != feature.Text && f.Kind != feature.Any })
	if !j.of.Search || slices.ContainsFunc(texts, func(f feature.Field) bool { return strings.EqualFold(f.Name, "name") }) {
		return
	}
	advice := "--name says which property it is"
	names := make([]string, len(texts))
	for i, f := range texts {
		names[i] = f.Name
	}
	if like := columns.LikeName(names); like != "" {
		advice = fmt.Sprintf("%s looks like one: give --name=%s", source.Excerpt(like), crs.ShellQuoted(like))
	}
	j.rep.Note("warning: --search finds points by their property name, and as none has a text of that name, it will find " +
		"none of them; " + advice)
}

// idOf returns the value of a member as an id: the text of a string, or a number as it is written.
// For any other value it returns "". In a typed column the value of a number counts and not its
// spelling, and true and false are ids too.
func idOf(value []byte, typed bool) (id string) {
	c := value[0]
	isNumber := '0' <= c && c <= '9' || c == '-' && value[1] != 'I'
	switch {
	case c == '"' && bytes.IndexByte(value, '\\') < 0:
		return string(value[1 : len(value)-1])
	case c == '"':
		_ = json.Unmarshal(value, &id) // valid, because it has been scanned
	case typed && isNumber && bytes.IndexByte(value, 'e') > 0:
		number, _ := source.ParseDecimal(value, math.MaxFloat64)
		id = strconv.FormatFloat(number, 'f', -1, 64)
	case isNumber, typed && c != '"':
		id = string(value)
	}
	return id
}

// maxGuessed bounds the records that are read to find out whether a column has ids, and maxLearned those that show which
// column has names.
const (
	maxGuessed = 1 << 21
	maxLearned = 1000
)

// guesses reports whether the column of ids is only possibly one.
func (f *pointFile) guesses() bool {
	id := f.choice.ID
	return len(id) == 1 && (f.choice.IDBy == columns.ByKey || f.choice.IDBy == columns.ByName && columns.MayBeID(id[0]))
}

// look refuses types for columns that no table has. It also finds out which column has names, and whether a possible
// column of ids has ids. It does not if more records than the tolerated share lack an id or repeat one.
func (j *pointsJob) look() error {
	var once columns.Once
	var column, first string
	var names []string // of properties
	for _, f := range j.files {
		if j.of.Told.Name == "" {
			f.learn = columns.NewChooser("")
		}
		err := j.readRecords(f, func(records iter.Seq2[record, error], _ func()) error {
			n := 0
			for p, err := range records {
				var bad *source.BadRecord
				if err != nil && !errors.As(err, &bad) {
					return err
				}
				n++
				guessed := f.guesses() && once.N < maxGuessed
				if !guessed && (f.learn == nil || n == maxLearned) || j.ctx.Err() != nil {
					break
				}
				if !guessed || err != nil && bad.Reason != source.ReasonNoID {
					continue
				}
				if err != nil {
					p = record{Line: bad.Line}
				}
				if once.Add(p.ID) && once.Wrong == 1 {
					column, first = f.choice.ID[0], fmt.Sprintf("%s:%d", f.Path, p.Line)
				}
			}
			return job.ErrEnough
		})
		if err != nil && !errors.Is(err, job.ErrEnough) {
			return err
		}
		if f.learn != nil {
			f.learn.NameOfPoints(&f.guess)
			f.learn = nil
		}
		if f.properties != nil {
			names = append(names, f.choice.Properties(f.properties())...)
		}
	}
	j.said, j.rows = geojson.Said{}, nil // they are of a part of the files
	for _, t := range j.of.PropertyTypes {
		if j.named() && !slices.Contains(names, t.Name) {
			return noProperty(t.Name, names)
		}
	}
	if j.onlyCertain = float64(once.Wrong) > j.tally.MaxShare*float64(once.N); j.onlyCertain {
		j.rep.Note(fmt.Sprintf("%q is no id: %d of %d records lack one or repeat one, the first is %s", column, once.Wrong, once.N, first))
	}
	return j.ctx.Err()
}

func noProperty(name string, names []string) error {
	slices.Sort(names)
	return fmt.Errorf("there is no property %s for --type: the properties are %.1000q", source.Excerpt(name), slices.Compact(names))
}
