package points

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/charset"
	"quadrille/cmd/ingest/internal/source/crs"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/ingest/internal/source/geopackage"
	"quadrille/cmd/ingest/internal/source/pointtable"
	"quadrille/cmd/ingest/internal/source/shapefile"
	"quadrille/internal/jsontext"
	"quadrille/places/points"
)

// The place of a point is one number, made of the number of its file, of its line or
// record in the file, and of the feature in the line. A number too large for its bits
// becomes the largest that fits.
const (
	pointFileShift = 49
	pointLineShift = 19
	maxPointFiles  = 10000
)

// pointFormat is a format of files of points.
type pointFormat int

const (
	pointsTable pointFormat = iota
	pointsJSON
	pointsGeoPackage
	pointsShapefile
)

// pointFile is one of the files.
type pointFile struct {
	job.Input        // as it is named
	index     int    // among the files
	read      string // the path that is read: a copy if the file is packed or is not a file
	gdal      string // what GDAL reads; "" of standard input
	layer     string // of a GeoPackage or an archive
	match     func(name string) bool
	format    pointFormat
	modified  time.Time
	line      int                 // of the record at hand
	number    int64               // of the record in it
	columns   *pointtable.Columns // that are taken, nil for GeoJSON; those of a table are known with its first record
	table     *pointtable.Table
	emptied   source.Tally     // of a file that is no table
	key       string           // of the rows of a GeoPackage
	src       []dataset.Source // once it has been read
}

// place returns the number of the place of the current record. A line of GeoJSON may have many
// features.
func (f *pointFile) place(line int) int64 {
	if f.line != line {
		f.line, f.number = line, 0
	}
	f.number++
	return int64(f.index)<<pointFileShift | int64(min(line, 1<<(pointFileShift-pointLineShift)-1))<<pointLineShift | min(f.number, 1<<pointLineShift-1)
}

// stdinName is what standard input is called in messages.
const stdinName = "standard input"

// open finds out what the files are.
func (j *pointsJob) open(paths []string) error {
	if len(paths) > maxPointFiles {
		return fmt.Errorf("%d files: name at most %d, or join some", len(paths), maxPointFiles)
	}
	if j.of.Encoding != "" {
		var known bool
		if j.text, known = charset.Find(j.of.Encoding); !known {
			return fmt.Errorf("--encoding %s is not known; name one such as windows-1252, iso-8859-2, cp850, shift_jis or utf-8", source.Excerpt(j.of.Encoding))
		}
	}
	// A killed run has left its copies. No other run is active now.
	left, err := fs.Glob(os.DirFS(j.dir), copies)
	if err != nil {
		return err
	}
	for _, name := range left {
		j.temp = append(j.temp, filepath.Join(j.dir, name))
	}
	if err := j.close(); err != nil {
		return err
	}
	for _, path := range paths {
		f := &pointFile{Input: job.Input{Path: path, Credit: j.of.Credit}, index: len(j.files)}
		if err := j.recognise(f); err != nil {
			return err
		}
		if first := append(j.files, f)[0]; (first.format == pointsTable) != (f.format == pointsTable) {
			table, other := first, f
			if f.format == pointsTable {
				table, other = f, first
			}
			return fmt.Errorf("%s is a table and %s is not: publish them as two collections, or make a table of the other by: ogr2ogr -lco GEOMETRY=AS_XY out.csv %s",
				table.Path, other.Path, other.word())
		}
		j.files = append(j.files, f)
	}
	return j.look()
}

// close removes the copies.
func (j *pointsJob) close() error {
	var err error
	for _, path := range j.temp {
		err = errors.Join(err, os.Remove(path))
	}
	j.temp = nil
	return err
}

// copies are the names of copies. They lie beside the generations: room is needed there
// anyway.
const copies = "copy-*.tmp"

// copied copies what r has to a file.
func (j *pointsJob) copied(r io.Reader, name string) (string, error) {
	out, err := os.CreateTemp(j.dir, copies)
	if err != nil {
		return "", err
	}
	j.temp = append(j.temp, out.Name())
	stage := "copying " + filepath.Base(name)
	var done int64
	buf := make([]byte, 1<<20)
	for err == nil {
		var n int
		if n, err = r.Read(buf); n > 0 {
			if _, failed := out.Write(buf[:n]); failed != nil {
				err = failed
			}
			done += int64(n)
			j.rep.Progress(job.Progress{Stage: stage, Done: done, Unit: "bytes"})
		}
		if err == nil {
			err = j.ctx.Err()
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return out.Name(), errors.Join(err, out.Close())
}

// recognise tells the format of a file by its content.
func (j *pointsJob) recognise(f *pointFile) (err error) {
	if f.Path == "-" {
		if j.of.Stdin == nil || slices.ContainsFunc(j.files, func(f *pointFile) bool { return f.Path == stdinName }) {
			return errors.New("standard input can be read once only: name - once, and files otherwise")
		}
		f.Path = stdinName
		if f.read, err = j.copied(j.of.Stdin, stdinName); err != nil {
			return err
		}
		f.layer = j.of.Layer
	} else if f.read, f.layer = source.SplitLayer(f.Path); f.layer == "" {
		f.layer = j.of.Layer
	} else {
		f.Path = f.read
	}
	head, err := job.FirstBytes(f.read)
	if err != nil {
		return err
	}
	if strings.HasPrefix(head, "PK\x03\x04") || strings.HasPrefix(head, "PK\x05\x06") {
		shape, err := f.lookInto()
		if err != nil {
			return err
		}
		if shape {
			f.format = pointsShapefile
			return f.stat()
		}
	}
	switch {
	case strings.HasPrefix(head, geopackage.Magic):
		f.format = pointsGeoPackage
		return f.stat()
	case strings.HasPrefix(head, shapeMagic):
		f.format = pointsShapefile
		return f.stat()
	}
	file, err := f.open()
	if err != nil {
		return err
	}
	defer file.Close()
	f.modified = file.Modified
	if f.Path != stdinName {
		f.gdal = file.GDAL
	}
	text, err := file.Reader().Peek(64 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if bytes.HasPrefix(text, []byte(geopackage.Magic)) {
		f.format = pointsGeoPackage
		f.read, err = j.copied(file, f.Path)
		return err
	}
	if text, err = j.decodedHead(file, text); err != nil {
		return err
	}
	switch trimmed := bytes.TrimLeft(text, " \t\r\n\x1e"); {
	case bytes.HasPrefix(text, []byte(shapeMagic)):
		return fmt.Errorf("%s: a shapefile is several files: pack the .shp, .shx, .dbf, .prj and .cpg into one .zip", f.Path)
	case len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '['):
		f.format = pointsJSON
	case bytes.IndexByte(text, 0) >= 0:
		return fmt.Errorf("%s: is neither a table, GeoJSON, a GeoPackage nor a shapefile; if ogrinfo FILE knows it and names its layers, convert it by ogr2ogr out.geojson FILE LAYER", f.Path)
	}
	return nil
}

// decodedHead returns the beginning of a text file in UTF-8. Without a named encoding, or where the
// file's own mark says UTF-8, it refuses what is no such text.
func (j *pointsJob) decodedHead(file *source.File, head []byte) ([]byte, error) {
	if j.text == nil || file.Marked {
		return head, job.RefuseForeign(file, job.OfShapes)
	}
	return io.ReadAll(charset.New(bytes.NewReader(head), file.Path, j.text).Text())
}

// decoded returns the text of a file in UTF-8. note returns what was guessed about it. The byte
// order mark of a file says more than an encoding that is named for all files.
func (j *pointsJob) decoded(f *pointFile, file *source.File) (text *bufio.Reader, note func() string) {
	if file.Marked {
		said := ""
		if j.text != nil {
			said = fmt.Sprintf("%s: begins with the byte order mark of UTF-8 and is read as that, not as the %s of --encoding", f.Path, j.of.Encoding)
		}
		return file.Reader(), func() string { return said }
	}
	r := charset.New(file, f.Path, j.text)
	if j.of.Encoding == "" {
		r = charset.Guess(file, f.Path, func() (io.ReadCloser, error) { return f.open() })
	}
	return r.Text(), r.Note
}

// shapeMagic begins shapefiles.
const shapeMagic = "\x00\x00\x27\x0a"

// stat dates a file that is not read in order.
func (f *pointFile) stat() error {
	info, err := os.Stat(f.read)
	if err == nil {
		f.modified = info.ModTime().UTC()
	}
	return err
}

// pointExtensions tell files of points from other files in an archive.
var pointExtensions = append([]string{".csv", ".tsv", ".tab", ".txt", ".gpkg"}, job.JSONExtensions...)

// lookInto reports whether an archive holds a shapefile. If not, it notes which
// member is read: the only one, or the only one with a known extension.
func (f *pointFile) lookInto() (shape bool, err error) {
	a, err := source.OpenArchive(f.read)
	if err != nil {
		return false, err
	}
	defer func() { _ = a.Close() }() // only read
	only := len(a.Members) == 1
	f.match = func(name string) bool {
		return only || slices.Contains(pointExtensions, strings.ToLower(path.Ext(name)))
	}
	return slices.ContainsFunc(a.Members, func(m *zip.File) bool { return strings.EqualFold(path.Ext(m.Name), ".shp") }), nil
}

// open opens the file, or what is packed in it.
func (f *pointFile) open() (*source.File, error) {
	return job.Input{Path: f.read, Credit: f.Credit}.Open(f.match)
}

// readFile hands over the points of a file.
func (j *pointsJob) readFile(f *pointFile, take func(points.Point) error) error {
	before := j.tally.Taken()
	f.emptied = source.Tally{} // of looking at it
	err := j.readFormat(f, func(seq iter.Seq2[source.Point, error], report func()) error {
		return job.ReadRecords(j.ctx, job.Ahead(j.checked(f, seq)), j.tally, report, take)
	})
	if err == nil && len(f.src) > 0 {
		f.src[0].Records = j.tally.Taken() - before
	}
	return err
}

// takeRecords takes the records of a file. report tells how far the file has been read.
type takeRecords func(seq iter.Seq2[source.Point, error], report func()) error

// readFormat opens the file, hands its records to read and describes it.
func (j *pointsJob) readFormat(f *pointFile, read takeRecords) error {
	switch f.format {
	case pointsGeoPackage:
		return j.readGeoPackage(f, read)
	case pointsShapefile:
		return j.readShapefile(f, read)
	}
	file, err := f.open()
	if err != nil {
		return err
	}
	defer file.Close()
	report := job.BytesRead(j.rep, f.stage(), file)
	if f.format == pointsJSON {
		err = j.readJSON(f, file, read, report)
	} else {
		err = j.readTable(f, file, read, report)
	}
	if err != nil {
		return err
	}
	src, err := f.Input.Describe(file)
	f.src = []dataset.Source{src}
	return err
}

// stage is the name of the reading of the file in reports of progress.
func (f *pointFile) stage() string { return "reading " + filepath.Base(f.Path) }

func (j *pointsJob) readGeoPackage(f *pointFile, read takeRecords) error {
	in, err := geopackage.Open(j.ctx, f.read, f.layer, source.WantPoints)
	if err != nil {
		return f.named(err)
	}
	defer in.Close()
	columns := in.Columns()
	if err := j.checkColumns(f, columns); err != nil {
		return err
	}
	f.key = in.Key
	report := func() {
		j.rep.Progress(job.Progress{Stage: f.stage(), Done: in.Progress(), Total: in.Size, Unit: "records"})
	}
	err = read(j.features(f, in.Features(j.ctx), columns), report)
	j.noteOf(in.Note, err)
	if err != nil {
		return f.named(err)
	}
	if f.Path != stdinName {
		return f.describe(j.ctx, []string{f.Path})
	}
	return f.describe(j.ctx, []string{f.read})
}

func (j *pointsJob) readShapefile(f *pointFile, read takeRecords) error {
	in, err := shapefile.Open(f.read, f.layer, source.WantPoints)
	if err != nil {
		return f.named(err)
	}
	defer in.Close()
	columns := in.Columns()
	if err := j.checkColumns(f, columns); err != nil {
		return err
	}
	report := func() {
		j.rep.Progress(job.Progress{Stage: f.stage(), Done: in.Progress(), Total: in.Size, Unit: "bytes"})
	}
	err = read(j.features(f, in.Features(), columns), report)
	j.noteOf(in.Note, err)
	if err != nil {
		return f.named(err)
	}
	return f.describe(j.ctx, in.Paths)
}

func (j *pointsJob) readJSON(f *pointFile, file *source.File, read takeRecords, report func()) error {
	text, guessed := j.decoded(f, file)
	err := read(j.features(f, geojson.Read(text, f.Path, &j.said), nil), report)
	for _, note := range j.said.Notes {
		j.noteOf(note, err)
	}
	j.said.Notes = nil
	j.noteOf(guessed(), err)
	if errors.Is(err, geojson.ErrTopology) {
		err = fmt.Errorf("%w; convert it by: ogr2ogr out.geojson %s LAYER, where LAYER is one of its objects", err, f.word())
	}
	if system := (*crs.Error)(nil); errors.As(err, &system) {
		err = f.named(err)
	}
	return err
}

func (j *pointsJob) readTable(f *pointFile, file *source.File, read takeRecords, report func()) error {
	text, guessed := j.decoded(f, file)
	table := pointtable.New(text, f.Path, j.of.Columns)
	f.table, f.columns = table, &table.Columns
	err := read(table.Points(), report)
	for _, note := range append(table.Notes(), guessed()) {
		j.noteOf(note, err)
	}
	return err
}

// noteOf passes on what a reader noted, if there is anything, unless only the beginning of
// the file was wanted.
func (j *pointsJob) noteOf(note string, err error) {
	if note != "" && !errors.Is(err, job.ErrEnough) {
		j.rep.Note(note)
	}
}

// word returns the word for the file in a command that converts it.
func (f *pointFile) word() string {
	if f.Path == stdinName {
		return "FILE"
	}
	return crs.Quoted(cmp.Or(f.gdal, f.Path))
}

// named names the file, and not its copy, in an error.
func (f *pointFile) named(err error) error {
	if system := (*crs.Error)(nil); errors.As(err, &system) {
		switch {
		case f.Path == stdinName:
			system.In = nil
		case f.gdal != "": // else the reader knows better
			system.In[0] = f.gdal
		}
		system.File = f.Path
		return err
	}
	if f.read == f.Path {
		return err
	}
	return fmt.Errorf("%s: %w", f.Path, err)
}

// describe describes files that are not read in order.
func (f *pointFile) describe(ctx context.Context, paths []string) error {
	for _, path := range paths {
		src, err := dataset.FileSource(ctx, path)
		if err != nil {
			return err
		}
		if path == f.read {
			src.Name, src.File = filepath.Base(f.Path), filepath.Base(f.Path)
		}
		f.src = append(f.src, f.Complete(src))
	}
	return nil
}

// features makes points of features. A feature of GeoJSON has no columns: its id is its
// own, or else its property id, unless another property is named.
func (j *pointsJob) features(f *pointFile, seq iter.Seq2[source.Feature, error], columns []string) iter.Seq2[source.Point, error] {
	taken := j.of.Columns
	if f.format != pointsJSON {
		if taken.ID == "" && !taken.Certain {
			taken.ID = f.key
		}
		found := columns
		if taken.Certain { // then the key is not found by its name either
			found = slices.DeleteFunc(slices.Clone(columns), func(name string) bool { return name == f.key })
		}
		taken.FindID(found)
		f.columns = &taken
	}
	return func(yield func(source.Point, error) bool) {
		counted := int64(0) // features whose ids number them from 0
		numbered := f.format == pointsJSON && taken.ID == ""
		defer func() {
			if numbered && counted > 1 {
				j.rows = f
			}
		}()
		for feature, err := range seq {
			var p source.Point
			if err == nil {
				if numbered {
					n, bad := strconv.ParseInt(feature.ID, 10, 64)
					numbered = bad == nil && n == counted
					counted++
				}
				p, err = j.feature(f, &feature, columns, taken.ID)
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// feature makes a point of a feature whose geometry is one. Its properties are those of the
// columns, or the members, in their order and without the id. They are valid until the next
// call.
func (j *pointsJob) feature(f *pointFile, of *source.Feature, columns []string, id string) (p source.Point, err error) {
	bad := func(reason, detail string) (source.Point, error) {
		return source.Point{}, &source.BadRecord{Source: f.Path, Line: of.Line, Reason: reason, Detail: detail}
	}
	at, reason, detail := source.Position(of.Geometry)
	switch {
	case reason != "":
		return bad(reason, detail)
	case f.format == pointsJSON && of.Lost.Count > 0:
		return bad(source.TooLarge, of.Lost.First)
	}
	p = source.Point{ID: of.ID, Lat: at[1], Lon: at[0], Lost: of.Lost, Expires: of.Expires, Line: of.Line}
	told := id != ""
	if told {
		p.ID = ""
	} else if p.ID == "" && f.format == pointsJSON {
		id = "id"
	}
	names, out := j.of.Columns, j.object[:0]
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
	for _, column := range columns {
		if v, ok := of.Properties[column]; !ok || j.isEmpty(f, v, of.Line) {
			continue
		} else if column == id {
			p.ID = idText(v)
		} else if begin(column) {
			out = appendValue(out, v)
		}
	}
	for _, m := range of.Members {
		if j.isEmptyJSON(f, m.Value, of.Line) {
			continue
		}
		if m.Name == id {
			p.ID = idOf(m.Value)
		} else if begin(m.Name) {
			out = append(out, m.Value...)
		}
	}
	if told && p.ID == "" {
		return bad(source.NoID, source.Excerpt(id)+" is empty, or neither text nor a number")
	}
	if len(out) > 0 {
		out[0] = '{'
		p.Properties = append(out, '}')
		j.object = p.Properties
	}
	return p, nil
}

// isEmpty reports whether a property of a source.Feature is a word for an empty value.
func (j *pointsJob) isEmpty(f *pointFile, value any, line int) bool {
	text, ok := value.(string)
	if j.of.Empty == nil || !ok || !j.empty.Has([]byte(text)) {
		return false
	}
	f.emptied.Add([]byte(text), line)
	return true
}

// isEmptyJSON is isEmpty for a value as JSON spells it.
func (j *pointsJob) isEmptyJSON(f *pointFile, value []byte, line int) bool {
	if j.of.Empty == nil || value[0] != '"' || len(value) > 1<<10 {
		return false
	}
	var text string
	_ = json.Unmarshal(value, &text) // it has been scanned
	return j.isEmpty(f, text, line)
}

// appendValue appends a property of a source.Feature.
func appendValue(dst []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		return jsontext.AppendString(dst, v)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case float64:
		return strconv.AppendFloat(dst, v, 'g', -1, 64)
	case bool:
		return strconv.AppendBool(dst, v)
	case json.RawMessage:
		return append(dst, v...)
	}
	return append(dst, "null"...)
}
