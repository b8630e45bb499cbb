//go:build !race

package servertest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/geoip"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
)

// The services give these whole answers. Other fields of a record are omitted, because clients
// expect only the fields of the service that they call.
func TestGeoIPAnswers(t *testing.T) {
	f := servertest.NewAddresses(t, nil)
	const (
		continent  = `"continent":{"code":"EU","geoname_id":6255148,"names":{"en":"Europe"}}`
		country    = `"country":{"geoname_id":2658434,"iso_code":"CH","names":{"de":"Schweiz","en":"Switzerland"}}`
		registered = `"registered_country":{"geoname_id":2921044,"is_in_european_union":true,"iso_code":"DE","names":{"en":"Germany"}}`
		location   = `"location":{"accuracy_radius":20,"latitude":47.3682,"longitude":8.5671,"time_zone":"Europe/Zurich"},"postal":{"code":"8001"}`
		traits     = `"autonomous_system_number":559,"autonomous_system_organization":"SWITCH","is_anycast":true,"isp":"S & W","mobile_country_code":"228"`
	)
	for _, tt := range []struct{ path, typ, want string }{
		{
			"country/" + servertest.CityIP,
			servertest.GeoIPCountry,
			`{` + continent + `,` + country + `,` + registered +
				`,"traits":{"ip_address":"81.2.69.160","network":"81.2.69.0/24","is_anycast":true}}`,
		},
		{
			"country/" + servertest.InsightIP,
			servertest.GeoIPCountry,
			`{` + continent + `,` + country + `,` + registered + `,"traits":{"ip_address":"82.3.4.5","network":"82.3.0.0/16","is_anycast":true}}`,
		},
		{
			"country/" + servertest.CountryIP,
			servertest.GeoIPCountry,
			`{"country":{"is_in_european_union":true,"iso_code":"DE"},"traits":{"ip_address":"2a00:1::1","network":"2a00:1::/32"}}`,
		},
		{
			"city/" + servertest.CountryIP,
			servertest.GeoIPCity,
			`{"country":{"is_in_european_union":true,"iso_code":"DE"},"traits":{"ip_address":"2a00:1::1","network":"2a00:1::/32"}}`,
		},
		{"city/" + servertest.CityIP, servertest.GeoIPCity,
			`{"city":{"geoname_id":2657896,"names":{"de":"Zürich","en":"Zurich","fr":"Zurich <i>","ja":"チューリッヒ"}},` +
				continent + `,` + country + `,` + registered + `,` + location +
				`,"subdivisions":[{"geoname_id":2657895,"iso_code":"ZH","names":{"de":"Kanton Zürich","en":"Zurich"}},{"iso_code":"112"}],` +
				`"traits":{"ip_address":"81.2.69.160","network":"81.2.69.0/24",` + traits + `}}`},
		{"city/" + servertest.InsightIP, servertest.GeoIPCity, `{"city":{"geoname_id":7,"names":{"de":"Nur Deutsch 100%"}},` +
			continent + `,` + country + `,` + registered + `,` + location + `,"subdivisions":[{"iso_code":"ZH"}],` +
			`"traits":{"ip_address":"82.3.4.5","network":"82.3.0.0/16",` + traits + `}}`},
		{
			"city/" + servertest.ASNIP,
			servertest.GeoIPCity,
			`{"country":{"iso_code":"US"},"traits":{"ip_address":"9.9.9.9","network":"9.9.9.0/24","autonomous_system_number":19281}}`,
		},
		// The Java client requests every group.
		{
			"country/2a00:1:0:0:0:0:0:1",
			servertest.GeoIPCountry,
			`{"country":{"is_in_european_union":true,"iso_code":"DE"},"traits":{"ip_address":"2a00:1::1","network":"2a00:1::/32"}}`,
		},
		{
			"country/2a00%3A1%3A%3A1",
			servertest.GeoIPCountry,
			`{"country":{"is_in_european_union":true,"iso_code":"DE"},"traits":{"ip_address":"2a00:1::1","network":"2a00:1::/32"}}`,
		},
		// GeoIP2's answer for an address that embeds another is unknown. Our network and ip_address
		// are those of the embedded address.
		{
			"country/2002:909:909::1",
			servertest.GeoIPCountry,
			`{"country":{"iso_code":"US"},"traits":{"ip_address":"9.9.9.9","network":"9.9.9.0/24"}}`,
		},
	} {
		res := f.Get("/geoip/v2.1/"+tt.path, "Accept", "application/json", "Authorization", "Basic NDI6eA==")
		b := servertest.Body(t, res)
		servertest.SameJSON(t, b, tt.want)
		if h := res.Header; res.StatusCode != 200 || h.Get("Content-Type") != tt.typ ||
			h.Get("Content-Length") != fmt.Sprint(len(b)) || h.Get("Cache-Control") != "public, max-age=300" {
			t.Errorf("%s: %d %v", tt.path, res.StatusCode, h)
		}
		// Unknown members are absent, never null, empty or false.
		for _, bad := range []string{"null", "false", `""`, "{}", "[]", "maxmind"} {
			if strings.Contains(b, bad) {
				t.Errorf("%s: it has %s: %s", tt.path, bad, b)
			}
		}
	}
	me := f.Get("/geoip/v2.1/city/me", "X-Forwarded-For", servertest.CityIP)
	if b := servertest.Body(t, me); me.StatusCode != 200 || me.Header.Get("Cache-Control") != "private, no-store" ||
		b != servertest.Body(t, f.Get("/geoip/v2.1/city/"+servertest.CityIP)) {
		t.Errorf("me: %d %v %s", me.StatusCode, me.Header, b)
	}
	head := f.Do("HEAD", "/geoip/v2.1/city/"+servertest.CityIP)
	if b := servertest.Body(t, head); head.StatusCode != 200 || b != "" || head.Header.Get("Content-Length") == "" {
		t.Errorf("HEAD: %d %v %q", head.StatusCode, head.Header, b)
	}
}

func TestGeoIPErrors(t *testing.T) {
	f := servertest.NewAddresses(t, nil)
	for _, tt := range []struct {
		path, code string
		status     int
	}{
		{"city/" + servertest.GapIP, "IP_ADDRESS_NOT_FOUND", 404},
		{"country/2606:4700::1111", "IP_ADDRESS_NOT_FOUND", 404},
		{"country/10.1.2.3", "IP_ADDRESS_RESERVED", 400},
		{"country/fe80::1%25eth0", "IP_ADDRESS_RESERVED", 400},
		{"country/::1", "IP_ADDRESS_RESERVED", 400},
		{"city/me", "IP_ADDRESS_NOT_FOUND", 404}, // the test's own address
		{"city/1.2.3", "IP_ADDRESS_INVALID", 400},
		{"city/example.org", "IP_ADDRESS_INVALID", 400},
		{"city/01.2.3.4", "IP_ADDRESS_INVALID", 400},
		{"city/1.2.3.4:80", "IP_ADDRESS_INVALID", 400},
		{"city/[::1]", "IP_ADDRESS_INVALID", 400},
		{"city/%20" + servertest.CityIP, "IP_ADDRESS_INVALID", 400},
		{"city/" + servertest.CityIP + "/", "IP_ADDRESS_INVALID", 400},
		{"city/%3Cscript%3E", "IP_ADDRESS_INVALID", 400},
		{"city/" + strings.Repeat("1", 500), "IP_ADDRESS_INVALID", 400},
		{"city/Me", "IP_ADDRESS_INVALID", 400},
		{"city/", "IP_ADDRESS_REQUIRED", 400},
		{"country", "IP_ADDRESS_REQUIRED", 400},
		{"insights/" + servertest.CityIP, "PERMISSION_REQUIRED", 402},
		{"insights/me", "PERMISSION_REQUIRED", 402},
		{"insights/x", "IP_ADDRESS_INVALID", 400},
	} {
		wantGeoIP(t, f.Get("/geoip/v2.1/"+tt.path, "Accept", "application/json"), tt.status, tt.code)
	}
	// Our own errors contain no statement about the address.
	for _, err := range []error{errors.New("secret path"), ask.ErrFailed} {
		f := servertest.New(t, nil, ask.Addresses.Name)
		f.Addresses.ReadErr = err
		if res := f.Get("/geoip/v2.1/city/1.2.3.4"); res.StatusCode < 500 || servertest.Body(t, res) != "" {
			t.Errorf("%v: %d", err, res.StatusCode)
		}
	}
	if res := servertest.New(t, nil).Get("/geoip/v2.1/city/1.2.3.4"); res.StatusCode != 503 || servertest.Body(t, res) != "" ||
		res.Header.Get("Retry-After") == "" {
		t.Errorf("nothing published: %d %v", res.StatusCode, res.Header)
	}
	if res := f.Get("/geoip/v2.1/domain/1.2.3.4"); res.StatusCode != 404 {
		t.Errorf("no such service: %d", res.StatusCode)
	}
}

// wantGeoIP checks an error object, whose values must be strings.
func wantGeoIP(t testing.TB, res *http.Response, status int, code string) {
	t.Helper()
	b := servertest.Body(t, res)
	var values map[string]string
	if err := json.Unmarshal([]byte(b), &values); err != nil || len(values) != 2 || values["code"] != code ||
		values["error"] == "" || res.StatusCode != status {
		t.Errorf("%v: %d %s, want %d %s", err, res.StatusCode, b, status, code)
	}
	if h := res.Header; h.Get("Content-Type") != servertest.GeoIPError || h.Get("Content-Length") != fmt.Sprint(len(b)) ||
		h.Get("Cache-Control") != "no-store" {
		t.Errorf("%s: %v", code, h)
	}
}

func TestGeoIPAccept(t *testing.T) {
	f := servertest.NewAddresses(t, nil)
	for _, tt := range []struct {
		accept, charset string // "-" for no header
		status          int
	}{
		{"-", "-", 200},
		{"application/json", "-", 200},
		{"Application/JSON; charset=utf-8", "-", 200},
		{"*/*", "-", 200},
		{"application/*;q=0.1", "-", 200},
		{"text/html, */*;q=0.8", "-", 200},
		{"application/vnd.maxmind.com-city+json", "-", 200},
		{"application/vnd.maxmind.com-city+json; charset=UTF-8; version=2.1", "-", 200},
		{`application/vnd.maxmind.com-city+json; charset="utf-8"; version="2.1"`, "-", 200},
		{"application/vnd.maxmind.com-city+json; version=2.0", "-", 200},
		{"application/vnd.maxmind.com-city+json; version=1.0", "-", 415},
		{"application/vnd.maxmind.com-city+json; charset=latin1", "-", 415},
		{"application/vnd.maxmind.com-country+json", "-", 415},
		{"text/html", "-", 415},
		{"application/xml, image/*", "-", 415},
		{"application/json;q=0", "-", 415},
		{"application/json", "utf-8", 200},
		{"application/json", "ISO-8859-1, UTF-8;q=0.7", 200},
		{"application/json", "*", 200},
		{"application/json", "ISO-8859-1", 406},
		{"application/json", "utf-8;q=0", 406},
		{"text/html", "ISO-8859-1", 415},
	} {
		var headers []string
		if tt.accept != "-" {
			headers = append(headers, "Accept", tt.accept)
		}
		if tt.charset != "-" {
			headers = append(headers, "Accept-Charset", tt.charset)
		}
		res := f.Get("/geoip/v2.1/city/"+servertest.CityIP, headers...)
		if b := servertest.Body(t, res); res.StatusCode != tt.status || tt.status != 200 && b != "" {
			t.Errorf("Accept %q, Accept-Charset %q: %d %q, want %d", tt.accept, tt.charset, res.StatusCode, b, tt.status)
		}
	}
}

// testKeys has two keys of account 42: the current key "secret" and the earlier key "before".
const testKeys = `
# sha256sum of secret, and of before
42:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b
  42 : 6DB7D803E74F1FFA7D8F5ADC0BF95B3E15BF4C8373FFFADF546227CC6C6742CB
`

func TestGeoIPKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(testKeys), 0o600); err != nil {
		t.Fatal(err)
	}
	f := servertest.NewAddresses(t, func(c *httpapi.Config) { servertest.SetFlag(t, c, "geoip-keys", file) })
	basic := func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }
	for _, tt := range []struct{ auth, code string }{
		{basic("42:secret"), ""},
		{strings.Replace(basic("42:secret"), "Basic", "basic", 1), ""},
		{basic("42:before"), ""},
		{basic("42:Secret"), "AUTHORIZATION_INVALID"},
		{basic("42:secret "), "AUTHORIZATION_INVALID"},
		{basic("43:secret"), "AUTHORIZATION_INVALID"},
		{basic("43:" + strings.Repeat("\x00", 32)), "AUTHORIZATION_INVALID"},
		{basic("42:"), "LICENSE_KEY_REQUIRED"},
		{basic(":secret"), "ACCOUNT_ID_REQUIRED"},
		{basic("42"), "AUTHORIZATION_INVALID"},
		{"", "AUTHORIZATION_INVALID"},
		{"Basic !!", "AUTHORIZATION_INVALID"},
		{"Bearer secret", "AUTHORIZATION_INVALID"},
		{basic("42:" + strings.Repeat("s", 10000)), "AUTHORIZATION_INVALID"},
	} {
		for _, path := range []string{"city/" + servertest.CityIP, "insights/" + servertest.CityIP, "city/x", "country/" + servertest.GapIP} {
			var headers []string
			if tt.auth != "" {
				headers = []string{"Authorization", tt.auth}
			}
			res := f.Get("/geoip/v2.1/"+path, headers...)
			if tt.code != "" {
				// A refused client gets no information about the address.
				wantGeoIP(t, res, 401, tt.code)
				if !strings.HasPrefix(res.Header.Get("Www-Authenticate"), "Basic ") {
					t.Errorf("%s: no challenge", tt.auth)
				}
			} else if res.StatusCode == 401 || res.StatusCode == 200 && res.Header.Get("Cache-Control") != "private, no-store" {
				t.Errorf("%s: %d %v", path, res.StatusCode, res.Header)
			}
		}
	}
	if res := f.Get("/ip/" + servertest.CityIP); res.StatusCode != 200 {
		t.Errorf("other endpoints need no key: %d", res.StatusCode)
	}
	if res := servertest.NewAddresses(t, nil).Get("/geoip/v2.1/city/" + servertest.CityIP); res.StatusCode != 200 {
		t.Errorf("without keys: %d", res.StatusCode)
	}
}

func TestReadGeoIPKeysBad(t *testing.T) {
	const hash = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
	for _, tt := range []struct{ text, want string }{
		{"", "no keys"},
		{"# nothing\n\n", "no keys"},
		{"42:" + hash + "\n42:secret", "line 2"},
		{"42", "line 1"},
		{":" + hash, "line 1"},
		{"42:" + hash + "00", "line 1"},
		{"42:" + hash[:62], "line 1"},
		{"42:" + strings.Repeat("g", 64), "line 1"},
		{strings.Repeat("x", 100<<10), "too long"},
	} {
		_, err := geoip.ReadAccounts(strings.NewReader(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.40q: %v, want %q and no secrets", tt.text, err, tt.want)
		}
	}
}

func FuzzReadGeoIPKeys(f *testing.F) {
	f.Add([]byte("42:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\n#x\n:"))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := geoip.ReadAccounts(bytes.NewReader(text))
		if (err == nil) != (keys != nil) {
			t.Fatalf("%v and %v", keys, err)
		}
	})
}
