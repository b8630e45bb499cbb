package feature

import "context"

// Heavy says how a layer does rare work that is far more than its answers take, such as a pass over
// all features that later answers need no more.
type Heavy struct {
	// Run admits the work and calls fn with it, or returns an error.
	Run func(ctx context.Context, fn func(ctx context.Context) error) error
	// Step is called after every few features, as Query.Step.
	Step func(ctx context.Context) error
}

type heavyInContext struct{}

// With returns a context for questions whose heavy work is done in this way.
func (h Heavy) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, heavyInContext{}, h)
}

// WithSteps returns a context in which heavy work calls the query's Step, if it has one and the
// context has no Heavy.
func (q *Query) WithSteps(ctx context.Context) context.Context {
	if q.Step == nil || ctx.Value(heavyInContext{}) != nil {
		return ctx
	}
	run := func(ctx context.Context, fn func(ctx context.Context) error) error { return fn(ctx) }
	return Heavy{run, q.Step}.With(ctx)
}

// RunHeavy calls fn as the context says. Without a Heavy in the context it calls fn at once. step
// is never nil.
func RunHeavy(ctx context.Context, fn func(ctx context.Context, step func(context.Context) error) error) error {
	h, ok := ctx.Value(heavyInContext{}).(Heavy)
	if !ok {
		return fn(ctx, context.Context.Err)
	}
	return h.Run(ctx, func(ctx context.Context) error { return fn(ctx, h.Step) })
}

// SharedContext returns a context for work whose result others wait for: it ends at the deadline of ctx,
// and not when ctx is cancelled.
func SharedContext(ctx context.Context) (context.Context, context.CancelFunc) {
	shared := context.WithoutCancel(ctx)
	if at, ok := ctx.Deadline(); ok {
		return context.WithDeadline(shared, at)
	}
	return context.WithCancel(shared)
}
