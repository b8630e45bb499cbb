package servertest

import (
	"context"
	"runtime"
	"strconv"
	"testing"

	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/web"
)

// forClient returns a context for one of many clients with keys.
func forClient(n int) context.Context {
	return web.WithClient(context.Background(), web.Client{Key: strconv.Itoa(n)})
}

// hold calls in with a function that does not return until free is called.
func hold(in func(fn func() error) error) (free func(), err error) {
	begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var refused error
	go func() {
		defer close(ended)
		refused = in(func() error {
			close(begun)
			<-end
			return nil
		})
	}()
	select {
	case <-begun:
		return func() { close(end); <-ended }, nil
	case <-ended:
		return nil, refused
	}
}

// FillHeavy makes clients occupy all heavy places.
func FillHeavy(s *httpapi.Server) (free func()) {
	var all []func()
	for client := 0; ; client++ {
		free, err := hold(func(fn func() error) error { return s.RunHeavy(forClient(client), true, fn) })
		if err != nil {
			break
		}
		all = append(all, free)
	}
	return func() {
		for _, free := range all {
			free()
		}
	}
}

// FillProcessors makes clients occupy all processors.
func FillProcessors(t *testing.T, s *httpapi.Server) (free func()) {
	t.Helper()
	var all []func()
	for client := range min(runtime.GOMAXPROCS(0), runtime.NumCPU()) {
		free, err := hold(func(fn func() error) error {
			return s.InTurn(forClient(client), func(context.Context) error { return fn() })
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, free)
	}
	return func() {
		for _, free := range all {
			free()
		}
	}
}

// FillStreamMemory makes a stream hold all memory of streams, of a server with the default.
func FillStreamMemory(t *testing.T, s *httpapi.Server) (free func()) {
	t.Helper()
	held := s.HoldMemory()
	if err := held.Grow(web.DefaultStreamMemory); err != nil {
		t.Fatal(err)
	}
	return held.Release
}
