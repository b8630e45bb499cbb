package servertest_test

import (
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
)

func TestIpGolden(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	servertest.GoldenSmall(t, "ip",
		"/ip/1.2.3.4",
		"/ip/::ffff:1.2.3.4",
		"/ip/me",
		"/ip/me | X-Forwarded-For: 10.0.0.1",
		"/ip/1.2.3.4?lang=de",
		"/ip/headers",
		"POST /ip/headers/any/path",
		"/geoip/v2.1/city/10.1.2.3",
		"/geoip/v2.1/country/x",
		"/geoip/v2.1/insights/1.2.3.4",
		"/geoip/v2.1/city/1.2.3.4 | Accept: text/html",
		"/geoip/v2.1/city/1.2.3.4 | Accept-Charset: latin1",
		"OPTIONS /ip/batch",
		"/ip/batch",
	)
}
