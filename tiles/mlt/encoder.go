package mlt

import (
	"encoding/binary"
	"fmt"

	"quadrille/tiles/mvt"
)

// These are the types of geometry, with their numbers in the format.
const (
	typePoint        = 0
	typeLineString   = 1
	typePolygon      = 2
	typeMultiPoint   = 3
	typeMultiLine    = 4
	typeMultiPolygon = 5
)

// These are the types of columns, numbered as in the format. An odd type has absent values.
const (
	columnID       = 0
	columnLongID   = 2
	columnGeometry = 4
	columnBool     = 10
	columnInt32    = 16
	columnUint32   = 18
	columnInt64    = 20
	columnDouble   = 26
	columnString   = 28
	nullable       = 1
)

const tableTag = 1 // of a feature table in version 1

// Encoder writes feature tables. Its zero value is ready for use, and a reused
// Encoder allocates little. It belongs to one goroutine.
type Encoder struct {
	view mvt.LayerView
	geometry
	columns []column
	named   map[string]int32 // the columns by their names
	ids     []uint64
	lacking []bool // whether a feature has no id, by feature
	body    []byte
	bits    []byte
	ints    ints
	// These are buffers of the column that is being written.
	numbers []uint64
	lengths []uint64
	index   map[string]uint32 // the texts' places in dict
	dict    []string
}

// AppendTile appends the feature tables of the layers of a vector tile, in the encoding of package
// mvt. Features keep their order, ids, attributes and coordinates. An attribute that is a text in
// one feature and a number in another becomes a text in all, because a column has one type. Errors
// match mvt.ErrMalformed; dst then has the tables before the error.
func (e *Encoder) AppendTile(dst, tile []byte) ([]byte, error) {
	for {
		rest, ok, err := mvt.NextLayer(tile, &e.view)
		if err != nil || !ok {
			return dst, err
		}
		tile = rest
		if e.view.Len() == 0 {
			continue
		}
		if err := e.read(); err != nil {
			return dst, fmt.Errorf("layer %s: %w", e.view.Name, err)
		}
		e.body = e.appendTable(e.body[:0])
		dst = binary.AppendUvarint(dst, uint64(len(e.body)))
		dst = append(dst, e.body...)
	}
}

// read decodes the features of the view.
func (e *Encoder) read() error {
	e.geometry.reset()
	e.ids, e.lacking = e.ids[:0], e.lacking[:0]
	for i := range e.columns {
		e.columns[i].reset(nil)
	}
	e.columns = e.columns[:0]
	clear(e.named)
	for i := range e.view.Len() {
		f, err := e.view.Feature(i)
		if err != nil {
			return err
		}
		if err := e.geometry.add(f); err != nil {
			return err
		}
		e.lacking = append(e.lacking, f.ID == 0)
		if f.ID != 0 {
			e.ids = append(e.ids, f.ID)
		}
		at := 0
		err = e.view.EachTag(f, func(key, value []byte) bool {
			e.column(key, at).set(i, value)
			at++
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// column returns the column of a key. It first tries the column with the index `at`, because most
// features have a key at the same index.
func (e *Encoder) column(key []byte, at int) *column {
	if at < len(e.columns) && string(e.columns[at].name) == string(key) {
		return &e.columns[at]
	}
	if i, ok := e.named[string(key)]; ok {
		return &e.columns[i]
	}
	if e.named == nil {
		e.named = make(map[string]int32)
	}
	n := len(e.columns)
	e.named[string(key)] = int32(n)
	if n < cap(e.columns) {
		e.columns = e.columns[:n+1]
	} else {
		e.columns = append(e.columns, column{})
	}
	e.columns[n].reset(key)
	return &e.columns[n]
}

// appendTable appends the table of the features in e, without its length.
func (e *Encoder) appendTable(b []byte) []byte {
	features := e.view.Len()
	b = append(b, tableTag)
	b = appendText(b, e.view.Name)
	b = binary.AppendUvarint(b, uint64(e.view.Extent))

	count := 1 + len(e.columns)
	if len(e.ids) > 0 {
		count++
	}
	b = binary.AppendUvarint(b, uint64(count))
	idType := byte(columnID)
	for _, id := range e.ids {
		if id > 1<<32-1 {
			idType = columnLongID
		}
	}
	if len(e.ids) > 0 {
		if len(e.ids) < features {
			idType |= nullable
		}
		b = append(b, idType)
	}
	b = append(b, columnGeometry)
	for i := range e.columns {
		c := &e.columns[i]
		c.choose()
		kind := c.kind
		if len(c.values) < features {
			kind |= nullable
		}
		b = append(b, kind)
		b = appendText(b, c.name)
	}

	if len(e.ids) > 0 {
		if idType&nullable != 0 {
			b = e.appendBools(b, streamPresent, features, func(i int) bool { return !e.lacking[i] })
		}
		b = e.ints.append(b, streamData, e.ids, false, plain|delta)
	}
	b = e.appendGeometry(b)
	for i := range e.columns {
		b = e.appendColumn(b, &e.columns[i], features)
	}
	return b
}

func appendText[T string | []byte](b []byte, text T) []byte {
	b = binary.AppendUvarint(b, uint64(len(text)))
	return append(b, text...)
}
