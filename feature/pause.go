package feature

import "context"

type pauseInContext struct{}

// WithPause returns ctx for work that holds something that others need, such as a
// processor: pause gives it back before a layer waits for long.
func WithPause(ctx context.Context, pause func()) context.Context {
	return context.WithValue(ctx, pauseInContext{}, pause)
}

// Pause is called by a layer before it waits for more than a read.
func Pause(ctx context.Context) {
	if pause, ok := ctx.Value(pauseInContext{}).(func()); ok {
		pause()
	}
}
