package hbasetest

import (
	"errors"
	"os"
	"testing"
	"time"
)

// FaultsVariable is the environment variable that enables tests that break a cluster of their own.
// They take minutes.
const FaultsVariable = "QUADRILLE_HBASE_FAULTS"

// ForFaults starts a cluster for a test to break, or skips the test. A dead server
// is noticed after 8 s, and gateways give up before a driver does. The cluster
// ends with the test; its logs stay when the test has failed.
func ForFaults(t testing.TB) *Cluster {
	t.Helper()
	if os.Getenv(FaultsVariable) == "" {
		t.Skip("breaks a cluster of its own: run make test-hbase")
	}
	c, err := Start(t.Context(), Options{SessionTimeout: 8 * time.Second, CallTimeout: 2700 * time.Millisecond})
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("logs are kept in %s", c.LogDir())
			_ = c.Kill()
			return
		}
		_ = c.Close()
	})
	return c
}
