package layertest

import (
	"context"
	"sync"
	"testing"
	"time"

	"quadrille/feature"
)

// Waiting tests that a question gives its processor back before it waits for heavy work of another one, which needs
// the processor. ask asks a question whose heavy work is done once; it has not been asked before.
func Waiting(t *testing.T, ask func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // else the test could hang
	defer cancel()
	processor, began := make(chan struct{}, 1), make(chan struct{})
	var once sync.Once
	works := feature.Heavy{Step: context.Context.Err, Run: func(ctx context.Context, fn func(ctx context.Context) error) error {
		once.Do(func() {
			processor <- struct{}{} // the other question has it
			close(began)
		})
		select {
		case processor <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-processor }()
		return fn(ctx)
	}}
	first := make(chan error, 1)
	go func() { first <- ask(works.With(ctx)) }()
	select {
	case <-began:
	case err := <-first:
		t.Fatalf("the question has no heavy work: %v", err)
	}
	var pause sync.Once
	giveBack := func() { pause.Do(func() { <-processor }) }
	if err := ask(feature.WithPause(ctx, giveBack)); err != nil {
		t.Errorf("the question that waits: %v", err)
	}
	giveBack()
	if err := <-first; err != nil {
		t.Errorf("the question that works: %v", err)
	}
}
