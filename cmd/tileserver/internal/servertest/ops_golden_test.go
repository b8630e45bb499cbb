//go:build !race

package servertest_test

import (
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
)

func TestOpsGolden(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	servertest.GoldenSmall(t, "ops",
		"/healthz",
		"/readyz",
		"/status",
		"OPTIONS /tiles/country/3/4/2.mvt | Origin: https://a.example | Access-Control-Request-Method: GET",
		"OPTIONS /nowhere",
		"/",
		"/favicon.ico",
	)
}
