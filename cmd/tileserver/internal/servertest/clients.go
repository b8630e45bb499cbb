package servertest

import (
	"context"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/quota"
	"quadrille/cmd/tileserver/internal/web"
)

const TestKey = "qd_this-is-a-key-of-a-test"

// NewGuarded makes a server require testKey, the key of acme, and sets the limits of its clients.
func NewGuarded(t testing.TB, anonymous bool, addresses quota.Limits, limits ...quota.Limit) func(*httpapi.Config) {
	keys, err := quota.ReadKeys(strings.NewReader(quota.FormatLine("acme", quota.HashOf(TestKey), limits)))
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 30, 0, time.UTC) }
	m, err := quota.Open(context.Background(), quota.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return func(c *httpapi.Config) {
		WithMetrics(c)
		c.Guard = &web.Guard{Meter: m, Keys: func() *quota.Keys { return keys }, Anonymous: anonymous, AddressLimits: addresses}
	}
}
