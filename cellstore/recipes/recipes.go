// Package recipes holds worked designs of tables over cellstore: each the
// smallest honest version of a system that people build on a wide-column
// store, with its row layout drawn and a check of its answers.
//
// The types are for reading and copying. They are small on purpose, and show
// what a design turns on: what stands in the row key and in what order, what
// is a family, what is a qualifier, what a timestamp is used for, and which
// write comes first so that a crash leaves only waste.
//
// [All] lists the recipes with their checks, so that any driver can be run
// through them.
package recipes

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"quadrille/cellstore"
)

// Recipe is one design: the tables it needs, and a check that fills them and
// compares what they answer.
type Recipe struct {
	Name    string
	Schemas []cellstore.Schema
	// Check runs against a store that has the tables of Schemas, empty, and
	// that tells the time by clock. It moves the clock forward.
	Check func(ctx context.Context, s cellstore.Store, clock *Clock) error
}

// All lists the recipes. Their tables have different names, so that one store
// may hold all of them.
func All() []Recipe {
	return slices.Concat(
		visitLogRecipes(),
		hitRecipes(),
		metricRecipes(),
		socialRecipes(),
		linkRecipes(),
		articleRecipes(),
		keyRecipes(),
	)
}

// Run creates the tables of the recipe in a store and checks its answers. The
// store must have been opened with clock.Now as its clock.
func (r Recipe) Run(ctx context.Context, s cellstore.Store, clock *Clock) error {
	for _, schema := range r.Schemas {
		if err := s.CreateTable(ctx, schema); err != nil {
			return fmt.Errorf("recipe %s: %w", r.Name, err)
		}
	}
	if err := r.Check(ctx, s, clock); err != nil {
		return fmt.Errorf("recipe %s: %w", r.Name, err)
	}
	return nil
}

// Clock is a clock that stands still until it is moved. Any number of
// goroutines may use it. The zero Clock stands at 1970.
type Clock struct{ ms atomic.Int64 }

// NewClock returns a clock that stands at so many milliseconds since 1970.
func NewClock(ms int64) *Clock {
	c := &Clock{}
	c.Set(ms)
	return c
}

// Now returns where the clock stands, in milliseconds since 1970.
func (c *Clock) Now() int64 { return c.ms.Load() }

// Set moves the clock. A store's clock never runs backwards, so an earlier
// time than before has no effect on stores.
func (c *Clock) Set(ms int64) { c.ms.Store(ms) }

// Advance moves the clock forward and returns where it stands then.
func (c *Clock) Advance(d time.Duration) int64 { return c.ms.Add(d.Milliseconds()) }

// reversed appends a time, 0 or later, as 8 bytes that sort the latest first.
func reversed(dst []byte, ms int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(math.MaxInt64-ms))
}

// counter reads a value that Increment wrote.
func counter(value []byte) (int64, error) {
	if len(value) != 8 {
		return 0, fmt.Errorf("%w: it has %d bytes", cellstore.ErrNotCounter, len(value))
	}
	return int64(binary.BigEndian.Uint64(value)), nil
}

// expect compares an answer with what it ought to be.
func expect(what string, got, want any) error {
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		return fmt.Errorf("%s: got %s, want %s", what, g, w)
	}
	return nil
}
