package feature

import (
	"errors"
	"fmt"

	"quadrille/cellstore"
)

// Errors of a Layer for errors.Is. An operation that a layer does not support matches
// errors.ErrUnsupported.
var (
	// ErrNotFound means that no feature has the id.
	ErrNotFound = errors.New("no such feature")
	// ErrQuery means that a query is invalid in this form.
	ErrQuery = errors.New("query is not valid")
	// ErrTooMuchWork means that a search has reached its limit of examined features; see
	// TooMuchWork.
	ErrTooMuchWork = errors.New("search is too wide")
	// ErrCursor: a cursor or a mark is damaged or belongs to another query.
	ErrCursor = errors.New("cursor is not valid")
	// ErrCursorExpired means that the data of a cursor have been replaced.
	ErrCursorExpired = errors.New("cursor has expired")
	// ErrDamaged means that stored data cannot be decoded.
	ErrDamaged = cellstore.ErrCorrupt
)

// Fault is an error of a kind that callers branch on: it matches Kind. Detail gives the cause and
// advice to the caller, without a capital letter and a full stop.
type Fault struct {
	Kind   error
	Detail string
}

func (e *Fault) Error() string { return e.Kind.Error() + ": " + e.Detail }

// Unwrap returns the kind.
func (e *Fault) Unwrap() error { return e.Kind }

// Faultf returns a Fault.
func Faultf(kind error, format string, args ...any) error {
	return &Fault{kind, fmt.Sprintf(format, args...)}
}

// DetailOf returns the detail of the Fault that err is or wraps, if the Fault matches kind.
// Otherwise it returns "".
func DetailOf(err, kind error) string {
	if f := (*Fault)(nil); errors.As(err, &f) && errors.Is(f, kind) {
		return f.Detail
	}
	return ""
}

// BadQuery returns an error that matches ErrQuery.
func BadQuery(format string, args ...any) error { return Faultf(ErrQuery, format, args...) }

// Unsupported returns the error for something that a layer cannot do at all, such as an order.
func Unsupported(format string, args ...any) error {
	return Faultf(errors.ErrUnsupported, format, args...)
}

// IsUnsupported reports whether an error was made by Unsupported. Errors of the system may match
// errors.ErrUnsupported too.
func IsUnsupported(err error) bool { return DetailOf(err, errors.ErrUnsupported) != "" }

// NotFound makes the error of a data set for an id that it does not have. It matches
// ErrNotFound.
func NotFound(text string) error { return &notFound{text} }

type notFound struct{ text string }

func (e *notFound) Error() string        { return e.text }
func (e *notFound) Is(target error) bool { return target == ErrNotFound }

// TooMuchWork is the error of a search that has looked at as many features as it may. It
// matches ErrTooMuchWork.
type TooMuchWork struct {
	// After is the mark after which a query of the same kind can continue. It is nil if no query
	// can.
	After Mark
	// Examined is the number of examined features.
	Examined int
}

func (e *TooMuchWork) Error() string {
	return fmt.Sprintf("%v: %d features looked at without finding as many as are wanted: give a smaller area, ask for "+
		"fewer, or relax the filters",
		ErrTooMuchWork, e.Examined)
}

// Is reports whether e matches an error.
func (e *TooMuchWork) Is(target error) bool { return target == ErrTooMuchWork }
