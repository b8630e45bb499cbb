package live_test

import (
	"context"
	"errors"
	"testing"

	"quadrille/places/live"
	"quadrille/places/live/livetest"
)

// lasting is a toy on a disk of its own. The disk loses nothing in a crash, and can be opened only
// once at a time.
type lasting struct {
	*toy
	open *bool
}

func (x lasting) Close() error {
	*x.open = false
	return nil
}

// An index on a disk of its own is never ahead of its log, and is closed before it is opened again.
func TestLastingIndex(t *testing.T) {
	var kept *toy
	open := false
	kind := *toys
	kind.Open = func(ctx context.Context, o *live.OpenOptions) (live.Index, error) {
		if open {
			return nil, errors.New("it is open already")
		}
		if kept == nil {
			index, err := toys.Open(ctx, o)
			if err != nil {
				return nil, err
			}
			kept = index.(*toy)
		}
		open, kept.meta = true, o.Meta
		for _, f := range kept.known {
			o.Learn(append(f.Properties.AppendMembers([]byte{'{'}), '}'))
		}
		return lasting{kept, &open}, nil
	}
	livetest.TestIndex(t, &kind, func(t testing.TB) livetest.Disk {
		kept, open = nil, false
		return disk(t)
	})
}
