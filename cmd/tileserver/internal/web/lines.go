package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

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

// Questions answers an endpoint's questions in a batch. A line is a JSON object whose
// members are the parameters of the endpoint. Parameters of the address hold for every
// line that has none of its own.
type Questions struct {
	BatchLimits
	// Points says that a line may also be a latitude and a longitude with a comma between.
	Points bool
	// Check reads the parameters of a line, for those of the address to be refused before
	// any line is read.
	Check func(p *endpoint.Params)
	// Answer appends the answer to the parameters of a line, in one line. It is called by
	// several goroutines at once.
	Answer func(ctx context.Context, p *endpoint.Params, dst []byte) ([]byte, error)
}

// AnswerLines answers a batch of questions, whose lines have the parameters that the endpoint
// declares for them. What a question is refused for is the answer
// to its line; a failure of the server's ends the batch.
func (s *Kit) AnswerLines(c echo.Context, common *endpoint.Params, q *Questions) error {
	r := c.Request()
	values := url.Values{"lat": {"0"}, "lon": {"0"}, "q": {"a"}} // which only lines have
	maps.Copy(values, common.Values())
	example := common.Line(values)
	if q.Check(&example); common.Err != nil || example.Err != nil {
		return cmp.Or(common.Err, example.Err)
	}
	b := &questions{Batch: s.NewBatch(c, q.BatchLimits), q: q, common: common, query: common.Of().LineQuery()}
	defer b.Release()
	b.LineBytes, b.Text = MaxBatchLine, q.Points
	// The context of the request ends when its client has closed its half of the
	// connection, and may do so because everything is sent.
	b.ctx = context.WithoutCancel(r.Context())
	b.Answer = b.run
	b.Wait = func() error {
		if err := b.answer(); err != nil {
			return err
		}
		return b.Flush()
	}
	b.Refuse = func(err error) { b.RefuseLine("", "", err) }
	return b.Run()
}
