package web

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/cmd/tileserver/internal/quota"
	"quadrille/feature"
)

// Client is the one that places are given to: the key of a request, or its address, an
// IPv6 address as its /64.
type Client struct {
	Key  string // its name
	Addr quota.Client
}

type clientInContext struct{}

// For returns ctx with the client that pays for what Heavily and InTurn give.
// Without it all clients count as one.
func For(ctx context.Context, who Client) context.Context {
	return context.WithValue(ctx, clientInContext{}, who)
}

// Shares of the places of --max-concurrent, by class of cost, and of the places of a class
// that one client may have.
const (
	heavyShare  = 4 // of all places: tiles and lookups go on when heavy requests are at their limit
	streamShare = 8 // fewer: they run longer than others

	clientShare = 4 // of the places of a class
	// lightClientShare is a share of all places. Behind a proxy that is not trusted all clients
	// count as one.
	lightClientShare = 2
	keyShare         = 4 // of the places of a class, for requests with a key
)

// maxFollowed bounds the followed requests of one client that run at once.
const maxFollowed = 32

// places bounds the requests of a class that run at once, in all and of one client. On a
// server with keys some places are only for requests with a key. Its methods may be called
// concurrently.
type places struct {
	most, share, keys int64
	// few is the number of places that are given without asking who takes them.
	// They count against the share of every client.
	few int64

	all atomic.Int64
	mu  sync.Mutex
	of  map[Client]int64
}

func (p *places) init(most, share int64, keyed bool) {
	p.most, p.share, p.of = max(most, 1), max(share, 1), map[Client]int64{}
	if keyed {
		p.keys = most / keyShare
	}
}

// beginFew takes a place while few are taken. EndFew gives it back.
func (p *places) beginFew() bool {
	if p.few == 0 {
		return false
	}
	if p.all.Add(1) > p.few {
		p.all.Add(-1)
		return false
	}
	return true
}

func (p *places) endFew() { p.all.Add(-1) }

// begin takes a place, if there is one. End gives it back.
func (p *places) begin(who Client) bool {
	most := p.most
	if who.Key == "" {
		most -= p.keys
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all.Load() >= most || p.of[who] >= p.share-p.few {
		return false
	}
	p.all.Add(1)
	p.of[who]++
	return true
}

func (p *places) end(who Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all.Add(-1)
	if p.of[who]--; p.of[who] <= 0 {
		delete(p.of, who)
	}
}

// Taken returns how many places are taken.
func (p *places) Taken() int64 { return p.all.Load() }

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
	defer t.end()
	return fn(t.in(ctx))
}

type turnInContext struct{}

// TurnOf returns the turn in a context that InTurn gave. For any other context it returns
// a turn whose Pause does nothing.
func TurnOf(ctx context.Context) *Turn {
	if t, ok := ctx.Value(turnInContext{}).(*Turn); ok {
		return t
	}
	return &Turn{}
}

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
	free  func(worked time.Duration) // nil without the processor
	began time.Time
}

func (t *Turn) begin(ctx context.Context) (err error) {
	t.free, err = t.of.take(ctx, t.who)
	t.began = time.Now()
	return err
}

func (t *Turn) end() { // again does nothing

	if t.free != nil {
		t.free(time.Since(t.began))
		t.free, t.began = nil, time.Time{}
	}
}

func (t *Turn) step(ctx context.Context) error {
	if time.Since(t.began) < turnTime {
		return ctx.Err()
	}
	t.end()
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

// Pause gives the processor back.
func (t *Turn) Pause() { t.end() }

// Step gives the processor that InTurn took back once its turn is over, and waits for
// the next one. The error is the context's.
func Step(ctx context.Context) error {
	if t, ok := ctx.Value(turnInContext{}).(*Turn); ok {
		return t.step(ctx)
	}
	return ctx.Err()
}

func (p *Processors) take(ctx context.Context, who Client) (free func(time.Duration), err error) {
	turn := p.ask(who)
	free = func(worked time.Duration) { p.give(who, worked) }
	select {
	case <-turn:
		return free, nil
	default:
	}
	select {
	case <-turn:
		return free, nil
	case <-ctx.Done():
		if !p.leave(who, turn) {
			free(0) // the turn came meanwhile
		}
		return nil, ctx.Err()
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
