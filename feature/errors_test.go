package feature

import (
	"errors"
	"fmt"
	"testing"
)

// DetailOf returns the detail for the requested kind, wherever it is wrapped.
func TestDetails(t *testing.T) {
	err := fmt.Errorf("line 3: %w", badFilter("price: %d values: give one", 2))
	for _, c := range []struct {
		err, kind error
		want      string
	}{
		{err, ErrFilter, "price: 2 values: give one"},
		{err, ErrQuery, ""},
		{ErrFilter, ErrFilter, ""},
		{nil, ErrFilter, ""},
		{Unsupported("an order"), errors.ErrUnsupported, "an order"},
		{errors.Join(errors.New("x"), BadQuery("no")), ErrQuery, "no"},
	} {
		if got := DetailOf(c.err, c.kind); got != c.want {
			t.Errorf("%v, %v: %q, want %q", c.err, c.kind, got, c.want)
		}
	}
	if !errors.Is(err, ErrFilter) || err.Error() != "line 3: bad filter: price: 2 values: give one" || IsUnsupported(errors.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}
