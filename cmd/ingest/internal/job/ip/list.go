package ip

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/iprecord"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/ingest/internal/source/geolite"
	"quadrille/cmd/ingest/internal/source/ipcsv"
	"quadrille/cmd/ingest/internal/source/jsonscan"
	"quadrille/ipgeo"
)

// listSource is a source with a list of ranges, in columns or as JSON objects.
type listSource struct {
	in     Input
	file   *source.File
	table  *ipcsv.Table // nil for objects
	cols   *iprecord.Columns
	schema *iprecord.Schema // of objects
	text   *bufio.Reader    // of objects, one a line
	lineOf func(int) int    // the line of the file for one of text
	// document is set if text has its records.
	document *document
}

func openListSource(in Input, f *source.File, layer string, said *geojson.Said) (_ *listSource, err error) {
	s := &listSource{in: in, file: f, text: f.Reader()}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	head, _ := s.text.Peek(s.text.Size()) // reading returns the error
	isArray := bytes.HasPrefix(bytes.TrimSpace(head), []byte{'['})
	s.lineOf = func(line int) int { return line }
	if isArray {
		lines := jsonscan.Lines(s.text)
		s.text, s.lineOf = bufio.NewReaderSize(lines, s.text.Size()), lines.Line
	}
	isJSON := isArray || ipcsv.IsJSON(s.text)
	objects, err := objectSchema(s.text)
	if err == nil && objects == nil && !isArray && isJSON {
		if s.document = openDocument(s.text, in.Path, layer, said); s.document != nil {
			s.text, s.lineOf = bufio.NewReaderSize(s.document, s.text.Size()), s.document.Line
			objects, err = objectSchema(s.text)
		}
	}
	if err == nil && layer != "" && s.document == nil {
		return nil, noList(in.OnDisk(), layer)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.Path, err)
	}
	switch {
	case isJSON && in.Columns != nil:
		return nil, fmt.Errorf("%s: is JSON, and columns are those of lists of lines; leave --columns out, or say of which "+
			"list they are by --columns FILE=…, "+
			"or make this one a list of lines, such as by jq -r '… | @csv'", in.Path)
	case objects != nil:
		s.schema = objects
		return s, nil
	case isArray:
		return nil, fmt.Errorf("%s: is a list in JSON that does not begin with an object that has a network; call the members "+
			"network, or start_ip and end_ip, or make it a list of lines, such as by jq -r '… | @csv'", in.Path)
	case isJSON:
		s.table, err = ipcsv.OpenJSON(f.Reader(), in.Path)
	default:
		s.table, err = ipcsv.Open(f, in.Path, in.Columns)
	}
	if err != nil {
		return nil, err
	}
	if geolite.IsBlocks(in.Path) && slices.Contains(s.table.Columns(), ipcsv.Place) {
		return nil, fmt.Errorf("%s: refers to places that are in other files of its set; name the folder or the zip archive "+
			"of all of them, %s", in.Path, filepath.Dir(in.Path))
	}
	if s.cols, err = iprecord.NewColumns(s.table.Columns(), nil); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Path, err)
	}
	return s, nil
}

func (s *listSource) path() string { return s.in.Path }
func (s *listSource) kind() string {
	if s.schema != nil {
		kind := "list of JSON objects, schema of " + s.schema.Name
		if s.document != nil && s.document.List != "" {
			kind += ", in its member " + source.Excerpt(s.document.List)
		}
		return kind
	}
	if guess := s.table.Guess(); guess != "" {
		return s.table.Layout() + ", " + guess
	}
	return s.table.Layout()
}
func (s *listSource) size() int64 { return s.file.Size }
func (s *listSource) done() int64 { return s.file.Progress() }
func (s *listSource) close() error {
	if s.document != nil {
		s.document.stop()
	}
	return s.file.Close()
}
func (s *listSource) modified() time.Time { return s.file.Modified }

func (s *listSource) describe(context.Context) ([]dataset.Source, error) {
	in := s.in.Input
	in.Credit = in.WithDefaults(listCredit(in.Path))
	src, err := in.Describe(s.file)
	return []dataset.Source{src}, err
}

func (s *listSource) ranges(c *converter) iter.Seq2[ipRange, error] {
	if s.schema != nil {
		return objectRanges(s.text, s.schema, s.in.Path, c, s.lineOf)
	}
	c.feed = s.table.IsGeofeed()
	return listRanges(s.table, s.cols, s.in.Path, c)
}

// listRow is a row of a list.
type listRow struct {
	first, last netip.Addr
	line        int
	text        []byte // its fields, each ended by a line feed
	// ahead is set if the record has already been made.
	ahead bool
	made  conversion
	err   error
}

// listMaker converts rows to records. It belongs to one goroutine.
type listMaker struct {
	cols   iprecord.Columns
	c      *converter
	record ipgeo.Record // on the heap, so one for all rows
	fields [][]byte
}

func (m *listMaker) make(r *listRow) {
	m.fields = m.fields[:0]
	for text := r.text; len(text) > 0; {
		i := bytes.IndexByte(text, '\n')
		m.fields = append(m.fields, text[:i])
		text = text[i+1:]
	}
	var err error
	m.record, err = m.cols.Record(m.fields)
	r.made, r.err = m.c.convert(&m.record, err)
	r.ahead = true
}

// listRows yields the rows of a list.
func listRows(t *ipcsv.Table) iter.Seq2[listRow, error] {
	return func(yield func(listRow, error) bool) {
		var texts []byte // shared by many rows
		for r, err := range t.Records() {
			if cap(texts)-len(texts) < 1<<10 {
				texts = make([]byte, 0, 64<<10)
			}
			from := len(texts)
			for _, f := range r.Fields {
				texts = append(append(texts, f...), '\n') // no field has a line feed
			}
			if !yield(listRow{first: r.First, last: r.Last, line: r.Line, text: texts[from:len(texts):len(texts)]}, err) {
				return
			}
		}
	}
}

const (
	// reasonAgain is the loss of a geofeed's row whose addresses are in an earlier row. At most
	// maxAgain rows are remembered.
	reasonAgain = "the same addresses as an earlier row, which counts"
	maxAgain    = 1 << 17
)

// listRanges yields the ranges of a list. Another goroutine reads ahead. It also makes the records
// ahead, as long as hardly any record occurs again.
func listRanges(t *ipcsv.Table, cols *iprecord.Columns, label string, c *converter) iter.Seq2[ipRange, error] {
	return func(yield func(ipRange, error) bool) {
		var eager atomic.Bool
		made := func(yield func(listRow, error) bool) {
			m := listMaker{cols: *cols, c: c}
			for r, err := range job.ReadAhead(listRows(t)) {
				if err == nil && eager.Load() {
					m.make(&r)
				}
				if !yield(r, err) {
					return
				}
			}
		}
		known := c.keeper()
		m := listMaker{cols: *cols, c: c}
		lines := map[[2]netip.Addr]int{}
		for r, err := range job.ReadAhead(made) {
			if err != nil {
				if !yield(ipRange{}, err) {
					return
				}
				continue
			}
			key := known.key(r.text)
			v := known.find(key)
			if v == nil {
				if !r.ahead {
					m.make(&r)
				}
				if r.err != nil {
					yield(ipRange{}, r.err)
					return
				}
				v = known.keep(key, r.made)
			}
			before := v.record.Size()
			rng, err := v.ipRange(r.first, r.last, label, r.line)
			if err == nil && c.feed && len(lines) < maxAgain {
				addrs := [2]netip.Addr{r.first, r.last}
				if line := lines[addrs]; line > 0 {
					rng.lost = append(rng.lost, &source.BadRecord{
						Source: label,
						Line:   r.line,
						Reason: reasonAgain,
						Detail: fmt.Sprintf("%s to %s, as in line %d", r.first, r.last, line),
					})
				} else {
					lines[addrs] = r.line
				}
			}
			if !yield(rng, err) {
				return
			}
			known.used(v, before)
			eager.Store(known.again.Idle())
		}
	}
}
