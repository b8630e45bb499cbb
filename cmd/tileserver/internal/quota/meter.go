package quota

import (
	"cmp"
	"context"
	"hash/maphash"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/cellstore"
)

// Options are the options of a Meter. Zero fields mean the documented defaults.
type Options struct {
	// Table stores the counts; see Schema. If it is nil, counts are only in memory and are lost
	// when the process ends.
	Table Counts
	// Clients bounds the addresses that are counted at once: 65,536 by default, at some 250 bytes
	// each. If there are more addresses, those with the fewest requests today are removed, and are
	// counted from 0 at their next request. Thus a flood of addresses evicts its own addresses and
	// not busy ones. Keys are always counted.
	Clients int
	// Now returns the time. The default is time.Now.
	Now func() time.Time
	// Monotonic returns how long this process has run, by a clock that cannot be set. The default is
	// the monotonic reading of Now.
	Monotonic func() time.Duration
	// Log receives write errors. If it is nil, they are discarded.
	Log *slog.Logger
}

// Counts is the part of a cellstore.Table that a Meter uses.
type Counts interface {
	Scan(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error]
	MultiGet(ctx context.Context, keys [][]byte, sel *cellstore.Selection) iter.Seq2[*cellstore.Row, error]
	Increment(ctx context.Context, inc cellstore.Increment, values []int64) ([]int64, error)
}

// DefaultClients is the default of Options.Clients.
const DefaultClients = 1 << 16

const (
	shardBits  = 6
	shardCount = 1 << shardBits
	// sampled is the number of clients of which the one with the fewest requests is removed.
	sampled = 8
)

// Meter counts requests. Its methods may be called concurrently.
type Meter struct {
	opts  Options
	seed  maphash.Seed
	per   int // clients of a shard
	shard [shardCount]shard

	mu   sync.RWMutex
	keys map[string]*keyCount

	running   atomic.Pointer[running]
	beginning sync.Mutex // held while windows begin
	began     time.Time  // the Meter

	flushing sync.Mutex
	failing  atomic.Bool  // the last flush failed
	lost     atomic.Int64 // counts that could not be kept for writing
	evicted  atomic.Int64
}

type shard struct {
	mu    sync.Mutex
	index map[netip.Addr]int32
	slots []slot
	dirty []int32 // slots whose counts are not written
	ended []late
}

type slot struct {
	addr netip.Addr
	count
}

type keyCount struct {
	mu sync.Mutex
	count
	ended []late
}

// newMeter returns a Meter without the counts of the table.
func newMeter(o Options) *Meter {
	if o.Clients <= 0 {
		o.Clients = DefaultClients
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := &Meter{opts: o, seed: maphash.MakeSeed(), per: max(o.Clients/shardCount, 1), keys: make(map[string]*keyCount), began: o.Now()}
	for i := range m.shard {
		m.shard[i].index = make(map[netip.Addr]int32)
	}
	return m
}

// CountAddress counts a request of an address and reports whether it may pass.
func (m *Meter) CountAddress(c ClientAddr, limits *Limits) Verdict {
	return m.withAddress(c, func(t *count, at moment) Verdict { return t.take(at, limits) })
}

// ChargeAddress counts n more requests of an address that have been answered
// regardless of its limits.
func (m *Meter) ChargeAddress(c ClientAddr, n int64) {
	m.withAddress(c, func(t *count, _ moment) Verdict { return t.charge(n) })
}

func (m *Meter) withAddress(c ClientAddr, do func(*count, moment) Verdict) Verdict {
	at := m.moment()
	s := m.shardOf(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	at.running = m.running.Load()
	i := m.slot(s, c, at.running)
	t := &s.slots[i]
	if t.turns != at.turns {
		m.advance(&t.count, &s.ended, at.running, c.id())
	}
	v := do(&t.count, at)
	if m.opts.Table != nil && !t.queued {
		t.queued = true
		s.dirty = append(s.dirty, i)
	}
	return v
}

func (m *Meter) shardOf(c ClientAddr) *shard {
	return &m.shard[maphash.Comparable(m.seed, c.addr)>>(64-shardBits)]
}

// slot returns the index of a client, and makes a new entry if necessary. The lock is held.
func (m *Meter) slot(s *shard, c ClientAddr, r *running) int32 {
	if i, ok := s.index[c.addr]; ok {
		return i
	}
	i := int32(len(s.slots))
	if len(s.slots) < m.per {
		s.slots = append(s.slots, slot{addr: c.addr})
	} else {
		i = s.least(r)
		old := &s.slots[i]
		m.retire(&old.count, &s.ended, ClientAddr{old.addr}.id())
		delete(s.index, old.addr)
		m.evicted.Add(1)
		*old = slot{addr: c.addr, count: count{queued: old.queued}}
	}
	s.index[c.addr] = i
	return i
}

// least returns the client with the fewest requests today from a few random clients.
func (s *shard) least(r *running) int32 {
	best, least := int32(0), int64(-1)
	for range sampled {
		i := rand.Int32N(int32(len(s.slots)))
		t := &s.slots[i]
		n := t.n[Day] + t.refused[Day]
		if t.turns[Day] != r.turns[Day] {
			n = 0
		}
		if least < 0 || n < least {
			best, least = i, n
		}
	}
	return best
}

// CountKey counts a request made with a key and reports whether it may pass.
func (m *Meter) CountKey(name string, limits *Limits) Verdict {
	return m.withKey(name, func(k *keyCount, at moment) Verdict { return k.take(at, limits) })
}

// ChargeKey counts n more requests made with a key that have been answered
// regardless of its limits.
func (m *Meter) ChargeKey(name string, n int64) {
	m.withKey(name, func(k *keyCount, _ moment) Verdict { return k.charge(n) })
}

// Peek returns the Verdict that CountKey would return, without counting.
func (m *Meter) Peek(name string, limits *Limits) Verdict {
	return m.withKey(name, func(k *keyCount, at moment) Verdict { return k.look(at, limits) })
}

func (m *Meter) withKey(name string, do func(*keyCount, moment) Verdict) Verdict {
	k := m.key(name)
	at := m.moment()
	k.mu.Lock()
	defer k.mu.Unlock()
	at.running = m.running.Load()
	if k.turns != at.turns {
		m.advance(&k.count, &k.ended, at.running, keyID(name))
	}
	return do(k, at)
}

func (m *Meter) key(name string) *keyCount {
	m.mu.RLock()
	k := m.keys[name]
	m.mu.RUnlock()
	if k != nil {
		return k
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if k = m.keys[name]; k == nil {
		k = new(keyCount)
		m.keys[name] = k
	}
	return k
}

// advance begins the current windows, and keeps unwritten counts of earlier windows.
func (m *Meter) advance(c *count, ended *[]late, r *running, id string) {
	c.advance(r, func(w Window, number uint32, n, refused int64) {
		m.keep(ended, late{id, w, number, n, refused})
	})
}

// retire keeps all unwritten counts of a client that is removed.
func (m *Meter) retire(c *count, ended *[]late, id string) {
	for w := range windows {
		if c.pending[w] != 0 || c.pendingRefused[w] != 0 {
			m.keep(ended, late{id, w, c.turns[w].number(), c.pending[w], c.pendingRefused[w]})
			c.pending[w], c.pendingRefused[w] = 0, 0
		}
	}
}

// maxEnded bounds the unwritten counts that a shard keeps for ended windows and removed clients.
const maxEnded = 1 << 10

// keep stores counts for the next flush. It drops those beyond maxEnded, as in a flood of clients
// with one request each.
func (m *Meter) keep(ended *[]late, l late) {
	if m.opts.Table == nil {
		return
	}
	// Counts that repeatedly cannot be written are joined into one entry.
	for i := max(len(*ended)-int(windows), 0); i < len(*ended); i++ {
		if e := &(*ended)[i]; e.client == l.client && e.window == l.window && e.number == l.number {
			e.n += l.n
			e.refused += l.refused
			return
		}
	}
	if len(*ended) >= maxEnded {
		m.lost.Add(l.n + l.refused)
		return
	}
	*ended = append(*ended, l)
}

// Busy has the number of requests of an address, or of a key's owner, in the current hour and day.
type Busy struct {
	_            struct{} `name:"BusyClient" doc:"What one client asked."`
	Client       string   `json:"client" doc:"The address, of IPv6 its /64, or the name of the key."`
	Hour         int64    `json:"hour" doc:"Requests in this hour." schema:"min=0"`
	HourRefused  int64    `json:"hour_refused" schema:"min=0"`
	Today        int64    `json:"today" schema:"min=0"`
	TodayRefused int64    `json:"today_refused" schema:"min=0"`
}

// Top returns at most n addresses with the most requests in the current hour, including refused
// requests.
func (m *Meter) Top(n int) []Busy {
	r := m.moment().running
	all := []Busy{}
	for i := range m.shard {
		s := &m.shard[i]
		s.mu.Lock()
		for j := range s.slots {
			t := &s.slots[j]
			if b := t.busy(r); b != (Busy{}) {
				b.Client = ClientAddr{t.addr}.String()
				all = append(all, b)
			}
		}
		s.mu.Unlock()
		all = busiest(all, n)
	}
	return all
}

// TopKeys does the same as Top, for keys.
func (m *Meter) TopKeys(n int) []Busy {
	r := m.moment().running
	all := []Busy{}
	m.mu.RLock()
	defer m.mu.RUnlock()
	for name, k := range m.keys {
		k.mu.Lock()
		b := k.busy(r)
		k.mu.Unlock()
		if b != (Busy{}) {
			b.Client = name
			all = append(all, b)
		}
	}
	return busiest(all, n)
}

// busy returns the counts of the current hour and day, without a name.
func (c *count) busy(r *running) (b Busy) {
	if c.turns[Hour] == r.turns[Hour] {
		b.Hour, b.HourRefused = c.n[Hour], c.refused[Hour]
	}
	if c.turns[Day] == r.turns[Day] {
		b.Today, b.TodayRefused = c.n[Day], c.refused[Day]
	}
	return b
}

func busiest(all []Busy, n int) []Busy {
	slices.SortFunc(all, func(a, b Busy) int {
		return cmp.Or(cmp.Compare(b.Hour+b.HourRefused, a.Hour+a.HourRefused),
			cmp.Compare(b.Today+b.TodayRefused, a.Today+a.TodayRefused), cmp.Compare(a.Client, b.Client))
	})
	return all[:min(n, len(all))]
}

// Stats are statistics of a Meter.
type Stats struct {
	Addresses int   // counted now
	Keys      int   // counted now
	Evicted   int64 // addresses that made room
	Lost      int64 // requests that are missing from the table
}

// Stats returns statistics of the addresses in memory.
func (m *Meter) Stats() Stats {
	st := Stats{Evicted: m.evicted.Load(), Lost: m.lost.Load()}
	for i := range m.shard {
		s := &m.shard[i]
		s.mu.Lock()
		st.Addresses += len(s.slots)
		s.mu.Unlock()
	}
	m.mu.RLock()
	st.Keys = len(m.keys)
	m.mu.RUnlock()
	return st
}
