package feature

import "context"

type pauseInContext struct{}

// WithPause returns ctx for work that holds a resource that other work needs, such as a processor.
// pause gives the resource back. A layer calls it before it waits for long.
func WithPause(ctx context.Context, pause func()) context.Context {
	return context.WithValue(ctx, pauseInContext{}, pause)
}

// Pause calls the pause of ctx. A layer calls it before it waits for more than a read.
func Pause(ctx context.Context) {
	if pause, ok := ctx.Value(pauseInContext{}).(func()); ok {
		pause()
	}
}
