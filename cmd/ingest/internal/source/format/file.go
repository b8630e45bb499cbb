package format

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/paulmach/orb"
	"golang.org/x/text/encoding"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/charset"
	"quadrille/cmd/ingest/internal/source/crs"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/ingest/internal/source/jsonrecords"
	"quadrille/cmd/ingest/internal/source/osm"
	"quadrille/cmd/ingest/internal/source/pointtable"
	"quadrille/cmd/ingest/internal/source/spelling"
)

// Options set how files are read.
type Options struct {
	Want    source.Want
	Layer   string   // for files with several, unless the path names another after #
	Objects []string // layers of TopoJSON to try where none is named
	// Encoding is the name of the encoding of texts. If it is empty, they are UTF-8, or
	// windows-1252 if they can be nothing else.
	Encoding string
	Columns  pointtable.Columns // the given columns of tables
	Style    spelling.Style     // of numbers and times
	// Headless is set if tables have no line of names. ColumnNames are those of their columns then.
	Headless    bool
	ColumnNames []string
	Tags        []osm.Tag               // of the elements of OpenStreetMap to read, unless the path has some after #
	Dir         string                  // for temporary files
	Said        *geojson.Said           // gets the members outside the features; not nil
	Unroll      func(orb.Ring) orb.Ring // as in shapefile.File
	// Unhashed is set if nobody asks for the checksum of the file, so that none is made while it is read.
	Unhashed bool
	// Nameless is set if the path opens a file that has no name, which SQLite cannot open.
	Nameless bool
	// Bounds leaves out features that are outside, if the format can do so without reading them. Callers
	// filter the others by source.InBounds. It is nil for all features.
	Bounds *orb.Bound
	// MayPass reports whether a feature may be wanted, by ranges of properties as in geoparquet.Options. It may be nil.
	MayPass func(within func(name string) (low, high []byte)) bool
	// Copy copies a file of this name to the disk and returns its path, which opens a file of a name if it is to be named.
	Copy func(r io.Reader, name string, named bool) (path string, err error)
}

// File is a file whose format is known. It can be read several times, by one goroutine.
type File struct {
	Options
	Path     string // its name in messages
	OnDisk   string // the file to read: a copy if the input is packed, or is not a file
	Modified time.Time
	Format   *Format
	// Names are the files of a folder or a pattern, in order, and Root is the folder above them. Names is
	// nil if the path is that of a file; otherwise OnDisk is the first of them.
	Names []string
	Root  string

	layer   string                 // named by the path
	match   func(name string) bool // matches the member of an archive to read
	gdal    string                 // GDAL's name for the input, if that is one file that it can unpack
	packed  bool                   // in a way that GDAL cannot unpack
	unknown bool                   // no format claims it
	// undecided is set if it is taken for GeoJSON because its beginning does not tell what it is.
	undecided bool
	single    bool              // as in jsonrecords.Options
	notes     []string          // on what was found when it was opened, to be told when it has been read
	text      encoding.Encoding // nil for UTF-8
}

// headBytes is the number of bytes that are enough to detect the format of a file.
const headBytes = 64 << 10

// Open detects the format of a file by its content. A path may name a layer after #. called is the
// file's name in messages, if it differs from the path.
func Open(path, called string, o Options) (*File, error) {
	f := &File{Options: o}
	if o.Encoding != "" {
		var known bool
		if f.text, known = charset.Find(o.Encoding); !known {
			return nil, fmt.Errorf("--encoding %s is not known; name one such as windows-1252, iso-8859-2, cp850, shift_jis or utf-8",
				source.Excerpt(o.Encoding))
		}
	}
	f.OnDisk, f.layer = source.SplitLayer(path)
	f.Path, f.Layer = cmp.Or(called, f.OnDisk), cmp.Or(f.layer, o.Layer)
	if err := f.expand(); err != nil {
		return nil, err
	}
	if packed, err := source.IsArchive(f.OnDisk); err != nil {
		return nil, err
	} else if packed {
		if err := f.lookInto(); err != nil || f.Format != nil {
			return f, err
		}
	}
	in, err := f.open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if called == "" {
		f.gdal, f.packed = in.GDAL, in.GDAL == ""
	}
	if f.Format, err = f.recognise(in); err == nil && f.Names != nil && !f.Format.Joined {
		err = fmt.Errorf("%s: the files of a folder or a pattern are not read together if they are %s, like %s: name them one by one",
			f.Path, f.Format.Name, f.OnDisk)
	}
	if err != nil || f.Format.Open == nil || in.IsUnpacked() && !(f.Nameless && f.Format.Named) {
		return f, err
	}
	if f.Format.Parts != "" {
		return nil, fmt.Errorf("%s: %s is several files: pack the %s into one .zip", f.Path, f.Format.Name, f.Format.Parts)
	}
	f.OnDisk, err = f.Copy(in, f.Path, f.Format.Named)
	return f, err
}

// expand finds the files of a folder or a pattern. Of a folder, they are those with an extension of a
// format whose files are read together.
func (f *File) expand() (err error) {
	f.Names, f.Root, err = source.Expand(f.OnDisk, func(name string) bool {
		return slices.ContainsFunc(f.giving(), func(format *Format) bool { return format.joins(name) })
	})
	switch {
	case err != nil:
		return err
	case f.Root != "" && len(f.Names) == 0:
		return fmt.Errorf("%s: no file is there or matches that has %s; name the files themselves", f.Path, f.Want)
	case f.Names != nil:
		f.OnDisk = f.Names[0]
	}
	return nil
}

// lookInto checks whether an archive is a file of a format. If it is not, lookInto sets match to
// the member to read: the only one, or the only one with an extension of a wanted format.
func (f *File) lookInto() error {
	a, err := source.OpenArchive(f.OnDisk)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }() // only read
	names := a.Names()
	if err := f.choose(a, names); err != nil {
		return err
	}
	if f.Format != nil {
		f.Modified = a.Modified
	} else if !slices.ContainsFunc(names, f.match) {
		if err := a.Refuse(); err != nil {
			return err
		}
		return fmt.Errorf("%s: zip archive without a shapefile, and no member of it is of a format expected here; unpack it "+
			"and name the file inside", f.Path)
	}
	return nil
}

// choose sets Format if an archive of these members is a file of a format, and else match. a is nil for a tar archive.
func (f *File) choose(a *source.Archive, names []string) error {
	for _, format := range table {
		switch {
		case format.Archives == nil || !format.Archives(names):
		case !format.gives(f.Want):
			return f.instead(format)
		default:
			f.Format = format
			return nil
		}
	}
	member, others := f.documentOf(names)
	if f.Want == source.WantPoints {
		table := stopsOf(names)
		if table == "" {
			table = f.darwinPoints(a, names)
		}
		if table != "" {
			member, others = table, 0
		}
	}
	if member != "" {
		note := fmt.Sprintf("its member %s is read", member)
		if others > 0 {
			note += fmt.Sprintf(", and %d other KML files in it are not", others)
		}
		f.note(note)
		f.match = func(name string) bool { return name == member }
		return nil
	}
	formats := f.giving()
	// For polygons a text takes precedence over a GeoPackage in the same archive. The reason is
	// that such archives were accepted before GeoPackages were supported.
	polygons := f.Want == source.WantPolygons
	if polygons && slices.ContainsFunc(names, geoJSON.has) {
		formats = []*Format{&geoJSON, &topoJSON}
	}
	// Archives of data often have tables and maps beside it.
	early := slices.DeleteFunc(slices.Clone(formats), func(format *Format) bool { return format.Late || polygons && format.Untyped })
	if slices.ContainsFunc(names, func(name string) bool {
		return slices.ContainsFunc(early, func(format *Format) bool { return format.has(name) })
	}) {
		formats = early
	}
	isText := func(name string) bool { return strings.HasSuffix(strings.ToLower(source.CutCompression(name)), ".txt") }
	has := func(name string) bool {
		return slices.ContainsFunc(formats, func(format *Format) bool { return format.has(name) })
	}
	// Beside others a text is to be read by people.
	texts := !polygons && !slices.ContainsFunc(names, func(name string) bool { return !isText(name) && has(name) })
	f.match = func(name string) bool { return len(names) == 1 || has(name) && (texts || !isText(name)) }
	return nil
}

// stopsOf returns the stops of a GTFS feed, or "" for another archive.
func stopsOf(members []string) string {
	for _, name := range members {
		if folder, base := path.Split(name); base == "stops.txt" && slices.Contains(members, folder+"routes.txt") {
			return name
		}
	}
	return ""
}

// documentOf returns the document of a KMZ that has several: doc.kml, or the only other one if doc.kml has nothing but a
// link to it. others is the number of those that are not read.
func (f *File) documentOf(members []string) (document string, others int) {
	var documents []string
	for _, name := range members {
		if strings.HasSuffix(strings.ToLower(name), ".kml") {
			documents = append(documents, name)
		}
	}
	main := slices.Index(documents, "doc.kml")
	if main < 0 || len(documents) == 1 {
		return "", 0
	}
	if len(documents) == 2 {
		in, err := source.OpenMember(f.OnDisk, func(name string) bool { return name == documents[main] })
		if err == nil { // reading the document says what is wrong
			const enough = 16 << 20
			text, _ := io.ReadAll(io.LimitReader(in.Reader(), enough))
			_ = in.Close() // only read
			if len(text) < enough && !bytes.Contains(text, []byte("<Placemark")) {
				return documents[1-main], 0
			}
		}
	}
	return documents[main], len(documents) - 1
}

// giving returns the formats that can have the wanted content.
func (f *File) giving() []*Format {
	return slices.DeleteFunc(slices.Clone(table), func(format *Format) bool { return !format.gives(f.Want) })
}

// open opens the file, or the member in the archive.
func (f *File) open() (*source.File, error) {
	in, err := source.OpenMember(f.OnDisk, f.match)
	if err != nil {
		return nil, err
	}
	if f.Unhashed {
		in.Unhash()
	}
	f.Modified = in.Modified
	return in, nil
}

// recognise detects the format of an open file by its beginning.
func (f *File) recognise(in *source.File) (*Format, error) {
	begin, err := in.Reader().Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	head := &Head{Bytes: begin, Text: begin}
	if f.text != nil && in.Shown == "" {
		// Reading reports characters outside the encoding.
		head.Text, _ = io.ReadAll(charset.New(bytes.NewReader(begin), f.Path, f.text).Text())
	}
	head.Text = bytes.TrimLeft(head.Text, " \t\r\n\x1e")
	if _, is := head.json(); is {
		f.undecided = jsonrecords.Look(head.Text) == jsonrecords.Unknown
	}
	for _, format := range table {
		switch {
		case format.Matches == nil || !format.Matches(head):
		case format.gives(f.Want):
			// A topology or a list whose members come late looks like GeoJSON until it is read.
			if f.layer != "" && !format.Layered && !(format == &geoJSON && f.undecided) {
				return nil, f.noLayers(format)
			}
			return format, nil
		default:
			return nil, f.instead(format)
		}
	}
	if f.text == nil || in.Shown != "" {
		if err := in.Refuse(f.Want); err != nil {
			return nil, err
		}
	}
	giving := f.giving()
	rest := slices.IndexFunc(giving, func(format *Format) bool { return format.Matches == nil })
	switch {
	case rest < 0:
		f.unknown = true
		return &geoJSON, nil // its reader says why it cannot be read
	case bytes.IndexByte(head.Text, 0) >= 0:
		return nil, fmt.Errorf("%s: is neither %s; if ogrinfo FILE knows it and names its layers, convert it by ogr2ogr "+
			"out.geojson FILE LAYER", f.Path, listed(giving))
	case f.layer != "":
		return nil, f.noLayers(giving[rest])
	}
	return giving[rest], nil
}

// instead returns the error for a file of a format without the wanted content.
func (f *File) instead(format *Format) error {
	if format.Advice == "" {
		return fmt.Errorf("%s: is %s, which has no %s", f.Path, format.Name, f.Want)
	}
	return fmt.Errorf("%s: "+format.Advice, f.Path, f.CommandWord())
}

// CommandWord returns the word for the file in a command that converts it.
func (f *File) CommandWord() string {
	if f.gdal == "" && (f.packed || f.OnDisk != f.Path) {
		return "FILE"
	}
	return crs.ShellQuoted(cmp.Or(f.gdal, f.Path))
}

// ReadLayer opens the layer of the file, calls read with it and closes it. Errors have the name of
// the file in messages. If the format is only found out while the file is read, read may be called
// twice.
func (f *File) ReadLayer(ctx context.Context, read func(*Layer) error) error {
	l, err := f.begin(ctx)
	if err == nil {
		if l.Records && f.Want != source.WantAddresses {
			f.tell(l)
		}
		if f.Want != source.WantAddresses {
			f.spell(l)
		}
		l.note(func() (all []string) {
			all, f.notes = f.notes, nil
			return all
		})
		err = read(l)
		_ = l.Close() // only read
	}
	switch {
	case errors.Is(err, geojson.ErrTopology) && !topoJSON.gives(f.Want):
		return f.instead(&topoJSON)
	case errors.Is(err, geojson.ErrTopology):
		f.Format = &topoJSON
		return f.ReadLayer(ctx, read)
	case errors.Is(err, errRecords):
		f.Format = &records
		return f.ReadLayer(ctx, read)
	case errors.Is(err, jsonrecords.ErrSingle) && !f.single:
		f.single = true
		return f.ReadLayer(ctx, read)
	case err == nil && f.layer != "" && !f.Format.Layered:
		return f.noLayers(f.Format)
	}
	return f.named(err)
}

// tell lets the columns of records tell their geometries and ids.
func (f *File) tell(l *Layer) {
	r := pointtable.NewRecords(l.Features, l.Columns, f.Path, f.Want, f.Columns)
	r.Emptied = l.Cells
	l.Features, l.Columns, l.TakenColumns = r.Features(), nil, &r.Columns
	l.Properties = func() []string { return r.Properties }
	l.note(r.Notes)
}

// spell rewrites numbers and times that are not written as JSON and RFC 3339 write them.
func (f *File) spell(l *Layer) {
	style := f.Style
	if declared := style.IsTime; l.Times != nil {
		style.IsTime = func(name string) bool { return slices.Contains(l.Times, name) || declared != nil && declared(name) }
	}
	style.Listed = l.Cells || l.Table != nil && l.Table.Separator() == ','
	r := spelling.New(f.Path, f.Format.Untyped || l.Cells, !f.Format.Untyped, style)
	if r.IsNeeded() {
		l.Features = r.Features(l.Features)
		l.note(r.Notes)
	}
}

// note adds notes to those of the layer.
func (l *Layer) note(more func() []string) {
	notes := l.Notes
	l.Notes = func() (all []string) {
		if notes != nil {
			all = notes()
		}
		return append(all, more()...)
	}
}

// note adds a note on the file.
func (f *File) note(text string) { f.notes = append(f.notes, f.Path+": "+text) }

// noLayers refuses a path that names a layer of a file without layers.
func (f *File) noLayers(format *Format) error {
	return fmt.Errorf("%s: is %s, which has no layers such as %s; name the file alone", f.Path, format.Name, source.Excerpt(f.layer))
}

// begin opens the layer.
func (f *File) begin(ctx context.Context) (*Layer, error) {
	if f.Format.Open != nil {
		l, err := f.Format.Open(ctx, f)
		if err == nil && l.Paths == nil {
			l.Paths = []string{f.OnDisk}
		}
		return l, err
	}
	in, err := f.open()
	if err != nil {
		return nil, err
	}
	text := charset.New(in, f.Path, f.text)
	switch {
	case in.Shown != "":
		text = charset.NewShown(in, f.Path, in.Shown, f.Encoding)
	case f.Encoding == "" && !f.unknown:
		text = charset.NewGuessing(in, f.Path, func() (io.ReadCloser, error) { return f.open() })
	}
	l := f.Format.Read(f, text.Text())
	l.note(func() (all []string) {
		all = append(slices.Clip(f.Said.Notes), text.Warning())
		f.Said.Notes = nil
		return all
	})
	l.Stream, l.Progress, l.Size, l.Close = in, in.Progress, in.Size, in.Close
	return l, nil
}

// named returns an error with the name of the file, and not of its copy.
func (f *File) named(err error) error {
	if system := (*crs.Error)(nil); errors.As(err, &system) {
		switch {
		case f.Names != nil:
			return err // it names the file
		case f.gdal != "":
			system.InputArgs[0] = f.gdal
		case f.packed || f.OnDisk != f.Path:
			system.InputArgs = nil
		}
		system.File = f.Path
		return err
	}
	if err == nil || f.OnDisk == f.Path || f.Format.Open == nil || f.Names != nil {
		return err
	}
	return fmt.Errorf("%s: %w", f.Path, err)
}
