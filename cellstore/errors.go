package cellstore

import (
	"cmp"
	"errors"
	"fmt"
	"syscall"
)

// Errors that callers branch on, with errors.Is. A call that needs a missing capability returns
// errors.ErrUnsupported. A cancelled call returns the error of its context.
var (
	ErrTableNotFound  = errors.New("table does not exist")
	ErrTableExists    = errors.New("table exists already")
	ErrFamilyNotFound = errors.New("family does not exist")
	ErrBadSchema      = errors.New("schema is not valid")

	ErrEmptyRow     = errors.New("row key is empty")
	ErrTooLarge     = errors.New("input is over a size limit")
	ErrBadTimestamp = errors.New("timestamp is out of range")
	ErrBadRange     = errors.New("range is not valid")
	ErrBadCondition = errors.New("condition is not valid")

	ErrNotCounter = errors.New("value is not a counter")
	ErrUnsorted   = errors.New("bulk cells are out of order")

	// ErrUnknownOutcome: a write may have been applied or not. It can be repeated without reading
	// the row only if it sets all its timestamps itself.
	ErrUnknownOutcome = errors.New("outcome is unknown")

	// ErrUnavailable: a store that is reached over a network did not answer in
	// time. The same call may succeed later.
	ErrUnavailable = errors.New("store is not available")

	ErrClosed   = errors.New("store is closed")
	ErrReadOnly = errors.New("store is read-only")
	ErrLocked   = errors.New("store is in use by another process")
	ErrCorrupt  = errors.New("stored data is corrupt")

	// ErrLayout: the stored data is whole, but this version of the program does not know its
	// layout. It is ErrNewer or ErrOlder.
	ErrLayout = errors.New("stored data has another layout")
	ErrNewer  = fmt.Errorf("%w: a newer program wrote it", ErrLayout)
	ErrOlder  = fmt.Errorf("%w: an older program wrote it", ErrLayout)

	// ErrNoSpace: the disk has no room for a write. Reads still work; see Recoverer.
	ErrNoSpace = errors.New("no space left on the disk")

	// ErrShortage: the process or the machine has no more open files, memory or threads
	// for the moment. It says nothing about the stored data.
	ErrShortage = errors.New("too many files are open, or memory is short")
)

// CorruptRow returns an error that matches ErrCorrupt. what says, after the names of table and row, what is wrong.
func CorruptRow(table string, key []byte, what string) error {
	return fmt.Errorf("%w: table %s, row %x %s: build the data set again", ErrCorrupt, table, key, what)
}

// CheckLayout compares found, the layout of some data, with the layouts that the program can read,
// oldest to newest. It returns nil if the program can read found, and else an error that matches
// ErrNewer or ErrOlder. what is the name of the data for the message. renew is the command that
// replaces unreadable data, such as "run ingest places"; it is empty if there is none.
func CheckLayout(what string, found, oldest, newest int, renew string) error {
	switch {
	case found > newest && renew == "":
		return fmt.Errorf("%w: layout %d of %s, this program reads up to %d: update the program", ErrNewer, found, what, newest)
	case found > newest:
		return fmt.Errorf("%w: layout %d of %s, this program reads up to %d: update the program, or %s", ErrNewer, found, what, newest, renew)
	case found < oldest:
		return fmt.Errorf("%w: layout %d of %s, this program reads from %d on: %s", ErrOlder, found, what, oldest,
			cmp.Or(renew, "use the program that wrote it"))
	}
	return nil
}

// IsShortage reports whether an error is a momentary shortage: it matches ErrShortage or an error
// of the operating system for that. It may also match other errors, except ErrLocked: EAGAIN also
// means that another process holds a lock.
func IsShortage(err error) bool {
	if errors.Is(err, ErrLocked) {
		return false
	}
	for _, of := range [...]error{ErrShortage, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN} {
		if errors.Is(err, of) {
			return true
		}
	}
	return false
}

// IsNoSpace reports whether the disk, or a quota, has no room: the error matches ErrNoSpace or an
// error of the operating system for that.
func IsNoSpace(err error) bool {
	return errors.Is(err, ErrNoSpace) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// Error gives the context of a failure. It wraps the cause.
type Error struct {
	Op    string // the method, for example "Get"
	Table string // empty for store-wide operations
	Row   []byte // nil when no single row is meant
	Err   error
}

func (e *Error) Error() string {
	s := "cellstore " + e.Op
	if e.Table != "" {
		s += " " + e.Table
	}
	if e.Row != nil {
		r := e.Row
		if len(r) > 64 {
			r = r[:64]
		}
		s += fmt.Sprintf(" row %q", r)
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// LimitError says which limit an input exceeds. It matches ErrTooLarge.
type LimitError struct {
	What     string // "row", "qualifier", "cell key", "value", "operations"
	Got, Max int    // bytes, or a count for "operations"
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s of %d is over the limit of %d: write less at once or split it", e.What, e.Got, e.Max)
}

// Is reports true for ErrTooLarge alone.
func (e *LimitError) Is(target error) bool { return target == ErrTooLarge }

// BatchError lists the mutations of an Apply that failed, by their index; the
// others have been applied. No part of a listed mutation has been applied, unless its error is
// ErrUnknownOutcome.
type BatchError struct{ Errs map[int]error }

func (e *BatchError) Error() string {
	first := -1
	for i := range e.Errs {
		if first < 0 || i < first {
			first = i
		}
	}
	return fmt.Sprintf("%d mutations failed, the first at index %d: %v", len(e.Errs), first, e.Errs[first])
}

// Unwrap lets errors.Is match any of the failures.
func (e *BatchError) Unwrap() []error {
	errs := make([]error, 0, len(e.Errs))
	for _, err := range e.Errs {
		errs = append(errs, err)
	}
	return errs
}

func unsupported(what string) error {
	return fmt.Errorf("%w: this backend does not take %s, see Store.Capabilities", errors.ErrUnsupported, what)
}
