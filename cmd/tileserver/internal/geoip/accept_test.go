package geoip

import (
	"net/http"
	"testing"
)

// A client may accept the media type of the requested service in version 2, JSON, or any type, in
// UTF-8. A weight of zero refuses a type.
func TestAccepts(t *testing.T) {
	for _, tc := range []struct {
		accept, charset string
		want            error
	}{
		{"", "", nil},
		{"*/*", "", nil},
		{"application/json", "utf-8", nil},
		{"application/vnd.maxmind.com-city+json; charset=UTF-8; version=2.1", "", nil},
		{"text/html, application/json;q=0.5", "iso-8859-1, *;q=0.1", nil},
		{"application/vnd.maxmind.com-city+json; version=3.0", "", errMediaType},
		{"application/vnd.maxmind.com-country+json", "", errMediaType},
		{"text/html", "", errMediaType},
		{"application/json;q=0", "", errMediaType},
		{"application/json", "iso-8859-1", errCharset},
	} {
		r := &http.Request{Header: http.Header{}}
		if tc.accept != "" {
			r.Header.Set("Accept", tc.accept)
		}
		if tc.charset != "" {
			r.Header.Set("Accept-Charset", tc.charset)
		}
		if got := accepts(r, "city"); got != tc.want {
			t.Errorf("Accept %q, charset %q: %v, want %v", tc.accept, tc.charset, got, tc.want)
		}
	}
}
