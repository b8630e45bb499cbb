package enrich

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"

	"quadrille/ask/enrich"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/format"
	"quadrille/cmd/ingest/internal/source/pointtable"
	"quadrille/cmd/internal/columnname"
	"quadrille/internal/jsontext"
	"quadrille/quadkey"
)

// chunk is some rows of the file.
type chunk struct {
	enrich.Chunk
	first      bool // the first of the file
	lines      []int
	noPosition int64
	// cells are the cells of the rows, row by row. Where layout.members is set, each row is one cell: the members of a
	// JSON object.
	cells enrich.Cells
	// ids and shapes are those of features in JSON, for output with geometries.
	ids, shapes enrich.Cells
	flaws       flaws
	some        []bool      // the added columns that have something
	filled      chan piece  // the output, in order
	written     chan []byte // pieces to use again
}

// piece is a part of the output of a chunk.
type piece struct {
	text []byte
	last bool
}

// send hands over a piece of the output. It waits if the one before has not had its turn yet.
func (c *chunk) send(ctx context.Context, p piece) error {
	select {
	case c.filled <- p:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// spare returns the memory of a piece that has been written.
func (c *chunk) spare() []byte {
	select {
	case b := <-c.written:
		return b[:0]
	default:
		return nil
	}
}

// size returns the memory of the cells in bytes.
func (c *chunk) size() int {
	n := c.cells.Size() + c.ids.Size() + c.shapes.Size()
	for i := range c.Inputs {
		n += c.Inputs[i].Size()
	}
	return n
}

func (r *run) newChunk() *chunk {
	// One piece is being made, one waits and one is being written.
	c := &chunk{filled: make(chan piece, 1), written: make(chan []byte, 3)}
	c.Inputs, c.some = make([]enrich.Cells, len(r.plan.Inputs)), make([]bool, len(r.added))
	return c
}

func (c *chunk) reset() {
	c.Points, c.lines, c.noPosition = c.Points[:0], c.lines[:0], 0
	c.cells.Reset()
	c.ids.Reset()
	c.shapes.Reset()
	for i := range c.Inputs {
		c.Inputs[i].Reset()
	}
}

// look reads features before they are written as a table, whose columns must be known at its beginning.
func (r *run) look(ctx context.Context) error {
	if r.file.Format.Untyped || r.Format.json() {
		return nil
	}
	rep := r.job.ReporterOrSilent()
	known, size := map[string]bool{}, 0
	own := false
	add := func(name string) error {
		if known[name] {
			return nil
		}
		if size += len(name); len(known) == maxColumns || size > maxNameBytes {
			return fmt.Errorf("%s: has more than %d properties, or their names have more than %d bytes: write them by --format ndjson",
				r.file.Path, maxColumns, maxNameBytes)
		}
		known[name] = true
		r.layout.names = append(r.layout.names, name)
		return nil
	}
	err := r.file.ReadLayer(ctx, func(l *format.Layer) error {
		if err := r.checkParts(l); err != nil {
			return err
		}
		if l.Columns != nil { // its features have no ids of their own
			for _, name := range l.Columns {
				if err := add(name); err != nil {
					return err
				}
			}
			return nil
		}
		report := func() {
			rep.Progress(job.Progress{Stage: "looking at " + filepath.Base(r.file.Path), Done: l.Progress(), Total: l.Size, Unit: "bytes"})
		}
		tally := job.NewTally(1)
		err := job.ReadRecords(ctx, kept(l.Features), tally, report, func(f feature) error {
			own = own || f.ID != ""
			for _, m := range f.Members {
				if err := add(m.Name); err != nil {
					return err
				}
			}
			return nil
		})
		if l.Notes != nil {
			l.Notes() // the next reading makes them again
		}
		return err
	})
	for _, more := range []struct {
		name string
		has  bool
	}{{"id", own}, {"lat", true}, {"lon", true}} {
		if more.has && !known[more.name] {
			r.layout.names = append(r.layout.names, more.name)
		}
	}
	return err
}

// read reads the file into chunks.
func (r *run) read(ctx context.Context) error {
	return r.file.Read("enriching "+filepath.Base(r.file.Path), func(l *format.Layer, report func()) error {
		if err := r.checkParts(l); err != nil {
			return err
		}
		in := &reader{run: r, ctx: ctx, layer: l}
		if err := in.readAll(report); err != nil {
			return err
		}
		if err := r.tally.Err(); err != nil {
			return err
		}
		return in.send()
	})
}

// reader puts rows into chunks.
type reader struct {
	*run
	ctx   context.Context
	layer *format.Layer
	begun bool
	chunk *chunk
	sent  bool  // a chunk
	in    []int // the columns that are Inputs, for tables

	// The rest is for features.
	properties   map[string]*property
	loose        int // bytes of the names of properties that may be forgotten
	inputs       []*property
	id, lat, lon *property
	number       int             // of the feature
	members      []source.Member // of the feature, each name once
	cells        [][]byte        // of the feature, if it becomes a table
	text         []byte
}

// property is what is known of a property of features by its name.
type property struct {
	added  bool // a column of this name is added
	pinned bool // it is not forgotten
	column int  // of the output, or -1
	last   int  // number of the last feature that has it
	member int  // its index there
}

// maxLoose bounds the names of properties that are remembered, in bytes.
const maxLoose = 1 << 20

// readAll reads the layer.
func (r *reader) readAll(report func()) error {
	if r.layer.Table == nil {
		if err := r.beginFeatures(); err != nil {
			return err
		}
		if err := job.ReadRecords(r.ctx, kept(r.layer.Features), r.tally, report, r.feature); err != nil {
			return err
		}
		return r.endFeatures()
	}
	if err := job.ReadRecords(r.ctx, r.layer.Table.Rows(), r.tally, report, r.row); err != nil {
		return err
	}
	return r.beginTable() // of a table without rows
}

// beginTable takes the columns of the table, which are known now.
func (r *reader) beginTable() error {
	if r.begun {
		return nil
	}
	t := r.layer.Table
	r.layout = layout{format: r.Format, names: t.Names(), positions: true}
	if r.Format == CSV {
		r.layout.separator = t.Separator()
	}
	for _, name := range r.plan.Inputs {
		i := slices.Index(t.Names(), name)
		if i < 0 {
			return fmt.Errorf("%s: there is no column %s; there are %s", r.file.Path, source.Excerpt(name), columnname.List(t.Names()))
		}
		r.in = append(r.in, i)
	}
	if t.Columns.Lat != "" {
		text := r.file.Path + ": latitude from " + strconv.Quote(t.Columns.Lat) + ", longitude from " + strconv.Quote(t.Columns.Lon)
		if t.Columns.Lat == t.Columns.Lon {
			text = r.file.Path + ": positions from " + strconv.Quote(t.Columns.Lat)
		}
		r.job.ReporterOrSilent().Note(text)
	}
	return r.begin()
}

// beginFeatures begins the reading of features.
func (r *reader) beginFeatures() error {
	names := r.layout.names
	r.layout = layout{format: r.Format, names: names, members: r.Format.json()}
	r.properties = map[string]*property{}
	for i, name := range names {
		r.pin(name).column = i
	}
	for _, name := range r.added {
		r.pin(name).added = true
	}
	for _, name := range r.plan.Inputs {
		of := r.pin(name)
		if names != nil && of.column < 0 {
			return fmt.Errorf("%s: there is no property %s; there are %s", r.file.Path, source.Excerpt(name), columnname.List(names))
		}
		r.inputs = append(r.inputs, of)
	}
	r.id, r.lat, r.lon = r.pin("id"), r.pin("lat"), r.pin("lon")
	if r.Format == NDJSON {
		for _, name := range []string{"id", "lat", "lon"} {
			if err := r.checkName(name); err != nil {
				return err
			}
		}
	}
	r.cells = make([][]byte, len(names))
	return r.begin()
}

// endFeatures returns an error if no feature has a property that is needed.
func (r *reader) endFeatures() error {
	for k, of := range r.inputs {
		if of.last == 0 && r.number > 0 {
			return fmt.Errorf("%s: no feature has a property %s", r.file.Path, source.Excerpt(r.plan.Inputs[k]))
		}
	}
	return nil
}

// pin returns the property of a name for the whole run.
func (r *reader) pin(name string) *property {
	of := r.properties[name]
	if of == nil {
		of = &property{pinned: true, column: -1}
		r.properties[name] = of
	}
	return of
}

func (r *reader) begin() error {
	for _, name := range r.layout.names {
		if err := r.checkName(name); err != nil {
			return err
		}
	}
	r.begun = true
	if unnamed := r.layout.begin(r.added, r.plan.Columns); len(unnamed) > 0 && r.Format.json() {
		r.job.ReporterOrSilent().Note(r.file.Path + ": columns without a name are called " + columnname.List(unnamed))
	}
	return nil
}

// checkName refuses a column of the input that has the name of an added one. Two of one name would be
// read differently by each program.
func (r *reader) checkName(name string) error {
	if !slices.Contains(r.added, name) {
		return nil
	}
	return fmt.Errorf("%s: has a column %s already: give the added columns other names by --prefix TEXT, such as --prefix at_", r.file.Path,
		source.Excerpt(name))
}

// next makes room for one more row.
func (r *reader) next() (*chunk, error) {
	if c := r.chunk; c != nil && (len(c.lines) >= chunkRows || c.size() >= chunkBytes) {
		if err := r.send(); err != nil {
			return nil, err
		}
	}
	if r.chunk == nil {
		select {
		case r.chunk = <-r.free:
			r.chunk.reset()
		case <-r.ctx.Done():
			return nil, r.ctx.Err()
		}
	}
	return r.chunk, nil
}

// send sends the chunk. The first one is sent even if it has no rows, because it brings the header.
func (r *reader) send() error {
	if r.chunk == nil && !r.sent {
		if _, err := r.next(); err != nil {
			return err
		}
	}
	c := r.chunk
	if c == nil {
		return nil
	}
	c.first = !r.sent
	r.chunk, r.sent = nil, true
	r.order <- c // both have room for all chunks
	r.work <- c
	return nil
}

// row takes a row of a table.
func (r *reader) row(row pointtable.Row) error {
	if err := r.beginTable(); err != nil {
		return err
	}
	c, err := r.next()
	if err != nil {
		return err
	}
	for _, f := range row.Fields {
		c.cells.AddBytes(f)
	}
	for k, i := range r.in {
		c.Inputs[k].AddBytes(row.Fields[i])
	}
	reason, detail := "", ""
	if row.NoPosition != nil {
		reason, detail = row.NoPosition.Reason, row.NoPosition.Detail
	}
	r.add(c, row.Line, row.At, reason, detail)
	return nil
}

// countsPositions reports whether rows without a position are counted when they are read. Otherwise that is no
// fault, or fill knows.
func (r *run) countsPositions() bool { return r.NeedsPosition && !r.Locates }

// add adds the position of a row, or the reason why it has none.
func (r *reader) add(c *chunk, line int, at orb.Point, reason, detail string) {
	p := quadkey.Position{Lat: at[1], Lon: at[0]}
	if reason == "" && !p.Valid() {
		reason, detail = source.ReasonOutsideWorld, fmt.Sprintf("%v, %v", p.Lat, p.Lon)
	}
	if reason != "" {
		p = enrich.NoPosition
		if r.countsPositions() {
			c.noPosition++
			c.flaws.add(emptyColumns, line, reason, detail)
		}
	}
	c.Points, c.lines = append(c.Points, p), append(c.lines, line)
}

// feature is a feature, with the reason if its geometry cannot be used.
type feature struct {
	source.Feature
	fault *source.BadRecord
}

// kept yields the features whose geometry alone cannot be used with the others.
func kept(features iter.Seq2[source.Feature, error]) iter.Seq2[feature, error] {
	return func(yield func(feature, error) bool) {
		for f, err := range features {
			one := feature{Feature: f}
			if f.Line > 0 && errors.As(err, &one.fault) {
				err = nil
			}
			if !yield(one, err) {
				return
			}
		}
	}
}

// feature takes a feature.
func (r *reader) feature(f feature) error {
	if f.Lost.Count > 0 {
		return &source.BadRecord{Source: r.file.Path, Line: f.Line, Reason: source.ReasonTooLarge, Detail: f.Lost.First}
	}
	c, err := r.next()
	if err != nil {
		return err
	}
	at, reason, detail := source.PositionOf(f.Geometry)
	if f.fault != nil {
		reason, detail = f.fault.Reason, f.fault.Detail
	}
	if err := r.take(c, &f); err != nil {
		return err
	}
	for k, of := range r.inputs {
		c.Inputs[k].AddBytes(textOf(r.valueOf(of)))
	}
	p := &at
	if reason != "" {
		p = nil
	}
	if r.layout.members {
		r.addMembers(c, &f.Feature, p)
	} else {
		r.addCells(c, f.ID, p)
	}
	switch {
	case reason == source.ReasonNoGeometry:
	case r.Format == GeoJSON && string(c.shapes.At(c.shapes.Len()-1)) == "null":
		if f.fault == nil && reason != source.ReasonNotANumber {
			reason, detail = source.ReasonNotANumber, f.Geometry.GeoJSONType()
		}
		c.flaws.add(lostGeometry, f.Line, reason, detail)
	case r.Format != GeoJSON && reason != "" && !r.countsPositions():
		c.flaws.add(lostGeometry, f.Line, reason, detail)
	}
	r.add(c, f.Line, at, reason, detail)
	return nil
}

// take takes the properties of a feature, each name once.
func (r *reader) take(c *chunk, f *feature) error {
	if r.number++; r.loose > maxLoose {
		maps.DeleteFunc(r.properties, func(_ string, of *property) bool { return !of.pinned })
		r.loose = 0
	}
	r.members = r.members[:0]
	repeated := false
	for _, m := range f.Members {
		of := r.properties[m.Name]
		switch {
		case of == nil:
			of = &property{column: -1}
			r.properties[m.Name] = of
			r.loose += len(m.Name)
		case of.added:
			return r.checkName(m.Name)
		case of.last == r.number:
			r.members[of.member] = m
			if !repeated {
				c.flaws.add(repeatedNames, f.Line, "the last one counts", source.Excerpt(m.Name))
			}
			repeated = true
			continue
		}
		of.last, of.member = r.number, len(r.members)
		r.members = append(r.members, m)
	}
	return nil
}

// valueOf returns the value of a property of the feature that was taken, or nil.
func (r *reader) valueOf(of *property) []byte {
	if of.last != r.number {
		return nil
	}
	return r.members[of.member].Value
}

// textOf returns a JSON value as the text of a cell.
func textOf(value []byte) []byte {
	switch {
	case len(value) == 0 || string(value) == "null":
		return nil
	case value[0] != '"':
		return value
	case isPlain(value[1 : len(value)-1]):
		return value[1 : len(value)-1]
	}
	var text string
	if json.Unmarshal(value, &text) != nil { // it has been scanned
		return value
	}
	return []byte(text)
}

// isPlain reports whether a text in a JSON string stands for itself.
func isPlain(text []byte) bool {
	for _, ch := range text {
		if ch < ' ' || ch == '\\' {
			return false
		}
	}
	return utf8.Valid(text)
}

// appendValue appends a value of a source as JSON in one line. What is not JSON, such as NaN, becomes a text.
func appendValue(b, value []byte) []byte {
	if !bytes.ContainsFunc(value, unicode.IsControl) && json.Valid(value) {
		return append(b, value...)
	}
	var line bytes.Buffer
	if json.Compact(&line, value) != nil {
		return jsontext.AppendString(b, string(value))
	}
	return append(b, line.Bytes()...)
}

// addMembers adds the members of a feature's object. at is nil if it is no point.
func (r *reader) addMembers(c *chunk, f *source.Feature, at *orb.Point) {
	b := r.text[:0]
	for _, m := range r.members {
		b = appendValue(append(jsontext.AppendString(jsontext.Next(b), m.Name), ':'), m.Value)
	}
	if r.Format == GeoJSON {
		c.shapes.AddBytes(appendShape(nil, f.Geometry))
		c.ids.Add(f.ID)
	} else {
		has := func(of *property) bool { return of.last == r.number }
		if f.ID != "" && !has(r.id) {
			b = jsontext.AppendString(append(jsontext.Next(b), `"id":`...), f.ID)
		}
		if at != nil && !has(r.lat) && !has(r.lon) {
			b = strconv.AppendFloat(append(jsontext.Next(b), `"lat":`...), at[1], 'f', -1, 64)
			b = strconv.AppendFloat(append(b, `,"lon":`...), at[0], 'f', -1, 64)
		}
	}
	r.text = b
	c.cells.AddBytes(b)
}

// addCells adds the properties of a feature as cells. at is nil if it is no point.
func (r *reader) addCells(c *chunk, id string, at *orb.Point) {
	clear(r.cells)
	for _, m := range r.members {
		if of := r.properties[m.Name]; of.column >= 0 {
			r.cells[of.column] = textOf(m.Value)
		}
	}
	b := append(r.text[:0], id...)
	r.setOwn(r.id, b)
	if at != nil {
		from := len(b)
		b = strconv.AppendFloat(b, at[1], 'f', -1, 64)
		r.setOwn(r.lat, b[from:])
		from = len(b)
		b = strconv.AppendFloat(b, at[0], 'f', -1, 64)
		r.setOwn(r.lon, b[from:])
	}
	r.text = b
	for _, text := range r.cells {
		c.cells.AddBytes(text)
	}
}

// setOwn sets a cell that no property of the feature has.
func (r *reader) setOwn(of *property, text []byte) {
	if of.column >= 0 && r.cells[of.column] == nil {
		r.cells[of.column] = text
	}
}

// appendShape appends a geometry as GeoJSON. One with coordinates that are no numbers is null.
func appendShape(b []byte, g orb.Geometry) []byte {
	if p, ok := g.(orb.Point); ok {
		if reason, _ := source.CheckFinite(p[0], p[1]); reason == "" {
			return appendPoint(b, p)
		}
		return append(b, "null"...)
	}
	if g != nil {
		if text, err := geojson.NewGeometry(g).MarshalJSON(); err == nil {
			return append(b, text...)
		}
	}
	return append(b, "null"...)
}

func appendPoint(b []byte, p orb.Point) []byte {
	b = strconv.AppendFloat(append(b, `{"type":"Point","coordinates":[`...), p[0], 'f', -1, 64)
	return append(strconv.AppendFloat(append(b, ','), p[1], 'f', -1, 64), "]}"...)
}
