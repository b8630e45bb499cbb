package geoparquet

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"quadrille/cmd/ingest/internal/source"
)

const (
	// batch is the number of values that are taken from a page at once.
	batch = 256
	// maxRow bounds the values of a column in one row: the positions of the largest geometry, and
	// an empty place for each part.
	maxRow = source.MaxVertices + 1<<20
)

// cursor reads the values of a leaf in a row group, row by row.
type cursor struct {
	used bool

	pages  *parquet.FilePages
	page   parquet.ValueReader
	buf    []parquet.Value
	rest   []parquet.Value // of buf, not yet read
	read   []parquet.Page  // the row, and page, refer to these
	row    []parquet.Value // of the current row
	failed error           // of the end

	heldPage, heldDictionary int64
}

// hold counts the memory of a page, or of the dictionary, that replaces the one before.
func (c *cursor) hold(p *part, dictionary bool, n int64) error {
	held := &c.heldPage
	if dictionary {
		held = &c.heldDictionary
	}
	p.held += n - *held
	if *held = n; p.held > maxOpen {
		return errTooLarge
	}
	return nil
}

var errTooLarge = fmt.Errorf("pages take more than %d MiB together; write it with smaller row groups and pages", maxOpen>>20)

// begin begins a row group.
func (l *leaf) begin(p *part, group *format.RowGroup) {
	l.end(p)
	chunk := p.opened.RowGroups()[0].ColumnChunks()[l.index].(*parquet.FileColumnChunk)
	l.pages = chunk.PagesFrom(p.openStream(l, &group.Columns[l.index]))
}

// end ends a row group.
func (l *leaf) end(p *part) {
	l.page = nil
	l.release()
	if l.pages != nil {
		_ = l.pages.Close() // it only returns memory
	}
	p.held -= l.heldPage + l.heldDictionary
	l.cursor = cursor{used: l.used, buf: l.buf, row: l.row[:0]}
}

// release returns the memory of pages that no row refers to.
func (l *leaf) release() {
	for i, page := range l.read {
		if i < len(l.read)-1 || l.page == nil {
			parquet.Release(page)
		}
	}
	if n := len(l.read); n > 0 && l.page != nil {
		l.read = append(l.read[:0], l.read[n-1])
	} else {
		l.read = l.read[:0]
	}
}

// next reads the values of the next row into row. There is at least one, which may be null.
func (l *leaf) next() error {
	if l.row = l.row[:0]; len(l.read) > 1 {
		l.release()
	}
	if len(l.rest) == 0 {
		if err := l.fill(); err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("values are missing")
			}
			return err
		}
	}
	l.row = append(l.row, l.rest[0])
	if l.rest = l.rest[1:]; l.rep == 0 {
		return nil
	}
	for {
		if len(l.rest) == 0 {
			if err := l.fill(); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
		}
		n := 0
		for n < len(l.rest) && l.rest[n].RepetitionLevel() > 0 {
			n++
		}
		if len(l.row)+n > maxRow {
			return fmt.Errorf("a row has more than %d values", maxRow)
		}
		l.row = append(l.row, l.rest[:n]...)
		if l.rest = l.rest[n:]; len(l.rest) > 0 {
			return nil
		}
	}
}

// fill reads the next values of the page, or of the next page.
func (l *leaf) fill() error {
	if l.failed != nil {
		return l.failed
	}
	if l.buf == nil {
		l.buf = make([]parquet.Value, batch)
	}
	for {
		if l.page != nil {
			n, err := l.page.ReadValues(l.buf)
			if l.rest = l.buf[:n]; n > 0 {
				return nil
			}
			if err != nil && !errors.Is(err, io.EOF) {
				l.failed = err
				return err
			}
		}
		page, err := l.pages.ReadPage()
		if err != nil {
			l.failed = err
			return err
		}
		l.page, l.read = page.Values(), append(l.read, page)
	}
}
