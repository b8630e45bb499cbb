package web

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/feature"
)

// Processors gives processors to clients by turns: each client that waits gets one before
// another gets its second, and none gets more than its share. While all are taken, they
// rest between turns. Most requests take none, and would otherwise wait for 10 ms, since
// nobody looks at connections while each of Go's processors is busy. Its methods may be
// called concurrently.
type Processors struct {
	share int
	begun atomic.Int64 // how many requests have, so far

	mu     sync.Mutex
	free   int
	of     map[Client]int
	queue  []*waiting    // one for each waiting client; the next turn belongs to the first
	worked time.Duration // since the last rest
	seen   int64         // requests that had begun by then
}

// waiting is a client that waits.
type waiting struct {
	who Client
	ask []chan struct{} // closed when its turn has come
}

// NewProcessors makes n processors.
func NewProcessors(n int) *Processors {
	return &Processors{share: max(n/2, 1), free: n, of: map[Client]int{}}
}

// AllProcessors returns the processors of the machine that the program may use.
func AllProcessors() *Processors {
	return NewProcessors(min(runtime.GOMAXPROCS(0), runtime.NumCPU()))
}

// InTurn calls fn as soon as a processor is free for it. It is for answers that keep a
// processor busy and take megabytes: if more of them ran than there are processors, they
// would take more memory, and none of them less time. fn makes the answer and does not send
// it. It calls Step with its context between two steps. The error is that of fn or of ctx.
func (p *Processors) InTurn(ctx context.Context, fn func(ctx context.Context) error) error {
	who, _ := ctx.Value(clientInContext{}).(Client)
	t := &Turn{of: p, who: who}
	if err := t.begin(ctx); err != nil {
		return err
	}
	defer t.Pause()
	return fn(t.in(ctx))
}

type turnInContext struct{}

const (
	// turnTime is the length of a turn of a processor.
	turnTime = 250 * time.Microsecond
	// restTime is the rest of a processor after a turn, if requests have begun since its
	// last rest. If none have, it rests after every idleTurns turns, to find out whether
	// any are waiting.
	restTime  = 2 * turnTime
	idleTurns = 20
)

// Turn is a processor that a goroutine has for a while.
type Turn struct {
	of    *Processors
	who   Client
	began time.Time // zero without the processor
}

func (t *Turn) begin(ctx context.Context) error {
	if err := t.of.take(ctx, t.who); err != nil {
		return err
	}
	t.began = time.Now()
	return nil
}

// Pause gives the processor back.
func (t *Turn) Pause() {
	if !t.began.IsZero() {
		t.of.give(t.who, time.Since(t.began))
		t.began = time.Time{}
	}
}

func (t *Turn) step(ctx context.Context) error {
	if time.Since(t.began) < turnTime {
		return ctx.Err()
	}
	t.Pause()
	return t.begin(ctx)
}

// Turn takes processors for a client's work that is never cancelled. At first it has none.
func (p *Processors) Turn(who Client) *Turn { return &Turn{of: p, who: who} }

// Step waits for a processor if it has none, or if its turn is over.
func (t *Turn) Step() { _ = t.step(context.Background()) } // whose error is none

// in is ctx with the turn, which layers give back while they wait.
func (t *Turn) in(ctx context.Context) context.Context {
	return feature.WithPause(context.WithValue(ctx, turnInContext{}, t), t.Pause)
}

// Step gives the processor that InTurn took back once its turn is over, and waits for
// the next one. The error is the context's.
func Step(ctx context.Context) error {
	if t, ok := ctx.Value(turnInContext{}).(*Turn); ok {
		return t.step(ctx)
	}
	return ctx.Err()
}

func (p *Processors) take(ctx context.Context, who Client) error {
	turn := p.ask(who)
	select {
	case <-turn:
		return nil
	default:
	}
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		if !p.leave(who, turn) {
			p.give(who, 0) // the turn came meanwhile
		}
		return ctx.Err()
	}
}

// ask joins the queue. What it returns is closed when a processor is had.
func (p *Processors) ask(who Client) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	turn := make(chan struct{})
	for _, w := range p.queue {
		if w.who == who {
			w.ask = append(w.ask, turn)
			return turn
		}
	}
	p.queue = append(p.queue, &waiting{who, []chan struct{}{turn}})
	p.next()
	return turn
}

// give gives a processor back that has worked for a time.
func (p *Processors) give(who Client, worked time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[who]--; p.of[who] == 0 {
		delete(p.of, who)
	}
	p.worked += worked
	if p.free == 0 && p.tired() {
		time.AfterFunc(restTime, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.free++
			p.next()
		})
		return
	}
	p.free++
	p.next()
}

// tired reports whether a processor has to rest. If so, the rest begins. The lock is held.
func (p *Processors) tired() bool {
	if p.worked < turnTime {
		return false
	}
	if begun := p.begun.Load(); begun != p.seen || p.worked >= idleTurns*turnTime {
		p.worked, p.seen = 0, begun
		return true
	}
	return false
}

// leave leaves the queue and reports whether the turn had not come.
func (p *Processors) leave(who Client, turn chan struct{}) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, w := range p.queue {
		for j := range w.ask {
			if w.who == who && w.ask[j] == turn {
				if w.ask = append(w.ask[:j], w.ask[j+1:]...); len(w.ask) == 0 {
					p.queue = append(p.queue[:i], p.queue[i+1:]...)
				}
				return true
			}
		}
	}
	return false
}

// next gives free processors to those whose turn it is. The lock is held.
func (p *Processors) next() {
	for i := 0; i < len(p.queue) && p.free > 0; {
		w := p.queue[i]
		if p.of[w.who] >= p.share {
			i++
			continue
		}
		p.free--
		p.of[w.who]++
		close(w.ask[0])
		p.queue = append(p.queue[:i], p.queue[i+1:]...)
		if w.ask = w.ask[1:]; len(w.ask) > 0 {
			p.queue = append(p.queue, w)
		}
	}
}
