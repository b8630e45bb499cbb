package hbasestore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/hbasetest"
	"quadrille/internal/must"
)

// onRow lists writes of one row, with the content of the row after each.
var onRow = []struct {
	name, family, value string
	kind                callKind
	run                 func(ctx context.Context, t cellstore.Table, row []byte) error
}{
	{"increment", "n", string(binary.BigEndian.AppendUint64(nil, 1)), oneShotCall,
		func(ctx context.Context, t cellstore.Table, row []byte) error {
			_, err := t.Increment(ctx, cellstore.Increment{Row: row, Deltas: []cellstore.Delta{{Family: "n", Qualifier: []byte("q"), By: 1}}}, nil)
			return err
		}},
	{"append", "n", "x", oneShotCall, func(ctx context.Context, t cellstore.Table, row []byte) error {
		_, err := t.Append(ctx, row, "n", []byte("q"), []byte("x"), cellstore.Sync)
		return err
	}},
	{"check", "n", "v", oneShotCall, func(ctx context.Context, t cellstore.Table, row []byte) error {
		_, err := t.CheckAndMutate(ctx, cellstore.Check{Family: "n", Qualifier: []byte("q"), Op: cellstore.Absent},
			cellstore.Mutation{Row: row, Ops: []cellstore.Op{cellstore.Put("n", []byte("q"), []byte("v"))}})
		return err
	}},
	{"put", "n", "v", oneShotCall, func(ctx context.Context, t cellstore.Table, row []byte) error {
		return t.Apply(ctx, cellstore.Mutation{Row: row, Ops: []cellstore.Op{cellstore.Put("n", []byte("q"), []byte("v"))}})
	}},
	{"put with a time", "n", "v", idempotentCall, func(ctx context.Context, t cellstore.Table, row []byte) error {
		return t.Apply(ctx, cellstore.Mutation{Row: row, Ops: []cellstore.Op{cellstore.PutAt("n", []byte("q"), 1, []byte("v"))}})
	}},
	{"puts", "n", "v", oneShotCall, func(ctx context.Context, t cellstore.Table, row []byte) error {
		return t.Apply(ctx, putsBeside(row, cellstore.Now)...)
	}},
	{"puts with a time", "n", "v", idempotentCall, func(ctx context.Context, t cellstore.Table, row []byte) error {
		return t.Apply(ctx, putsBeside(row, 1)...)
	}},
}

// putsBeside returns puts of two rows whose keys begin alike.
func putsBeside(row []byte, ts int64) (ms []cellstore.Mutation) {
	for _, end := range []string{"", "+"} {
		ms = append(ms, cellstore.Mutation{
			Row: append(row[:len(row):len(row)], end...),
			Ops: []cellstore.Op{cellstore.PutAt("n", []byte("q"), ts, []byte("v"))},
		})
	}
	return ms
}

// TestFaultsOutcome makes a cluster fail writes before and after they are done, and compares its
// content with the reported outcomes.
func TestFaultsOutcome(t *testing.T) {
	c := hbasetest.ForFaults(t)
	ctx := t.Context()
	s := openFaulty(t, c.GatewayAddrs())
	table := makeTable(t, s, []byte("b"), []byte("o")) // three regions: one does all puts or none
	path := faultNamespace + ":t"
	must.Do(t, c.FailWrites(ctx, path))
	escaped := func(row []byte, family string) string {
		t.Helper()
		var r cellstore.Row
		for deadline := time.Now().Add(3 * time.Minute); ; {
			_, err := table.Get(ctx, row, nil, &r)
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
		v, _ := r.Value(family, []byte("q"))
		return string(v)
	}
	for _, op := range onRow {
		for _, how := range []string{"after", "gateway", "never"} {
			if how == "gateway" && op.name != "increment" && op.name != "append" {
				continue // the answers to other calls cannot be spoilt
			}
			if how == "never" && (op.name == "increment" || op.name == "append") {
				continue // only puts are refused
			}
			t.Run(op.name+"/"+how, func(t *testing.T) {
				row := fmt.Appendf(nil, "%s %s", how, op.name)
				err := op.run(ctx, table, row)
				t.Log(err)
				// If HBase only forbids repeating a call, its outcome is uncertain.
				if !errors.Is(err, cellstore.ErrUnknownOutcome) || op.kind == oneShotCall && errors.Is(err, cellstore.ErrUnavailable) {
					t.Errorf("%v, want an unknown outcome", err)
				}
				want := op.value
				if how == "never" {
					want = ""
				}
				if got := escaped(row, op.family); got != want {
					t.Errorf("there is %q, want %q: the test shows nothing", got, want)
				}
			})
		}
	}
	for _, ts := range []int64{1, cellstore.Now} {
		t.Run(fmt.Sprintf("some of many at %d", ts), func(t *testing.T) {
			var ms []cellstore.Mutation
			for _, row := range []string{"a", "never", "z"} {
				ms = append(ms, cellstore.Mutation{
					Row: fmt.Appendf(nil, "%s some %d", row, ts),
					Ops: []cellstore.Op{cellstore.PutAt("n", []byte("q"), ts, []byte("v"))},
				})
			}
			var batch *cellstore.BatchError
			if err := table.Apply(ctx, ms...); !errors.As(err, &batch) {
				t.Fatal(err)
			}
			t.Log(batch)
			for i, want := range []string{"v", "", "v"} {
				if err := batch.Errs[i]; !errors.Is(err, cellstore.ErrUnknownOutcome) || errors.Is(err, cellstore.ErrUnavailable) {
					t.Errorf("row %d: %v, want an unknown outcome", i, err)
				}
				if got := escaped(ms[i].Row, "n"); got != want {
					t.Errorf("row %d: there is %q, want %q: the test shows nothing", i, got, want)
				}
			}
		})
	}
	t.Run("region server dies", func(t *testing.T) {
		op := onRow[0]
		row := []byte("halt")
		err := op.run(ctx, table, row)
		t.Log(err)
		if !errors.Is(err, cellstore.ErrUnknownOutcome) || errors.Is(err, cellstore.ErrUnavailable) {
			t.Errorf("%v, want an unknown outcome", err)
		}
		if got := escaped(row, op.family); got != op.value {
			t.Errorf("there is %q, want %q", got, op.value)
		}
	})
	// The last cases have certain outcomes: another client drops the family, and then the table,
	// without the knowledge of this client.
	other := openFaulty(t, c.GatewayAddrs())
	patiently := func(f func() error) {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); ; {
			err := f()
			if err == nil {
				return
			}
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
	}
	refused := func(how string, want error) {
		for _, op := range onRow {
			if want == nil && (op.name == "check" || strings.HasPrefix(op.name, "puts")) {
				continue // for batches HBase only reports that they take too long
			}
			t.Run(op.name+"/"+how, func(t *testing.T) {
				err := op.run(ctx, table, []byte("plain"))
				t.Log(err)
				if err == nil || want != nil && !errors.Is(err, want) || errors.Is(err, cellstore.ErrUnknownOutcome) || errors.Is(err, ErrUnavailable) {
					t.Errorf("%v, want %v and no more", err, want)
				}
			})
		}
	}
	patiently(func() error {
		return other.AlterTable(ctx, cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "f"}}})
	})
	refused("no family", cellstore.ErrFamilyNotFound)
	if _, err := c.Control(ctx, "disable", path); err != nil {
		t.Fatal(err)
	}
	refused("disabled", nil)
	patiently(func() error {
		err := other.DropTable(ctx, "t")
		if errors.Is(err, cellstore.ErrTableNotFound) {
			err = nil
		}
		return err
	})
	refused("no table", cellstore.ErrTableNotFound)
}
