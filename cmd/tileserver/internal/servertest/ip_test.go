package servertest_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/ipdatabase"
	"quadrille/cmd/tileserver/internal/quota"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/ipgeo"
)

func TestIPFields(t *testing.T) {
	f := servertest.NewAddresses(t, nil)
	for _, tt := range []struct{ query, want string }{
		{"fields=country.iso_code", `{"ip":"81.2.69.160","country":{"iso_code":"CH"}}`},
		{"fields=ip", `{"ip":"81.2.69.160"}`},
		{"fields=source,ip", `{"ip":"81.2.69.160","source":"Made-up \"City\", Zürich"}`},
		{
			"fields=city.names.de,traits.network,location.latitude",
			`{"ip":"81.2.69.160","city":{"names":{"de":"Zürich"}},"traits":{"network":"81.2.69.0/24"},"location":{"latitude":47.3682}}`,
		},
		{"fields=extra.no.such.field,postal.confidence", `{"ip":"81.2.69.160"}`},
		{"fields=subdivisions.iso_code", `{"ip":"81.2.69.160","subdivisions":[{"iso_code":"ZH"},{"iso_code":"112"}]}`},
		{"fields=country&lang=fr", `{"ip":"81.2.69.160","country":{"geoname_id":2658434,"iso_code":"CH","names":{"en":"Switzerland"}}}`},
		{"fields=city&lang=de", `{"ip":"81.2.69.160","city":{"geoname_id":2657896,"names":{"de":"Zürich","en":"Zurich"}}}`},
	} {
		res := f.Get("/ip/" + servertest.CityIP + "?" + tt.query)
		servertest.SameJSON(t, servertest.Body(t, res), tt.want)
		if res.StatusCode != 200 {
			t.Errorf("%s: status %d", tt.query, res.StatusCode)
		}
		if me := f.Get("/ip/me?"+tt.query, "X-Forwarded-For", servertest.CityIP); me.Header.Get("Cache-Control") != "private, no-store" {
			t.Errorf("me: %v", me.Header)
		} else {
			servertest.SameJSON(t, servertest.Body(t, me), tt.want)
		}
	}
	all := servertest.Body(t, f.Get("/ip/"+servertest.CityIP+"?lang=de"))
	if strings.Contains(all, "チ") || !strings.Contains(all, "Kanton Zürich") || !strings.Contains(all, `"source"`) ||
		!strings.Contains(all, "Switzerland") {
		t.Errorf("everything in German: %s", all)
	}
	// A part of a record that one client requests is never sent to another client.
	for range 3 {
		if b := servertest.Body(t, f.Get("/ip/"+servertest.CityIP)); !strings.Contains(b, "チ") {
			t.Errorf("everything: %s", b)
		}
		if b := servertest.Body(t, f.Get("/ip/"+servertest.CityIP+"?fields=ip")); len(b) > 40 {
			t.Errorf("nothing but the address: %s", b)
		}
	}
	for _, tt := range []struct{ query, parameter string }{
		{"fields=", "fields"}, {"fields=a&fields=b", "fields"}, {"fields=" + strings.Repeat("a,", 60) + "b",
			"fields"}, {"fields=country..names", "fields"}, {"fields=no.such", "fields"},
		{"fields=%22", "fields"}, {"fields=" + strings.Repeat("a", 65), "fields"}, {"lang=", "lang"}, {"lang=d%20e",
			"lang"}, {"lang=" + strings.Repeat("d", 50), "lang"},
	} {
		if p := servertest.WantProblem(t, f.Get("/ip/"+servertest.CityIP+"?"+tt.query), 400, "bad-parameter"); p.Parameter != tt.parameter {
			t.Errorf("%s: %+v", tt.query, p)
		}
	}
}

// Every answer has a header that identifies its data; an error has no such header.
func TestDatabaseHeader(t *testing.T) {
	f := servertest.NewAddresses(t, nil)
	const want = `ip/1; built=2026-03-01T12:00:00Z; data=2026-01-02T03:04:05Z; source="Made-up ?City?, Z??rich"; license="CC0-1.0"`
	for _, path := range []string{
		"/ip/" + servertest.CityIP,
		"/ip/" + servertest.CityIP,
		"/ip/" + servertest.CityIP,
		"/ip/" + servertest.CityIP + "?fields=ip",
		"/geoip/v2.1/city/" + servertest.CityIP,
		"/ip/headers",
	} {
		if got := f.Get(path).Header.Get(ipdatabase.Header); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := f.Get("/ip/x").Header.Get(ipdatabase.Header); got != "" {
		t.Errorf("a refusal is from %q", got)
	}
}

// The same answers come from the index and from the table.
func TestIPIndexAndTable(t *testing.T) {
	f := servertest.NewAddresses(t, nil)
	paths := []string{}
	for _, ip := range []string{
		servertest.CityIP,
		servertest.InsightIP,
		servertest.CountryIP,
		servertest.ASNIP,
		servertest.GapIP,
		"10.0.0.1",
	} {
		paths = append(paths, "/ip/"+ip, "/ip/"+ip+"?fields=country,city.names.en&lang=de", "/geoip/v2.1/city/"+ip, "/geoip/v2.1/country/"+ip)
	}
	var fromIndex []string
	for _, p := range paths {
		fromIndex = append(fromIndex, servertest.Body(t, f.Get(p)))
	}
	servertest.PublishIP(t, f.Catalog, false, servertest.IPRanges()...)
	if err := f.Config.Addresses.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, p := range paths {
		if b := servertest.Body(t, f.Get(p)); b != fromIndex[i] {
			t.Errorf("%s\ntable %s\nindex %s", p, b, fromIndex[i])
		}
	}
}

func TestIPHeaders(t *testing.T) {
	f := servertest.NewAddresses(t, nil)
	type want map[string]string
	for _, tt := range []struct {
		ip   string
		want want
	}{
		{servertest.CityIP, want{"X-Geo-Status": "found",
			"X-Geo-IP":          servertest.CityIP,
			"X-Geo-Country":     "CH",
			"X-Geo-Continent":   "EU",
			"X-Geo-Subdivision": "ZH",
			"X-Geo-City":        "Zurich",
			"X-Geo-Timezone":    "Europe/Zurich",
			"X-Geo-Latitude":    "47.3682",
			"X-Geo-Longitude":   "8.5671",
			"X-Geo-ASN":         "559",
			"X-Geo-Network":     "81.2.69.0/24"}},
		{servertest.InsightIP, want{"X-Geo-Status": "found",
			"X-Geo-IP":          servertest.InsightIP,
			"X-Geo-Country":     "CH",
			"X-Geo-Continent":   "EU",
			"X-Geo-Subdivision": "ZH",
			"X-Geo-City":        "Nur Deutsch 100%25",
			"X-Geo-Timezone":    "Europe/Zurich",
			"X-Geo-Latitude":    "47.3682",
			"X-Geo-Longitude":   "8.5671",
			"X-Geo-ASN":         "559",
			"X-Geo-Network":     "82.3.0.0/16"}},
		{
			servertest.CountryIP,
			want{"X-Geo-Status": "found", "X-Geo-IP": servertest.CountryIP, "X-Geo-Country": "DE", "X-Geo-Network": "2a00:1::/32"},
		},
		{servertest.GapIP, want{"X-Geo-Status": "not-found", "X-Geo-IP": servertest.GapIP}},
		{"10.1.2.3", want{"X-Geo-Status": "reserved", "X-Geo-IP": "10.1.2.3"}},
	} {
		for _, request := range []string{"GET /ip/headers", "HEAD /ip/headers", "POST /ip/headers/shop/cart?id=1",
			"OPTIONS /ip/headers/x", "DELETE /ip/headers/%2e%2e/y", "PROPFIND /ip/headers/", "MKCOL /ip/headers/x", "PURGE /ip/headers"} {
			method, path, _ := strings.Cut(request, " ")
			// Headers that the client forges must not survive.
			res := f.Do(method, path, "X-Forwarded-For", tt.ip, "X-Geo-Country", "XX", "X-Real-Ip", "1.1.1.1")
			if b := servertest.Body(t, res); res.StatusCode != 200 || b != "" || res.Header.Get("Cache-Control") != "private, no-store" {
				t.Errorf("%s: %d %q %v", request, res.StatusCode, b, res.Header)
			}
			for _, name := range []string{"Status", "Ip", "Country", "Continent", "Subdivision", "City", "Timezone", "Latitude",
				"Longitude", "Asn", "Network"} {
				values, ok := res.Header["X-Geo-"+name]
				wanted := ""
				for k, v := range tt.want {
					if http.CanonicalHeaderKey(k) == "X-Geo-"+name {
						wanted = v
					}
				}
				if !ok || len(values) != 1 || values[0] != wanted {
					t.Errorf("%s for %s: X-Geo-%s %q, want %q", request, tt.ip, name, values, wanted)
				}
			}
		}
	}
}

// TestIPHeadersDenied tests that a caller in a refused country gets 403. This is the only status of
// /ip/headers besides 200.
func TestIPHeadersDenied(t *testing.T) {
	f := servertest.NewAddresses(t, nil)
	for _, tt := range []struct {
		query, ip string
		status    int
	}{
		{"?deny=CH", servertest.CityIP, 403}, {"?deny=fr,ch", servertest.CityIP, 403}, {"?deny=DE", servertest.CityIP,
			200}, {"?deny=DE", servertest.CountryIP, 403},
		{"?deny=CH", servertest.GapIP, 200}, {"?deny=CH", "10.1.2.3", 200}, {"?deny=XX", servertest.CityIP, 400}, {"?deny=",
			servertest.CityIP, 400},
		// These requests have the path and query of a visitor.
		{"/shop?deny=ch", servertest.CityIP, 200}, {"/shop?deny=all", servertest.CityIP, 200}, {"/?deny=all&deny=", servertest.CityIP, 200},
	} {
		for _, method := range []string{"GET", "POST", "HEAD"} {
			res := f.Do(method, "/ip/headers"+tt.query, "X-Forwarded-For", tt.ip)
			if res.StatusCode != tt.status || tt.status != 400 && res.Header.Get("X-Geo-Ip") != tt.ip ||
				tt.status == 403 && res.Header.Get("X-Geo-Country") == "" {
				t.Errorf("%s %s for %s: %d %v", method, tt.query, tt.ip, res.StatusCode, res.Header)
			}
		}
	}
}

// A proxy refuses its client if its own request is refused, so no failure may have an error status.
func TestIPHeadersUnavailable(t *testing.T) {
	f := servertest.New(t, nil)
	if res := f.Get("/ip/headers"); res.StatusCode != 200 || res.Header.Get("X-Geo-Status") != "unavailable" {
		t.Errorf("nothing published: %d %v", res.StatusCode, res.Header)
	}
	f = servertest.New(t, nil, ask.Addresses.Name)
	f.Addresses.ReadErr = context.DeadlineExceeded
	if res := f.Get("/ip/headers"); res.StatusCode != 200 || res.Header.Get("X-Geo-Status") != "unavailable" {
		t.Errorf("failing: %d %v", res.StatusCode, res.Header)
	}
	r := httptest.NewRequest("GET", "/ip/headers", nil)
	r.RemoteAddr = "@"
	w := httptest.NewRecorder()
	f.Handler.ServeHTTP(w, r)
	if w.Code != 200 || w.Header().Get("X-Geo-Status") != "unavailable" {
		t.Errorf("no peer: %d %v", w.Code, w.Header())
	}
}

// TestIPHeadersRefused tests that a refusal has status 200, too: the header X-Geo-Status reports
// it. The server does not wait for a body that is announced and not sent. It closes the connection
// after the answer, because the next bytes could be this body.
func TestIPHeadersRefused(t *testing.T) {
	f := servertest.New(t, servertest.NewGuarded(t, false, quota.Limits{1}), ask.Addresses.Name)
	for _, headers := range [][]string{{}, {"X-API-Key", "wrong"}, {}} { // no key, a wrong one, over the limit
		res := f.Do("POST", "/ip/headers/x", headers...)
		_, set := res.Header["X-Geo-Country"]
		if res.StatusCode != 200 || res.Header.Get("X-Geo-Status") != "refused" || !set || res.Header.Get("X-Geo-Country") != "" ||
			servertest.Body(t, res) != "" || res.Header.Get("Www-Authenticate") != "" {
			t.Errorf("%v: %d %v", headers, res.StatusCode, res.Header)
		}
	}
	if res := f.Get("/ip/headers", "X-API-Key", servertest.TestKey); res.Header.Get("X-Geo-Status") == "refused" {
		t.Errorf("with a key: %v", res.Header)
	}
}

func TestBodyNotSent(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	server := httptest.NewServer(f.Handler) // which waits for bodies without an end
	t.Cleanup(server.Close)
	for _, path := range []string{"/ip/headers", "/ip/headers/shop", "/ip/1.2.3.4", "/ip/x", "/tiles/country/3/4/2.mvt"} {
		for _, bodyHeader := range []string{"Content-Length: 77", "Transfer-Encoding: chunked"} {
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", path, bodyHeader); err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || !res.Close {
				t.Errorf("%s with %s: %v, %+v", path, bodyHeader, err, res)
			}
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Twenty swaps under load, of real stores and their indexes: no request fails, and no answer mixes
// two generations, not even that to a batch.
func TestIPSwapUnderLoad(t *testing.T) {
	f := servertest.NewAddresses(t, nil)
	// Generation g has one country in every field and every range.
	ranges := func(g int) (list []ipgeo.Range) {
		code := string([]byte{'A' + byte(g), 'Z'})
		for _, network := range []string{"81.2.69.0/24", "2a00:1::/32", "9.9.9.0/24"} {
			list = append(list, servertest.IPRange(network, ipgeo.Record{
				Country: ipgeo.Country{ISOCode: code, Names: ipgeo.Names{"en": code}}, City: ipgeo.City{Names: ipgeo.Names{"en": code}},
				Traits: ipgeo.Traits{ISP: code},
			}))
		}
		return list
	}
	swap := func(g int) {
		servertest.PublishIP(t, f.Catalog, g%4 != 3, ranges(g)...) // some have no index
		if err := f.Config.Addresses.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	swap(0)
	code := regexp.MustCompile(`[A-Z]Z`)
	batch := strings.Repeat(servertest.CityIP+"\n"+servertest.CountryIP+"\n"+servertest.ASNIP+"\n", 50)
	const fields = "?fields=country.iso_code,city.names.en,traits.isp"
	check := func(what, text string, status, least int) {
		found := code.FindAllString(text, -1)
		if status != 200 || len(found) < least {
			t.Errorf("%s: %d %.300s", what, status, text)
			return
		}
		for _, c := range found {
			if c != found[0] {
				t.Errorf("%s is from two generations, %s and %s", what, found[0], c)
				return
			}
		}
	}
	stop := make(chan struct{})
	var requests atomic.Int64
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := worker; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				method, path, text := "GET", "", ""
				switch i % 6 {
				case 0:
					path = "/ip/me" + fields
				case 1:
					path = "/ip/" + servertest.CityIP + fields
				case 2:
					path = "/geoip/v2.1/city/" + servertest.ASNIP
				case 3:
					path = "/ip/headers"
				case 4:
					path = "/ip/" + servertest.CityIP // may be cached
				case 5:
					method, path, text = "POST", "/ip/batch"+fields, batch
				}
				r := httptest.NewRequest(method, path, strings.NewReader(text))
				r.RemoteAddr = servertest.ASNIP + ":1"
				w := httptest.NewRecorder()
				f.Handler.ServeHTTP(w, r)
				requests.Add(1)
				switch path {
				case "/ip/headers":
					check(path, w.Header().Get("X-Geo-Country")+" "+w.Header().Get("X-Geo-City"), w.Code, 2)
				case "/ip/batch" + fields:
					check(path, w.Body.String(), w.Code, 450)
				default:
					check(path, w.Body.String(), w.Code, 3)
				}
			}
		})
	}
	swaps := 20
	if testing.Short() {
		swaps = 8
	}
	for g := range swaps {
		swap(g + 1)
	}
	close(stop)
	wg.Wait()
	if b := servertest.Body(t, f.Get("/ip/"+servertest.CityIP)); !strings.Contains(b, `"`+string(rune('A'+swaps))+`Z"`) {
		t.Errorf("after %d: %s", swaps, b)
	}
	t.Logf("%d requests", requests.Load())
}

func TestIPMe(t *testing.T) {
	f := servertest.New(t, nil, ask.Addresses.Name)
	res := f.Get("/ip/me", "X-Forwarded-For", "1.2.3.4")
	if b := servertest.Body(t, res); !strings.Contains(b, `"ip":"1.2.0.7"`) ||
		res.Header.Get("Cache-Control") != "private, no-store" || res.Header.Get("Etag") != "" {
		t.Errorf("%v %s", res.Header, b)
	}
}
