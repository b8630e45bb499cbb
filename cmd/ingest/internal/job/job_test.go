package job

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"quadrille/cmd/ingest/internal/source"
)

func TestTally(t *testing.T) {
	tally := NewTally(0.5)
	if tally.Err() != nil || tally.Counts() != nil {
		t.Error("an empty tally is bad")
	}
	boom := errors.New("boom")
	if err := tally.Bad(boom); err != boom {
		t.Error(err)
	}
	bad := func(reason string) error { return &source.BadRecord{Source: "f", Line: 1, Reason: reason} }
	tally.Good()
	if err := tally.Bad(bad("a")); err != nil || tally.Err() != nil {
		t.Error(err, tally.Err())
	}
	tally.Bad(bad("b"))
	tally.Bad(bad("b"))
	var much *TooManyBadError
	if !errors.As(tally.Err(), &much) || much.Bad != 3 || much.Records != 4 || much.Example.Reason != "b" {
		t.Errorf("%+v", much)
	}
	if d := cmp.Diff(map[string]int64{"a": 1, "b": 2}, tally.Counts()); d != "" {
		t.Error(d)
	}
	// The number of reasons is bounded, even for a hostile file.
	for i := range 1000 {
		tally.Bad(bad(strings.Repeat("x", i+1)))
	}
	if n := len(tally.Counts()); n > maxReasons+1 {
		t.Errorf("%d reasons", n)
	}
	// A file that is clearly the wrong one is not read to its end either.
	tally = NewTally(0.01)
	var err error
	n := 0
	for ; err == nil; n++ {
		err = tally.Bad(bad("a"))
	}
	if !errors.As(err, &much) || n != earlyCheck {
		t.Error(n, err)
	}
}

func TestTallyMerge(t *testing.T) {
	bad := &source.BadRecord{Source: "x", Line: 1, Reason: "a"}
	sum := NewTally(0)
	for range 3 {
		one := NewTally(0)
		one.Good()
		for range 2 {
			if err := one.Bad(bad); err != nil {
				t.Fatal(err)
			}
		}
		sum.Merge(one)
	}
	if sum.good != 3 || sum.bad != 6 || sum.Counts()["a"] != 6 || len(sum.reasons["a"].examples) != maxExamples {
		t.Errorf("%+v %+v", sum, sum.reasons["a"])
	}
}
