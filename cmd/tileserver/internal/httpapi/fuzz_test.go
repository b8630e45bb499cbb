package httpapi

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzRequest sends any path, query and headers: never a panic or a failure,
// always a well-formed answer.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		"/", "/tiles/country/3/4/2.mvt", "/tiles/all/22/4194303/0.geojson", "/tiles/country:us,places.json", "/tiles/a%2Cb/1/2/3.pbf",
		"/regions/at?lat=38.5&lon=-98.3&types=country,state", "/regions/country/us?geometry=true", "/regions/at?lat=-90&lon=180&snap=1e4",
		"/regions/within?bbox=170,-90,-170,90&types=country&limit=3&cursor=QQ", "/regions/within?bbox=+1,-2e1,%203,4&types=state&id=us-ks", "/places/nearby?lat=1&lon=2&cursor=x&format=geojson",
		"/places/2988507", "/ip/1.2.3.4", "/ip/::1%25eth0", "/ip/me", "/status", "/../../etc/passwd", "/%2e%2e/%00", "/tiles//////", "/?%zz",
		"/tiles/\xff/0/0/0.mvt", "/regions/at?lat=NaN&lat=1;", "/ip/%ff", "//host/path", "/tiles/country/1e9/-0/+1.mvt.geojson",
		"/tiles/places/3/4/2.png", "/tiles/places/0/0/0@2x.png", "/tiles/places/22/4194303/4194303@2x.png",
	} {
		f.Add(seed, "gzip", "10.0.0.1, x", "example.com")
	}
	fix := newFixture(f, func(c *Config) { c.TrustedProxies = append(c.TrustedProxies, mustPrefix("0.0.0.0/0")) }, all...)
	fix.places.tile = []fakePlace{{id: 1, lon: 1, lat: 1, name: "x"}}
	f.Fuzz(func(t *testing.T, target, encoding, forwarded, host string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(target, "/") {
			t.Skip()
		}
		r := &http.Request{Method: "GET", URL: u, Host: host, RemoteAddr: "192.0.2.1:1", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody,
			Header: http.Header{"Accept-Encoding": {encoding}, "X-Forwarded-For": {forwarded}, "X-Forwarded-Host": {host}, "If-None-Match": {encoding}, "Accept": {forwarded}}}
		w := httptest.NewRecorder()
		fix.handler.ServeHTTP(w, r)
		res := w.Result()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		ct := res.Header.Get("Content-Type")
		switch {
		case res.StatusCode >= 500:
			t.Fatalf("%d %s", res.StatusCode, b)
		case res.StatusCode >= 400:
			if ct != problemType || !json.Valid(b) {
				t.Fatalf("%d %s %s", res.StatusCode, ct, b)
			}
		case res.Header.Get("Content-Encoding") == "" && strings.HasSuffix(ct, "json") && !json.Valid(b):
			t.Fatalf("not JSON: %s", b)
		}
	})
}
