package hbasestore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
	"quadrille/cellstore/storetest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
)

// short answers a scan with only the first of n rows: keep(n) of them, or a random number of at
// least 1 if keep is nil.
type short struct {
	*modelHBase
	keep func(n int) int

	mu  sync.Mutex
	rnd *rand.Rand
}

func newShort(h *modelHBase, keep func(n int) int) *short {
	return &short{modelHBase: h, keep: keep, rnd: rand.New(rand.NewPCG(1, 2))}
}

func (s *short) serve(method string, args object) (object, error) {
	answer, err := s.modelHBase.serve(method, args)
	list, _ := answer[0].([]any)
	if method != "getScannerResults" || err != nil || len(list) == 0 {
		return answer, err
	}
	var n int
	if s.keep != nil {
		n = s.keep(len(list))
	} else {
		s.mu.Lock()
		n = 1 + s.rnd.IntN(len(list))
		s.mu.Unlock()
	}
	return object{0: list[:n]}, nil
}

// TestSuiteOnShortAnswers tests that the number of rows that a gateway returns at once changes no
// answer.
func TestSuiteOnShortAnswers(t *testing.T) {
	testrace.SkipUnderRace(t, "TestSuiteForRaces asks for whole answers under it")
	t.Parallel() // much of it waits
	storetest.Run(t, openFakeOf(thrift2.Config{}, func(h *modelHBase) backend { return newShort(h, nil) }), Capabilities)
}

// TestShortAnswers tests that a scan in either direction ends at an empty answer, however few rows
// come at once. It does so even between neighbouring keys that no end that is sent to HBase can
// separate.
func TestShortAnswers(t *testing.T) {
	t.Parallel()
	keys := []string{"\x00", "\x00\x00", "a", "a\x00", "a\x00\x00", "a" + strings.Repeat("\xff", 7), "a" + strings.Repeat("\xff", 8),
		"a" + strings.Repeat("\xff", 9), "a" + strings.Repeat("\xff", 9) + "\x00", "a" + strings.Repeat("\xff", 40), "b", "\xff",
		strings.Repeat("\xff", 40)}
	for i := range 40 {
		keys = append(keys, fmt.Sprintf("k%02d", i))
	}
	slices.Sort(keys)
	for name, keep := range map[string]func(int) int{
		"one":         func(int) int { return 1 },
		"some":        nil,
		"all but one": func(n int) int { return max(1, n-1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, thrift2.Config{}, newShort(newModelHBase(t, "test", nil), keep))
			r := &rig{fakes: []*fake{f}}
			r.open(t, Options{Gateways: []string{f.addr}, Namespace: "test", NoCompression: true})
			var ms []cellstore.Mutation
			for _, k := range keys {
				ms = append(ms, cellstore.Mutation{Row: []byte(k), Ops: []cellstore.Op{cellstore.PutAt("f", []byte("q"), 1, []byte("v"))}})
			}
			must.Do(t, r.table.Apply(t.Context(), ms...))
			rnd := rand.New(rand.NewPCG(3, 4))
			bound := func() string {
				if k := rnd.IntN(len(keys) + 5); k < len(keys) {
					return keys[k]
				}
				return ""
			}
			rounds := 300
			if testing.Short() {
				rounds = 60
			}
			for round := range rounds {
				from, to := bound(), bound()
				if round == 0 {
					from, to = "", ""
				}
				limit, batch := rnd.IntN(2)*rnd.IntN(len(keys)), rnd.IntN(2)*(1+rnd.IntN(20))
				for _, reverse := range []bool{false, true} {
					var want, got []string
					for _, k := range keys {
						if reverse && (from == "" || k <= from) && k > to || !reverse && k >= from && (to == "" || k < to) {
							want = append(want, k)
						}
					}
					if reverse {
						slices.Reverse(want)
					}
					if limit > 0 {
						want = want[:min(limit, len(want))]
					}
					scan := cellstore.Scan{Ranges: []cellstore.Range{{From: []byte(from), To: []byte(to)}}, Reverse: reverse, Limit: limit, Batch: batch}
					for row, err := range r.table.Scan(t.Context(), scan) {
						if err != nil {
							t.Fatal(err)
						}
						got = append(got, string(row.Key))
					}
					if !slices.Equal(got, want) {
						t.Fatalf("from %q to %q, reverse %v, limit %d, batch %d: %d rows %q, want %d %q", from, to, reverse, limit, batch,
							len(got), got, len(want), want)
					}
				}
			}
			// The only row with cells of family g comes after many rows without any.
			must.Do(t, r.CreateTable(t.Context(), cellstore.Schema{Table: "u", Families: []cellstore.Family{{Name: "f"}, {Name: "g"}}}))
			u, err := r.Table(t.Context(), "u")
			must.Do(t, err)
			ms[len(ms)-1].Ops[0].Family = "g"
			must.Do(t, u.Apply(t.Context(), ms...))
			rows := make([]cellstore.Row, 2)
			if err := u.NextEach(t.Context(), nil, nil, []string{"f", "g"}, rows); err != nil || string(rows[0].Key) != keys[0] ||
				string(rows[1].Key) != keys[len(keys)-1] {
				t.Errorf("next of each family: %q, %q, %v", rows[0].Key, rows[1].Key, err)
			}
		})
	}
}

// broken changes the answer to a call.
type broken struct {
	*modelHBase
	change func(answer object)
}

func (b broken) serve(method string, args object) (object, error) {
	answer, err := b.modelHBase.serve(method, args)
	if err == nil && strings.HasPrefix(method, "get") {
		b.change(answer)
	}
	return answer, err
}

// TestNotWhatWasAsked tests that an answer with a part of a row is refused. So is the answer to a
// multi-get whose rows are incomplete or in another order.
func TestNotWhatWasAsked(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(object){
		"parts": func(answer object) {
			if r := child(answer, 0); r != nil {
				r[4] = true
			}
			for _, r := range items(answer, 0) {
				r[4] = true
			}
		},
		"another order": func(answer object) {
			if list, ok := answer[0].([]any); ok {
				slices.Reverse(list)
			}
		},
		"not all": func(answer object) {
			if list, ok := answer[0].([]any); ok && len(list) > 0 {
				answer[0] = list[1:]
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newModelHBase(t, "test", nil)
			whole := newFake(t, thrift2.Config{}, h)
			r := &rig{fakes: []*fake{whole}}
			r.open(t, Options{Gateways: []string{whole.addr}, Namespace: "test", NoCompression: true})
			var keys [][]byte
			for i := range 9 {
				keys = append(keys, fmt.Appendf(nil, "k%d", i))
				must.Do(t, r.table.Apply(t.Context(), cellstore.Mutation{
					Row: keys[i],
					Ops: []cellstore.Op{cellstore.PutAt("f", []byte("q"), 1, []byte("v"))},
				}))
			}
			f := newFake(t, thrift2.Config{}, broken{h, change})
			s, err := Open(t.Context(), Options{Gateways: []string{f.addr}, Namespace: "test", NoCompression: true, Tries: 1})
			must.Do(t, err)
			t.Cleanup(func() { s.Close() })
			table, err := s.Table(t.Context(), "t")
			must.Do(t, err)
			var last error
			for _, last = range table.MultiGet(t.Context(), keys, nil) {
			}
			if !errors.Is(last, ErrUnavailable) {
				t.Errorf("multi-get: %v", last)
			}
			if name != "parts" {
				return
			}
			var row cellstore.Row
			if _, err := table.Get(t.Context(), keys[0], nil, &row); !errors.Is(err, ErrUnavailable) {
				t.Errorf("get: %v", err)
			}
			for _, last = range table.Scan(t.Context(), cellstore.Scan{}) {
			}
			if !errors.Is(last, ErrUnavailable) {
				t.Errorf("scan: %v", last)
			}
		})
	}
}
