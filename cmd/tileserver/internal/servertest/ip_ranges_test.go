//go:build !race

package servertest_test

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/ipgeo"
)

// manyRanges returns ranges that have to be joined across records.
func manyRanges() []ipgeo.Range {
	german := func(first, last string, asn uint32) ipgeo.Range {
		return ipgeo.Range{First: netip.MustParseAddr(first), Last: netip.MustParseAddr(last), Record: ipgeo.Record{
			Country: ipgeo.Country{ISOCode: "DE"}, Traits: ipgeo.Traits{AutonomousSystemNumber: asn},
		}}
	}
	return append(servertest.IPRanges(),
		german("2.0.0.0", "2.0.0.255", 3320), german("2.0.1.0", "2.0.1.255", 680), // one /23 of a country
		german("2.0.3.1", "2.0.3.2", 3320),
		ipgeo.Range{
			First:  netip.MustParseAddr("2.1.0.0"),
			Last:   netip.MustParseAddr("2.1.0.255"),
			Record: ipgeo.Record{Country: ipgeo.Country{ISOCode: "EU"}},
		},
		german("2a00:2::", "2a00:3:ffff:ffff:ffff:ffff:ffff:ffff", 3320), // adjacent to that of ipRanges, but together they are no network
	)
}

// TestUnknownCountry tests that every filter refuses a code that belongs to no country, because an
// empty answer would look like a real result. UK is accepted, as another code of GB.
func TestUnknownCountry(t *testing.T) {
	w := servertest.NewWorld(t)
	for _, path := range []string{
		"/ip/ranges?", "/places/nearby?lat=47&lon=5&", "/places/within?bbox=4,46,6,48&", "/places/search?q=place&",
		"/airports/nearby?lat=47&lon=5&", "/airports/within?bbox=4,46,6,48&",
		"/geocode?q=place&", "/stations/nearby?lat=47&lon=5&", "/stations/within?bbox=4,46,6,48&",
		"/ogc/collections/places/items?",
	} {
		codes := []string{"zz", "XX", "qq", "wl", "A1", "GBR", "", "FX", "AP"}
		if path != "/ip/ranges?" { // its sources have EU
			codes = append(codes, "EU")
		}
		for _, code := range codes {
			res := w.Get(path + "country=" + code)
			if p := servertest.WantProblem(t, res, 400, "bad-parameter"); p.Parameter != "country" {
				t.Errorf("%s%s: %+v", path, code, p)
			}
		}
		uk, gb := w.Get(path+"country=uk"), w.Get(path+"country=GB")
		if uk.StatusCode != gb.StatusCode || uk.StatusCode == 400 {
			t.Errorf("%s: UK is %d, GB %d", path, uk.StatusCode, gb.StatusCode)
		}
	}
	if res := w.Get("/searchJSON?q=place&country=ZZ"); !strings.Contains(servertest.Body(t, res), "invalid country") {
		t.Error("GeoNames: ZZ is a country")
	}
}

func TestRanges(t *testing.T) {
	f := servertest.NewAddresses(t, nil)
	servertest.PublishIP(t, f.Catalog, true, manyRanges()...)
	if err := f.Config.Addresses.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ query, contentType, want string }{
		{"country=de", "text/plain;charset=UTF-8", "2.0.0.0/23\n2.0.3.1/32\n2.0.3.2/32\n2a00:1::/32\n2a00:2::/31\n"},
		{"country=DE&version=4", "text/plain;charset=UTF-8", "2.0.0.0/23\n2.0.3.1/32\n2.0.3.2/32\n"},
		{"asn=3320&version=6&format=text", "text/plain;charset=UTF-8", "2a00:2::/31\n"},
		{"asn=AS680", "text/plain;charset=UTF-8", "2.0.1.0/24\n"},
		{"asn=680&country=us", "text/plain;charset=UTF-8", ""},
		{"country=EU", "text/plain;charset=UTF-8", "2.1.0.0/24\n"},
		{"country=eu&version=6", "text/plain;charset=UTF-8", ""},
		{"country=EU&asn=680", "text/plain;charset=UTF-8", ""},
		{"asn=4294967295&format=json", "application/json", `{"networks":[]}` + "\n"},
		{
			"asn=3320&format=json",
			"application/json",
			`{"networks":["2.0.0.0/24",` + "\n" + `"2.0.3.1/32",` + "\n" + `"2.0.3.2/32",` + "\n" + `"2a00:2::/31"]}` + "\n",
		},
		{"asn=680&format=ndjson", "application/x-ndjson", `{"network":"2.0.1.0/24"}` + "\n"},
		{"asn=680&format=csv", "text/csv; charset=utf-8; header=present", "network\r\n2.0.1.0/24\r\n"},
		{"asn=680&country=de&format=nft", "text/plain;charset=UTF-8", `table inet quadrille {
	set country_de_as680_4 {
		type ipv4_addr
		flags interval
		elements = {
			2.0.1.0/24
		}
	}
	set country_de_as680_6 {
		type ipv6_addr
		flags interval
	}
}
`},
		{"asn=3320&format=nft&version=4", "text/plain;charset=UTF-8", `table inet quadrille {
	set as3320_4 {
		type ipv4_addr
		flags interval
		elements = {
			2.0.0.0/24,
			2.0.3.1/32,
			2.0.3.2/32
		}
	}
}
`},
		{"asn=3320&format=ipset", "text/plain;charset=UTF-8", `create -exist as3320_4 hash:net family inet maxelem 16777216
add -exist as3320_4 2.0.0.0/24
add -exist as3320_4 2.0.3.1/32
add -exist as3320_4 2.0.3.2/32
create -exist as3320_6 hash:net family inet6 maxelem 16777216
add -exist as3320_6 2a00:2::/31
`},
		{"country=de,EU&version=4", "text/plain;charset=UTF-8", "2.0.0.0/23\n2.0.3.1/32\n2.0.3.2/32\n2.1.0.0/24\n"},
		{"continent=eu&asn=AS680,3320&version=4", "text/plain;charset=UTF-8", "2.0.0.0/23\n2.0.3.1/32\n2.0.3.2/32\n"},
		{"continent=AF,OC&asn=680", "text/plain;charset=UTF-8", ""},
		{"country=de&format=nginx", "text/plain;charset=UTF-8", "2.0.0.0/23 1;\n2.0.3.1/32 1;\n2.0.3.2/32 1;\n2a00:1::/32 1;\n2a00:2::/31 1;\n"},
		{"country=eu,de,at&asn=680,3320&version=6&format=mikrotik", "text/plain;charset=UTF-8",
			"/ipv6 firewall address-list add list=country_x3_as_x2_ab6cfc address=2a00:2::/31\n"},
		{"country=DE,AT,CH,FR,IT,ES,PT,NL,BE,LU&asn=680&version=4&format=ipset", "text/plain;charset=UTF-8",
			"create -exist country_x10_as_x1_9a5133_4 hash:net family inet maxelem 16777216\nadd -exist country_x10_as_x1_9a5133_4 2.0.1.0/24\n"},
	} {
		res := f.Get("/ip/ranges?" + c.query)
		if got := servertest.Body(t, res); res.StatusCode != 200 || got != c.want || res.Header.Get("Content-Type") != c.contentType {
			t.Errorf("%s: %d %s\n%s", c.query, res.StatusCode, res.Header.Get("Content-Type"), got)
		}
		tag := res.Header.Get("ETag")
		if tag == "" || res.Header.Get("Cache-Control") == "no-store" {
			t.Errorf("%s: headers %v", c.query, res.Header)
		}
		if again := f.Get("/ip/ranges?"+c.query, "If-None-Match", tag); again.StatusCode != 304 || servertest.Body(t, again) != "" {
			t.Errorf("%s: %d when it is known", c.query, again.StatusCode)
		}
		head := f.Do(http.MethodHead, "/ip/ranges?"+c.query)
		if head.StatusCode != 200 || servertest.Body(t, head) != "" || head.Header.Get("ETag") != tag ||
			head.Header.Get("Content-Type") != c.contentType {
			t.Errorf("%s: HEAD %d %v", c.query, head.StatusCode, head.Header)
		}
	}
	// HEAD gets the refusals that need a read, too.
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		if res := f.Do(method, "/ip/ranges?country=ap"); res.StatusCode != 400 {
			t.Errorf("%s: %d for a country that no source has", method, res.StatusCode)
		}
	}
	for accept, want := range map[string]string{
		"application/json": "application/json", "application/x-ndjson": "application/x-ndjson", "*/*": "text/plain;charset=UTF-8",
		"text/csv": "text/csv; charset=utf-8; header=present",
		"application/json;q=0.5, application/x-ndjson": "application/x-ndjson",
	} {
		res := f.Get("/ip/ranges?country=de", "Accept", accept)
		if got := res.Header.Get("Content-Type"); got != want || !strings.Contains(res.Header.Get("Vary"), "Accept,") {
			t.Errorf("Accept %s: %s, Vary %q", accept, got, res.Header.Get("Vary"))
		}
	}
	for _, query := range []string{"country=AP", "country=fx&format=json", "country=FX&version=4&format=nft"} {
		if p := servertest.WantProblem(t, f.Get("/ip/ranges?"+query), 400, "bad-parameter"); p.Parameter != "country" ||
			!strings.Contains(p.Detail, "no source has it") {
			t.Errorf("%s: %+v", query, p)
		}
	}
	// Another generation has another ETag.
	tag := f.Get("/ip/ranges?country=de").Header.Get("ETag")
	servertest.PublishIP(t, f.Catalog, false, servertest.IPRanges()...)
	if err := f.Config.Addresses.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if res := f.Get("/ip/ranges?country=de", "If-None-Match", tag); res.StatusCode != 200 || servertest.Body(t, res) != "2a00:1::/32\n" {
		t.Errorf("%d of the next generation", res.StatusCode)
	}
}

func TestRangesRefused(t *testing.T) {
	f := servertest.NewAddresses(t, nil)
	for query, parameter := range map[string]string{
		"": "country", "version=4": "country", "country=": "country", "country=deu": "country", "country=d%00": "country",
		"asn=": "asn", "asn=0": "asn", "asn=-1": "asn", "asn=4294967296": "asn", "asn=ASx": "asn", "country=de&asn=1e3": "asn",
		"country=de&version=5": "version", "country=de&format=xml": "format", "country=de&limit=5": "limit",
		"continent=xx": "continent", "continent=": "continent", "country=de,": "country", "asn=1,0": "asn",
	} {
		if p := servertest.WantProblem(t, f.Get("/ip/ranges?"+query), 400, "bad-parameter"); p.Parameter != parameter {
			t.Errorf("%s: refused for %s, want %s", query, p.Parameter, parameter)
		}
	}
	servertest.WantProblem(t, servertest.New(t, nil).Get("/ip/ranges?country=de"), 404, "dataset-missing")
}

// A failure before the first write gives an error status, never an empty list.
func TestRangesFailure(t *testing.T) {
	f := servertest.New(t, nil, ask.Addresses.Name)
	f.Addresses.ReadErr = errors.New("secret path")
	servertest.WantProblem(t, f.Get("/ip/ranges?country=de"), 500, "internal")
	servertest.WantProblem(t, f.Get("/ip/ranges?country=de&format=json"), 500, "internal")
}
