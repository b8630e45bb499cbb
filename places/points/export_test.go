package points

import "context"

// Collection is what questions are answered from now.
func (c *LiveCollection) Collection() *Collection { return c.now.Load().Collection }

// SetBehind makes views too old for the tree once more points than that have left.
func (c *LiveCollection) SetBehind(points uint64) { c.views.behind = points }

// Follow calls fn with the events after one until the context ends or fn returns an error.
func (c *LiveCollection) Follow(ctx context.Context, after uint64, fn func(*Event) error) error {
	for f := c.Follower(after); ; {
		select {
		case <-f.Changed():
		case <-c.Done():
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
		events, err := f.Next(ctx)
		if err != nil {
			return err
		}
		for i := range events {
			if err := fn(&events[i]); err != nil {
				return err
			}
		}
	}
}
