package hbasestore

import (
	"errors"
	"fmt"
	"testing"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
)

// TestDoneAndFailed tests answers that report a failure although a write may have been applied. The
// error of a write matches ErrUnknownOutcome. If the write must not be repeated, the error does not
// match ErrUnavailable.
func TestDoneAndFailed(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		for name, v := range map[string]verdict{"internal error": doFail, "do not retry": doForbid, "not done": fail} {
			t.Run(op.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, 1, nil)
				r.decide(op.method, v, 100)
				err := op.run(t.Context(), r.table)
				if err == nil || r.seen(op.method) != 1 {
					t.Fatalf("%v, sent %d times", err, r.seen(op.method))
				}
				if unknown := errors.Is(err, cellstore.ErrUnknownOutcome); unknown != (op.kind != readCall) {
					t.Errorf("%v: unknown outcome %v", err, unknown)
				}
				if op.kind == oneShotCall && errors.Is(err, cellstore.ErrUnavailable) {
					t.Errorf("%v: it must not be called again", err)
				}
				if op.kind == readCall && v != doForbid && !errors.Is(err, ErrUnavailable) {
					t.Errorf("%v, want ErrUnavailable", err)
				}
			})
		}
	}
}

// TestPerhapsThenRefused tests that a first attempt without an answer may have done the write. A
// refusal of a later attempt does not make the outcome certain.
func TestPerhapsThenRefused(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		if op.kind != idempotentCall {
			continue
		}
		for name, last := range map[string]verdict{"refused": refuse, "unknown call": unknown} {
			t.Run(op.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, 1, nil)
				tries := 0
				r.fakes[0].decide(func(_ int, c call) verdict {
					if c.method != op.method {
						return answer
					}
					if tries++; tries == 1 {
						return doHangUp
					}
					return last
				})
				if err := op.run(t.Context(), r.table); !errors.Is(err, cellstore.ErrUnknownOutcome) || tries != 2 {
					t.Errorf("%v after %d tries", err, tries)
				}
			})
		}
		t.Run(op.name+"/gateway gone", func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1, func(o *Options) { o.Tries = 2 })
			f := r.fakes[0]
			f.decide(func(_ int, c call) verdict {
				if c.method == op.method {
					f.l.Close()
					return doHangUp
				}
				return answer
			})
			if err := op.run(t.Context(), r.table); !errors.Is(err, cellstore.ErrUnknownOutcome) || !errors.Is(err, ErrUnavailable) {
				t.Error(err)
			}
		})
	}
}

// partial does the first of several puts, and fails the others.
type partial struct {
	*modelHBase
	done int
}

const noFamily = "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException: Column family g does not exist in region t\n\tat java\n"

func (p partial) serve(method string, args object) (object, error) {
	if method != "putMultiple" {
		return p.modelHBase.serve(method, args)
	}
	puts, _ := args[2].([]any)
	if _, err := p.modelHBase.serve(method, object{1: args[1], 2: puts[:p.done]}); err != nil {
		return nil, err
	}
	n := len(puts) - p.done
	return nil, ioError(true, "Failed %d actions: %s: %d times, servers with issues: host,1,2", n, noFamily, n)
}

// TestPartOfPuts: if some puts of a batch were done, no put of the batch is reported as certainly
// not done. If the cluster refuses all puts for the same reason, all are reported so.
func TestPartOfPuts(t *testing.T) {
	t.Parallel()
	for _, done := range []int{0, 1, 2, 4} {
		for _, ts := range []int64{1, cellstore.Now} {
			t.Run(fmt.Sprintf("%d of 5 at %d", done, ts), func(t *testing.T) {
				t.Parallel()
				f := newFake(t, thrift2.Config{}, partial{newModelHBase(t, "test", nil), done})
				r := &rig{fakes: []*fake{f}}
				r.open(t, Options{Gateways: []string{f.addr}, Namespace: "test", NoCompression: true})
				var ms []cellstore.Mutation
				for i := range 5 {
					ms = append(ms, cellstore.Mutation{Row: fmt.Appendf(nil, "r%d", i), Ops: []cellstore.Op{cellstore.PutAt("f", nil, ts, nil)}})
				}
				var batch *cellstore.BatchError
				if err := r.table.Apply(t.Context(), ms...); !errors.As(err, &batch) {
					t.Fatal(err)
				}
				for i := range ms {
					var row cellstore.Row
					found, err := r.table.Get(t.Context(), ms[i].Row, nil, &row)
					if err != nil || found != (i < done) {
						t.Fatalf("row %d: %v, %v", i, found, err)
					}
					err = batch.Errs[i]
					if err == nil {
						t.Errorf("row %d is reported as done", i)
						continue
					}
					if unknown := errors.Is(err, cellstore.ErrUnknownOutcome); unknown != (done > 0) {
						t.Errorf("row %d: %v", i, err)
					}
					if !errors.Is(err, cellstore.ErrFamilyNotFound) || errors.Is(err, cellstore.ErrUnavailable) {
						t.Errorf("row %d: %v, want ErrFamilyNotFound and no more", i, err)
					}
				}
				if n := f.seen("putMultiple"); n > 1 {
					t.Errorf("sent %d times", n)
				}
			})
		}
	}
}
