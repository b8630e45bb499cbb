package httpapi

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"quadrille/cmd/internal/toyworld"
)

// All that can be asked is asked at once, by several at a time, while data is swapped. What
// the answers say is for tests that ask one question after the other; the race detector
// judges this one.
func TestEverythingAtOnce(t *testing.T) {
	doc := readAPIDoc(t)
	worlds := newContractWorlds(t)
	type question struct {
		f    *fixture
		o    *operation
		call string
	}
	var questions []question
	for _, o := range doc.operations() {
		calls, f := worlds.callsOf(&o)
		if o.method == http.MethodHead {
			calls = calls[:1]
		}
		for _, call := range calls {
			questions = append(questions, question{f, &o, call})
			if f == worlds.tiles || f == worlds.globe {
				questions = append(questions, question{worlds.whole, &o, call})
			}
		}
	}
	var next atomic.Int64
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for i := int(next.Add(1)) - 1; i < 2*len(questions); i = int(next.Add(1)) - 1 {
				q := questions[i/2] // two ask the same at the same time
				res := q.f.ask(q.o.method, q.call)
				if text := body(t, res); q.o.members["responses"].(map[string]any)[strconv.Itoa(res.StatusCode)] == nil {
					t.Errorf("%s %s: %d is not described: %s", q.o.method, q.call, res.StatusCode, text)
				}
			}
		})
	}
	for swapped := 0; swapped < 3 || int(next.Load()) < 2*len(questions); swapped++ {
		c, sets := worlds.whole.catalog, &worlds.whole.cfg.Sets
		if err := errors.Join(toyworld.PublishBoundaries(t.Context(), c), toyworld.PublishPlaces(t.Context(), c), toyworld.PublishAirports(t.Context(), c), sets.Poll(t.Context())); err != nil {
			t.Error(err)
			break
		}
	}
	asking.Wait()
	t.Logf("%d questions", len(questions))
}
