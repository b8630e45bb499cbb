package storetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/testrace"
)

// TestModel tests that the Model, with which the suite compares stores, passes the suite itself.
func TestModel(t *testing.T) {
	testrace.SkipUnderRace(t, "most of it is scripts; TestModelForRaces runs the rest under it")
	t.Parallel()
	Run(t, ModelBackend, NewModel().Capabilities())
}

func TestModelForRaces(t *testing.T) {
	if !testrace.Enabled {
		t.Skip("TestModel runs all of it")
	}
	t.Parallel()
	RunForRaces(t, ModelBackend, NewModel().Capabilities())
}

// TestModelWithoutHooks runs the suite as for a remote store. The suite waits where it cannot set
// the clock, and lists the skipped tests.
func TestModelWithoutHooks(t *testing.T) {
	testrace.SkipUnderRace(t, "most of it is scripts; TestModelForRaces runs the rest under it")
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

// bareStore is a store without capabilities.
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

// TestContract tests that every rule of the suite has a paragraph in CONTRACT.md. Every paragraph
// there has a test here, unless it is advice to callers.
func TestContract(t *testing.T) {
	text, err := os.ReadFile("../CONTRACT.md")
	if err != nil {
		t.Fatal(err)
	}
	run := append(ids(allRules()), "K1", "K2")
	worked, err := fs.Glob(scripts, "testdata/W*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range worked {
		var number int
		if _, err := fmt.Sscanf(name, "testdata/W%02d-", &number); err != nil {
			t.Errorf("%s: %v: a worked example begins with its number", name, err)
		}
		run = append(run, fmt.Sprint("W", number))
	}
	written := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(?:- )?\*\*([A-Z][0-9]+)(, advice)?\b`).FindAllSubmatch(text, -1) {
		id, advice := string(m[1]), len(m[2]) > 0
		if written[id] {
			t.Errorf("CONTRACT.md has two paragraphs %s", id)
		}
		written[id] = true
		if slices.Contains(run, id) == advice {
			t.Errorf("rule %s of CONTRACT.md: advice is %t, and so is that a test judges it", id, advice)
		}
	}
	for _, id := range run {
		if !written[id] {
			t.Errorf("the suite runs %s, and CONTRACT.md has no paragraph of it", id)
		}
	}
	cited := regexp.MustCompile(`\b[MSOPGNDTABLKW][1-9][0-9]?\b`)
	for _, pattern := range []string{"*.go", "testdata/*.txt", "testdata/rules/*.txt", "../CONTRACT.md", "../*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range cited.FindAllString(string(text), -1) {
				if !written[id] {
					t.Errorf("%s cites %s, which is not in CONTRACT.md", name, id)
				}
			}
		}
	}
}

func TestRules(t *testing.T) {
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
}

// FuzzModel searches for scripts to which the model gives different answers in two runs, and for
// scripts that break the suite.
func FuzzModel(f *testing.F) { Fuzz(f, ModelBackend, NewModel().Capabilities()) }
