package ip

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/datasets"
	"quadrille/cmd/tileserver/internal/ipdatabase"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/jsontext"
	"quadrille/ipgeo"
)

// A batch is a request with an address in each line of its body, answered by
// one line of JSON for each, in their order: line n of the answer is about line
// n of the request. A line that cannot be answered gets an object with its
// number and an error instead, and the batch goes on. Answers are sent while
// lines come in, so a client must read while it writes; what memory a batch
// takes does not depend on its size.

const (
	// maxBatchLine is the longest line that is read, in bytes; of a longer one
	// only the end is looked for.
	maxBatchLine = 8 << 10
	batchBuffer  = 32 << 10 // of what is read at once
	// batchLinger is how long, and maxLinger how much in bytes, is read on of a
	// body that has been given up.
	batchLinger = 500 * time.Millisecond
	maxLinger   = 256 << 10
)

// batchPath is where batches are sent.
const batchPath = "/ip/batch"

// postBatch answers POST /ip/batch.
func (s *Room) postBatch(c echo.Context) error {
	r := c.Request()
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && strings.HasPrefix(t, "multipart/") {
		return web.ErrBodyType
	}
	cd, err := bodyCoding(r)
	if err != nil {
		return err
	}
	q, err := s.askAddresses(r)
	if err != nil {
		return err
	}
	defer q.Release()
	b := batches.Get().(*batch)
	b.s, b.c, b.reader, b.part, b.now = s, c, q.reader, q.part, q.now
	b.rc = http.NewResponseController(c.Response().Writer)
	b.out.Begin(s.Kit, c, web.PrivateNoStore)
	defer b.release()
	err = b.run(cd)
	s.Charge(c, b.line)
	return err
}

// bodyCoding is the coding of the body of a request.
func bodyCoding(r *http.Request) (web.Coding, error) {
	switch c := strings.TrimSpace(strings.Join(r.Header["Content-Encoding"], ",")); {
	case c == "" || strings.EqualFold(c, "identity"):
		return web.Identity, nil
	case strings.EqualFold(c, "gzip"), strings.EqualFold(c, "x-gzip"):
		return web.Gzipped, nil
	}
	return 0, web.ErrBodyCoding
}

// batch is the state of a batch, reused from one to the next.
type batch struct {
	s      *Room
	c      echo.Context
	rc     *http.ResponseController
	reader datasets.Addresses
	part   *ipPart // of lines that do not say
	now    *ipdatabase.Database

	body  batchBody
	lines *bufio.Reader
	line  int64
	res   ipgeo.Result
	out   web.Stream

	fields, lang string  // of the last line that had any
	chosen       *ipPart // made of them
}

var batches = sync.Pool{New: func() any {
	return &batch{lines: bufio.NewReaderSize(nil, batchBuffer), out: web.Stream{Body: make([]byte, 0, 2*batchBuffer)}}
}}

func (b *batch) release() {
	b.out.Release()
	b.lines.Reset(nil)
	*b = batch{lines: b.lines, out: b.out}
	if cap(b.out.Body) <= web.MaxScratch {
		batches.Put(b)
	}
}

// run answers the lines. What goes wrong before the first answer is returned,
// to become a status; after that it is the last line.
func (b *batch) run(cd web.Coding) error {
	err := b.open(cd)
	if err == nil {
		err = b.answer()
	}
	whole := errors.Is(b.body.err, io.EOF)
	if !whole {
		b.hangUp()
	}
	switch {
	case errors.Is(err, web.ErrGone):
		return nil
	case err != nil && !b.out.Begun() && b.line <= 1:
		if !whole {
			b.linger()
		}
		return err
	case err != nil:
		err = b.s.Replaced(err)
		if k, _ := b.s.Classify(err); k.Status >= http.StatusInternalServerError && !k.Expected {
			b.s.LogFailure(b.c, err)
		}
		b.refuse("", err)
	}
	b.tell()
	_ = b.out.End() // the client is gone if this fails
	if !whole {
		_ = b.rc.Flush() // a client that reads slowly has the time of its own
		b.linger()
	}
	return nil
}

// hangUp ends the connection with the answer, for a body that has not been read
// to its end. What is left of it would be taken for the next request otherwise: a
// server that answers while it reads does not look after that.
func (b *batch) hangUp() {
	// Reading beyond the limit of such a reader is how a handler says so.
	beyond := http.MaxBytesReader(b.c.Response().Writer, io.NopCloser(strings.NewReader("x")), 0)
	_, _ = io.Copy(io.Discard, beyond)
}

// linger reads on for a moment. A connection that is closed while something is
// on its way takes the answer with it.
func (b *batch) linger() {
	_ = b.rc.SetReadDeadline(time.Now().Add(batchLinger)) // a writer without deadlines is a test's
	_, _ = io.CopyN(io.Discard, b.body.r, maxLinger)
}

// open prepares the body for being read and the answer for being written while
// it is.
func (b *batch) open(cd web.Coding) error {
	r := b.c.Request()
	// A server that cannot do it, HTTP/2's, need not be told.
	_ = b.rc.EnableFullDuplex()
	b.body = batchBody{b: b, r: r.Body, left: b.s.BatchBytes + 1, end: time.Now().Add(b.s.BatchTimeout)}
	var body io.Reader = &b.body
	if cd == web.Gzipped {
		z, err := gzip.NewReader(body)
		if err != nil {
			return b.explain(err)
		}
		body = &limited{r: z, left: b.s.BatchBytes + 1, max: b.s.BatchBytes}
	}
	b.lines.Reset(body)
	return nil
}

// answer answers every line. Its error ends the batch.
func (b *batch) answer() error {
	// The context of the request ends when its client has closed its half of the
	// connection, and may do so because everything is sent. One that is gone
	// shows in what is written to it.
	ctx := context.WithoutCancel(b.c.Request().Context())
	for {
		line, err := b.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		b.line++
		if b.line > b.s.BatchLines {
			return web.Refuse(errBatchTooLong, "", "Only "+strconv.FormatInt(b.s.BatchLines, 10)+" lines are answered at once; send the rest in further requests.")
		}
		switch {
		case err == nil:
			err = b.locate(ctx, line)
		case errors.Is(err, errLongLine):
			b.refuse("", web.Refuse(errBatchLine, "", "Shorten the line to at most "+strconv.Itoa(maxBatchLine)+" bytes."))
			err = nil
		default:
			err = b.explain(err)
		}
		if err == nil && b.out.Full() {
			// Much may be answered between two reads, of a body that is packed.
			b.tell()
			if err = b.out.Write(); err == nil && !time.Now().Before(b.body.end) {
				err = errBatchTimeout
			}
		}
		if err != nil {
			return err
		}
	}
}

// locate answers a line. Its error is the store's and says nothing about the
// line.
func (b *batch) locate(ctx context.Context, line []byte) error {
	addr, part, err := b.read(line)
	if err != nil {
		b.refuse("", err)
		return nil
	}
	switch err := b.reader.Lookup(ctx, addr, &b.res); {
	case err == nil:
		b.out.Body = append(appendAnswer(b.out.Body, b.now, &b.res, part), '\n')
	case errors.Is(err, ipgeo.ErrNotFound), errors.Is(err, ipgeo.ErrReserved):
		b.refuse(addr.String(), explainAddress(err, addr))
	default:
		return err
	}
	return nil
}

// errLongLine stands for a line over maxBatchLine that has been passed over.
var errLongLine = errors.New("line is too long")

// next returns the next line without its end, valid until the one after. A
// body cut off is an error and not a last, shorter line.
func (b *batch) next() ([]byte, error) {
	line, err := b.lines.ReadSlice('\n')
	long := false
	for errors.Is(err, bufio.ErrBufferFull) {
		long = true
		_, err = b.lines.ReadSlice('\n')
	}
	switch {
	case err == nil:
	case errors.Is(err, io.EOF) && (len(line) > 0 || long):
	default:
		return nil, err
	}
	if line = bytes.TrimSpace(line); long || len(line) > maxBatchLine {
		return nil, errLongLine
	}
	return line, nil
}

// read reads a line and the address in it.
func (b *batch) read(line []byte) (addr netip.Addr, part *ipPart, err error) {
	ip, part, err := b.parse(line)
	if err != nil {
		return addr, nil, err
	}
	if addr, err = ipgeo.ParseAddr(ip); err != nil {
		return addr, nil, errBatchLine
	}
	return addr, part, nil
}

// parse reads a line: an address, as it is or as a JSON string, or an object
// that may say which fields are wanted.
func (b *batch) parse(line []byte) (ip string, part *ipPart, err error) {
	if len(line) == 0 {
		return "", nil, errBatchLine
	}
	switch line[0] {
	case '"':
		if n := len(line) - 1; n > 0 && line[n] == '"' && !bytes.ContainsAny(line[1:n], `\"`) {
			return string(line[1:n]), b.part, nil
		}
		if json.Unmarshal(line, &ip) != nil {
			return "", nil, errBatchLine
		}
		return ip, b.part, nil
	case '{':
	default:
		return string(line), b.part, nil
	}
	var o struct {
		IP     *string   `json:"ip"`
		Fields fieldList `json:"fields"`
		Lang   *string   `json:"lang"`
	}
	if !utf8.Valid(line) || json.Unmarshal(line, &o) != nil || o.IP == nil {
		return "", nil, errBatchLine
	}
	if o.Fields == "" && o.Lang == nil {
		return *o.IP, b.part, nil
	}
	lang := ""
	if o.Lang != nil {
		lang = *o.Lang
	}
	// Lines mostly want the same as the one before.
	if string(o.Fields) != b.fields || lang != b.lang {
		b.fields, b.lang = "", ""
		if b.chosen, err = newPart(string(o.Fields), lang); err != nil {
			return "", nil, err
		}
		b.fields, b.lang = string(o.Fields), lang
	}
	return *o.IP, b.chosen, nil
}

// fieldList is a list of fields as JSON: with commas in one string, or as an
// array of strings.
type fieldList string

func (f *fieldList) UnmarshalJSON(text []byte) error {
	var list []string
	var one string
	switch {
	case json.Unmarshal(text, &one) == nil:
	case json.Unmarshal(text, &list) == nil:
		one = strings.Join(list, ",")
	default:
		return errBatchLine
	}
	*f = fieldList(one)
	return nil
}

// refuse writes the answer to a line that has none. ip is the address, or "" if
// it could not be read.
func (b *batch) refuse(ip string, err error) {
	_, p := b.s.Classify(b.s.Replaced(err))
	b.out.Body = strconv.AppendInt(append(b.out.Body, `{"line":`...), b.line, 10)
	if ip != "" {
		b.out.Body = jsontext.AppendString(append(b.out.Body, `,"ip":`...), ip)
	}
	b.out.Body = jsontext.AppendString(append(b.out.Body, `,"error":{"type":`...), p.Type)
	b.out.Body = jsontext.AppendString(append(b.out.Body, `,"title":`...), p.Title)
	b.out.Body = jsontext.AppendString(append(b.out.Body, `,"detail":`...), p.Detail)
	b.out.Body = append(b.out.Body, "}}\n"...)
}

// tell sets the header that says which data answers are from.
func (b *batch) tell() {
	if !b.out.Begun() {
		b.c.Response().Header()[web.DatabaseHeader] = b.now.Header
	}
}

// flush sends what has been answered so far.
func (b *batch) flush() error {
	if len(b.out.Body) > 0 {
		b.tell()
	}
	return b.out.Flush()
}

// explain turns what went wrong in reading the body into what to tell.
func (b *batch) explain(err error) error {
	switch {
	case errors.Is(err, web.ErrGone), errors.Is(err, errBatchTimeout), errors.Is(err, errBatchTooLong):
		return err
	case errors.Is(b.body.err, os.ErrDeadlineExceeded):
		return errBatchTimeout
	}
	return web.ErrBodyCorrupt
}

// batchBody reads the body as it comes. Before it waits for more, it sends
// what has been answered: nothing is held back from a client that sends slowly,
// and answers to one that sends fast travel together.
type batchBody struct {
	b    *batch
	r    io.Reader
	left int64 // bytes that may still come, and one
	end  time.Time
	err  error // of the last read, which what unpacks may not tell
}

func (r *batchBody) Read(p []byte) (int, error) {
	if err := r.b.flush(); err != nil {
		return 0, err
	}
	now := time.Now()
	if !now.Before(r.end) {
		return 0, errBatchTimeout
	}
	wait := now.Add(web.StreamStall)
	if r.end.Before(wait) {
		wait = r.end
	}
	_ = r.b.rc.SetReadDeadline(wait) // as above
	n, err := r.r.Read(p[:min(int64(len(p)), r.left)])
	r.err = err
	if r.left -= int64(n); r.left <= 0 {
		return n, bodyTooLong(r.b.s.BatchBytes)
	}
	return n, err
}

// limited refuses a body that unpacks to more than max bytes.
type limited struct {
	r         io.Reader
	left, max int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	if l.left -= int64(n); l.left <= 0 {
		return n, bodyTooLong(l.max)
	}
	return n, err
}

func bodyTooLong(max int64) error {
	return web.Refuse(errBatchTooLong, "", "The body is over its limit of "+strconv.FormatInt(max, 10)+" bytes; send the rest in further requests.")
}
