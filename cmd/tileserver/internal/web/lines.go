package web

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"quadrille/cmd/tileserver/internal/endpoint"
)

// MaxBatchLine is the longest line of a batch of questions, in bytes.
const MaxBatchLine = 8 << 10

// Each answers every line with fn, but for blank lines, whose answers are blank. Its error
// ends the batch. A line that is too long is refused as tooLong.
func (b *Batch) Each(tooLong error, fn func(line []byte) error) error {
	for {
		line, err := b.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err == nil && len(line) == 0:
			b.Body = append(b.Body, '\n')
		case err == nil:
			err = fn(line)
		case errors.Is(err, ErrLongLine):
			b.RefuseLine("", "", endpoint.Refuse(tooLong, "", "Shorten the line to at most "+strconv.Itoa(b.LineBytes)+" bytes."))
			err = nil
		}
		if err == nil {
			err = b.Spill()
		}
		if err != nil {
			return err
		}
	}
}

// LineError says how RefuseLine writes, for the description of the interface.
type LineError struct {
	Line  int `json:"line" schema:"min=1"`
	Error struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Detail string `json:"detail"`
	} `json:"error"`
}

// RefuseLine writes the answer to a line that has none. name and value are a member that
// tells what the line was about, "" for none.
func (b *Batch) RefuseLine(name, value string, err error) {
	_, p := b.kit.Classify(b.kit.Replaced(err))
	b.Body = strconv.AppendInt(append(b.Body, `{"line":`...), b.Line, 10)
	if value != "" {
		b.Body = appendText(append(append(append(b.Body, `,"`...), name...), `":`...), value)
	}
	b.Body = appendText(append(b.Body, `,"error":{"type":`...), p.Type)
	b.Body = appendText(append(b.Body, `,"title":`...), p.Title)
	b.Body = appendText(append(b.Body, `,"detail":`...), p.Detail)
	b.Body = append(b.Body, "}}\n"...)
}

// appendText writes a JSON string.
func appendText(dst []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		quoted = []byte(`""`) // no string fails
	}
	return append(dst, quoted...)
}
