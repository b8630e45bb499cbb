// Package webhook sends the events of live collections to addresses that their owners set. It sends
// them in the order of the writes, signs them by the specification Standard Webhooks, and retries
// until they are accepted. The position of a hook is stored with the collection, so that sending
// continues there after a restart.
package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/ask"
	"quadrille/ask/fence"
	"quadrille/cellstore"
	"quadrille/cmd/tileserver/internal/follow"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/places/live"
)

// MaxHooks bounds the hooks of a collection.
const MaxHooks = 16

// These are errors of hooks.
var (
	ErrInvalidHook  = errors.New("hook is not valid")
	ErrNoHook       = errors.New("no such hook")
	ErrTooManyHooks = errors.New("too many hooks")
	// errUnread is matched while the hooks of a collection cannot be read. It is joined with the
	// reason.
	errUnread = errors.New("the hooks of the collection are not read yet: try again in a while")
)

// Config configures how events are sent.
type Config struct {
	Live  *live.Store
	Views *ask.Views // the views that fences are judged by
	// CPUScheduler has the processors that the evaluation of fences shares with requests. All hooks
	// count as one client. Nil means all processors of the machine.
	CPUScheduler *web.CPUScheduler
	// AllowPrivate lets hooks send to private addresses, and over http.
	AllowPrivate bool
	// Grace bounds how long a running request may continue after the sender ends.
	Grace time.Duration
	// FirstRetry and LastRetry are the shortest and the longest time until a request is sent again.
	// The defaults are a second and 5 minutes.
	FirstRetry, LastRetry time.Duration
	// Resolver finds addresses. Nil means the system's.
	Resolver *net.Resolver
	Log      *slog.Logger
}

// Sender sends the events of all hooks. Any number of goroutines may use it.
type Sender struct {
	Config
	client *http.Client
	counts [len(outcomes)]atomic.Int64

	ctx  context.Context // ends when no new request may begin
	end  context.CancelFunc
	hard context.Context // ends when running requests are cut off
	runs sync.WaitGroup

	changing sync.Mutex // held while hooks are loaded, made, replaced or removed
	mu       sync.Mutex
	closed   bool
	hooks    map[*live.Collection]map[string]*hook // of collections whose hooks are known
}

// Start begins to send the events of the hooks of all collections, until ctx ends or Close is
// called.
func Start(ctx context.Context, cfg Config) *Sender {
	if cfg.FirstRetry <= 0 {
		cfg.FirstRetry = time.Second
	}
	if cfg.LastRetry <= 0 {
		cfg.LastRetry = 5 * time.Minute
	}
	if cfg.CPUScheduler == nil {
		cfg.CPUScheduler = web.NewMachineCPUScheduler()
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Sender{Config: cfg, client: newClient(&cfg), hooks: map[*live.Collection]map[string]*hook{}}
	s.ctx, s.end = context.WithCancel(ctx)
	hard, cut := context.WithCancel(context.WithoutCancel(ctx))
	s.hard = hard
	context.AfterFunc(s.ctx, func() { time.AfterFunc(cfg.Grace, cut) })
	failing := s.loadAll(nil)
	s.runs.Go(func() { s.loadLater(failing) })
	return s
}

// loadLater loads the hooks of collections that are opened later, or that could not be read
// earlier.
func (s *Sender) loadLater(failing map[*live.Collection]bool) {
	tick := time.NewTicker(s.FirstRetry)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			failing = s.loadAll(failing)
		case <-s.ctx.Done():
			return
		}
	}
}

// loadAll loads the hooks of all collections, and returns those it could not load. was has those
// that it could not load at the previous attempt.
func (s *Sender) loadAll(was map[*live.Collection]bool) map[*live.Collection]bool {
	failing := map[*live.Collection]bool{}
	for _, l := range s.Live.Collections() {
		err := s.load(l)
		if err == nil || errors.Is(err, live.ErrClosed) || s.ctx.Err() != nil {
			continue
		}
		if failing[l] = true; !was[l] {
			s.Log.Error("the hooks of a collection cannot be read; they begin once they can", "collection", l.Meta().Name, "error", err)
		}
	}
	return failing
}

// load takes the hooks of a collection into service, unless they are already in service. The error
// matches errUnread.
func (s *Sender) load(l *live.Collection) error {
	if s.known(l) {
		return nil
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	if s.known(l) {
		return nil
	}
	notes, err := l.Notes(s.ctx, notePrefix)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnread, err)
	}
	var hooks []*hook
	for note, text := range notes {
		h := &hook{s: s, live: l, name: note[len(notePrefix):]}
		err := json.Unmarshal(text, &h.stored)
		if err != nil {
			h.stored = stored{}
		} else {
			h.fences, err = h.stored.fences()
		}
		if err != nil {
			h.log().Error("a hook cannot be read, and sends nothing until it is PUT again", "error", err)
			h.stored.Disabled = true
			h.err = "the hook cannot be read: PUT it again, or DELETE it"
		}
		hooks = append(hooks, h)
	}
	s.begin(l, hooks...)
	return nil
}

// known reports whether the hooks of a collection have been loaded.
func (s *Sender) known(l *live.Collection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hooks[l] != nil
}

// Close ends sending. Running requests may take the time Grace to finish.
func (s *Sender) Close() {
	s.end()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.runs.Wait()
	s.client.CloseIdleConnections()
}

// begin takes hooks of a collection into service.
func (s *Sender) begin(l *live.Collection, hooks ...*hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.hooks[l]
	if of == nil && !s.closed {
		of = map[string]*hook{}
		s.hooks[l] = of
		s.runs.Go(func() { s.watch(l) })
	}
	for _, h := range hooks {
		h.init()
		if s.closed {
			close(h.ended) // the next start takes it up
			continue
		}
		of[h.name] = h
		s.runs.Go(h.run)
	}
}

func (h *hook) init() {
	h.ctx, h.end = context.WithCancel(h.s.ctx)
	h.hard, h.cut = context.WithCancel(h.s.hard)
	h.ended = make(chan struct{})
}

// watch removes the hooks of a collection when it is dropped.
func (s *Sender) watch(l *live.Collection) {
	select {
	case <-s.ctx.Done():
	case <-l.Done():
		s.mu.Lock()
		of := s.hooks[l]
		delete(s.hooks, l)
		s.mu.Unlock()
		for _, h := range of {
			h.stop()
		}
	}
}

func (s *Sender) find(l *live.Collection, name string) (h *hook, all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hooks[l][name], len(s.hooks[l])
}

// Put creates or replaces a hook. A new hook begins with the next event; a replacement continues
// where the old one was. Each Put makes a new secret, which only its answer contains. After a
// replacement, requests also have the signature of the old secret, for the time Definition.Overlap.
// Errors match ErrInvalidHook or ErrTooManyHooks, or come from the parameters, the regions or the collection.
func (s *Sender) Put(ctx context.Context, l *live.Collection, name string, d Definition) (st State, isNew bool, err error) {
	if err := s.check(name, &d); err != nil {
		return st, false, err
	}
	fences, err := d.fences()
	if err == nil {
		err = follow.CheckRegions(ctx, &fences, s.Views)
	}
	if err != nil {
		return st, false, err
	}
	if err := s.load(l); err != nil {
		return st, false, err
	}
	overlap := defaultOverlap
	if d.Overlap != nil {
		overlap, d.Overlap = *d.Overlap, nil
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	old, all := s.find(l, name)
	h := &hook{s: s, live: l, name: name, fences: fences}
	h.stored = stored{Definition: d, Created: time.Now().UTC().Truncate(time.Second)}
	if old != nil {
		old.stop()
	}
	switch {
	case old != nil && old.stored.Secret != nil: // it could be read
		was := &old.stored
		h.stored.rotate(was, l.Now(), overlap)
		// The fences may have changed, so a move of which only some crossings were sent is sent
		// again.
		h.stored.Position = fence.ID{Seq: was.position().CompletedSeq()}.String()
		h.stored.Created, h.stored.Delivered, h.stored.Lost = was.Created, was.Delivered, was.Lost
	case old == nil && all >= MaxHooks:
		return st, false, ErrTooManyHooks
	default:
		h.stored.rotate(nil, l.Now(), 0)
		last, err := l.LastEvent(ctx)
		if err != nil {
			return st, false, err
		}
		h.stored.Position = fence.ID{Seq: last}.String()
	}
	if err := h.save(cellstore.Sync); err != nil {
		if old != nil {
			s.begin(l, &hook{s: s, live: l, name: name, fences: old.fences, stored: old.stored, err: old.err})
		}
		return st, false, err
	}
	st = h.state()
	st.Secret = h.stored.secret()
	s.begin(l, h)
	return st, old == nil, nil
}

// List returns the hooks of a collection by their names. The error is the reason why
// they cannot be read.
func (s *Sender) List(l *live.Collection) ([]State, error) {
	if err := s.load(l); err != nil {
		return nil, err
	}
	s.mu.Lock()
	of := maps.Clone(s.hooks[l])
	s.mu.Unlock()
	list := make([]State, 0, len(of))
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, of[name].state())
	}
	return list, nil
}

// Get returns a hook. The error matches ErrNoHook, or is the reason why the hooks of the collection
// cannot be read.
func (s *Sender) Get(l *live.Collection, name string) (State, error) {
	if err := s.load(l); err != nil {
		return State{}, err
	}
	h, _ := s.find(l, name)
	if h == nil {
		return State{}, ErrNoHook
	}
	return h.state(), nil
}

// Delete removes a hook. Errors match ErrNoHook or come from the collection.
func (s *Sender) Delete(ctx context.Context, l *live.Collection, name string) error {
	if err := s.load(l); err != nil {
		return err
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	h, _ := s.find(l, name)
	if h == nil {
		return ErrNoHook
	}
	h.stop()
	if err := l.SetNote(context.WithoutCancel(ctx), notePrefix+name, nil, cellstore.Sync); err != nil {
		s.begin(l, &hook{s: s, live: l, name: name, fences: h.fences, stored: h.stored, err: h.err})
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.hooks[l], name)
	return nil
}

// These are outcomes of requests.
const (
	delivered = iota
	rejected  // the answer was no 2xx
	unreachable
	forbidden // the address is one that hooks may not go to
	gone      // answered by 410, which disables the hook
	lost      // not a request: events that are not kept any more were passed over
)

var outcomes = [...]string{
	delivered:   "delivered",
	rejected:    "rejected",
	unreachable: "unreachable",
	forbidden:   "forbidden",
	gone:        "gone",
	lost:        "lost",
}

// Deliveries calls fn with each outcome and its number of requests.
func (s *Sender) Deliveries(fn func(outcome string, n int64)) {
	for i, name := range outcomes {
		fn(name, s.counts[i].Load())
	}
}
