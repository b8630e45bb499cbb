package problems

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"quadrille/cellstore"
	"quadrille/places/live"
)

// TestNewTrouble tests that NewTrouble gives advice that fits the error of the store.
func TestNewTrouble(t *testing.T) {
	for _, c := range []struct {
		err         error
		state, says string
	}{
		{errors.New("any"), TroubleFailing, "refuses writes"},
		{live.ErrDamaged, TroubleDamaged, "tileserver live repair"},
		{cellstore.ErrLayout, TroubleFailing, "Update the program"},
		{live.ErrUnreadable, TroubleFailing, "cannot be read"},
		{cellstore.ErrCorrupt, TroubleDamaged, "--usage"},
		{cellstore.ErrNoSpace, TroubleFull, "Make room"},
	} {
		got := NewTrouble("live", "taxis", fmt.Errorf("write: %w", c.err))
		if got.Store != "live" || got.Collection != "taxis" || got.State != c.state || !strings.Contains(got.Detail, c.says) {
			t.Errorf("%v: %+v", c.err, got)
		}
	}
	if all := LiveTroubles(nil, true); all != nil {
		t.Errorf("without collections: %v", all)
	}
}
