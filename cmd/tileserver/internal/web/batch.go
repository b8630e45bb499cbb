package web

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/internal/bom"
)

// A batch is a request with a question, or a write, in each line of its body. Each line is answered
// by one line of JSON, in the same order: line n of the answer belongs to line n of the request,
// and a blank line of questions gives a blank line. A line that cannot be answered gives an error
// line, and the batch continues. Answers are sent while lines arrive, so a client must read while
// it writes. The memory of a batch does not depend on its size.

const batchBuffer = 32 << 10 // bytes that are read at once

// BatchLimits are the limits of a batch.
type BatchLimits struct {
	Lines   int64
	Bytes   int64 // of the body, compressed or not
	Timeout time.Duration
}

// Batch is the state of a batch.
type Batch struct {
	Stream // of the answers
	BatchLimits
	// LineBytes bounds the lines that are read, in bytes; the default is maxBatchLine. Longer lines
	// are skipped to their end.
	LineBytes int
	// Text is set if lines need not be JSON objects.
	Text bool
	// Answer answers the lines that Each gives, until that fails.
	Answer func() error
	// Wait is called before the batch waits for more of the body. If it is nil, Flush is called.
	Wait func() error
	// Refuse appends to Body the reason why the batch ends at Line.
	Refuse func(err error)
	// NoneTaken is set while no line has been accepted. During this time nothing is sent. An error
	// that ends such a batch is answered with its own status, and a batch of only refusals with
	// 400.
	NoneTaken bool
	// Sample is an example of a line, for clients that send something else.
	Sample string

	// Line is the number of the last line from Each, counted from 1.
	Line  int64
	first int64 // the number of the first line that is not blank, 0 before it
	split bool  // the first line has an end, so that there may be more

	body  batchBody
	lines *bufio.Reader
	long  []byte // of a line that does not fit the buffer of lines
}

var batches = sync.Pool{New: func() any {
	return &Batch{lines: bufio.NewReaderSize(nil, batchBuffer), Stream: Stream{Body: make([]byte, 0, 2*batchBuffer)}}
}}

// NewBatch returns a batch whose fields the caller sets before it calls Run. The caller
// releases it.
func (s *Kit) NewBatch(c echo.Context, limits BatchLimits) *Batch {
	b := batches.Get().(*Batch)
	b.begin(s, c, Answer{Format: FormatNDJSON, CacheControl: PrivateNoStore})
	b.BatchLimits, b.LineBytes = limits, maxBatchLine
	return b
}

// SetFormat sets the form of the answer. It is called before anything is written.
func (b *Batch) SetFormat(f Format) { b.answer.Format = f }

// Peek returns the first byte of the body that is neither white space nor part of a byte order mark. It
// leaves the whole body to be read. If there is more white space than the buffer has room for, that is
// the result. Its errors are those of Read.
func (b *Batch) Peek() (first byte, err error) {
	for n := 1; ; n = b.lines.Buffered() + 1 { // no answer is possible before, so waiting costs nothing
		var start []byte
		if start, err = b.lines.Peek(n); err == nil {
			start, _ = b.lines.Peek(b.lines.Buffered())
		}
		if rest := bytes.TrimSpace(bom.TrimPart(start)); len(rest) > 0 {
			return rest[0], nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			return start[len(start)-1], nil
		}
		if err != nil {
			break
		}
	}
	if errors.Is(err, io.EOF) {
		return 0, io.EOF
	}
	return 0, b.explain(err)
}

// Read reads the body as bytes, for an Answer that does not call Each. The error is io.EOF at the
// end, or one that ends the batch.
func (b *Batch) Read(p []byte) (int, error) {
	n, err := b.lines.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.explain(err)
	}
	return n, err
}

// CountRow does the same as Count, for a row that may have several lines.
func (b *Batch) CountRow() error {
	err := b.Count()
	if b.first == 0 {
		b.first = b.Line
	}
	return err
}

// Count counts a line. The error ends the batch, if there are too many lines.
func (b *Batch) Count() error {
	if b.Line++; b.Line > b.Lines {
		return endpoint.Refuse(errBatchTooLong, "",
			"Only "+strconv.FormatInt(b.Lines, 10)+" lines are answered at once; send the rest in further requests.")
	}
	return nil
}

// Release returns the memory of a batch for reuse.
func (b *Batch) Release() {
	b.Stream.release()
	b.lines.Reset(nil)
	*b = Batch{lines: b.lines, Stream: b.Stream, long: b.long[:0]}
	if cap(b.Body) <= maxScratch && cap(b.long) <= maxScratch {
		batches.Put(b)
	}
}

// Run answers the lines of the body. An error before the first answer is returned, so that it
// becomes a status. A later error becomes the last line.
func (b *Batch) Run() error {
	t, err := bodyType(b.c.Request(), true, b.Text)
	if err != nil || strings.HasSuffix(t, "merge-patch+json") {
		return cmp.Or(err, ErrBodyType)
	}
	cd, err := bodyCoding(b.c.Request())
	if err != nil {
		return err
	}
	defer func() { b.kit.charge(b.c, b.Line) }()
	if told := b.c.Request().ContentLength; told > b.Bytes {
		return bodyTold(told, b.Bytes)
	}
	err = b.open(cd)
	if err == nil {
		err = b.Answer()
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	whole := errors.Is(b.body.err, io.EOF)
	if !whole {
		b.hangUp()
		b.c.Set(unread, true)
	}
	switch {
	case errors.Is(err, ErrGone):
		return nil
	case err != nil && !b.begun && (b.NoneTaken || b.first == 0 || b.Line <= b.first):
		return err
	case err != nil:
		err = b.kit.Translate(err)
		b.kit.judge(b.c, err)
		b.Refuse(err)
	case b.NoneTaken && len(b.Body) > 0:
		b.answer.Status = http.StatusBadRequest
	}
	_ = b.finish() // the client is gone if this fails
	return nil
}

// hangUp closes the connection after the answer, because the body was not read to its end.
// Otherwise the rest of the body would be interpreted as the next request: a server that answers
// while it reads does not discard the rest.
func (b *Batch) hangUp() {
	// net/http closes the connection after the answer if such a reader is read beyond its limit.
	beyond := http.MaxBytesReader(b.c.Response().Writer, io.NopCloser(strings.NewReader("x")), 0)
	_, _ = io.Copy(io.Discard, beyond)
}

// open prepares the body to be read while the answer is written.
func (b *Batch) open(cd Coding) error {
	r := b.c.Request()
	if b.Wait == nil {
		b.Wait = b.Flush
	}
	// HTTP/2 is always full duplex, so its error is ignored.
	_ = b.rc.EnableFullDuplex()
	b.body = batchBody{b: b, r: r.Body, left: b.Bytes + 1, end: time.Now().Add(b.Timeout)}
	var body io.Reader = &b.body
	if cd == gzipped {
		z, err := gzip.NewReader(body)
		if err != nil {
			return b.explain(err)
		}
		body = &limited{r: z, left: b.Bytes + 1, max: b.Bytes}
	}
	b.lines.Reset(body)
	return nil
}

// next returns the next line without its end, the record separator of RFC 7464 and the byte order
// mark of the body. The line is valid until the next call. The error is io.EOF at the end,
// errLongLine, after which the batch continues, or an error that ends the batch. A truncated body
// gives such an error, not a last, shorter line. A first line of another format also gives such an
// error, because nothing has been done yet.
func (b *Batch) next() ([]byte, error) {
	line, err := b.read()
	switch {
	case err == nil:
	case errors.Is(err, io.EOF) && len(line) > 0:
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	default:
		b.Line++
		return nil, b.explain(err)
	}
	if b.Line == 0 {
		b.split = err == nil
	}
	if err := b.Count(); err != nil {
		return nil, err
	}
	if b.Line == 1 {
		line = bom.Trim(line)
	}
	line = bytes.TrimSpace(bytes.TrimLeft(line, "\x1e"))
	if b.first == 0 && len(line) > 0 {
		b.first = b.Line
		if detail := b.foreign(line); detail != "" {
			return nil, endpoint.Refuse(endpoint.ErrLine, "", detail)
		}
	}
	if len(line) > b.LineBytes {
		return nil, errLongLine
	}
	return line, nil
}

// list matches the beginning of a FeatureCollection, or of another object with a list in it.
// array matches the beginning of a list, but not of an address in brackets. form matches the
// fields of a form.
var (
	list  = regexp.MustCompile(`^\{\s*("type"\s*:\s*"FeatureCollection"|"features"\s*:)`)
	array = regexp.MustCompile(`^\[\s*["{[]`)
	form  = regexp.MustCompile(`^[\w.%+-]+=[^&{]*(&[\w.%+-]+=[^&{]*)*$`)
)

// foreign returns advice if the first line shows that the body does not consist of lines, and ""
// otherwise.
func (b *Batch) foreign(line []byte) string {
	var object struct{ Type string }
	first, open := line[0], bytes.IndexByte([]byte("{[,:"), line[len(line)-1]) >= 0
	switch {
	case first == '[' && (!b.Text || open || array.Match(line) || json.Valid(line)): // a long line is cut off
		return "The body is a list: send each of its entries in a line of its own, without brackets and commas (jq -c '.[]')."
	case first == '{' && (list.Match(line) || json.Unmarshal(line, &object) == nil && object.Type == "FeatureCollection"):
		return "The body is a FeatureCollection: send each of its features in a line of its own (jq -c '.features[]')."
	case first == '{' && open:
		return "The first line is not a whole object: write each object in one line (jq -c .)."
	case b.Text || first == '{':
		return ""
	case form.Match(line):
		return "The body is a form, as trackers send it: send a JSON object in each line" + b.sample()
	}
	return "Begin each line with {, the beginning of a JSON object" + b.sample()
}

// sample returns the end of a sentence, with an example of a line.
func (b *Batch) sample() string {
	if b.Sample == "" {
		return "."
	}
	return ", such as " + b.Sample
}

// read returns the next line. If the line is too long, it returns only enough bytes to detect this.
func (b *Batch) read() (line []byte, err error) {
	line, err = b.lines.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	b.long = b.long[:0]
	for {
		if len(b.long) <= b.LineBytes {
			b.long = append(b.long, line...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return b.long, err
		}
		line, err = b.lines.ReadSlice('\n')
	}
}

// WriteIfFull writes the answers if there are many. A compressed body can give many answers between two
// reads.
func (b *Batch) WriteIfFull() error {
	if !b.Full() {
		return nil
	}
	if err := b.write(); err != nil {
		return err
	}
	if !time.Now().Before(b.body.end) {
		return errBatchTimeout
	}
	return nil
}

// explain converts an error of reading the body to an error for the client.
func (b *Batch) explain(err error) error {
	switch {
	case b.body.failed != nil:
		return b.body.failed
	case errors.Is(err, errBatchTooLong):
		return err
	case errors.Is(b.body.err, os.ErrDeadlineExceeded):
		return errBatchTimeout
	}
	return errBodyCorrupt
}

// batchBody reads the body as it arrives. Before it waits for more, it sends the finished answers.
// Thus a slow client gets each answer immediately, and answers to a fast client are sent together.
type batchBody struct {
	b      *Batch
	r      io.Reader
	left   int64 // bytes that may still come, and one
	end    time.Time
	err    error // of the last read; the decompressor may hide it
	failed error // why the batch ends, other than err
}

func (r *batchBody) Read(p []byte) (int, error) {
	if r.failed = r.b.Wait(); r.failed != nil {
		return 0, r.failed
	}
	now := time.Now()
	if !now.Before(r.end) {
		r.failed = errBatchTimeout
		return 0, r.failed
	}
	wait := now.Add(streamStall)
	if r.end.Before(wait) {
		wait = r.end
	}
	_ = r.b.rc.SetReadDeadline(wait) // as above
	n, err := r.r.Read(p[:min(int64(len(p)), r.left)])
	r.err = err
	if r.left -= int64(n); r.left <= 0 {
		return n, bodyTooLong(r.b.Bytes)
	}
	return n, err
}

// maxBatchLine is the greatest length in bytes of a line of a batch of questions.
const maxBatchLine = 8 << 10
