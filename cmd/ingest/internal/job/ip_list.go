package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/iprecord"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geolite"
	"quadrille/cmd/ingest/internal/source/ipcsv"
	"quadrille/ipgeo"
)

// listSource is a list of ranges in columns.
type listSource struct {
	in    IPInput
	file  *source.File
	table *ipcsv.Table
	cols  *iprecord.Columns
}

func openListSource(in IPInput, f *source.File) (_ *listSource, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	switch {
	case !in.Released.IsZero():
		f.Modified = in.Released
	case !f.Packed.IsZero():
		f.Modified = f.Packed
	}
	s := &listSource{in: in, file: f}
	if s.table, err = ipcsv.Open(f, in.Path, in.Columns); err != nil {
		return nil, err
	}
	if geolite.IsBlocks(in.Path) && slices.Contains(s.table.Columns(), ipcsv.Place) {
		return nil, fmt.Errorf("%s: refers to places that are in other files of its set; name the folder or the zip archive of all of them, %s", in.Path, filepath.Dir(in.Path))
	}
	if s.cols, err = iprecord.ForColumns(s.table.Columns(), nil); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Path, err)
	}
	return s, nil
}

func (s *listSource) path() string        { return s.in.Path }
func (s *listSource) kind() string        { return s.table.Layout() }
func (s *listSource) size() int64         { return s.file.Size }
func (s *listSource) done() int64         { return s.file.Progress() }
func (s *listSource) close() error        { return s.file.Close() }
func (s *listSource) modified() time.Time { return s.file.Modified }

func (s *listSource) describe(context.Context) ([]dataset.Source, error) {
	in := s.in.Input
	in.Credit = in.or(listCredit(in.Path))
	src, err := in.describe(s.file)
	return []dataset.Source{src}, err
}

func (s *listSource) ranges(c *converter) iter.Seq2[ipRange, error] {
	return listRanges(s.table, s.cols, s.in.Path, c)
}

// listRow is a row of a list, or the error in its place.
type listRow struct {
	first, last netip.Addr
	line        int
	from, to    int // its fields in the text of the batch, each ended by a line feed
	err         error
	// ahead is set where the record has been made already.
	ahead  bool
	made   conversion
	failed error
}

// listBatch is some rows of a list.
type listBatch struct {
	rows []listRow
	text []byte
}

const (
	listRows    = 512 // of a batch
	listBatches = 6   // under way at once
)

func (b *listBatch) add(r *ipcsv.Record, err error) {
	row := listRow{first: r.First, last: r.Last, line: r.Line, from: len(b.text), err: err}
	if err == nil {
		for _, f := range r.Fields {
			b.text = append(append(b.text, f...), '\n') // no field has a line feed
		}
	}
	row.to = len(b.text)
	b.rows = append(b.rows, row)
}

func (b *listBatch) textOf(r *listRow) []byte { return b.text[r.from:r.to] }

// listMaker makes records of rows. It belongs to one goroutine.
type listMaker struct {
	cols   iprecord.Columns
	c      *converter
	record ipgeo.Record // on the heap, so one for all rows
	fields [][]byte
}

func (m *listMaker) make(text []byte) (conversion, error) {
	m.fields = m.fields[:0]
	for len(text) > 0 {
		i := bytes.IndexByte(text, '\n')
		m.fields = append(m.fields, text[:i])
		text = text[i+1:]
	}
	var err error
	m.record, err = m.cols.Record(m.fields)
	return m.c.convert(&m.record, err)
}

// listRanges yields the ranges of a list. One goroutine reads it, and while
// records hardly come again, another makes them ahead of the caller.
func listRanges(t *ipcsv.Table, cols *iprecord.Columns, label string, c *converter) iter.Seq2[ipRange, error] {
	return func(yield func(ipRange, error) bool) {
		var ahead atomic.Bool
		var running sync.WaitGroup
		defer running.Wait()
		done := make(chan struct{})
		defer close(done)
		pass := func(to chan<- *listBatch, b *listBatch) bool {
			select {
			case to <- b:
				return true
			case <-done:
				return false
			}
		}
		free, read, made := make(chan *listBatch, listBatches), make(chan *listBatch, 1), make(chan *listBatch, listBatches)
		for range listBatches {
			free <- new(listBatch)
		}
		running.Go(func() {
			defer close(read)
			b := <-free
			for r, err := range t.Records() {
				if b.add(&r, err); len(b.rows) < listRows {
					continue
				}
				if !pass(read, b) {
					return
				}
				select {
				case b = <-free:
				case <-done:
					return
				}
			}
			pass(read, b)
		})
		running.Go(func() {
			defer close(made)
			own := listMaker{cols: *cols, c: c}
			for b := range read {
				if ahead.Load() {
					own.makeAll(b)
				}
				if !pass(made, b) {
					return
				}
			}
		})
		known := c.keeper()
		own := listMaker{cols: *cols, c: c}
		for b := range made {
			for i := range b.rows {
				if !own.yield(known, b, &b.rows[i], label, yield) {
					return
				}
			}
			ahead.Store(known.idle > 0)
			b.rows, b.text = b.rows[:0], b.text[:0]
			free <- b
		}
	}
}

func (m *listMaker) makeAll(b *listBatch) {
	for i := range b.rows {
		if r := &b.rows[i]; r.err == nil {
			r.made, r.failed = m.make(b.textOf(r))
			r.ahead = true
		}
	}
}

// yield yields a row, and reports whether there are to be more.
func (m *listMaker) yield(known *keeper, b *listBatch, r *listRow, label string, yield func(ipRange, error) bool) bool {
	if r.err != nil {
		return yield(ipRange{}, r.err)
	}
	key := known.key(b.textOf(r))
	v := known.find(key)
	if v == nil {
		if !r.ahead {
			r.made, r.failed = m.make(b.textOf(r))
		}
		if r.failed != nil {
			yield(ipRange{}, r.failed)
			return false
		}
		v = known.keep(key, r.made)
	}
	before := v.record.Size()
	if !yield(v.ipRange(r.first, r.last, label, r.line)) {
		return false
	}
	known.used(v, before)
	return true
}
