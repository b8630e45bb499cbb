package web

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/feature"
)

// CPUScheduler distributes processors fairly: each waiting client gets one before another client
// gets a second one, and no client exceeds its share. A request uses a processor for a turn and
// then waits again. While all processors are occupied, they pause between turns. Most requests need
// none of these processors. Without the pauses they would wait for 10 ms, because the runtime does
// not poll the network while all of Go's processors (P) are busy. Its methods may be called
// concurrently.
type CPUScheduler struct {
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

// NewCPUScheduler returns a scheduler of n processors.
func NewCPUScheduler(n int) *CPUScheduler {
	return &CPUScheduler{share: max(n/2, 1), free: n, of: map[Client]int{}}
}

// NewMachineCPUScheduler returns a scheduler of the processors of the machine that the program may
// use.
func NewMachineCPUScheduler() *CPUScheduler {
	return NewCPUScheduler(min(runtime.GOMAXPROCS(0), runtime.NumCPU()))
}

// InTurn calls fn as soon as a processor is free for it. It is for answers that keep a processor
// busy and take megabytes. If more of them ran than there are processors, they would take more
// memory and would not finish sooner. fn makes the answer and does not send it. It calls Step with
// its context between two steps. The error is that of fn or of ctx.
func (p *CPUScheduler) InTurn(ctx context.Context, fn func(ctx context.Context) error) error {
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
	// restTime is the pause of a processor after a turn, if requests have begun since the last
	// pause. Otherwise it pauses after every idleTurns turns, to detect whether requests are
	// waiting.
	restTime  = 2 * turnTime
	idleTurns = 20
)

// Turn is the use of a processor by a goroutine for a limited time.
type Turn struct {
	of    *CPUScheduler
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

// Pause releases the processor.
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
func (p *CPUScheduler) Turn(who Client) *Turn { return &Turn{of: p, who: who} }

// Step waits for a processor if the Turn has none, or if its time is over.
func (t *Turn) Step() { _ = t.step(context.Background()) } // whose error is none

// in returns ctx with the turn, so that layers can release the processor while they wait.
func (t *Turn) in(ctx context.Context) context.Context {
	return feature.WithPause(context.WithValue(ctx, turnInContext{}, t), t.Pause)
}

// Step releases the processor that InTurn took once its time is over, and waits for the next one.
// The error is that of the context.
func Step(ctx context.Context) error {
	if t, ok := ctx.Value(turnInContext{}).(*Turn); ok {
		return t.step(ctx)
	}
	return ctx.Err()
}

func (p *CPUScheduler) take(ctx context.Context, who Client) error {
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

// ask joins the queue. The returned channel is closed when a processor has been assigned.
func (p *CPUScheduler) ask(who Client) chan struct{} {
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

// give releases a processor. worked is the time for which the client has used it.
func (p *CPUScheduler) give(who Client, worked time.Duration) {
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

// tired reports whether a processor must pause. If so, the pause begins. The lock is held.
func (p *CPUScheduler) tired() bool {
	if p.worked < turnTime {
		return false
	}
	if begun := p.begun.Load(); begun != p.seen || p.worked >= idleTurns*turnTime {
		p.worked, p.seen = 0, begun
		return true
	}
	return false
}

// leave removes a request from the queue, and reports whether it had not yet got a processor.
func (p *CPUScheduler) leave(who Client, turn chan struct{}) bool {
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

// next assigns free processors to the first clients in the queue. The lock is held.
func (p *CPUScheduler) next() {
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
