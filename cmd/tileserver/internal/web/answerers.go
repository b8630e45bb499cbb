package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"runtime"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
)

const (
	// maxWaiting bounds the number of questions that wait to be answered together.
	maxWaiting = 128
	// maxAnswerers bounds the goroutines that answer a batch, so that other requests get a share of
	// the processors.
	maxAnswerers = 4
)

// questions is the state of a batch of questions. The lines that have arrived are answered together
// by several goroutines; the answers are in the order of the lines.
type questions struct {
	*Batch
	ctx       context.Context
	q         *Questions
	common    *endpoint.Params     // of the address
	query     *endpoint.ParamNames // the parameters of a line
	text      []byte               // of the lines that wait
	waiting   []question
	answerers []*answerer
	failed    error // the error that ended the batch, at the line failedAt
	failedAt  int64
}

// question is a line that waits for its answer, or already has it.
type question struct {
	number   int64
	from, to int   // of the line, then of the answer
	blank    bool  // as the answer is then
	refusal  error // of a line that is not read
	by       *answerer
	err      error
	late     bool // the time of this line was up: the next may be quicker
}

// answerer has the memory of a goroutine that answers questions.
type answerer struct {
	*questions
	values url.Values // of the line
	texts  []string   // the memory of the values
	out    []byte
}

// run answers all lines.
func (b *questions) run() error {
	ended := b.Each(endpoint.ErrLine, func(line []byte, refused error) error {
		from := len(b.text)
		b.text = append(b.text, line...)
		b.waiting = append(b.waiting, question{number: b.Line, from: from, to: len(b.text), blank: len(line) == 0, refusal: refused})
		if len(b.waiting) < maxWaiting {
			return nil
		}
		if err := b.answer(); err != nil {
			return err
		}
		return b.WriteIfFull()
	})
	// The error that ended the batch is about the line after the waiting ones.
	if failed := b.answer(); failed != nil {
		return failed
	}
	return ended
}

// answer answers the waiting lines. An error ends the batch at its line, however far the
// batch has been read.
func (b *questions) answer() error {
	if b.failed != nil {
		b.Line = b.failedAt // reading on has counted
		return b.failed
	}
	if len(b.waiting) == 0 {
		return nil
	}
	b.find()
	read := b.Line
	for i := range b.waiting {
		w := &b.waiting[i]
		b.Line = w.number
		switch {
		case w.refusal != nil:
			b.RefuseLine("", "", w.refusal)
		case w.blank:
			b.Body = append(b.Body, '\n')
		case w.err == nil:
			b.Body = append(append(b.Body, w.by.out[w.from:w.to]...), '\n')
		default:
			if k, _ := b.kit.Classify(b.kit.Translate(w.err)); k.Status >= http.StatusInternalServerError &&
				!(w.late && errors.Is(w.err, context.DeadlineExceeded)) {
				b.failed, b.failedAt = w.err, w.number
				return w.err
			}
			b.RefuseLine("", "", w.err)
		}
	}
	b.Line = read
	b.waiting, b.text = b.waiting[:0], b.text[:0]
	return nil
}

// find computes the answers to the waiting lines.
func (b *questions) find() {
	n := min(runtime.GOMAXPROCS(0), maxAnswerers, len(b.waiting))
	for len(b.answerers) < n {
		b.answerers = append(b.answerers, &answerer{questions: b, values: url.Values{}})
	}
	var next atomic.Int64
	var all sync.WaitGroup
	var panicked atomic.Pointer[any]
	work := func(a *answerer) {
		a.out = a.out[:0]
		for i := next.Add(1) - 1; i < int64(len(b.waiting)); i = next.Add(1) - 1 {
			if w := &b.waiting[i]; w.refusal == nil && !w.blank {
				a.find(w)
			}
		}
	}
	for _, a := range b.answerers[1:n] {
		all.Go(func() {
			// The server recovers from panics of handlers, and must recover from this one too.
			defer func() {
				if p := recover(); p != nil {
					panicked.Store(&p)
				}
			}()
			work(a)
		})
	}
	func() {
		defer all.Wait() // nothing may go on working for a request that is over
		work(b.answerers[0])
	}()
	if p := panicked.Load(); p != nil {
		panic(*p)
	}
}

// find answers one line.
func (a *answerer) find(w *question) {
	line := a.text[w.from:w.to]
	w.by, w.from = a, len(a.out)
	p, err := a.read(line)
	if err == nil {
		ctx, cancel := context.WithTimeout(a.ctx, a.kit.Timeout)
		var out []byte
		if out, err = a.q.Answer(ctx, &p, a.out); err == nil {
			a.out = out
		}
		w.late = ctx.Err() != nil && a.ctx.Err() == nil
		cancel()
	}
	w.to, w.err = len(a.out), err
}

// read returns the parameters of a line.
func (a *answerer) read(line []byte) (p endpoint.Params, err error) {
	clear(a.values)
	a.texts = a.texts[:0]
	for name, value := range a.common.Values() {
		a.values[name] = value
	}
	switch {
	case !utf8.Valid(line):
		return p, endpoint.ErrLine
	case line[0] == '{':
		err = a.query.ReadLine(line, a.set)
	case a.q.AllowPoints:
		lat, lon, ok := bytes.Cut(line, []byte{','})
		if !ok || bytes.IndexByte(lon, ',') >= 0 {
			return p, endpoint.ErrLine
		}
		a.set("lat", string(bytes.TrimSpace(lat)))
		a.set("lon", string(bytes.TrimSpace(lon)))
	default:
		return p, endpoint.ErrLine
	}
	return a.common.Line(a.values), err
}

// set sets a parameter.
func (a *answerer) set(name, value string) {
	a.texts = append(a.texts, value)
	n := len(a.texts)
	a.values[name] = a.texts[n-1 : n : n]
}

// Questions answers an endpoint's questions in a batch. A line is a JSON object whose members are
// the parameters of the endpoint. Parameters of the address apply to every line that does not have
// its own.
type Questions struct {
	BatchLimits
	// AllowPoints is set if a line may also be a latitude and a longitude with a comma between.
	AllowPoints bool
	// Check reads the parameters of a line. It is first called with the parameters of the address,
	// so that invalid ones are refused before any line is read.
	Check func(p *endpoint.Params)
	// Answer appends the answer to the parameters of a line, in one line. Several goroutines call
	// it concurrently.
	Answer func(ctx context.Context, p *endpoint.Params, dst []byte) ([]byte, error)
}

// AnswerLines answers a batch of questions. A line has the parameters that the endpoint declares
// for lines. If a question is refused, the refusal is the answer to its line; a server error ends
// the batch.
func (s *Kit) AnswerLines(c echo.Context, common *endpoint.Params, q *Questions) error {
	r := c.Request()
	values := url.Values{"lat": {"0"}, "lon": {"0"}, "q": {"a"}} // which only lines have
	maps.Copy(values, common.Values())
	example := common.Line(values)
	if q.Check(&example); common.Err != nil || example.Err != nil {
		return cmp.Or(common.Err, example.Err)
	}
	b := &questions{Batch: s.NewBatch(c, q.BatchLimits), q: q, common: common, query: common.Endpoint().LineParamNames()}
	defer b.Release()
	b.Text = q.AllowPoints
	// The context of the request ends when the client closes its half of the connection. A client
	// may do this after sending the whole body.
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
