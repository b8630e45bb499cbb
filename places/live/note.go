package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"quadrille/cellstore"
)

// MaxNoteBytes bounds the name of a note, in bytes.
const MaxNoteBytes = 200

// SetNote stores a document of the calling program with the collection, under a name of 1 to
// MaxNoteBytes bytes. It replaces a note of the same name; nil removes it. The collection itself does
// not use notes. They are removed with it. An Async note may be lost for about a second. Errors
// match ErrClosed or ErrWritesRefused, or come from the store.
func (c *Collection) SetNote(ctx context.Context, name string, value []byte, d cellstore.Durability) error {
	if name == "" || len(name) > MaxNoteBytes {
		return fmt.Errorf("live: the name of a note has %d bytes: give 1 to %d", len(name), MaxNoteBytes)
	}
	note := metaRow(append([]byte{rowDescription, rowNote}, name...), value)
	if value == nil {
		note.Ops[0] = cellstore.DeleteColumn(famMeta, nil, cellstore.AllVersions)
	}
	note.Durability = d
	// A call that returns ErrClosed has written nothing.
	err := c.unlessClosed(c.read(ctx, func(now *current) error { return c.refused(now.rows.Apply(ctx, note)) }))
	if errors.Is(err, ErrWritesRefused) {
		c.disturbed()
	}
	return err
}

// Notes returns the notes whose names begin with a prefix, by their names. Its errors are those
// of SetNote.
func (c *Collection) Notes(ctx context.Context, prefix string) (map[string][]byte, error) {
	from := append([]byte{rowDescription, rowNote}, prefix...)
	scan := cellstore.Scan{Ranges: []cellstore.Range{cellstore.Prefix(from)}, Selection: *selectMeta}
	var notes map[string][]byte
	err := c.read(ctx, func(now *current) error {
		notes = map[string][]byte{}
		for row, err := range now.rows.Scan(ctx, scan) {
			if err != nil {
				return wrap(err)
			}
			notes[string(row.Key[2:])] = bytes.Clone(row.Cells[0].Value)
		}
		return nil
	})
	return notes, c.unlessClosed(err)
}
