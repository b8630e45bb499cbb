package servertest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"quadrille/feature"
)

// WantQuery compares what a layer was asked.
func WantQuery(t *testing.T, name string, got *feature.Query, want feature.Query, terms []feature.Term) {
	t.Helper()
	asked, all := *got, true
	var filter []feature.Term
	if asked.Filter != nil {
		filter, all = asked.Filter.Terms()
	}
	asked.Filter, asked.Step = nil, nil
	if d := cmp.Diff(want, asked); d != "" || !all {
		t.Errorf("%s: query differs, all of the filter %v:\n%s", name, all, d)
	}
	if d := cmp.Diff(terms, filter); d != "" {
		t.Errorf("%s: filter differs:\n%s", name, d)
	}
}
