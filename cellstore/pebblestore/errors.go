package pebblestore

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
)

// fail adds the context to an error. It copies the row, because the row may belong to the caller.
func fail(op, table string, row []byte, err error) error {
	e := &cellstore.Error{Op: op, Table: table, Err: classify(err)}
	if len(row) > 0 {
		e.Row = append([]byte(nil), row...)
	}
	return e
}

// classify wraps the engine's errors in those that callers branch on.
func classify(err error) error {
	switch {
	case cellstore.IsShortage(err):
		return shortage(err)
	case errors.Is(err, cellstore.ErrCorrupt):
		return err
	case pebble.IsCorruptionError(err), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%w: %w", cellstore.ErrCorrupt, err)
	case errors.Is(err, pebble.ErrReadOnly):
		return cellstore.ErrReadOnly
	}
	return err
}

// shortage marks a momentary error as ErrShortage. Such an error is not damage, even if the engine
// reports it as damage.
func shortage(err error) error {
	if errors.Is(err, cellstore.ErrShortage) {
		return err
	}
	return fmt.Errorf("%w: %s", cellstore.ErrShortage, err.Error())
}

// newerEngine reports whether the engine failed because a newer engine wrote the database.
func newerEngine(err error) bool {
	return err != nil && strings.Contains(err.Error(), "unknown format major version") // as the engine calls it
}

// damage classifies an error from opening an existing table. Every error of the engine then counts
// as damage, unless it comes from a refusal by the operating system.
func damage(err error) error {
	var errno syscall.Errno
	if cellstore.IsShortage(err) {
		return shortage(err)
	}
	if newerEngine(err) {
		return fmt.Errorf("%w: update the program: %w", cellstore.ErrNewer, err)
	}
	if err == nil || errors.Is(err, cellstore.ErrCorrupt) || errors.Is(err, cellstore.ErrNoSpace) ||
		errors.As(err, &errno) && errno != syscall.ENOENT {
		return err
	}
	return fmt.Errorf("%w: %w", cellstore.ErrCorrupt, err)
}

func checkRow(row []byte) error {
	if len(row) == 0 {
		return cellstore.ErrEmptyRow
	}
	return checkSize("row", len(row), cellstore.DefaultLimits.RowKeyBytes)
}

func checkSize(what string, got, max int) error {
	if got > max {
		return &cellstore.LimitError{What: what, Got: got, Max: max}
	}
	return nil
}
