package hbasestore

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/storetest"
)

var stores atomic.Int64

func TestSuite(t *testing.T) {
	storetest.Run(t, openBackend, Capabilities)
}

func openBackend(t testing.TB) storetest.Backend {
	addr := os.Getenv("QUADRILLE_HBASE")
	if addr == "" {
		t.Skip("needs HBase: run make test-hbase")
	}
	o := Options{
		Gateways:  strings.Split(addr, ","),
		Namespace: "storetest",
		Prefix:    fmt.Sprintf("p%d.%d.", os.Getpid(), stores.Add(1)),
		// A small cluster on the machine of its tests is slow at times.
		Timeout:    time.Minute,
		TryTimeout: 30 * time.Second,
		CompactTable: func(ctx context.Context, namespace, table string) error {
			return control("compact", namespace+":"+table)
		},
	}
	return storetest.Backend{
		Open: func(oo storetest.OpenOptions) (cellstore.Store, error) {
			o := o
			o.ReadOnly = oo.ReadOnly
			return Open(context.Background(), o)
		},
		ReadOnly: true,
		RealTime: true, NamesCalls: true,
	}
}

func control(words ...string) error {
	c, err := net.Dial("tcp", os.Getenv("QUADRILLE_HBASE_CONTROL"))
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Fprintln(c, strings.Join(words, " "))
	s, err := bufio.NewReader(c).ReadString('\n')
	if err == nil && !strings.HasPrefix(s, "ok") {
		err = fmt.Errorf("%s", strings.TrimSpace(s))
	}
	return err
}
