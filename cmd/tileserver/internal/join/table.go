package join

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"quadrille/ask/enrich"
	"quadrille/cmd/internal/columnname"
	"quadrille/cmd/internal/csvcell"
	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/internal/bom"
	"quadrille/internal/jsontext"
	"quadrille/quadkey"
)

const (
	maxRowBytes = 64 << 10 // of a row in the request
	// The rows of a chunk are answered together, which is the faster, the more there are.
	chunkRows  = 4096
	chunkBytes = 1 << 20
	maxColumns = 1000
)

// table reads a table and writes it with more columns: as CSV, or as JSON objects, which may be
// Features.
type table struct {
	*web.Batch
	*question
	filler *enrich.Filler
	ctx    context.Context
	kit    *web.Kit

	isCSV     bool
	separator byte
	begun     bool   // the header of CSV is written
	header    []byte // of CSV
	width     int    // number of columns of CSV
	chunk
}

// chunk has rows that wait for their answers. Points and Inputs have only those that are not refused.
type chunk struct {
	enrich.Chunk
	rows []row
	// texts has the beginning of each row's answer, up to the added columns.
	texts enrich.Cells
	flaws map[int]string // by point
}

type row struct {
	number  int64 // of the line
	blank   bool
	feature bool  // the added columns are properties
	refusal error // of a row that cannot be read
}

// readAll reads and answers the table.
func (t *table) readAll() error {
	first, err := t.Peek()
	switch {
	case errors.Is(err, io.EOF):
		return endpoint.Refuse(endpoint.ErrLine, "", "Send a table: CSV with a header, or a JSON object in each line"+
			", such as "+t.Sample)
	case err != nil:
		return err
	case first == '{' || first == '\x1e':
		return t.readObjects()
	case first == '[':
		return endpoint.Refuse(endpoint.ErrLine, "", "The body is a list: send each of its entries in a line of its own (jq -c '.[]').")
	}
	return t.readCSV()
}

// wait is called before the table waits for more of the body.
func (t *table) wait() error {
	if err := t.fill(); err != nil {
		return err
	}
	return t.Flush()
}

// readObjects reads a JSON object in each line.
func (t *table) readObjects() error {
	t.LineBytes = maxRowBytes
	t.Lines-- // there is no header
	objects := objectReader{table: t, lat: t.lat, lon: t.lon}
	err := t.Each(endpoint.ErrLine, func(line []byte, refused error) error {
		r := row{number: t.Line, blank: len(line) == 0, refusal: refused}
		if !r.blank && refused == nil {
			r.feature, r.refusal = objects.read(line)
		}
		t.rows = append(t.rows, r)
		return t.fillIfFull()
	})
	return cmp.Or(t.fill(), err)
}

// objectReader reads JSON objects.
type objectReader struct {
	*table
	lat, lon string // the columns of the last position
	compact  []byte
	text     []byte
	names    []string
}

// read adds an object to the chunk. Its error is the refusal of the line.
func (o *objectReader) read(line []byte) (isFeature bool, err error) {
	object, err := feature.AppendProperties(o.compact[:0], line)
	if err != nil {
		detail := "Write a JSON object in each line, such as " + o.Sample + "."
		if reason := feature.DetailOf(err, feature.ErrProperties); line[0] == '{' && json.Valid(line) && reason != "" {
			detail = "The object cannot be used: " + reason + "."
		}
		return false, endpoint.Refuse(endpoint.ErrLine, "", detail)
	}
	o.compact = object
	members := object
	kind, _ := feature.Member(object, "type") // a row may have a column of this name, too
	if _, hasShape := feature.Member(object, "geometry"); hasShape && string(kind) == `"Feature"` {
		isFeature = true
		if members, _ = feature.Member(object, "properties"); len(members) == 0 || members[0] != '{' {
			members = []byte("{}")
		}
	}
	o.names = o.names[:0]
	for name := range feature.Members(members) {
		text := string(feature.TextOf(name))
		if err := o.checkNew(text); err != nil {
			return false, err
		}
		o.names = append(o.names, text)
	}
	position := o.position
	if isFeature {
		position = positionOf
	}
	p, flaw := position(object)
	o.text = o.text[:0]
	if isFeature {
		o.text = append(o.text, '{')
		for name, value := range feature.Members(object) {
			if string(name) != `"properties"` {
				o.text = append(append(append(o.text, name...), ':'), value...)
				o.text = append(o.text, ',')
			}
		}
		o.text = append(o.text, `"properties":`...)
	}
	o.texts.AddBytes(append(o.text, members[:len(members)-1]...))
	for i, name := range o.plan.Inputs() {
		value, _ := feature.Member(members, name)
		o.Chunk.Inputs[i].AddBytes(textOf(value))
	}
	o.addPoint(p, flaw)
	return isFeature, nil
}

// textOf returns a JSON value as the text of a cell.
func textOf(value []byte) []byte {
	switch {
	case string(value) == "null":
		return nil
	case feature.IsText(value):
		return feature.TextOf(value)
	}
	return value
}

// position returns the position that an object has in two members.
func (o *objectReader) position(object []byte) (p quadkey.Position, flaw string) {
	lat, hasLat := feature.Member(object, o.lat)
	lon, hasLon := feature.Member(object, o.lon)
	if !hasLat || !hasLon {
		o.lat, o.lon = columnname.Axes(o.names, o.question.lat, o.question.lon)
		lat, _ = feature.Member(object, o.lat)
		lon, _ = feature.Member(object, o.lon)
	}
	return parsePosition(textOf(lat), textOf(lon))
}

// positionOf returns the position of a Feature.
func positionOf(object []byte) (p quadkey.Position, flaw string) {
	geometry, _ := feature.Member(object, "geometry")
	var point struct {
		Type        string
		Coordinates json.RawMessage
	}
	var numbers []*float64
	if json.Unmarshal(geometry, &point) != nil || point.Type != "Point" ||
		json.Unmarshal(point.Coordinates, &numbers) != nil || len(numbers) < 2 || numbers[0] == nil || numbers[1] == nil {
		return enrich.NoPosition, "the geometry is not a Point"
	}
	return checked(quadkey.Position{Lat: *numbers[1], Lon: *numbers[0]})
}

// parsePosition reads a position.
func parsePosition(lat, lon []byte) (p quadkey.Position, flaw string) {
	lat, lon = bytes.TrimSpace(lat), bytes.TrimSpace(lon)
	if len(lat) == 0 || len(lon) == 0 {
		return enrich.NoPosition, enrich.ReasonNoPosition
	}
	var err, failed error
	p.Lat, err = strconv.ParseFloat(string(lat), 64)
	p.Lon, failed = strconv.ParseFloat(string(lon), 64)
	if err != nil || failed != nil {
		return enrich.NoPosition, "latitude and longitude are not decimal degrees with a point, such as 47.37"
	}
	return checked(p)
}

func checked(p quadkey.Position) (_ quadkey.Position, flaw string) {
	if !p.Valid() {
		return enrich.NoPosition, "the position is outside of the world: latitudes are from -90 to 90 degrees, longitudes from -180 to 180"
	}
	return p, ""
}

// addPoint adds the position of a row. flaw says why there is none.
func (t *table) addPoint(p quadkey.Position, flaw string) {
	if flaw != "" && t.NeedsPosition() && !t.Locates() {
		t.bad(len(t.Chunk.Points), flaw, "")
	}
	t.Chunk.Points = append(t.Chunk.Points, p)
}

// bad adds a flaw to those of a row.
func (t *table) bad(point int, reason, detail string) {
	if t.flaws == nil {
		t.flaws = map[int]string{}
	}
	if detail != "" {
		reason += ": " + excerpt(detail)
	}
	if was := t.flaws[point]; was != "" {
		reason = was + "; " + reason
	}
	t.flaws[point] = reason
}

// readCSV reads a table with a header.
func (t *table) readCSV() error {
	limit := &rowLimit{r: t.Batch}
	body := bufio.NewReader(limit)
	header, err := readHeader(body, limit)
	if err != nil {
		return err
	}
	t.isCSV, t.separator = true, separatorOf(header)
	t.SetFormat(web.FormatCSV)
	in := t.newReader(io.MultiReader(strings.NewReader(header), body)) // of an odd quote more than a row may have been read
	names, err := t.readRow(in)
	if err != nil {
		return err
	}
	columns, err := t.begin(names)
	for err == nil {
		var cells []string
		limit.begin()
		if cells, err = t.readRow(in); err == nil {
			t.addCells(columns, cells)
			err = t.fillIfFull()
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return cmp.Or(t.fill(), err) // the rows before the error are answered
}

func (t *table) newReader(r io.Reader) *csv.Reader {
	in := csv.NewReader(r)
	in.Comma, in.LazyQuotes, in.FieldsPerRecord, in.ReuseRecord = rune(t.separator), true, -1, true
	return in
}

// opens matches the quote at the beginning of a cell.
var opens = regexp.MustCompile(`(?:^|[,;\t])"`)

// readHeader returns the text of the first row that is not blank. Its cells may have line ends in quotes.
func readHeader(body *bufio.Reader, limit *rowLimit) (text string, err error) {
	limit.begin()
	var header strings.Builder
	quotes := 0
	for {
		line, err := body.ReadString('\n')
		ended := errors.Is(err, io.EOF) && header.Len()+len(line) > 0
		if err != nil && !ended {
			return "", err
		}
		if header.Len() == 0 {
			line = string(bom.Trim([]byte(line)))
		}
		if header.Len() == 0 && strings.TrimSpace(line) == "" && !ended {
			continue
		}
		header.WriteString(line)
		quotes += strings.Count(line, `"`)
		if ended || quotes%2 == 0 || header.Len() == len(line) && !opens.MatchString(line) {
			return header.String(), nil
		}
	}
}

// separatorOf returns the separator of columns that stands most often in a header, outside of quotes.
func separatorOf(header string) byte {
	var counts ['|' + 1]int
	quoted, pairs := false, strings.Count(header, `"`)%2 == 0
	for i := range len(header) {
		switch c := header[i]; c {
		case '"':
			quoted = pairs && !quoted
		case ',', ';', '\t', '|':
			if !quoted {
				counts[c]++
			}
		}
	}
	best := byte(',')
	for _, c := range []byte(";\t|") {
		if counts[c] > counts[best] {
			best = c
		}
	}
	return best
}

// rowLimit bounds the bytes of a row.
type rowLimit struct {
	r    io.Reader
	left int
}

// begin is called before a row is read.
func (l *rowLimit) begin() { l.left = maxRowBytes }

func (l *rowLimit) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, endpoint.Refuse(endpoint.ErrLine, "", "A row has more than "+strconv.Itoa(maxRowBytes)+
			" bytes: shorten it, or close the quotes of its cells.")
	}
	n, err := l.r.Read(p)
	l.left -= n
	return n, err
}

// readRow reads the next row.
func (t *table) readRow(in *csv.Reader) ([]string, error) {
	cells, err := in.Read()
	if parse := (*csv.ParseError)(nil); errors.As(err, &parse) {
		return nil, endpoint.Refuse(endpoint.ErrLine, "", "Row "+strconv.FormatInt(t.Line+1, 10)+" cannot be read: "+parse.Err.Error()+".")
	}
	if err != nil {
		return nil, err
	}
	if err := t.CountRow(); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(cells, func(cell string) bool { return !utf8.ValidString(cell) }) {
		return nil, endpoint.Refuse(endpoint.ErrLine, "",
			"The table is not UTF-8: save it so, or convert it, such as by iconv -f windows-1252 -t utf-8.")
	}
	return cells, nil
}

// columns are the columns of CSV that are read.
type columns struct {
	lat, lon int // -1 for none
	inputs   []int
}

// begin reads the names of the columns.
func (t *table) begin(names []string) (c columns, err error) {
	if len(names) > maxColumns {
		return c, endpoint.Refuse(endpoint.ErrLine, "", "The table has more than "+strconv.Itoa(maxColumns)+" columns: send fewer.")
	}
	t.width = len(names)
	for i, name := range names {
		if err := t.checkNew(strings.TrimSpace(name)); err != nil {
			return c, err
		}
		t.header = csvcell.Append(append(t.header, t.separator), t.separator, []byte(name))
		names[i] = strings.TrimSpace(name)
	}
	for _, name := range append(t.added[:len(t.added):len(t.added)], t.flaw) {
		t.header = csvcell.Append(append(t.header, t.separator), t.separator, []byte(name))
	}
	t.header = t.header[1:]
	t.header = append(t.header, '\n')
	index := func(parameter, name string) int {
		i := slices.Index(names, name)
		if i < 0 && err == nil {
			err = endpoint.Refuse(endpoint.ErrParameter, parameter,
				"There is no column "+columnname.List([]string{name})+" in the table; there are "+columnname.List(names)+".")
		}
		return i
	}
	for _, given := range []struct{ parameter, column string }{{"lat", t.lat}, {"lon", t.lon}} {
		if given.column != "" {
			index(given.parameter, given.column)
		}
	}
	for _, name := range t.plan.Inputs() {
		c.inputs = append(c.inputs, index("", name))
	}
	lat, lon := columnname.Axes(names, t.lat, t.lon)
	c.lat, c.lon = columnIndex(names, lat), columnIndex(names, lon)
	if needed := t.NeedsPosition() && !t.Locates(); err == nil && needed && (c.lat < 0 || c.lon < 0) {
		err = endpoint.Refuse(endpoint.ErrParameter, "lat", "The columns of latitudes and longitudes are not known by their names: "+
			"name them by lat and lon, of "+columnname.List(names)+".")
	}
	return c, err
}

// columnIndex returns the index of a column, or -1 for "", which is also the name of columns without one.
func columnIndex(names []string, name string) int {
	if name == "" {
		return -1
	}
	return slices.Index(names, name)
}

// addCells adds a row of CSV to the chunk.
func (t *table) addCells(c columns, cells []string) {
	var text []byte
	for i := range t.width {
		if i > 0 {
			text = append(text, t.separator)
		}
		if i < len(cells) {
			text = csvcell.Append(text, t.separator, []byte(cells[i]))
		}
	}
	t.texts.AddBytes(text)
	cell := func(i int) []byte {
		if i < 0 || i >= len(cells) {
			return nil
		}
		return []byte(cells[i])
	}
	for k, i := range c.inputs {
		t.Chunk.Inputs[k].AddBytes(bytes.TrimSpace(cell(i)))
	}
	t.rows = append(t.rows, row{number: t.Line})
	if len(cells) != t.width {
		flaw := "the row has " + strconv.Itoa(len(cells)) + " cells, and the header " + strconv.Itoa(t.width)
		if len(cells) > t.width {
			flaw += ": the further ones are left out"
		}
		t.bad(len(t.Chunk.Points), flaw, "")
	}
	t.addPoint(parsePosition(cell(c.lat), cell(c.lon)))
}

// fillIfFull answers the rows of the chunk if there are many.
func (t *table) fillIfFull() error {
	size := t.texts.Size()
	for i := range t.Chunk.Inputs {
		size += t.Chunk.Inputs[i].Size()
	}
	if len(t.rows) < chunkRows && size < chunkBytes {
		return nil
	}
	if err := t.fill(); err != nil {
		return err
	}
	return t.WriteIfFull()
}

// fill answers the rows of the chunk.
func (t *table) fill() error {
	if t.isCSV && !t.begun && t.header != nil {
		t.begun, t.Body = true, append(t.Body, t.header...)
	}
	if len(t.rows) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancelCause(t.ctx)
	limit := time.AfterFunc(t.kit.Timeout, func() { cancel(context.DeadlineExceeded) })
	defer func() {
		limit.Stop()
		cancel(nil)
		t.reset()
	}()
	read, next := t.Line, 0
	err := t.filler.FillParts(ctx, &t.Chunk, func(from, to int, cells []enrich.Cells) error {
		limit.Reset(t.kit.Timeout) // each part is reads of its own
		for point := from; point < to; next++ {
			if t.appendRefused(&t.rows[next]) {
				continue
			}
			t.Body = append(t.Body, t.texts.At(point)...)
			if t.isCSV {
				t.appendCells(cells, point, point-from)
			} else {
				t.appendMembers(cells, point, point-from, t.rows[next].feature)
			}
			if point++; t.Full() {
				limit.Stop() // it is for reads, and the client may be slow
				if err := t.WriteIfFull(); err != nil {
					return err
				}
				limit.Reset(t.kit.Timeout)
			}
		}
		return nil
	})
	if err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	for ; next < len(t.rows); next++ {
		t.appendRefused(&t.rows[next])
	}
	t.Line = read
	return nil
}

// appendRefused appends the answer to a row without a point. It reports whether the row is one.
func (t *table) appendRefused(r *row) bool {
	switch t.Line = r.number; {
	case r.refusal != nil:
		t.RefuseLine("", "", r.refusal)
	case r.blank:
		t.Body = append(t.Body, '\n')
	default:
		return false
	}
	return true
}

func (t *table) reset() {
	t.rows, t.Chunk.Points = t.rows[:0], t.Chunk.Points[:0]
	t.texts.Reset()
	clear(t.flaws)
	for i := range t.Chunk.Inputs {
		t.Chunk.Inputs[i].Reset()
	}
}

// appendCells appends the added cells of a row of CSV, which are cell i of each column.
func (t *table) appendCells(cells []enrich.Cells, point, i int) {
	for k, c := range t.plan.Columns() {
		t.Body = append(t.Body, t.separator)
		if c.Raw {
			t.Body = append(t.Body, cells[k].At(i)...)
		} else {
			t.Body = csvcell.AppendForeign(t.Body, t.separator, cells[k].At(i))
		}
	}
	t.Body = csvcell.AppendForeign(append(t.Body, t.separator), t.separator, []byte(t.flaws[point]))
	t.Body = append(t.Body, '\n')
}

// appendMembers appends the added members of an object, which are cell i of each column.
func (t *table) appendMembers(cells []enrich.Cells, point, i int, isFeature bool) {
	for k, c := range t.plan.Columns() {
		t.Body = c.AppendJSON(append(jsontext.Next(t.Body), t.keys[k]...), cells[k].At(i))
	}
	if flaw := t.flaws[point]; flaw != "" {
		t.Body = jsontext.AppendString(append(jsontext.Next(t.Body), t.keys[len(t.added)]...), flaw)
	}
	if isFeature {
		t.Body = append(t.Body, '}')
	}
	t.Body = append(t.Body, "}\n"...)
}

// refuse ends the answer with the reason why the rest of the table is not answered. In CSV it is a row
// that has only this.
func (t *table) refuse(err error) {
	if !t.isCSV {
		t.RefuseLine("", "", err)
		return
	}
	for range t.width + len(t.added) - 1 {
		t.Body = append(t.Body, t.separator)
	}
	t.Body = csvcell.AppendForeign(append(t.Body, t.separator), t.separator,
		[]byte("the answer ends here: "+t.Problem(err).Detail))
	t.Body = append(t.Body, '\n')
}
