package bytecache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// pageKey is a key like those of packages of endpoints.
type pageKey struct {
	layers     string
	boundaries uint64
	tile       uint64
	form       uint8
}

func (k pageKey) Hash() uint64 {
	return k.tile ^ k.boundaries ^ uint64(k.form)<<8
}
func (k pageKey) ExtraBytes() int { return len(k.layers) }

// page is a value.
type page struct{ body []byte }

func (p *page) Bytes() int64 { return int64(len(p.body)) }

// The cache returns only the value that was stored under the key, and stays within its bytes.
func TestProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const max = 64 << 10
		c := New[pageKey, *page](max)
		want := map[pageKey]*page{}
		for range rapid.IntRange(1, 200).Draw(t, "operations") {
			key := pageKey{
				layers:     rapid.SampledFrom([]string{"a", "b", "a,b"}).Draw(t, "layers"),
				boundaries: rapid.Uint64Range(0, 2).Draw(t, "generation"),
				tile:       rapid.Uint64Range(0, 6).Draw(t, "tile"),
				form:       uint8(rapid.IntRange(1, 4).Draw(t, "form")),
			}
			if got := c.Get(key); got != nil && got != want[key] {
				t.Fatalf("%+v has another's value", key)
			}
			res := &page{body: make([]byte, rapid.IntRange(0, 5000).Draw(t, "bytes"))}
			made := false
			got, err := c.Do(context.Background(), key, func() (*page, error) { made = true; return res, nil })
			if err != nil || made && got != res || !made && got != want[key] {
				t.Fatalf("%+v: %v, made %v", key, err, made)
			}
			if made {
				want[key] = res
			}
			checkCache(t, c)
		}
	})
}

// checkCache checks that the lists, maps and sums of a cache agree.
func checkCache(t interface{ Fatalf(string, ...any) }, c *Cache[pageKey, *page]) {
	for i := range c.shards {
		s := &c.shards[i]
		var bytes int64
		for key, e := range s.entries {
			if e.Value.key != key {
				t.Fatalf("shard %d: %+v stands under %+v", i, e.Value.key, key)
			}
			bytes += e.Size
		}
		if n := s.list.Len(); n != len(s.entries) || bytes != s.list.Size() || bytes > s.max || len(s.flights) != 0 {
			t.Fatalf("shard %d: %d entries of %d in the list, %d bytes of %d counted, at most %d, %d flights", i, n, len(s.entries),
				bytes, s.list.Size(), s.max, len(s.flights))
		}
	}
}

// TestKeepsTheUsed tests that the values that are evicted are not the recently used ones.
func TestKeepsTheUsed(t *testing.T) {
	c := New[pageKey, *page](shardCount * 100 * (entryOverhead + 1))
	hot := pageKey{layers: "a", tile: 1}
	put := func(k pageKey) {
		_, _ = c.Do(context.Background(), k, func() (*page, error) { return &page{}, nil })
	}
	put(hot)
	for i := range uint64(10_000) {
		put(pageKey{layers: "a", tile: 2 + i})
		if c.Get(hot) == nil {
			t.Fatalf("evicted after %d others although used after each", i+1)
		}
	}
	checkCache(t, c)
}

func TestFailures(t *testing.T) {
	c := New[pageKey, *page](1 << 20)
	key := pageKey{tile: 7}
	boom := errors.New("boom")
	if _, err := c.Do(context.Background(), key, func() (*page, error) { return nil, boom }); err != boom {
		t.Fatal(err)
	}
	// A panic of build releases the waiters with an error, and continues to the caller.
	enter, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = c.Do(context.Background(), key, func() (*page, error) {
			close(enter)
			<-leave
			panic("boom")
		})
	})
	<-enter
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Do(gone, key, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a waiter whose client left: %v", err)
	}
	wg.Go(func() {
		// The call either waited, or came later and makes the response itself.
		_, err := c.Do(context.Background(), key, func() (*page, error) { return &page{}, nil })
		if err != nil && !errors.Is(err, ErrAbandoned) {
			t.Errorf("waiter: %v", err)
		}
	})
	close(leave)
	wg.Wait()
	if _, err := c.Do(context.Background(), key, func() (*page, error) { return &page{}, nil }); err != nil {
		t.Error(err)
	}
	checkCache(t, c)
}

func TestConcurrent(t *testing.T) {
	c := New[pageKey, *page](200 << 10)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				key := pageKey{tile: uint64(i*(w+1)) % 500}
				res := c.Get(key)
				if res == nil {
					var err error
					res, err = c.Do(context.Background(), key, func() (*page, error) {
						return &page{body: fmt.Appendf(nil, "%d", key.tile)}, nil
					})
					if err != nil {
						t.Error(err)
						return
					}
				}
				if string(res.body) != fmt.Sprint(key.tile) {
					t.Errorf("%d has %s", key.tile, res.body)
				}
			}
		})
	}
	wg.Wait()
	checkCache(t, c)
}

// TestLarge tests that a cache made by NewOfLarge keeps a value of half its bytes.
func TestLarge(t *testing.T) {
	c := NewOfLarge[pageKey, *page](1 << 20)
	for i := range uint64(100) {
		key := pageKey{tile: i}
		if _, err := c.Do(t.Context(), key, func() (*page, error) { return &page{body: make([]byte, 1<<19)}, nil }); err != nil {
			t.Fatal(err)
		}
		if c.Get(key) == nil {
			t.Fatalf("value %d is not kept", i)
		}
	}
	if s := c.Stats(); s.Bytes > 1<<20 || s.Entries != 1 {
		t.Errorf("%+v", s)
	}
}
