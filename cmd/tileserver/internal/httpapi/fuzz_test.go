//go:build !race

package httpapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
)

// FuzzRequest sends arbitrary paths, queries and headers. There must be no panic or server error,
// and the answer must be well-formed.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		"/", "/tiles/country/3/4/2.mvt", "/tiles/all/22/4194303/0.geojson", "/tiles/country:us,places.json", "/tiles/a%2Cb/1/2/3.pbf",
		"/regions/at?lat=38.5&lon=-98.3&types=country,state", "/regions/country/us?geometry=true", "/regions/at?lat=-90&lon=180&snap=1e4",
		"/regions/within?bbox=170,-90,-170,90&types=country&limit=3&cursor=QQ",
		"/regions/within?bbox=+1,-2e1,%203,4&types=state&id=us-ks", "/places/nearby?lat=1&lon=2&cursor=x&format=geojson",
		"/places/2988507", "/ip/1.2.3.4", "/ip/::1%25eth0", "/ip/me", "/status", "/../../etc/passwd", "/%2e%2e/%00", "/tiles//////", "/?%zz",
		"/tiles/\xff/0/0/0.mvt", "/regions/at?lat=NaN&lat=1;", "/ip/%ff", "//host/path", "/tiles/country/1e9/-0/+1.mvt.geojson",
		"/tiles/places/3/4/2.png", "/tiles/places/0/0/0@2x.png", "/tiles/places/22/4194303/4194303@2x.png",
		"/ip/1.2.3.4?fields=country.iso_code,city.names.de,ip&lang=pt-BR", "/ip/me?fields=extra.a.b.c&lang=-", "/ip/headers/a%2fb?c", "/ip/batch",
		"/geoip/v2.1/city/1.2.3.4", "/geoip/v2.1/country/me", "/geoip/v2.1/insights/%3a%3a1", "/geoip/v2.1/city/", "/geoip/v2.1/city/a/b",
	} {
		f.Add(seed, "gzip", "10.0.0.1, x", "example.com")
	}
	fix := servertest.New(f, func(c *httpapi.Config) {
		c.TrustedProxies = append(c.TrustedProxies, netip.MustParsePrefix("0.0.0.0/0"))
	}, servertest.DefaultDatasets...)
	f.Fuzz(func(t *testing.T, target, encoding, forwarded, host string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(target, "/") {
			t.Skip()
		}
		r := &http.Request{Method: "GET",
			URL:        u,
			Host:       host,
			RemoteAddr: "192.0.2.1:1",
			Proto:      "HTTP/1.1",
			ProtoMajor: 1,
			ProtoMinor: 1,
			Body:       http.NoBody,
			Header: http.Header{
				"Accept-Encoding":  {encoding},
				"X-Forwarded-For":  {forwarded},
				"X-Forwarded-Host": {host},
				"If-None-Match":    {encoding},
				"Accept":           {forwarded},
			}}
		w := httptest.NewRecorder()
		fix.Handler.ServeHTTP(w, r)
		res := w.Result()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		ct := res.Header.Get("Content-Type")
		switch {
		case strings.HasPrefix(ct, "application/vnd.maxmind.com-"):
			if !json.Valid(b) || (res.StatusCode >= 400) != (ct == servertest.GeoIPError) {
				t.Fatalf("%d %s %s", res.StatusCode, ct, b)
			}
		case len(b) == 0 && (res.StatusCode == 415 || res.StatusCode == 406) && strings.HasPrefix(u.Path, "/geoip/"):
		case res.StatusCode >= 500:
			t.Fatalf("%d %s", res.StatusCode, b)
		case res.StatusCode >= 400:
			if ct != "application/problem+json" || !json.Valid(b) {
				t.Fatalf("%d %s %s", res.StatusCode, ct, b)
			}
		case res.Header.Get("Content-Encoding") == "" && strings.HasSuffix(ct, "json") && !json.Valid(b):
			t.Fatalf("not JSON: %s", b)
		}
	})
}

// FuzzGlobe does the same as FuzzRequest for searches, points and the GeoNames endpoints. Their
// answers are JSON, or a call of a requested function with a harmless name. functionName matches
// names of JavaScript functions, with dots between them.
var functionName = regexp.MustCompile(`^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*$`)

func FuzzGlobe(f *testing.F) {
	for _, seed := range []string{
		"/places/search?q=zur", "/places/search?q=%E5%8C%97%E4%BA%AC&lang=de&lat=1&lon=2&bbox=1,2,3,4&limit=100&format=geojson",
		"/places/search?q=pdx&country=US,CH&class=P,S",
		"/places/within?bbox=170,-90,-170,90&cursor=x&limit=1000", "/places/within?tile=22/0/4194303&code=PPL&format=geojson",
		"/at?lat=47.4&lon=8.5&at=1969-12-31T23:59:60Z&types=country&lang=fr",
		"/at?lat=-90&lon=180&at=2100-12-31T23:59:59.999-23:59",
		"/searchJSON?q=a&country=CH&countryBias=DE&orderby=elevation&style=FULL&startRow=5000&maxRows=1000",
		"/search?name_startsWith=z&type=json&callback=a.b&fuzzy=0.5",
		"/searchJSON?continentCode=EU&adminCode2=112&east=1&west=-1&north=1&south=-1&cities=cities1000",
		"/findNearbyJSON?lat=0&lng=0&radius=1e-9&featureClass=T&featureCode=ISL",
		"/findNearbyPlaceName?lat=47&lng=8&localCountry=true&style=LONG&lang=local&callback=%24",
		"/getJSON?geonameId=2657896&lang=it&style=full", "/timezoneJSON?lat=47&lng=8&date=2026-01-01,2100-12-31&radius=10",
		"/timezone?lat=-89.9&lng=180&type=JSON",
		"/photon/api?q=z%C3%BCr&lang=de&layer=city&osm_tag=!place:%21city&include=osm.place,a.b&bbox=9,48,7,46&zoom=3&limit=99",
		"/photon/reverse/?lat=47.4&lon=8.5&radius=1e3&limit=50",
		"/countryCode?lat=45.7&lng=7&radius=20", "/countryCodeJSON?lat=-70&lng=0&lang=de",
		"/countrySubdivisionJSON?lat=47.4&lng=8.5&level=5&radius=300",
	} {
		f.Add(seed, "gzip", "application/geo+json")
	}
	g := servertest.NewGlobe(f, nil)
	f.Fuzz(func(t *testing.T, target, encoding, accept string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(target, "/") {
			t.Skip()
		}
		r := &http.Request{Method: "GET",
			URL:        u,
			Host:       "example.com",
			RemoteAddr: "192.0.2.1:1",
			Proto:      "HTTP/1.1",
			ProtoMajor: 1,
			ProtoMinor: 1,
			Body:       http.NoBody,
			Header:     http.Header{"Accept-Encoding": {encoding}, "Accept": {accept}}}
		w := httptest.NewRecorder()
		g.Handler.ServeHTTP(w, r)
		res := w.Result()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode >= 500 {
			t.Fatalf("%d %s", res.StatusCode, b)
		}
		if res.Header.Get("Content-Encoding") != "" {
			return
		}
		switch ct := res.Header.Get("Content-Type"); {
		case strings.Contains(ct, "json"):
			if !json.Valid(b) {
				t.Fatalf("not JSON: %s", b)
			}
		case strings.HasPrefix(ct, "text/javascript"):
			name, inner, ok := strings.Cut(strings.TrimPrefix(string(b), "/**/"), "(")
			if inner, end := strings.CutSuffix(inner, ");"); !ok || !end || !functionName.MatchString(name) || !json.Valid([]byte(inner)) {
				t.Fatalf("not a call: %s", b)
			}
		}
	})
}
