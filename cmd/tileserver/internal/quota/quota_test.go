package quota

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
)

// clock is a clock that only tests move.
type clock struct{ atomic.Int64 }

func newClock(t time.Time) *clock {
	c := &clock{}
	c.Store(t.UnixNano())
	return c
}

func (c *clock) now() time.Time      { return time.Unix(0, c.Load()).UTC() }
func (c *clock) add(d time.Duration) { c.Add(int64(d)) }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func limits(t testing.TB, list ...string) *Limits {
	t.Helper()
	var all Limits
	for _, s := range list {
		l, err := ParseLimit(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := all.Add(l); err != nil {
			t.Fatal(err)
		}
	}
	return &all
}

func openTable(t testing.TB, dir string, c *clock) (cellstore.Table, func()) {
	t.Helper()
	return openTableBy(t, dir, cellstore.ClockOf(func() int64 { return c.now().UnixMilli() }))
}

func openTableBy(t testing.TB, dir string, c *cellstore.Clock) (cellstore.Table, func()) {
	t.Helper()
	store, err := pebblestore.Open(dir, &pebblestore.Options{CacheBytes: 1 << 20, Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	table, err := store.Table(ctx, Table)
	if errors.Is(err, cellstore.ErrTableNotFound) {
		if err = store.CreateTable(ctx, Schema()); err == nil {
			table, err = store.Table(ctx, Table)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return table, func() {
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t testing.TB, o Options) *Meter {
	t.Helper()
	m, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestParseLimit(t *testing.T) {
	for s, want := range map[string]Limit{
		"600/1m": {600, Minute}, " 1/60s ": {1, Minute}, "5/h": {5, Hour}, "5/60m": {5, Hour}, "100000/1d": {100000, Day}, "7/24h": {7, Day},
	} {
		if got, err := ParseLimit(s); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "600", "0/1m", "-1/1m", "600/2m", "600/", "/1m", "x/1m", "99999999999999999/1d", "1/1m/1m"} {
		if got, err := ParseLimit(s); err == nil || !strings.Contains(err.Error(), "600/1m") {
			t.Errorf("%q: %v, %v, want an error that shows how", s, got, err)
		}
	}
	var l Limits
	if err := errors.Join(l.Add(Limit{1, Minute}), l.Add(Limit{2, Hour})); err != nil {
		t.Error(err)
	}
	if err := l.Add(Limit{3, Minute}); err == nil {
		t.Error("a window took two limits")
	}
}

func TestClientAddrOf(t *testing.T) {
	for addr, want := range map[string]string{
		"198.51.100.7":         "198.51.100.7",
		"::ffff:198.51.100.7":  "198.51.100.7",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
		"fe80::1%eth0":         "fe80::/64",
	} {
		c := ClientAddrOf(netip.MustParseAddr(addr))
		if c.String() != want {
			t.Errorf("%s counts as %s, want %s", addr, c, want)
		}
		if back, ok := clientOf(c.id()); !ok || back != c {
			t.Errorf("%s is read back as %v", addr, back)
		}
	}
	if c := ClientAddrOf(netip.Addr{}); c.String() != "unknown" {
		t.Errorf("no address counts as %s", c)
	}
}

// A window passes exactly as many requests as its limit, from its first to its last nanosecond.
func TestEdges(t *testing.T) {
	c := newClock(noon)
	m := open(t, Options{Now: c.now})
	l := limits(t, "3/1m", "5/1h")
	client := ClientAddrOf(netip.MustParseAddr("198.51.100.7"))
	for i, step := range []struct {
		at        time.Duration
		refused   bool
		remaining int64
		window    Window
		reset     time.Duration
	}{
		{0, false, 2, Minute, 60 * time.Second},
		{time.Nanosecond, false, 1, Minute, 60 * time.Second},
		{time.Minute - 1, false, 0, Minute, time.Second},
		{time.Minute - 1, true, 0, Minute, time.Second},
		{time.Minute, false, 1, Hour, 59 * time.Minute},
		{time.Minute, false, 0, Hour, 59 * time.Minute},
		{time.Minute, true, 0, Hour, 59 * time.Minute},
		{2 * time.Minute, true, 0, Hour, 58 * time.Minute},
		{time.Hour - 1, true, 0, Hour, time.Second},
		{time.Hour, false, 2, Minute, time.Minute},
		{time.Hour - time.Minute, false, 1, Minute, 2 * time.Minute}, // the clock went back
	} {
		c.Store(noon.Add(step.at).UnixNano())
		v := m.CountAddress(client, l)
		if v.Refused != step.refused || v.Remaining != step.remaining || v.Limit.Window != step.window || v.Reset != step.reset {
			t.Errorf("step %d: %+v, want %+v", i, v, step)
		}
	}
}

// TestAgainstList compares a Meter with a list of the requests that passed, which is counted anew
// for each request.
func TestAgainstList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newClock(noon)
		m := newMeter(Options{Now: c.now})
		var l Limits
		for w := range windows {
			l[w] = rapid.Int64Range(0, 6).Draw(t, "limit")
		}
		passed := map[string][]time.Time{}
		for range rapid.IntRange(1, 60).Draw(t, "requests") {
			c.add(time.Duration(rapid.Int64Range(0, int64(40*time.Minute)).Draw(t, "pause")))
			name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "client")
			want := false
			for w := range windows {
				n := int64(0)
				for _, at := range passed[name] {
					if at.Truncate(w.Duration()).Equal(c.now().Truncate(w.Duration())) {
						n++
					}
				}
				want = want || l[w] != 0 && n >= l[w]
			}
			if got := m.CountKey(name, &l); got.Refused != want {
				t.Fatalf("%+v at %v, want refused %v", got, c.now(), want)
			}
			if !want {
				passed[name] = append(passed[name], c.now())
			}
		}
	})
}

func TestConcurrent(t *testing.T) {
	c := newClock(noon)
	table, closeTable := openTable(t, t.TempDir(), c)
	defer closeTable()
	m := open(t, Options{Now: c.now, Table: table})
	l := limits(t, "500/1m")
	var passed [2]atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 200 {
				if !m.CountKey("acme", l).Refused {
					passed[0].Add(1)
				}
				if !m.CountAddress(ClientAddr{}, l).Refused {
					passed[1].Add(1)
				}
				if i%50 == 0 {
					if err := m.Flush(context.Background(), 1); err != nil {
						t.Error(err)
					}
					m.Top(3)
					m.TopKeys(3)
				}
			}
		})
	}
	wg.Wait()
	if a, b := passed[0].Load(), passed[1].Load(); a != 500 || b != 500 {
		t.Errorf("%d and %d passed, want 500", a, b)
	}
	if err := m.Flush(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	again := open(t, Options{Now: c.now, Table: table})
	if v := again.CountKey("acme", l); !v.Refused {
		t.Errorf("read back: %+v", v)
	}
	if top := again.Top(1); len(top) != 1 || top[0] != (Busy{
		Client:       "unknown",
		Hour:         500,
		HourRefused:  1100,
		Today:        500,
		TodayRefused: 1100,
	}) {
		t.Errorf("read back: %+v", top)
	}
	again.CountKey("other", l)
	again.Peek("silent", l)
	if top := again.TopKeys(9); len(top) != 2 || top[0] != (Busy{
		Client:       "acme",
		Hour:         500,
		HourRefused:  1101,
		Today:        500,
		TodayRefused: 1101,
	}) || top[1] != (Busy{Client: "other", Hour: 1, HourRefused: 0, Today: 1, TodayRefused: 0}) {
		t.Errorf("busiest keys: %+v", top)
	}
	if top := again.TopKeys(1); len(top) != 1 || top[0].Client != "acme" {
		t.Errorf("busiest key: %+v", top)
	}
}

// After a restart, counting continues with the counts of the running windows, and with no others.
func TestRestart(t *testing.T) {
	c, dir := newClock(noon), t.TempDir()
	l := limits(t, "10/1m", "20/1d")
	client := ClientAddrOf(netip.MustParseAddr("2001:db8::1"))
	session := func(do func(m *Meter)) {
		table, closeTable := openTable(t, dir, c)
		m := open(t, Options{Now: c.now, Table: table})
		do(m)
		ctx, stop := context.WithCancel(context.Background())
		stop()
		if err := m.Run(ctx); err != nil { // writes the last counts
			t.Fatal(err)
		}
		closeTable()
	}
	session(func(m *Meter) {
		for range 4 {
			m.CountKey("acme", l)
			m.CountAddress(client, l)
		}
	})
	session(func(m *Meter) {
		if v := m.CountKey("acme", l); v.Remaining != 5 || v.Limit.Window != Minute {
			t.Errorf("in the minute: %+v", v)
		}
		if v := m.CountAddress(client, l); v.Remaining != 5 {
			t.Errorf("in the minute: %+v", v)
		}
		// The minute ends before its counts are written.
		m.CountKey("acme", l)
		c.add(time.Minute)
		m.CountKey("acme", l)
	})
	session(func(m *Meter) {
		if v := m.Peek("acme", limits(t, "10/1m")); v.Remaining != 9 {
			t.Errorf("in the next minute: %+v", v)
		}
		if v := m.Peek("acme", limits(t, "20/1d")); v.Remaining != 13 {
			t.Errorf("on the day: %+v", v)
		}
		c.add(26 * time.Hour)
		m.CountKey("acme", l)
		u, err := m.Usage(context.Background(), "acme")
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(u); got != fmt.Sprint(Usage{
			Hours: []Bucket{{Start: time.Date(2026, 3, 2, 14, 0, 0, 0, time.UTC), Requests: 1}},
			Days:  []Bucket{{Start: noon.Truncate(24 * time.Hour), Requests: 7}, {Start: noon.Add(12 * time.Hour), Requests: 1}},
		}) {
			t.Errorf("usage: %v", got)
		}
	})
}

// failing is a table that cannot be written for a while.
type failing struct {
	cellstore.Table
	down atomic.Bool
}

func (f *failing) Increment(ctx context.Context, inc cellstore.Increment, values []int64) ([]int64, error) {
	if f.down.Load() {
		return nil, errors.New("the disk is full")
	}
	return f.Table.Increment(ctx, inc, values)
}

func TestTableFails(t *testing.T) {
	c := newClock(noon)
	table, closeTable := openTable(t, t.TempDir(), c)
	defer closeTable()
	f := &failing{Table: table}
	m := open(t, Options{Now: c.now, Table: f})
	f.down.Store(true)
	for range 400 {
		m.CountKey("acme", &Limits{})
		m.CountAddress(ClientAddr{}, &Limits{})
		if err := m.Flush(context.Background(), 0); err == nil {
			t.Fatal("a failure to write was not told")
		}
	}
	f.down.Store(false)
	if err := m.Flush(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	if st := m.Stats(); st.Lost != 0 {
		t.Errorf("%d counts were lost", st.Lost)
	}
	again := open(t, Options{Now: c.now, Table: table})
	if v := again.Peek("acme", limits(t, "401/1h")); v.Remaining != 1 {
		t.Errorf("written later: %+v", v)
	}
	if top := again.Top(1); len(top) != 1 || top[0].Hour != 400 {
		t.Errorf("written later: %+v", top)
	}
}

// lossy is a table whose answers are lost in transit.
type lossy struct {
	cellstore.Table
	down atomic.Bool
}

func (l *lossy) Increment(ctx context.Context, inc cellstore.Increment, values []int64) ([]int64, error) {
	values, err := l.Table.Increment(ctx, inc, values)
	if err == nil && l.down.Load() {
		err = cellstore.ErrUnknownOutcome
	}
	return values, err
}

// TestOutcomeUnknown tests that counts which may have been written are not written again, so that
// no request counts twice.
func TestOutcomeUnknown(t *testing.T) {
	c := newClock(noon)
	table, closeTable := openTable(t, t.TempDir(), c)
	defer closeTable()
	l := &lossy{Table: table}
	m := open(t, Options{Now: c.now, Table: l})
	l.down.Store(true)
	for range 10 {
		m.CountKey("acme", &Limits{})
		if err := m.Flush(context.Background(), 0); !errors.Is(err, cellstore.ErrUnknownOutcome) {
			t.Fatal(err)
		}
	}
	l.down.Store(false)
	if err := m.Flush(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	again := open(t, Options{Now: c.now, Table: table})
	for _, limit := range []string{"11/1m", "11/1h", "11/1d"} {
		if v := again.Peek("acme", limits(t, limit)); v.Remaining != 1 {
			t.Errorf("%s after 10 requests: %+v", limit, v)
		}
	}
}

// A flood of addresses, a million with QUADRILLE_FULL=1, takes no more memory than the counted
// clients, and does not evict the busy one.
func TestFlood(t *testing.T) {
	c := newClock(noon)
	table, closeTable := openTable(t, t.TempDir(), c)
	defer closeTable()
	m := open(t, Options{Now: c.now, Clients: 1 << 12, Table: table})
	busy, l := ClientAddrOf(netip.MustParseAddr("198.51.100.7")), &Limits{}
	for range 1000 {
		m.CountAddress(busy, l)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	flood := 100_000
	if os.Getenv("QUADRILLE_FULL") != "" {
		flood = 1_000_000
	}
	for i := range flood {
		m.CountAddress(ClientAddrOf(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})), l)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 24<<20 {
		t.Errorf("%d addresses took %d bytes", flood, grown)
	}
	if st := m.Stats(); st.Addresses > 1<<12 || st.Evicted < int64(flood)-1<<13 || st.Lost == 0 {
		t.Errorf("stats: %+v", st)
	}
	if top := m.Top(1); len(top) != 1 || top[0].Client != "198.51.100.7" || top[0].Hour != 1000 {
		t.Errorf("busiest: %+v", top)
	}
}

func TestAllocs(t *testing.T) {
	m := newMeter(Options{})
	l := limits(t, "1000000/1m")
	client := ClientAddrOf(netip.MustParseAddr("2001:db8::1"))
	if n := testing.AllocsPerRun(1000, func() { m.CountAddress(client, l); m.CountKey("acme", l) }); n > 2 { // the two closures
		t.Errorf("%v allocations per request", n)
	}
}

func BenchmarkAddress(b *testing.B) {
	m := newMeter(Options{})
	client := ClientAddrOf(netip.MustParseAddr("198.51.100.7"))
	l := limits(b, "1000000/1m")
	for b.Loop() {
		m.CountAddress(client, l)
	}
}

func BenchmarkFind(b *testing.B) {
	k, err := ReadKeys(strings.NewReader(FormatLine("acme", HashOf("secret"), nil)))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if k.Find("secret") == nil {
			b.Fatal("not found")
		}
	}
}
