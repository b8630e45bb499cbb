package pebblestore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
)

// fail gives an error its context. The row is copied: it may be the caller's.
func fail(op, table string, row []byte, err error) error {
	e := &cellstore.Error{Op: op, Table: table, Err: classify(err)}
	if len(row) > 0 {
		e.Row = append([]byte(nil), row...)
	}
	return e
}

// classify marks what the engine reports with the errors callers branch on.
func classify(err error) error {
	switch {
	case errors.Is(err, cellstore.ErrCorrupt):
		return err
	case pebble.IsCorruptionError(err), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%w: %w", cellstore.ErrCorrupt, err)
	case errors.Is(err, pebble.ErrReadOnly):
		return cellstore.ErrReadOnly
	}
	return err
}

// missing is classify for the opening of a table that is known to exist: a
// file that is not there is then damage too, and so is one of another length,
// for which the engine's error has no other mark than its text.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, pebble.ErrDBDoesNotExist) ||
		err != nil && strings.Contains(err.Error(), "object size mismatch") {
		return fmt.Errorf("%w: %w", cellstore.ErrCorrupt, err)
	}
	return err
}

func checkRow(row []byte) error {
	if len(row) == 0 {
		return cellstore.ErrEmptyRow
	}
	return checkSize("row", len(row), cellstore.DefaultLimits.Row)
}

func checkSize(what string, got, max int) error {
	if got > max {
		return &cellstore.LimitError{What: what, Got: got, Max: max}
	}
	return nil
}
