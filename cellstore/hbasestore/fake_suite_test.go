package hbasestore

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
	"quadrille/cellstore/storetest"
	"quadrille/internal/testrace"
)

// TestSuiteOnFake runs the conformance suite through gateways within this process, which answer
// from the suite's model. So it finds faults of the driver without an HBase. TestSuite checks
// HBase's part.
func TestSuiteOnFake(t *testing.T) {
	testrace.SkipUnderRace(t, "most of it is scripts; TestSuiteForRaces runs the rest under it")
	t.Parallel() // much of it waits
	storetest.Run(t, openFake(thrift2.Config{}), Capabilities)
}

func TestSuiteForRaces(t *testing.T) {
	if !testrace.Enabled {
		t.Skip("TestSuiteOnFake runs all of it")
	}
	t.Parallel() // much of it waits
	storetest.RunForRaces(t, openFake(thrift2.Config{}), Capabilities)
}

// openFake returns an Opener of stores behind a gateway with the transport and protocol of cfg.
func openFake(cfg thrift2.Config) storetest.Opener {
	return openFakeOf(cfg, func(h *modelHBase) backend { return h })
}

// openFakeOf does the same as openFake, with a gateway that uses the backend from the function of.
func openFakeOf(cfg thrift2.Config, of func(*modelHBase) backend) storetest.Opener {
	return func(t testing.TB) storetest.Backend {
		var clock atomic.Pointer[func() int64]
		h := newModelHBase(t, "suite", func() int64 {
			if f := clock.Load(); f != nil && *f != nil {
				return (*f)()
			}
			return time.Now().UnixMilli()
		})
		f := newFake(t, cfg, of(h))
		o := Options{
			Gateways: []string{f.addr}, Namespace: "suite",
			FramedTransport: cfg.Framed, CompactProtocol: cfg.Compact, HTTPPath: cfg.HTTP,
			NoCompression: true,
			CompactTable: func(ctx context.Context, _, table string) error {
				return h.store.Compact(ctx, table)
			},
		}
		return storetest.Backend{
			Open: func(oo storetest.OpenOptions) (cellstore.Store, error) {
				clock.Store(&oo.Clock)
				o := o
				o.ReadOnly = oo.ReadOnly
				return Open(context.Background(), o)
			},
			ReadOnly: true,
			RealTime: true, NamesCalls: true,
		}
	}
}
