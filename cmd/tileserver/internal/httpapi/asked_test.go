//go:build !race

package httpapi_test

import (
	"slices"
	"sync"
	"testing"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
)

// A handler reads the parameters that its endpoint declares, and no others. A parameter that is
// read but not declared would always be refused. A parameter that is declared but not read would
// have no effect.
func TestHandlersAskForWhatTheyDeclare(t *testing.T) {
	doc := servertest.ReadDescription(t)
	worlds := servertest.NewWorlds(t)
	asked := map[string]map[string]bool{}
	var mu sync.Mutex // the lines of a batch are answered at the same time
	listen := func(e *endpoint.Endpoint, name string) {
		mu.Lock()
		defer mu.Unlock()
		if asked[e.ID] == nil {
			asked[e.ID] = map[string]bool{}
		}
		asked[e.ID][name] = true
	}
	for _, f := range worlds.Servers() {
		s := httpapi.Compose(&f.Config, httpapi.Faces())
		s.OnParamRead = listen
		f.Handler = s.Handler()
	}
	for _, o := range doc.Operations() {
		calls, f := worlds.CallsOf(&o)
		for _, call := range calls {
			_ = servertest.Body(t, f.Call(o.Method, call))
		}
	}
	judged := 0
	for _, e := range servertest.DeclaredEndpoints() {
		if e.Handle == nil || e.Hidden || e.IgnoresOthers {
			continue
		}
		known := slices.Concat(e.ParamNames().Names, e.LineParamNames().Names)
		for name := range asked[e.ID] {
			if !slices.Contains(known, name) && !e.TakesFilters {
				t.Errorf("%s (%s) asks for %s, which is not declared", e.Path, e.ID, name)
			}
		}
		for _, name := range known {
			judged++
			if e.ID == "postAddresses" && name == "ip" {
				continue // the subject of a line is taken from it while it is read
			}
			if !asked[e.ID][name] {
				t.Errorf("%s (%s) never asks for %s, which is declared", e.Path, e.ID, name)
			}
		}
	}
	if judged < 200 {
		t.Errorf("only %d parameters are declared", judged)
	}
}
