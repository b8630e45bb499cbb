package quota

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"quadrille/cellstore"
)

// Table is the table of usage. A row is one client in one window:
//
//	window (1 byte) | its number (4 bytes, big-endian) | client
//
// so that each running window is one range that can be read at the start. The number is the start
// of the window in Unix time, divided by its length. A client is "4" and 4 bytes, "6" and the 8
// bytes of its /64, "?" when it is not known, or "k" and the name of a key. Each kind of window is
// a family with its own time to live and two counters.
const Table = "usage"

var (
	families = [windows]string{"m", "h", "d"}
	passed   = []byte("n") // requests that passed
	turned   = []byte("x") // requests that were refused
)

// These are the numbers of windows that /usage reports.
const (
	hoursKept = 24
	daysKept  = 30
)

// Schema declares the table of usage.
func Schema() cellstore.Schema {
	// A count expires this long after its last change. This is longer than a window, because a
	// window may continue after the change.
	ttl := [windows]time.Duration{10 * time.Minute, (hoursKept + 1) * time.Hour, (daysKept + 1) * 24 * time.Hour}
	s := cellstore.Schema{Table: Table}
	for w, name := range families {
		s.Families = append(s.Families, cellstore.Family{Name: name, TTL: ttl[w]})
	}
	return s
}

func rowKey(dst []byte, w Window, number uint32, client string) []byte {
	dst = append(dst, byte(w))
	dst = binary.BigEndian.AppendUint32(dst, number)
	return append(dst, client...)
}

func keyID(name string) string { return "k" + name }

func (c ClientAddr) id() string {
	switch {
	case c.addr.Is4():
		b := c.addr.As4()
		return "4" + string(b[:])
	case c.addr.Is6():
		b := c.addr.As16()
		return "6" + string(b[:8])
	}
	return "?"
}

// clientOf returns the client of an id that ClientAddr.id wrote.
func clientOf(id string) (ClientAddr, bool) {
	switch {
	case len(id) == 5 && id[0] == '4':
		return ClientAddr{netip.AddrFrom4([4]byte([]byte(id[1:])))}, true
	case len(id) == 9 && id[0] == '6':
		var b [16]byte
		copy(b[:], id[1:])
		return ClientAddr{netip.AddrFrom16(b)}, true
	}
	return ClientAddr{}, id == "?"
}

// Open returns a Meter that continues with the counts of the current windows. Run writes its counts
// later, in the background.
func Open(ctx context.Context, o Options) (*Meter, error) {
	m := newMeter(o)
	if o.Table == nil {
		return m, nil
	}
	r := m.moment().running
	for w := range windows {
		prefix := rowKey(nil, w, r.turns[w].number(), "")
		scan := cellstore.Scan{
			Ranges:    []cellstore.Range{{From: prefix, To: cellstore.PrefixEnd(prefix)}},
			Selection: cellstore.Selection{Families: []string{families[w]}},
		}
		for row, err := range o.Table.Scan(ctx, scan) {
			if err != nil {
				return nil, fmt.Errorf("reading usage: %w", err)
			}
			m.restore(w, string(row.Key[len(prefix):]), counterOf(row, families[w], passed), counterOf(row, families[w], turned), r)
		}
	}
	return m, nil
}

func counterOf(row *cellstore.Row, family string, qualifier []byte) int64 {
	v, ok := row.Value(family, qualifier)
	if !ok || len(v) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(v))
}

func (m *Meter) restore(w Window, client string, n, refused int64, r *running) {
	set := func(c *count) {
		c.advance(r, nil)
		c.n[w], c.refused[w] = n, refused
	}
	if len(client) > 0 && client[0] == 'k' {
		set(&m.key(client[1:]).count)
		return
	}
	if c, ok := clientOf(client); ok {
		s := m.shardOf(c)
		if _, known := s.index[c.addr]; known || len(s.slots) < m.per {
			set(&s.slots[m.slot(s, c, r)].count)
		}
	}
}

// flushEvery bounds how much usage a crash may lose.
const flushEvery = time.Second

// Run writes counts in the background until ctx ends, and then the rest. It returns the error of
// this last write; earlier errors are logged, and the writes are repeated.
func (m *Meter) Run(ctx context.Context) error {
	if m.opts.Table == nil {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer cancel()
			return m.Flush(last, 0)
		case <-tick.C:
		}
		err := m.Flush(ctx, maxFlush)
		switch was := m.failing.Swap(err != nil); {
		case err != nil && !was && ctx.Err() == nil:
			m.opts.Log.Error("usage cannot be written; counting goes on in memory, and what has room there is written later", "flag",
				"--usage", "error", err)
		case err == nil && was:
			m.opts.Log.Info("usage is written again", "flag", "--usage")
		}
	}
}

// maxFlush bounds the addresses that are written at once, so that a flood of
// addresses does not become a flood of writes. The others wait.
const maxFlush = 4096

// Flush writes the counts since the last flush: of all keys, and of about the given number of
// addresses, or of all if it is 0. Counts that could not be written are tried again.
func (m *Meter) Flush(ctx context.Context, addresses int) error {
	if m.opts.Table == nil {
		return nil
	}
	m.flushing.Lock()
	defer m.flushing.Unlock()
	var errs []error
	m.mu.RLock()
	names := make([]string, 0, len(m.keys))
	for name := range m.keys {
		names = append(names, name)
	}
	m.mu.RUnlock()
	for _, name := range names {
		k := m.key(name)
		k.mu.Lock()
		m.retire(&k.count, &k.ended, keyID(name))
		batch := k.ended
		k.ended = nil
		k.mu.Unlock()
		if rest, err := m.write(ctx, batch); err != nil {
			errs = append(errs, err)
			k.mu.Lock()
			m.back(&k.ended, rest)
			k.mu.Unlock()
		}
	}
	per := 0
	if addresses > 0 {
		per = max(addresses/shardCount, 1)
	}
	for i := range m.shard {
		s := &m.shard[i]
		s.mu.Lock()
		batch := m.collect(s, per)
		s.mu.Unlock()
		if rest, err := m.write(ctx, batch); err != nil {
			errs = append(errs, err)
			s.mu.Lock()
			m.back(&s.ended, rest)
			s.mu.Unlock()
		}
	}
	return errors.Join(errs...)
}

// collect removes the counts to write from a shard. The lock is held.
func (m *Meter) collect(s *shard, most int) []late {
	n := len(s.dirty)
	if most > 0 {
		n = min(n, most)
	}
	batch := s.ended
	s.ended = nil
	for _, i := range s.dirty[:n] {
		t := &s.slots[i]
		t.queued = false
		for w := range windows {
			if t.pending[w] != 0 || t.pendingRefused[w] != 0 {
				batch = append(batch, late{ClientAddr{t.addr}.id(), w, t.turns[w].number(), t.pending[w], t.pendingRefused[w]})
				t.pending[w], t.pendingRefused[w] = 0, 0
			}
		}
	}
	s.dirty = s.dirty[:copy(s.dirty, s.dirty[n:])]
	return batch
}

func (m *Meter) back(ended *[]late, rest []late) {
	for _, l := range rest {
		m.keep(ended, l)
	}
}

// write increments the counters of the table. It returns the counts to try again: all that it did
// not try, but none that may have been written, so that no request counts twice.
func (m *Meter) write(ctx context.Context, batch []late) (rest []late, err error) {
	var key []byte
	var deltas [2]cellstore.Delta
	var values []int64
	for i, l := range batch {
		d := deltas[:0]
		if l.n != 0 {
			d = append(d, cellstore.Delta{Family: families[l.window], Qualifier: passed, By: l.n})
		}
		if l.refused != 0 {
			d = append(d, cellstore.Delta{Family: families[l.window], Qualifier: turned, By: l.refused})
		}
		key = rowKey(key[:0], l.window, l.number, l.client)
		values, err = m.opts.Table.Increment(ctx, cellstore.Increment{Row: key, Deltas: d, Durability: cellstore.Async}, values[:0])
		if errors.Is(err, cellstore.ErrUnknownOutcome) {
			i++
		}
		if err != nil {
			return batch[i:], err
		}
	}
	return nil, nil
}

// Bucket is the number of requests in one window.
type Bucket struct {
	_        struct{}  `name:"UsageBucket" doc:"What was asked in one hour or day."`
	Start    time.Time `json:"start" doc:"When it began, UTC."`
	Requests int64     `json:"requests" doc:"Requests that were answered." schema:"min=0"`
	Refused  int64     `json:"refused,omitempty" doc:"Requests beyond a limit." schema:"min=0"`
}

// Usage has the number of requests of a key in each window, oldest first. Windows without requests
// are omitted.
type Usage struct {
	Hours []Bucket `json:"hours" doc:"Hours of the last day, oldest first."`
	Days  []Bucket `json:"days" doc:"Days of the last month, oldest first."`
}

// Usage reads the counts of a key. Without a table, it returns only the current hour and day.
func (m *Meter) Usage(ctx context.Context, name string) (u Usage, err error) {
	if u.Hours, err = m.buckets(ctx, name, Hour, hoursKept); err != nil {
		return Usage{}, err
	}
	u.Days, err = m.buckets(ctx, name, Day, daysKept)
	return u, err
}

func (m *Meter) buckets(ctx context.Context, name string, w Window, kept int) ([]Bucket, error) {
	m.Peek(name, &Limits{}) // begins the windows of now
	k := m.key(name)
	k.mu.Lock()
	number := k.turns[w].number()
	now := Bucket{Start: w.start(number), Requests: k.n[w], Refused: k.refused[w]}
	k.mu.Unlock()

	list := []Bucket{}
	if m.opts.Table != nil {
		keys := make([][]byte, 0, kept-1)
		for i := kept - 1; i > 0; i-- {
			keys = append(keys, rowKey(nil, w, number-uint32(i), keyID(name)))
		}
		i := uint32(kept)
		for row, err := range m.opts.Table.MultiGet(ctx, keys, &cellstore.Selection{Families: []string{families[w]}}) {
			if err != nil {
				return nil, fmt.Errorf("reading usage: %w", err)
			}
			i--
			if !row.Empty() {
				list = append(list, Bucket{
					Start:    w.start(number - i),
					Requests: counterOf(row, families[w], passed),
					Refused:  counterOf(row, families[w], turned),
				})
			}
		}
	}
	if now.Requests != 0 || now.Refused != 0 {
		list = append(list, now)
	}
	return list, nil
}
