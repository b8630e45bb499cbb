package servertest_test

import (
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
)

func TestPointGolden(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	servertest.GoldenGlobe(t, "at",
		"/at?lat=47.4&lon=8.5&at=2026-01-15T11:30:00Z",
		"/at?lat=47.4&lon=8.5&at=2026-07-15T13:30:00%2B02:00&types=country&lang=fr",
		"/at?lat=47.4&lon=8.5",
		"/at?lat=-12&lon=-77&at=2026-07-15T12:00:00Z",
		"/at?lat=20&lon=80&at=2026-07-15T12:00:00Z&types=timezone",
		"/at?lat=0&lon=-140&at=2026-07-15T12:00:00Z",
		"/at?lat=90&lon=180&at=1900-01-01T00:00:00Z",
		"HEAD /at?lat=47.4&lon=8.5",
		"/at?lat=47.4",
		"/at?lat=47.4&lon=8.5&at=noon",
		"/at?lat=47.4&lon=8.5&at=2101-01-01T00:00:00Z",
		"/at?lat=47.4&lon=8.5&types=planet",
	)
}
