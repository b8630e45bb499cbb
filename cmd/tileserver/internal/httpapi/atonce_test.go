package httpapi_test

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/servertest"
)

// Several clients send all requests concurrently, while generations of points are swapped. Other
// tests check the answers of sequential requests; this test is for the race detector.
func TestEverythingAtOnce(t *testing.T) {
	doc := servertest.ReadDescription(t)
	worlds := servertest.NewWorlds(t)
	type question struct {
		f    *servertest.Server
		o    *servertest.Operation
		call string
	}
	var questions []question
	for _, o := range doc.Operations() {
		calls, f := worlds.CallsOf(&o)
		switch {
		case o.Method == http.MethodHead:
			calls = calls[:1]
		case testing.Short():
			calls = calls[:min(len(calls), 2)]
		}
		for _, call := range calls {
			questions = append(questions, question{f, &o, call})
			if f == worlds.Tiles() || f == worlds.Globe() {
				questions = append(questions, question{worlds.Whole(), &o, call})
			}
		}
	}
	// Every hundredth request switches points between their first and second generations. Regions
	// are swapped under load by TestSwapUnderLoad.
	c, sets := worlds.Whole().Catalog, &worlds.Whole().Config.Sets
	if err := errors.Join(toyworld.PublishPlaces(t.Context(), c), toyworld.PublishAirports(t.Context(), c)); err != nil {
		t.Fatal(err)
	}
	var swapping sync.Mutex
	swap := func(i int) (err error) {
		swapping.Lock()
		defer swapping.Unlock()
		for _, d := range []string{ask.Places.Name, ask.Airports.Name} {
			_, failed := c.Activate(t.Context(), d, uint64(1+i/100%2))
			err = errors.Join(err, failed)
		}
		return errors.Join(err, sets.Poll(t.Context()))
	}
	var next atomic.Int64
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for i := int(next.Add(1)) - 1; i < 2*len(questions); i = int(next.Add(1)) - 1 {
				if i%100 == 0 {
					if err := swap(i); err != nil {
						t.Error(err)
					}
				}
				q := questions[i/2] // two ask the same at the same time
				res := q.f.Call(q.o.Method, q.call)
				if text := servertest.Body(t, res); q.o.Members["responses"].(map[string]any)[strconv.Itoa(res.StatusCode)] == nil {
					t.Errorf("%s %s: %d is not described: %s", q.o.Method, q.call, res.StatusCode, text)
				}
			}
		})
	}
	asking.Wait()
	t.Logf("%d questions", len(questions))
}
