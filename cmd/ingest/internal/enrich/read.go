package enrich

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"

	"quadrille/ask/enrich"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/format"
	"quadrille/cmd/ingest/internal/source/pointtable"
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
	c.Inputs = make([]enrich.Cells, len(r.plan.Inputs()))
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
	sent  bool           // a chunk
	at    map[string]int // of the columns of the output, for features
	in    []int          // the columns that are Inputs, for tables
	cells [][]byte       // of a row, for features that become a table
	text  []byte
}

// readAll reads the layer.
func (r *reader) readAll(report func()) error {
	if r.layer.Table == nil {
		if err := r.beginFeatures(); err != nil {
			return err
		}
		return job.ReadRecords(r.ctx, kept(r.layer.Features), r.tally, report, r.feature)
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
	for _, name := range r.plan.Inputs() {
		i := slices.Index(t.Names(), name)
		if i < 0 {
			return fmt.Errorf("%s: there is no column %s; there are %s", r.file.Path, source.Excerpt(name), listed(t.Names()))
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

// listed returns the first names for an error.
func listed(names []string) string {
	const most = 40
	var shown []string
	for _, name := range names[:min(len(names), most)] {
		shown = append(shown, source.Excerpt(name))
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// beginFeatures begins the reading of features.
func (r *reader) beginFeatures() error {
	names := r.layout.names
	r.layout = layout{format: r.Format, names: names, members: r.Format.json()}
	r.at = map[string]int{}
	for i, name := range names {
		r.at[name] = i
	}
	r.cells = make([][]byte, len(names))
	return r.begin()
}

func (r *reader) begin() error {
	for _, name := range r.layout.names {
		if err := r.checkName(name); err != nil {
			return err
		}
	}
	r.begun = true
	r.layout.begin(r.added, r.plan.Columns())
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
	inputs := r.plan.Inputs()
	for k, name := range inputs {
		var value []byte
		if i := slices.IndexFunc(f.Members, func(m source.Member) bool { return m.Name == name }); i >= 0 {
			value = textOf(f.Members[i].Value)
		}
		c.Inputs[k].AddBytes(value)
	}
	if r.layout.members {
		err = r.addMembers(c, &f.Feature, reason == "")
	} else {
		r.addCells(c, &f.Feature, reason == "")
	}
	if err != nil {
		return err
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

// textOf returns a JSON value as the text of a cell.
func textOf(value []byte) []byte {
	switch {
	case len(value) == 0 || string(value) == "null":
		return nil
	case value[0] != '"':
		return value
	}
	var text string
	if json.Unmarshal(value, &text) != nil { // it has been scanned
		return value
	}
	return []byte(text)
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

// addMembers adds the members of a feature's object.
func (r *reader) addMembers(c *chunk, f *source.Feature, isPoint bool) error {
	b := r.text[:0]
	has := func(name string) bool {
		return slices.ContainsFunc(f.Members, func(m source.Member) bool { return m.Name == name })
	}
	for _, m := range f.Members {
		if err := r.checkName(m.Name); err != nil {
			return err
		}
		b = appendValue(append(jsontext.AppendString(jsontext.Next(b), m.Name), ':'), m.Value)
	}
	if r.Format == GeoJSON {
		c.shapes.AddBytes(appendShape(nil, f.Geometry))
		c.ids.Add(f.ID)
	} else {
		if f.ID != "" && !has("id") {
			b = jsontext.AppendString(append(jsontext.Next(b), `"id":`...), f.ID)
		}
		if at, _, _ := source.PositionOf(f.Geometry); isPoint && !has("lat") && !has("lon") {
			b = strconv.AppendFloat(append(jsontext.Next(b), `"lat":`...), at[1], 'f', -1, 64)
			b = strconv.AppendFloat(append(b, `,"lon":`...), at[0], 'f', -1, 64)
		}
	}
	r.text = b
	c.cells.AddBytes(b)
	return nil
}

// addCells adds the properties of a feature as cells.
func (r *reader) addCells(c *chunk, f *source.Feature, isPoint bool) {
	clear(r.cells)
	set := func(name string, text []byte) {
		if i, ok := r.at[name]; ok && r.cells[i] == nil {
			r.cells[i] = text
		}
	}
	for _, m := range f.Members {
		set(m.Name, textOf(m.Value))
	}
	if f.ID != "" {
		set("id", []byte(f.ID))
	}
	if at, _, _ := source.PositionOf(f.Geometry); isPoint {
		set("lat", strconv.AppendFloat(nil, at[1], 'f', -1, 64))
		set("lon", strconv.AppendFloat(nil, at[0], 'f', -1, 64))
	}
	for _, text := range r.cells {
		c.cells.AddBytes(text)
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
