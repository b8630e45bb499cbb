package endpoint

import (
	"errors"
	"unicode"
	"unicode/utf8"
)

// Reasons for refusing a request while it is read. The table of kinds in package web has
// their answers.
var (
	ErrNoRoute     = errors.New("no such resource")
	ErrParameter   = errors.New("parameter is not valid")
	ErrTileOutside = errors.New("tile is outside the grid")
	// ErrLine is matched if a line of a batch is not a valid request.
	ErrLine = errors.New("line is not a question")
)

// Refusal is an error with its own text for the client.
type Refusal struct {
	cause     error // one of the errors in the table of kinds
	Parameter string
	Detail    string
}

// Refuse makes an error with the status and type of cause, and with its own detail. parameter may
// be empty.
func Refuse(cause error, parameter, detail string) error {
	return &Refusal{cause: cause, Parameter: parameter, Detail: detail}
}

// Error returns the error's text with the words for the client.
func (r *Refusal) Error() string { return r.cause.Error() + ": " + r.Detail }

// Unwrap returns the error in the table of kinds.
func (r *Refusal) Unwrap() error { return r.cause }

// Sentence converts the detail of an error to a sentence.
func Sentence(detail string) string {
	first, size := utf8.DecodeRuneInString(detail)
	return string(unicode.ToUpper(first)) + detail[size:] + "."
}

// DetailOf returns the text of a refusal for the client, or "" for other errors.
func DetailOf(err error) string {
	if own := (*Refusal)(nil); errors.As(err, &own) {
		return own.Detail
	}
	return ""
}
