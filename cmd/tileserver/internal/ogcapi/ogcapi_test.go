package ogcapi

import (
	"net/http/httptest"
	"testing"
)

// A client that prefers no format gets the first one, any other the one it prefers, if it is
// offered.
func TestAccepted(t *testing.T) {
	formats := []Format{{Name: "json", Type: TypeOpenAPI}, {Name: "html", Type: TypeHTML}}
	for accept, want := range map[string]string{
		"": "json", "*/*": "json", "text/html": "html", "text/html;q=0.5, application/vnd.oai.openapi+json": "json",
		"text/html, */*;q=0.8": "html", "image/png": "json",
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept", accept)
		if got := AcceptedFormat(r, formats).Name; got != want {
			t.Errorf("Accept %q: %s, want %s", accept, got, want)
		}
	}
	if got := CollectionURL("https://example.org/q", "points a/b"); got != "https://example.org/q/ogc/collections/points%20a%2Fb" {
		t.Errorf("a collection is at %s", got)
	}
}
