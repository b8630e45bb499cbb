package ip

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync/atomic"
	"time"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/iprecord"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/features"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/format"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/ingest/internal/source/ipcsv"
)

// recordSource is a list of ranges in a format of the table of formats: a sheet of a workbook, or Parquet. Another
// goroutine writes its records as a list of lines, which is read as all lists are.
type recordSource struct {
	listSource
	records  *features.File
	lines    *io.PipeReader
	layer    atomic.Pointer[format.Layer]
	finished chan struct{}
}

// openRecordSource returns nil if the file is of no such format.
func openRecordSource(in Input, files *features.Files) (_ *recordSource, err error) {
	path, _ := source.SplitLayer(in.OnDisk())
	if !format.HasRecords(path) {
		return nil, nil
	}
	file := in.Input
	file.Credit = in.WithDefaults(listCredit(in.Path))
	s := &recordSource{listSource: listSource{in: in}, finished: make(chan struct{})}
	if s.records, err = files.Open(file, format.Options{Want: source.WantAddresses, Said: &geojson.Said{}}); err != nil {
		return nil, err
	}
	var out *io.PipeWriter
	s.lines, out = io.Pipe()
	go func() {
		defer close(s.finished)
		out.CloseWithError(s.records.Read("reading ranges", func(l *format.Layer, _ func()) error {
			s.layer.Store(l)
			return writeRecords(out, l)
		}))
	}()
	text := bufio.NewReader(s.lines)
	if _, err = text.Peek(1); err == nil { // else nothing could be read
		s.table, err = ipcsv.Open(text, s.records.Path, in.Columns)
	}
	if err == nil {
		s.cols, err = iprecord.NewColumns(s.table.Columns(), nil)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// writeRecords writes the records of a layer as lines below one with the names of the columns. A record that has the
// number of a line gets it, if that is possible.
func writeRecords(w io.Writer, l *format.Layer) error {
	at := map[string]int{}
	cells := make([][]byte, len(l.Columns))
	for i, name := range l.Columns {
		at[name], cells[i] = i, []byte(name)
	}
	var line []byte
	write := func() error {
		line = line[:0]
		for i, cell := range cells {
			if i > 0 {
				line = append(line, ',')
			}
			line = append(line, '"')
			line = append(line, bytes.Join(bytes.Fields(bytes.ReplaceAll(cell, []byte{'"'}, []byte(`""`))), []byte{' '})...)
			line = append(line, '"')
		}
		_, err := w.Write(append(line, '\n'))
		return err
	}
	if err := write(); err != nil {
		return err
	}
	number := 1
	for f, err := range l.Features {
		if err != nil {
			return err
		}
		clear(cells)
		for _, m := range f.Members {
			if i, is := at[m.Name]; is && string(m.Value) != "null" {
				cells[i] = source.TextOf(m.Value)
			}
		}
		for number++; number < f.Line; number++ {
			if _, err := w.Write([]byte{'\n'}); err != nil {
				return err
			}
		}
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

func (s *recordSource) kind() string {
	return s.records.Format.Name + ": " + s.listSource.kind()
}

func (s *recordSource) size() int64 { return job.UnpackedBytes(s.records.OnDisk) }

func (s *recordSource) done() int64 {
	l := s.layer.Load()
	if l == nil || l.Size == 0 {
		return 0
	}
	return int64(float64(s.size()) * float64(l.Progress()) / float64(l.Size))
}

func (s *recordSource) close() error {
	_ = s.lines.Close() // only read
	<-s.finished
	return nil
}

func (s *recordSource) modified() time.Time {
	if !s.in.Released.IsZero() {
		return s.in.Released
	}
	return s.records.Modified
}

func (s *recordSource) describe(context.Context) ([]dataset.Source, error) {
	<-s.finished
	if len(s.records.Sources) == 0 {
		return nil, fmt.Errorf("%s: was not read to its end; run the command again", s.in.Path)
	}
	return s.records.Sources, nil
}

func (s *recordSource) ranges(c *converter) iter.Seq2[ipRange, error] {
	return listRanges(s.table, s.cols, s.records.Path, c)
}
