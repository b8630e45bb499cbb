package storetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"quadrille/cellstore"
)

// TestModel: the judge passes the suite.
func TestModel(t *testing.T) {
	t.Parallel()
	Run(t, ModelBackend, NewModel().Capabilities())
}

// TestModelWithoutHooks: what a remote store runs. It waits where it cannot
// set the clock, and says what it skips.
func TestModelWithoutHooks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	Run(t, func(t testing.TB) Backend {
		b := ModelBackend(t)
		return Backend{RealTime: true, Open: func(o OpenOptions) (cellstore.Store, error) {
			s, err := b.Open(o)
			if err != nil {
				return nil, err
			}
			return bareStore{s}, nil
		}}
	}, cellstore.Capabilities{})
}

// bareStore has none of the capabilities.
type bareStore struct{ cellstore.Store }

func (s bareStore) Capabilities() cellstore.Capabilities { return cellstore.Capabilities{} }

func (s bareStore) Checkpoint(context.Context, string) error { return errUnsupported }

func (s bareStore) Table(ctx context.Context, name string) (cellstore.Table, error) {
	t, err := s.Store.Table(ctx, name)
	if err != nil {
		return nil, err
	}
	return bareTable{t, s.Limits()}, nil
}

type bareTable struct {
	cellstore.Table
	limits cellstore.Limits
}

func (t bareTable) validator() *cellstore.Validator {
	return &cellstore.Validator{Schema: t.Schema(), Limits: t.limits}
}

func (t bareTable) Apply(ctx context.Context, mutations ...cellstore.Mutation) error {
	errs := map[int]error{}
	var ok []cellstore.Mutation
	var at []int
	for i := range mutations {
		if err := t.validator().Mutation(&mutations[i]); err != nil {
			errs[i] = err
		} else {
			ok, at = append(ok, mutations[i]), append(at, i)
		}
	}
	var batch *cellstore.BatchError
	if err := t.Table.Apply(ctx, ok...); errors.As(err, &batch) {
		for i, err := range batch.Errs {
			errs[at[i]] = err
		}
	} else if err != nil {
		return err
	}
	if len(errs) > 0 {
		return &cellstore.BatchError{Errs: errs}
	}
	return nil
}

func (t bareTable) Bulk(context.Context) (cellstore.BulkLoader, error)   { return nil, errUnsupported }
func (t bareTable) Snapshot(context.Context) (cellstore.Snapshot, error) { return nil, errUnsupported }

var errUnsupported = fmt.Errorf("a bare store: %w", errors.ErrUnsupported)

// TestEveryRule: every rule of the contract has a test, or is named in the
// package documentation as one that cannot have one.
func TestEveryRule(t *testing.T) {
	have := ids(allRules())
	for _, family := range []struct {
		letter string
		last   int
	}{{"M", 2}, {"S", 5}, {"O", 2}, {"P", 6}, {"G", 7}, {"N", 15}, {"D", 5}, {"T", 3}, {"A", 11}, {"B", 4}, {"L", 4}} {
		for i := 1; i <= family.last; i++ {
			id := fmt.Sprint(family.letter, i)
			if !slices.Contains(have, id) && id != "N2" {
				t.Errorf("rule %s has no test", id)
			}
		}
	}
	names := map[string]bool{}
	for _, r := range allRules() {
		if names[r.id+r.name] {
			t.Errorf("two tests of %s are called %q", r.id, r.name)
		}
		names[r.id+r.name] = true
		if (r.script == "") == (r.run == nil) {
			t.Errorf("%s %s: needs a script or a function", r.id, r.name)
		}
	}
	for i := 1; i <= 17; i++ {
		if found, _ := fs.Glob(examples, fmt.Sprintf("testdata/W%02d-*.txt", i)); len(found) != 1 {
			t.Errorf("example W%d is in %q", i, found)
		}
	}
}

// FuzzModel looks for scripts that the model does not answer twice alike, and
// for those that break the suite.
func FuzzModel(f *testing.F) { Fuzz(f, ModelBackend, NewModel().Capabilities()) }
