package web

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"quadrille/cmd/tileserver/internal/endpoint"
)

// Each calls fn with each line, which may be blank, until there are no more. For a line that is too
// long, refused is an error that matches tooLong. An error of fn ends the batch.
func (b *Batch) Each(tooLong error, fn func(line []byte, refused error) error) error {
	for {
		line, err := b.next()
		var refused error
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLongLine):
			refused = endpoint.Refuse(tooLong, "", "Shorten the line to at most "+strconv.Itoa(b.LineBytes)+" bytes.")
		case err != nil:
			return err
		}
		if err := fn(line, refused); err != nil {
			return err
		}
	}
}

// LineError is the line that RefuseLine writes, for the description of the interface.
type LineError struct {
	Line  int `json:"line" schema:"min=1"`
	Error struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Detail string `json:"detail"`
	} `json:"error"`
}

// RefuseLine writes the answer to a line that cannot be answered. name and value are a member that
// identifies the line; name is "" for none.
func (b *Batch) RefuseLine(name, value string, err error) {
	p := b.Problem(err)
	b.Body = strconv.AppendInt(append(b.Body, `{"line":`...), b.Line, 10)
	if value != "" {
		b.Body = appendText(append(append(append(b.Body, `,"`...), name...), `":`...), value)
	}
	b.Body = appendText(append(b.Body, `,"error":{"type":`...), p.Type)
	b.Body = appendText(append(b.Body, `,"title":`...), p.Title)
	b.Body = appendText(append(b.Body, `,"detail":`...), p.Detail)
	b.Body = append(b.Body, "}}\n"...)
}

// Problem returns the reason why the line cannot be answered.
func (b *Batch) Problem(err error) Problem {
	_, p := b.kit.Classify(b.kit.Translate(err))
	p.Detail += b.JoinedAdvice(b.Line)
	return p
}

// JoinedAdvice returns advice for a line that is the whole body because curl has removed the line ends.
// For other lines it returns "". It may be called after the line was read.
func (b *Batch) JoinedAdvice(line int64) string {
	if line != 1 || b.split || !strings.HasPrefix(b.c.Request().Header.Get("Content-Type"), formType) {
		return ""
	}
	return " curl -d takes the ends of lines out, so that all are one: use --data-binary @FILE."
}

// appendText writes a JSON string.
func appendText(dst []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		quoted = []byte(`""`) // no string fails
	}
	return append(dst, quoted...)
}
