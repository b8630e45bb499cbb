package points

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"quadrille/cellstore"
)

// MaxNote is the most bytes that the name of a note has.
const MaxNote = 200

// rowNote begins the rows of notes, behind rowMeta.
const rowNote = 'n'

// SetNote keeps a document of the program's own with the collection, under a name of 1 to
// MaxNote bytes. It replaces a note of the name; nil removes it. Notes are removed with
// their collection, and mean nothing to it. An Async note may be lost for about a second.
// Errors match ErrClosed or ErrRefused, or come from the store.
func (c *LiveCollection) SetNote(ctx context.Context, name string, value []byte, d cellstore.Durability) error {
	if name == "" || len(name) > MaxNote {
		return fmt.Errorf("points: the name of a note has %d bytes: give 1 to %d", len(name), MaxNote)
	}
	op := cellstore.DeleteColumn(famMeta, nil, cellstore.All)
	if value != nil {
		op = cellstore.PutAt(famMeta, nil, metaTime, value)
	}
	row := append([]byte{rowMeta, rowNote}, name...)
	note := cellstore.Mutation{Row: row, Ops: []cellstore.Op{op}, Durability: d}
	// One that answers ErrClosed has written nothing.
	err := c.unlessClosed(c.read(ctx, func(now *Collection) error { return c.refused(now.table.Apply(ctx, note)) }))
	if errors.Is(err, ErrRefused) {
		c.disturbed()
	}
	return err
}

// Notes returns the notes whose names begin with a prefix, by their names. Errors are as
// those of SetNote.
func (c *LiveCollection) Notes(ctx context.Context, prefix string) (map[string][]byte, error) {
	from := append([]byte{rowMeta, rowNote}, prefix...)
	scan := cellstore.Scan{Ranges: []cellstore.Range{cellstore.Prefix(from)}, Selection: cellstore.Selection{Families: []string{famMeta}}}
	var notes map[string][]byte
	err := c.read(ctx, func(now *Collection) error {
		notes = map[string][]byte{}
		for row, err := range now.table.Scan(ctx, scan) {
			if err != nil {
				return wrap(err)
			}
			notes[string(row.Key[2:])] = bytes.Clone(row.Cells[0].Value)
		}
		return nil
	})
	return notes, c.unlessClosed(err)
}

// Done is closed when the collection is closed or dropped.
func (c *LiveCollection) Done() <-chan struct{} { return c.quit }

// unlessClosed gives an error of the store its meaning once the collection is closed.
func (c *LiveCollection) unlessClosed(err error) error {
	select {
	case <-c.quit:
		if err != nil {
			return ErrClosed
		}
	default:
	}
	return err
}
